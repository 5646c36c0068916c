"""A recipe through `liquid_tf.loader`, in a process that has no TensorFlow.

Such a process reads one JSON object on stdin, what `apart` is given, and writes its
answer as the last line of stdout.
"""

import sys
from typing import Any

from liquid_tf._loader.loader import loader
from liquid_tf._measure import fresh
from liquid_tf._pipeline.tuning import Tuning
from tools.bench import clock


def apart(**request: Any) -> dict[str, Any]:
  """Runs epochs of a dataset directory in a fresh process, as `clock.run` gives them.

  Args:
    **request: path, epochs, threads that decode, and arguments of `liquid_tf.loader`;
      `transforms` as `fresh` takes them.

  Raises:
    ChildProcessError: it failed, or TensorFlow came into its process.
  """
  return fresh.ask([sys.executable, "-m", __name__], request, {})


def _main(request: dict[str, Any]) -> dict[str, Any]:
  epochs, threads = request.pop("epochs"), request.pop("threads")
  request["transforms"] = fresh.steps(request["transforms"])
  tuning = Tuning(parallelism=threads)
  with loader(cache="100%", features=["image"], tuning=tuning, **request) as batches:
    answer = clock.run(
      epochs,
      lambda: map(lambda batch: batch["image"], batches),
      lambda images: images,
    )
  if "tensorflow" in sys.modules:
    raise AssertionError("TensorFlow is in the process of liquid_tf.loader")
  return answer


if __name__ == "__main__":
  clock.serve(_main)
