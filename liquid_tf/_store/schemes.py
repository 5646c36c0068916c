"""File systems that TensorFlow has only with a plugin, or only in part."""

import importlib

# These read files, and have neither folders nor a way to write.
_FILES_ONLY = ("http", "https")


def scheme_of(path: str) -> str:
  """What stands before "://", or "" for a local path."""
  scheme, colon, _ = path.partition("://")
  return scheme if colon else ""


def has_folders(path: str) -> bool:
  """Whether the file system of a path lists folders."""
  return scheme_of(path) not in _FILES_ONLY


def require_folders(path: str) -> None:
  """As `require`, for the folder of a dataset.

  Raises:
    ValueError: the file system has no folders.
    ImportError: nothing that is installed has it; the message says what to install.
  """
  if not has_folders(path):
    raise ValueError(
      f"{path} cannot be a dataset: {scheme_of(path)}:// lists no folders. Use s3:// "
      "or gs://, or copy its files to a local folder first (wget --recursive)"
    )
  require(path)


def require(path: str) -> None:
  """Makes TensorFlow know the file system of a path, by tensorflow-io where it must.

  Raises:
    ImportError: nothing that is installed has it; the message says what to install.
  """
  from liquid_tf._tensorflow import tf

  scheme = scheme_of(path)
  if not scheme or scheme in tf.io.gfile.get_registered_schemes():
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
    f"{path} needs the file system {scheme}://, and tensorflow-io {found}. s3:// and "
    "http:// need TensorFlow 2.16 and tensorflow-io 0.37.1 (pip install "
    f'tensorflow==2.16.2 "liquid-tf[s3]"); this is TensorFlow {tf.__version__}'
  )
