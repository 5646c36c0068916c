"""One measurement in a process of its own: `python -m liquid_tf.cli.bench.worker`.

The request is one JSON object on stdin. It names a `stage`, a key of `_STAGES`, and has
the arguments of its function.
The answer is the last line of stdout: the measurement, or {"error": sentence,
"argument": whether one is wrong}.
"""

import json
import os
import sys
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

from liquid_tf import transforms
from liquid_tf._measure import epochs as runs
from liquid_tf._measure import process, stock
from liquid_tf._native import ops
from liquid_tf.cli.bench import (
  chosen,
  constancy,
  formats,
  mix,
  preparation,
  recipe_stages,
  scale,
  stages,
)
from liquid_tf.cli.bench.papers import (
  core_aside,
  equal_losses,
  l3_10,
  loaders,
  pcr_8,
  scan_training,
  segmentation_training,
  speeds,
)
from liquid_tf.errors import ManifestError, TooNoisyError


def _stock(epochs: int, **arguments: Any) -> dict[str, Any]:
  dataset = stock.stock_dataset(**arguments)
  entries = []
  for _ in range(epochs):
    cpu_start = time.process_time()
    images, seconds = runs.consume(dataset)
    cpu_seconds = time.process_time() - cpu_start
    entries.append({"seconds": seconds, "images": images, "cpu_seconds": cpu_seconds})
  return {"epochs": entries, "max_rss_bytes": process.max_rss_bytes()}


def _liquid(
  path: str, choice: dict[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
  samples = path if choice is None else chosen.chosen(path, **choice)
  return runs.measure(samples, **arguments)


_STAGES = {
  "advise": formats.advise,
  "constancy": constancy.measure,
  "formats": formats.measure,
  "liquid": _liquid,
  "mix": mix.measure,
  "papers": speeds.measure,
  "papers advice": loaders.advise,
  "papers decoder": l3_10.measure,
  "papers loader": loaders.serve,
  "papers losses": equal_losses.measure,
  "papers stalls": pcr_8.measure,
  "papers training": core_aside.train,
  "preparation": preparation.ours,
  "recipe": recipe_stages.liquid,
  "scale": scale.measure,
  "scale view": scale.measure_view,
  "scan training": scan_training.train,
  "segmentation training": segmentation_training.train,
  "stages": stages.measure,
  "stock": _stock,
  "stock recipe": recipe_stages.stock,
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
  """Measures what a request asks for."""
  arguments = dict(request)
  stage = _STAGES[arguments.pop("stage")]
  if "transforms" in arguments:
    arguments["transforms"] = [
      getattr(transforms, step["step"])(
        **{k: v for k, v in step.items() if k != "step"}
      )
      for step in arguments["transforms"]
    ]
  try:
    return stage(**arguments)
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
