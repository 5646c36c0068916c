"""Loads the native op library, once and only when it is needed."""

import functools
import re
import threading
import types
from collections.abc import Callable

from liquid_tf._native import engine, library

# What TensorFlow puts around the message of an op, run by itself or in a function.
_AROUND = re.compile(
  r"\A(?:\{\{.*?\}\} )+"
  r"|\AGraph execution error:\n(?:\n|Detected at node .*\n| +File \".*\n)*"
  r"|(?:\s*\[\[\{\{node .*?\}\}\]\])?(?: \[Op:[^]]*\](?: name: .*)?)?\Z"
)
_lock = threading.Lock()


@functools.cache
def _load() -> types.ModuleType:
  from liquid_tf._tensorflow import tf

  path = library.find(tf.__version__)
  engine.load()
  ops = tf.load_op_library(path)
  for name, function in list(vars(ops).items()):
    if name.startswith("liquid_") and not name.endswith("_eager_fallback"):
      setattr(ops, name, _plain(function))
  return ops


def _plain(function: Callable) -> Callable:
  """An op whose errors are its own sentences, as it wrote them."""
  import tensorflow as tf

  @tf.autograph.experimental.do_not_convert
  @functools.wraps(function)
  def call(*args, **options):
    try:
      return function(*args, **options)
    except tf.errors.OpError as error:
      error._message = reason(error)
      raise

  return call


def lib() -> types.ModuleType:
  """The native ops as Python functions, such as `lib().liquid_decode_image`.

  Loads the library at the first call; thread-safe.

  Returns:
    The module that `tf.load_op_library` made.

  Raises:
    ImportError: no library fits the running TensorFlow; the message names what
      was found where, and what to do.
  """
  with _lock:
    return _load()


def reason(error: Exception, path: str = "") -> str:
  """The sentence of an error of TensorFlow or of the system, without what is around it.

  Args:
    error: what was caught.
    path: of a file or folder that the caller's own sentence names already.
  """
  text = getattr(error, "message", None) or str(error)
  if isinstance(error, OSError) and error.strerror:
    text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
  text = _AROUND.sub("", text)
  if path and text.startswith(path):
    # Of a file in a folder, its name is left.
    text = text.removeprefix(path).lstrip("/")
  # A file system may say its kind of error alone.
  return text.strip(":; ") or type(error).__name__
