"""Checks and times L3 on this machine's GPU, and writes what it found as JSON.

  PYTHONPATH=.:tests/gpu:tests/liquid_tf python tests/gpu/check.py --output=gpu.json

Through the driver alone: every kernel's pixels are compared with the processors', whole
and in windows, of sound and of damaged files; then a batch is timed on its whole way.
Through a TensorFlow that has a GPU: the ops, the layer and datasets with decode="gpu"
are compared likewise; then a batch is timed by itself, and under a step. Through
PyTorch: JPEG files are decoded beside torchvision, and DALI if it is there (peers.py).
The kernels alone and the bus are another command's, ops/gpu/bench, whose output --bench
takes.

What one of them cannot do here is left out, and "skipped" says why; what ended one
early is its "error", beside what it had found. Exit code 1: a check failed, one of them
ended early, or there is nothing to check.
"""

import contextlib
import functools
import json
import os
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cuda_driver
import numpy as np
import peers
import tensorflow as tf
import tf_timing
import timing
from absl import app, flags

import liquid_tf
from liquid_tf._graph import gpu as _gpu_tf
from liquid_tf.cli import wheel_images

_OUTPUT = flags.DEFINE_string(
  "output", None, "File that takes the JSON.", required=True
)
_DATA = flags.DEFINE_string(
  "data", None, "Folder of photographs; by default those of scikit-image's wheel."
)
# As many as scikit-image's wheel has.
_PHOTOGRAPHS = 8

_REPEATS = flags.DEFINE_integer("repeats", 20, "How often each is timed, at most.", 1)
_PARTS = flags.DEFINE_multi_enum(
  "part",
  ["driver", "tensorflow", "torchvision"],
  ["driver", "tensorflow", "torchvision"],
  "What is checked. In one process, a fault of the device in one ends the other.",
)
_BENCH = flags.DEFINE_string(
  "bench",
  None,
  "JSON of liquid_gpu_bench on this GPU: TensorFlow's batches are compared with what "
  "copies from pinned memory reached there.",
)
_STEP_PRIORITY = flags.DEFINE_integer(
  "step_priority",
  0,
  "Of TensorFlow's streams; below 0 they go before the decoding, and take "
  "--step_memory.",
)
_STEP_MEMORY = flags.DEFINE_integer(
  "step_memory", 16384, "MiB that TensorFlow takes, where --step_priority is not 0.", 1
)

# Of the batch that TensorFlow decodes.
_BATCH = 64
_BATCH_SIZE = "HD"


def machine() -> dict[str, Any]:
  """What the figures belong to."""
  return {
    "tensorflow": tf.__version__,
    "tensorflow_gpus": [
      tf.config.experimental.get_device_details(gpu)
      for gpu in tf.config.list_physical_devices("GPU")
    ],
    "step_priority": _STEP_PRIORITY.value,
    "liquid_tf": liquid_tf.__version__,
    "processors": os.cpu_count(),
  }


def check(*cases: type[unittest.TestCase]) -> dict[str, Any]:
  """Runs the tests of classes that a GPU can run, on it."""
  load = unittest.defaultTestLoader.loadTestsFromTestCase
  suite = unittest.TestSuite(load(case) for case in cases)
  result = unittest.TextTestRunner(sys.stderr).run(suite)
  problems = result.failures + result.errors
  return {
    "ran": result.testsRun,
    "failed": {test.id(): text for test, text in problems},
  }


@contextlib.contextmanager
def errors_noted(found: dict[str, Any]) -> Iterator[None]:
  """Has what is raised become an "error" of `found`, which keeps what it has."""
  try:
    yield
  except Exception:
    traceback.print_exc()
    found["error"] = traceback.format_exc()


def with_driver(
  found: dict[str, Any], photographs: Sequence[np.ndarray], save: Callable[[], None]
) -> None:
  """Checks the kernels, and times batches where they are right; into `found`."""
  import gpu_test

  with errors_noted(found):
    found["machine"] = cuda_driver.Driver().machine()
    found["checks"] = check(gpu_test.GpuTest)
    save()
    if not found["checks"]["failed"]:
      timing.measure(
        found, photographs, timing.SIZES, timing.PIXEL_BYTES, _REPEATS.value, save
      )


