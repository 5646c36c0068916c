"""Builds a wheel around the op library that lies in liquid_tf/.

The version carries the TensorFlow that the library was built for, as in
0.1.0+tf2.16, because a library serves one minor version only. An editable install
(`pip install -e .`) finds the libraries that Bazel built, and needs none here.
"""

import pathlib
import re
import runpy

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel

_PACKAGE = pathlib.Path(__file__).parent / "liquid_tf"
_LIBRARY = _PACKAGE / "_liquid_ops.so"


def _version() -> str:
  return runpy.run_path(str(_PACKAGE / "_version.py"))["__version__"]


def _tensorflow() -> str:
  """The part of the version that names TensorFlow; "" without a library."""
  if not _LIBRARY.is_file():
    return ""
  marker = rb"liquid_ops built for TensorFlow (\d+\.\d+)"
  return f"+tf{re.search(marker, _LIBRARY.read_bytes()).group(1).decode()}"


class _NativeDistribution(setuptools.Distribution):
  """Holds native code, although setuptools compiles none."""

  def has_ext_modules(self):
    return True


class _AnyPythonWheel(bdist_wheel):
  """Tags the wheel for the platform, but for any Python 3."""

  def get_tag(self):
    return "py3", "none", super().get_tag()[2]

  def run(self):
    if not _LIBRARY.is_file():
      raise SystemExit(f"{_LIBRARY} is missing: `make wheel` builds it and the wheel.")
    super().run()


setuptools.setup(
  version=_version() + _tensorflow(),
  distclass=_NativeDistribution,
  cmdclass={"bdist_wheel": _AnyPythonWheel},
)
