"""One measurement in a process of its own: `python -m liquid_tf._measure.worker`.

The request is one JSON object on stdin. Its `function` is MODULE:NAME, as
tools.bench.mix:measure, and all else are the function's arguments; `transforms` are
steps, each as {"step": its class, its fields}. The answer is the last line of stdout:
the measurement, or {"error": sentence, "argument": whether one is wrong}.
"""

import importlib
import json
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

from liquid_tf import transforms
from liquid_tf._native import ops
from liquid_tf.errors import ManifestError, TooNoisyError


def answer(request: dict[str, Any]) -> dict[str, Any]:
  """Measures what a request asks for."""
  arguments = dict(request)
  module, _, name = arguments.pop("function").partition(":")
  function = getattr(importlib.import_module(module), name)
  if "transforms" in arguments:
    arguments["transforms"] = [
      getattr(transforms, step["step"])(
        **{k: v for k, v in step.items() if k != "step"}
      )
      for step in arguments["transforms"]
    ]
  try:
    return function(**arguments)
  except (
    ValueError,
    ImportError,
    OSError,
    TooNoisyError,
    tf.errors.OpError,
  ) as error:
    of_dataset = isinstance(error, ManifestError)
    return {
      "error": ops.reason(error),
      "argument": isinstance(error, ValueError) and not of_dataset,
    }


if __name__ == "__main__":
  print(json.dumps(answer(json.loads(sys.stdin.read()))), flush=True)
