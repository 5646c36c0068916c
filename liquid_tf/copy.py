"""Dataset directories between file systems: to object storage, and from it."""

import os
import shutil
from collections.abc import Callable

from liquid_tf import _schemes, _storage, manifest
from liquid_tf._convert.errors import ConvertError
from liquid_tf._convert.output import is_ours
from liquid_tf._convert.progress import Progress
from liquid_tf._files import TEMPORARY
from liquid_tf.manifest import ManifestError

_CHUNK = 8 << 20


def copy(
  source: str | os.PathLike,
  destination: str | os.PathLike,
  *,
  resume: bool = False,
  overwrite: bool = False,
  progress: bool = True,
) -> None:
  """Copies a dataset directory, checking every byte by the manifest's checksums.

  The manifest is copied last, so that what was interrupted is no dataset. A shard that
  is already there with `resume` is read again and kept if it is right.

  Args:
    source: a dataset directory; local, or of a file system that TensorFlow has, as
      "s3://bucket/photos.liquid".
    destination: a directory that does not exist, is empty, or holds what an earlier
      copy left; likewise. Only files of a dataset are ever replaced or removed.
    resume: goes on with an interrupted copy, or starts one.
    overwrite: replaces a dataset that is there.
    progress: whether a progress bar of files appears on stderr.

  Raises:
    ImportError: TensorFlow lacks the file system, and what to install.
    ManifestError: the source is no sound dataset.
    ConvertError: the destination cannot be written, or must not be.
    ValueError: arguments contradict each other.
  """
  import tensorflow as tf

  if resume and overwrite:
    raise ValueError("resume and overwrite must not both be True")
  source, destination = os.fspath(source), os.fspath(destination)
  for path in (source, destination):
    _schemes.require(path)
  data = manifest.load(source)
  files = _files(data)
  bar = Progress(progress)
  try:
    if check_destination(destination, resume, overwrite):
      _check_same(data, destination)
      return
    _prepare(destination, set(files), overwrite)
    bar.start("copy", len(files))
    for name, crc in files.items():
      _copy_file(data.path(name), _storage.join(destination, name), crc, resume)
      bar.step()
  except (tf.errors.OpError, OSError) as error:
    reason = getattr(error, "message", None) or str(error)
    raise ConvertError(
      f"cannot copy {source} to {destination}: {reason}; what is there is kept: mend "
      "it and resume=True (--resume)"
    ) from error
  finally:
    bar.close()


def _files(data: manifest.Manifest) -> dict[str, int | None]:
  """Every file of a dataset, the manifest last; its CRC-32C where that is known."""
  files: dict[str, int | None] = {}
  for shard, entry in zip(data.shards, data["shards"]):
    files[shard.path] = entry["crc32c"]
    if shard.format != "pcr":
      files[shard.path.removesuffix(".rec") + ".idx"] = None
  if "pcr" in data.data:
    files[manifest.PCR_INDEX] = data["pcr"]["index_crc32c"]
  files[manifest.INDEX] = data["index"]["crc32c"]
  files[manifest.MANIFEST] = None
  return files


def _check_same(data: manifest.Manifest, destination: str) -> None:
  """Raises ConvertError unless the finished dataset there is this one."""
  paths = (data.path(manifest.MANIFEST), _storage.join(destination, manifest.MANIFEST))
  here, there = (_storage.read_right(path, _storage.is_json) for path in paths)
  if here != there:
    raise ConvertError(
      f"{destination} already holds another dataset: overwrite=True (--overwrite) "
      "replaces it"
    )


def check_destination(directory: str, resume: bool, overwrite: bool) -> bool:
  """Looks whether a dataset may be copied to a directory; changes nothing.

  Returns:
    Whether it holds a finished dataset already, with `resume`.

  Raises:
    ConvertError: it holds something that must not be touched.
  """
  names = _names(directory)
  if manifest.MANIFEST not in names:
    if names and not (resume or overwrite):
      raise ConvertError(
        f"{directory} must not exist, be empty, or with resume=True (--resume) hold "
        f"what an interrupted copy left, but holds {min(names)}: choose another"
      )
    return False
  foreign = {name for name in names if not is_ours(name)}
  if overwrite and foreign:
    raise ConvertError(
      f"{directory} holds {min(foreign)}, which is of no dataset: choose another"
    )
  if not (resume or overwrite):
    raise ConvertError(
      f"{directory} already holds a dataset: overwrite=True (--overwrite) replaces it"
    )
  return resume


def _names(directory: str) -> set[str]:
  import tensorflow as tf

  # Object storage has no folders, so one that is missing is empty.
  if not tf.io.gfile.exists(directory):
    return set()
  return {name.rstrip("/") for name in tf.io.gfile.listdir(directory)} - {""}


def _prepare(directory: str, ours: set[str], overwrite: bool) -> None:
  """Makes a destination that was checked ready to be written."""
  import tensorflow as tf

  names = _names(directory)
  if manifest.MANIFEST in names and overwrite:
    # The manifest first, so that no part of a dataset is ever one.
    for name in sorted(names, key=lambda name: (name != manifest.MANIFEST, name)):
      tf.io.gfile.remove(_storage.join(directory, name))
  elif foreign := {n for n in names if n.removesuffix(TEMPORARY) not in ours}:
    raise ConvertError(
      f"{directory} holds {min(foreign)}, which is not of this dataset: choose another"
    )
  tf.io.gfile.makedirs(directory)


def _copy_file(source: str, destination: str, crc: int | None, resume: bool) -> None:
  size = _storage.file_size(source)
  if resume and crc is not None and _storage.file_size(destination) == size:
    if _checksum(destination, lambda data: None) == crc:
      return
  import tensorflow as tf

  # A local file appears when it is whole, as an object does.
  local = not _schemes.scheme_of(destination)
  written = destination + TEMPORARY if local else destination
  remote = _storage.is_remote(source)
  if crc is None and remote:
    crc = _checksum(source, lambda data: None)  # of one read, to compare another with
  for _ in range(_storage.REMOTE_ATTEMPTS if remote else 1):
    with tf.io.gfile.GFile(written, "wb") as file:
      found = _checksum(source, file.write)
    if crc is None or found == crc:
      break
  else:
    tf.io.gfile.remove(written)
    raise ManifestError(
      f"{source} is damaged: its CRC-32C is 0x{found:08x}, {manifest.MANIFEST} says "
      f"0x{crc:08x}"
    )
  if local:
    os.replace(written, destination)
  arrived = _storage.file_size(destination)
  if arrived != size:
    raise OSError(f"{destination} has {arrived} bytes instead of {size}")


def _checksum(path: str, consume: Callable[[bytes], object]) -> int:
  """The CRC-32C of a file, whose bytes are handed on."""
  crc = 0
  for data in _storage.read_chunks(path, _CHUNK):
    crc = manifest.crc32c(data, crc)
    consume(data)
  return crc


def finish_staging(
  staging: str, output: str, *, resume: bool, overwrite: bool, progress: bool
) -> None:
  """Copies a finished conversion from its local folder, and removes that."""
  copy(staging, output, resume=resume, overwrite=overwrite, progress=progress)
  shutil.rmtree(staging)
