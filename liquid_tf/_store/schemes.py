"""Where files may lie, and who reads them there.

The engine itself reads http://, https:// and s3://; TensorFlow what else it has.
"""

import importlib
import re

from liquid_tf._native import credentials

# They have neither folders nor a way to write.
_HTTP = ("http", "https")


def scheme_of(path: str) -> str:
  """Scheme before "://", or "" for a local path."""
  scheme, colon, _ = path.partition("://")
  return scheme if colon else ""


def is_http(path: str) -> bool:
  """Whether a path is of a server of http:// or https://."""
  return scheme_of(path).lower() in _HTTP


def is_s3(path: str) -> bool:
  """Whether a path is of a store of s3://."""
  return scheme_of(path).lower() == "s3"


def shown(path: str) -> str:
  """A path as messages show it: over HTTP, without its query and its user.

  These may be a signature and a password.
  """
  if not is_http(path):
    return path
  scheme, _, rest = re.split("[?#]", path, maxsplit=1)[0].partition("://")
  host, slash, name = rest.partition("/")
  return f"{scheme}://{host.rpartition('@')[2]}{slash}{name}"


def require_writable(path: str) -> None:
  """As `require`, for a folder that is to be written.

  Raises:
    ValueError: the file system cannot be written.
    ImportError: nothing that is installed has it; the message says what to install.
  """
  if is_http(path):
    raise ValueError(
      f"{shown(path)} cannot be written: {scheme_of(path)}:// is only read. Name a "
      "local folder, or one of s3:// or gs://"
    )
  require(path)


def require_dataset(path: str) -> None:
  """As `require`, for the folder of a dataset that is read.

  Raises:
    ValueError: a dataset's address has a query or a user.
    ImportError: nothing that is installed has it; the message says what to install.
  """
  if path != shown(path):
    raise ValueError(
      f"{shown(path)} must be a dataset's address without a user, a query (?) and a "
      "fragment (#), which messages would show"
    )
  require(path)


def require(path: str) -> None:
  """Makes sure that a path's file system is there, by tensorflow-io where it must.

  Raises:
    ImportError: nothing that is installed has it; the message says what to install.
  """
  scheme = scheme_of(path)
  if not scheme or is_http(path):
    return
  if is_s3(path):
    credentials.require()
    return
  try:
    from liquid_tf._tensorflow import tf
  except ModuleNotFoundError as error:
    raise ImportError(
      f"{path} needs the file system {scheme}://, which is TensorFlow's, and {error}"
    ) from None
  if scheme in tf.io.gfile.get_registered_schemes():
    return
  try:
    importlib.import_module("tensorflow_io")
  except Exception as error:  # noqa: BLE001 - what a library of another TensorFlow does
    found = f"cannot be imported here: {error}"
  else:
    if scheme in tf.io.gfile.get_registered_schemes():
      return
    found = "does not bring it"
  raise ImportError(
    f"{path} needs the file system {scheme}://, and tensorflow-io {found}. "
    "tensorflow-io 0.37.1 goes with TensorFlow 2.16 (pip install tensorflow==2.16.2 "
    f"tensorflow-io==0.37.1); this is TensorFlow {tf.__version__}"
  )
