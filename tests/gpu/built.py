"""Where Bazel put what the tests load."""

import os
import pathlib

import tensorflow as tf

from liquid_tf._native import library


def find(name: str) -> str:
  """The path of a library that was built beside the op library, such as a/b.so.

  Raises:
    FileNotFoundError: it was not; the message has the command that does it.
  """
  path = pathlib.Path(library.find(tf.__version__)).absolute().parents[1] / name
  if not path.exists():
    folder, _, file = name.rpartition("/")
    raise FileNotFoundError(f"bazel build //{folder}:{file} makes {path}")
  return os.fspath(path)
