"""Finds and loads the native op library, once and only when it is needed."""

import functools
import os
import pathlib
import re
import threading
import types
from collections.abc import Callable

_LIBRARY = "_liquid_ops.so"
_MARKER = re.compile(rb"liquid_ops built for TensorFlow (\d+\.\d+)([\w.+-]*)")
# What TensorFlow puts around the message of an op, run by itself or in a function.
_AROUND = re.compile(
  r"\A(?:\{\{.*?\}\} )+"
  r"|\AGraph execution error:\n(?:\n|Detected at node .*\n| +File \".*\n)*"
  r"|(?:\s*\[\[\{\{node .*?\}\}\]\])?(?: \[Op:[^]]*\](?: name: .*)?)?\Z"
)
_lock = threading.Lock()


def _candidates() -> list[pathlib.Path]:
  """Places where a library may lie, the preferred one first.

  `LIQUID_OPS_LIBRARY` rules out all others. In an installed wheel the library
  lies in the package. Under Bazel the runfiles mirror the checkout, so that
  `ops/` is beside the package; in the checkout itself Bazel's links lie under
  `build/`, one folder for each TensorFlow.
  """
  override = os.environ.get("LIQUID_OPS_LIBRARY")
  if override:
    return [pathlib.Path(override)]
  package = pathlib.Path(os.path.abspath(__file__)).parents[1]
  root = package.parent
  return [
    package / _LIBRARY,
    root / "ops" / _LIBRARY,
    *sorted(root.glob(f"build/bazel*/bin/ops/{_LIBRARY}")),
  ]


def built_for(path: str) -> tuple[str, str] | None:
  """Reads which TensorFlow a library was built for, without loading it.

  A library of another minor version fails to load with undefined symbols that
  explain nothing, so its marker is read first.

  Args:
    path: path of the shared object.

  Returns:
    (minor version, full version), such as ("2.16", "2.16.2"), or None where the
    file carries no marker.

  Raises:
    OSError: the file cannot be read.
  """
  found = _MARKER.search(pathlib.Path(path).read_bytes())
  if found is None:
    return None
  minor, rest = (part.decode() for part in found.groups())
  return minor, minor + rest


def find(tensorflow_version: str) -> str:
  """Finds the op library that was built for a TensorFlow version.

  Args:
    tensorflow_version: such as "2.16.2"; major and minor have to match.

  Returns:
    The path of the library.

  Raises:
    ImportError: there is no library, or none for this version.
  """
  wanted = ".".join(tensorflow_version.split(".")[:2])
  build = f"run `make setup TF_VERSION={tensorflow_version}` in a checkout"
  searched = _candidates()
  others = []
  for path in searched:
    if not path.is_file():
      continue
    version = built_for(os.fspath(path))
    if version is None:
      others.append(f'"{path}" is not a liquid_tf op library')
    elif version[0] == wanted:
      return os.fspath(path)
    else:
      others.append(f'"{path}" was built for TensorFlow {version[1]}')
  if others:
    raise ImportError(
      f"liquid_tf needs an op library built for TensorFlow {wanted} (running: "
      f"{tensorflow_version}), but {'; '.join(others)}. An op library works "
      f"with one minor version only: install that TensorFlow, or {build}."
    )
  places = ", ".join(f'"{path}"' for path in searched)
  raise ImportError(
    f"liquid_tf found no op library for TensorFlow {wanted} at {places}: {build}, "
    "install a wheel, or set LIQUID_OPS_LIBRARY to the file."
  )


@functools.cache
def _load() -> types.ModuleType:
  import tensorflow as tf

  library = tf.load_op_library(find(tf.__version__))
  for name, function in list(vars(library).items()):
    if name.startswith("liquid_") and not name.endswith("_eager_fallback"):
      setattr(library, name, _plain(function))
  return library


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
    path: of a file that the caller's own sentence names already.
  """
  text = getattr(error, "message", None) or str(error)
  if isinstance(error, OSError) and error.strerror:
    text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
  text = _AROUND.sub("", text)
  if path:
    text = text.removeprefix(path)
  # A file system may say its kind of error alone.
  return text.strip(":; ") or type(error).__name__
