"""CUDA's run-time compiler, for an op library that carries its kernels as source."""

import ctypes
import functools
import importlib.util
import os
import pathlib

import tensorflow as tf

from liquid_tf._native import ops


def _is_source() -> bool:
  with tf.init_scope(), tf.device("CPU"):
    return bool(ops.lib().liquid_l3_device_module().is_source)


@functools.cache
def offer() -> None:
  """Opens the NVRTCs that pip has installed, if the kernels are still to be compiled.

  TensorFlow's packages for GPUs bring one, in a folder where no loader looks; what a
  process has opened is found by its name.
  """
  packages = importlib.util.find_spec("nvidia")
  if packages is None or not _is_source():
    return
  for folder in packages.submodule_search_locations:
    for path in sorted(pathlib.Path(folder).glob("*/lib/libnvrtc.so.*")):
      ctypes.CDLL(os.fspath(path))