def with_tensorflow(
  found: dict[str, Any],
  photographs: Sequence[np.ndarray],
  pinned_gb_per_s: float | None,
  save: Callable[[], None],
) -> None:
  """Checks the ops, and times them where they are right; into `found`."""
  import tf_fit_test
  import tf_gpu_test

  with errors_noted(found):
    found["checks"] = check(tf_gpu_test.TfGpuTest, tf_fit_test.TfFitTest)
    save()
    if found["checks"]["failed"]:
      return
    width, height = timing.SIZES[_BATCH_SIZE]
    images = timing.scaled(photographs, width, height)
    for version in timing.L3:
      stored = []
      for kind in (images, [255 - image for image in images]):
        encoded = [timing.encode(image, version) for image in kind]
        stored.append([encoded[i % len(encoded)] for i in range(_BATCH)])
      timed = found[version] = tf_timing.measure(
        stored, (_BATCH, height, width, 3), _REPEATS.value, pinned_gb_per_s
      )
      if timed["wrong_steps"]:
        found["checks"]["failed"][f"pixels of {version} under a step"] = (
          f"{timed['wrong_steps']} of {timed['fed_steps']} steps ended with others"
        )
      save()


def with_torchvision(
  found: dict[str, Any],
  skipped: dict[str, str],
  photographs: Sequence[np.ndarray],
  save: Callable[[], None],
) -> None:
  """Times JPEG files beside others, and checks our own pixels; into `found`."""
  with errors_noted(found):
    found["checks"] = {"ran": 1, "failed": {}}
    threads = os.cpu_count() or 1
    peers.measure(found, skipped, photographs, threads, _REPEATS.value, save)
    if most := found["liquid_tf"]["differences"]["most"]:
      found["checks"]["failed"]["pixels of jpeg"] = (
        f"they differ from Pillow's by {most}"
      )


def pinned_gb_per_s() -> float | None:
  """What --bench says of copies from the host's pinned memory; None without it."""
  if _BENCH.value is None:
    return None
  with open(_BENCH.value) as file:
    steps = json.load(file)["steps"]
  findings = [finding for step in steps for finding in step["findings"]]
  rates = [
    row["gb_per_s"] for row in findings if row.get("what") == "to the GPU, pinned"
  ]
  return rates[0] if rates else None


def save_json(found: dict[str, Any]) -> None:
  """Writes what was found by now: a device's fault may end the process any time."""
  with open(f"{_OUTPUT.value}.part", "w") as file:
    json.dump(found, file, indent=2)
  os.replace(file.name, _OUTPUT.value)


def set_up_devices() -> None:
  """Has TensorFlow leave memory to others, and gives its streams their priority.

  It takes memory as it needs it; a part at once where it has a priority of its own.
  """
  for gpu in tf.config.list_physical_devices("GPU"):
    if not _STEP_PRIORITY.value:
      tf.config.experimental.set_memory_growth(gpu, True)
      continue
    device = tf.config.LogicalDeviceConfiguration(
      memory_limit=_STEP_MEMORY.value, experimental_priority=_STEP_PRIORITY.value
    )
    tf.config.set_logical_device_configuration(gpu, [device])


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unknown arguments: {' '.join(argv[1:])}")
  set_up_devices()
  pinned = pinned_gb_per_s()
  skipped = {
    "driver": liquid_tf.gpu.problem(),
    "tensorflow": _gpu_tf.problem(),
    "torchvision": peers.problem(),
  }
  parts = len(skipped)
  for name in skipped.keys() - set(_PARTS.value):
    skipped[name] = "--part does not name it"
  skipped = {name: problem for name, problem in skipped.items() if problem}
  if len(skipped) == parts:
    sys.exit(f"There is nothing to check: {'. '.join(skipped.values())}.")
  for name, problem in skipped.items():
    print(f"Skipped: {name}, since {problem}.", file=sys.stderr)
  if _DATA.value is None:
    photographs = list(wheel_images.wheel_photographs().values())
  else:
    photographs = [
      np.asarray(wheel_images.open_rgb(file))
      for file in wheel_images.image_files(_DATA.value)[:_PHOTOGRAPHS]
    ]
  # As the tests are asked to use this machine's.
  os.environ["LIQUID_TEST_GPU"] = "1"
  found = {"machine": machine(), "skipped": skipped}
  save = functools.partial(save_json, found)
  try:
    if "driver" not in skipped:
      part = found["driver"] = {}
      with_driver(part, photographs, save)
    if "tensorflow" not in skipped:
      part = found["tensorflow"] = {}
      with_tensorflow(part, photographs, pinned, save)
      if pinned is None:
        skipped["copies of pinned memory"] = "--bench names no file that has these"
    if "torchvision" not in skipped:
      part = found["torchvision"] = {}
      with_torchvision(part, skipped, photographs, save)
  finally:
    save()
  failed = sum(len(part.get("checks", {}).get("failed", ())) for part in found.values())
  early = [name for name, part in found.items() if "error" in part]
  if failed or early:
    ended = f", and what ended early: {', '.join(early)}" if early else ""
    sys.exit(f"{failed} checks failed{ended}: see {_OUTPUT.value}.")


if __name__ == "__main__":
  app.run(main)
