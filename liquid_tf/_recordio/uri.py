"""Files that one string names: paths, folders and patterns with ";" between them.

dmlc-core's InputSplit takes such strings (docs/formats/recordio.md, Several files).
"""

import fnmatch
import glob
import os
from collections.abc import Iterable

import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._store import schemes, storage
from liquid_tf.errors import RecordIOError


def split(uri: str) -> list[str]:
  """Splits a string at each ";"; an existing local path is itself.

  Raises:
    ValueError: nothing stands there.
  """
  if ";" not in uri or (not storage.is_remote(uri) and os.path.exists(uri)):
    return [uri]
  names = uri.split(";")
  if not all(names):
    raise ValueError(f'"{uri}" must have a path before and after every ";"')
  return names


def _local_files(name: str, extension: str) -> list[str]:
  if os.path.isdir(name):
    # Hidden files are left out, as by a pattern.
    return glob.glob(os.path.join(glob.escape(name), f"*{extension}"))
  if os.path.exists(name):
    return [name]
  return [path for path in glob.glob(name) if os.path.isfile(path)]


def _remote_files(name: str, extension: str) -> list[str]:
  schemes.require(name)
  if schemes.is_http(name):
    return [name]  # Opening it says whether it is there.
  if schemes.is_s3(name):
    return _objects(name, extension)
  if tf.io.gfile.isdir(name):
    return _in_folder(name, tf.io.gfile.listdir(name), extension)
  if tf.io.gfile.exists(name):
    return [name]
  return tf.io.gfile.glob(name) if glob.has_magic(name) else []


def _in_folder(folder: str, names: Iterable[str], extension: str) -> list[str]:
  return [
    storage.join(folder, name)
    for name in names
    if name.endswith(extension) and not name.startswith(".")
  ]


def _objects(name: str, extension: str) -> list[str]:
  """As `_local_files`, in a store without folders of its own."""
  bucket, *parts = name.partition("://")[2].rstrip("/").split("/")
  root = f"s3://{bucket}"
  found = storage.names_in(name)
  if found:
    return _in_folder(name, found, extension)
  if parts and storage.file_size(name) is not None:
    return [name]
  return _matches(root, parts) if glob.has_magic(name) else []


def _matches(folder: str, parts: list[str]) -> list[str]:
  """Lists the entries of a store's folder below names that match patterns."""
  part, *rest = parts
  if rest and not glob.has_magic(part):
    return _matches(storage.join(folder, part), rest)
  names = fnmatch.filter(storage.names_in(folder), part)
  paths = [storage.join(folder, name) for name in names]
  return [end for path in paths for end in _matches(path, rest)] if rest else paths


def find(name: str, extension: str) -> list[str]:
  """The files that one path names, sorted.

  Args:
    name: a file, a folder, or, where nothing has this name, a pattern of the shell.
    extension: of the files that are meant in a folder.

  Raises:
    RecordIOError: there are none, or listing failed.
    ImportError: nothing that is installed has the path's file system.
  """
  look = _remote_files if storage.is_remote(name) else _local_files
  try:
    paths = look(name, extension)
  except (tf.errors.OpError, OSError) as error:
    raise RecordIOError(f"cannot read {name}: {ops.reason(error, name)}") from error
  if not paths and os.path.isdir(name):
    raise RecordIOError(f"cannot read {name}: the folder has no {extension} file")
  if not paths:
    raise RecordIOError(f"cannot read {name}: there is no such file")
  return sorted(paths, key=os.fsencode)


def expand(uri: str, extension: str) -> list[str]:
  """All files that a string names, in its order.

  Args:
    uri: names as of `find`, with ";" between them.
    extension: of the files that are meant in a folder.

  Raises:
    ValueError: nothing stands before or after a ";".
    RecordIOError: a name has no file, or listing failed.
    ImportError: nothing that is installed has a path's file system.
  """
  return [path for name in split(uri) for path in find(name, extension)]
