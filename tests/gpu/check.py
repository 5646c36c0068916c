"""Checks and times L3 on this machine's GPU, and writes what it found as JSON.

  PYTHONPATH=.:tests/gpu:tests/liquid_tf python tests/gpu/check.py --output=gpu.json

Through CuPy: every kernel's pixels are compared with the processors', whole and in
windows, of sound and of damaged files; then the kernels are timed with CUDA's events.
Through a TensorFlow that has a GPU: the ops, the layer and datasets with decode="gpu"
are compared likewise; then a batch is timed by itself, and under a step. What one of
them cannot do here is left out, and "skipped" says why. Exit code 1: a check failed, or
there is nothing to check.
"""

import json
import os
import sys
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tf_timing
import timing
from absl import app, flags

import liquid_tf
from liquid_tf import _gpu_tf, _photographs

_OUTPUT = flags.DEFINE_string(
  "output", None, "File that takes the JSON.", required=True
)
_DATA = flags.DEFINE_string(
  "data", None, "Folder of photographs; by default those of scikit-image's wheel."
)
# As many as scikit-image's wheel has.
_PHOTOGRAPHS = 8

_REPEATS = flags.DEFINE_integer("repeats", 20, "How often each is timed.", 1)


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
    "liquid_tf": liquid_tf.__version__,
    "processors": os.cpu_count(),
  }


def cupy_machine() -> dict[str, Any]:
  """The same, as CuPy knows it."""
  import cupy

  runtime = cupy.cuda.runtime
  device = cupy.cuda.Device()
  return {
    "gpu": runtime.getDeviceProperties(device.id)["name"].decode(),
    "compute_capability": device.compute_capability,
    "cuda_driver": runtime.driverGetVersion(),
    "cuda_runtime": runtime.runtimeGetVersion(),
    "cupy": cupy.__version__,
  }


def check(case: type[unittest.TestCase]) -> dict[str, Any]:
  """Runs the tests of a class that a GPU can run, on it."""
  suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
  result = unittest.TextTestRunner(sys.stderr).run(suite)
  problems = result.failures + result.errors
  return {
    "ran": result.testsRun,
    "failed": {test.id(): text for test, text in problems},
  }


def with_cupy(photographs: Sequence[np.ndarray]) -> dict[str, Any]:
  """Checks the kernels, and times them where they are right."""
  import gpu_test

  found = {"machine": cupy_machine(), "checks": check(gpu_test.GpuTest)}
  if not found["checks"]["failed"]:
    found.update(
      timing.measure(photographs, timing.SIZES, timing.PIXEL_BYTES, _REPEATS.value)
    )
  return found


def with_tensorflow(
  photographs: Sequence[np.ndarray], pinned_gb_per_s: float | None
) -> dict[str, Any]:
  """Checks the ops, and times them where they are right."""
  import tf_gpu_test

  found = {"checks": check(tf_gpu_test.TfGpuTest)}
  if found["checks"]["failed"]:
    return found
  width, height = timing.SIZES[_BATCH_SIZE]
  images = timing.scaled(photographs, width, height)
  for version in ("l3 v1", "l3 v2"):
    encoded = [timing.encode(image, version) for image in images]
    files = [encoded[i % len(encoded)] for i in range(_BATCH)]
    found[version] = tf_timing.measure(
      files, (_BATCH, height, width, 3), _REPEATS.value, pinned_gb_per_s
    )
  return found


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unknown arguments: {' '.join(argv[1:])}")
  skipped = {"cupy": liquid_tf.gpu.problem(), "tensorflow": _gpu_tf.problem()}
  skipped = {name: problem for name, problem in skipped.items() if problem}
  if len(skipped) == 2:
    sys.exit(f"There is nothing to check: {'. '.join(skipped.values())}.")
  for name, problem in skipped.items():
    print(f"Skipped: {name}, since {problem}.", file=sys.stderr)
  if _DATA.value is None:
    photographs = list(_photographs.wheel_photographs().values())
  else:
    photographs = [
      np.asarray(_photographs.open_rgb(file))
      for file in _photographs.image_files(_DATA.value)[:_PHOTOGRAPHS]
    ]
  # As the tests are asked to use this machine's.
  os.environ["LIQUID_TEST_GPU"] = "1"
  found = {"machine": machine(), "skipped": skipped}
  pinned = None
  if "cupy" not in skipped:
    found["cupy"] = with_cupy(photographs)
    pinned = found["cupy"].get("pinned_gb_per_s")
  if "tensorflow" not in skipped:
    found["tensorflow"] = with_tensorflow(photographs, pinned)
    if pinned is None:
      skipped["copies of pinned memory"] = "these are timed through CuPy"
  with open(_OUTPUT.value, "w") as file:
    json.dump(found, file, indent=2)
  failed = sum(len(part.get("checks", {}).get("failed", ())) for part in found.values())
  if failed:
    sys.exit(f"{failed} checks failed: see {_OUTPUT.value}.")


if __name__ == "__main__":
  app.run(main)
