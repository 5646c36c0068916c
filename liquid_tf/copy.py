"""Dataset directories between file systems: to object storage, and from it."""

import os
import shutil
from collections.abc import Callable

from liquid_tf import _schemes, _storage, manifest
from liquid_tf._convert.errors import ConvertError
from liquid_tf._convert.progress import Progress
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
      copy left; likewise.
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
    _prepare(destination, set(files), resume, overwrite)
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


def _prepare(directory: str, ours: set[str], resume: bool, overwrite: bool) -> None:
  """Makes the destination one that may be written into."""
  import tensorflow as tf

  # Object storage has no folders, so one that is missing is empty.
  found = tf.io.gfile.listdir(directory) if tf.io.gfile.exists(directory) else []
  names = {name.rstrip("/") for name in found} - {""}
  if not names:
    tf.io.gfile.makedirs(directory)
    return
  if overwrite and manifest.MANIFEST in names:
    # First, so that no part of a dataset is ever one.
    tf.io.gfile.remove(_storage.join(directory, manifest.MANIFEST))
    for name in names - {manifest.MANIFEST}:
      tf.io.gfile.remove(_storage.join(directory, name))
    return
  if manifest.MANIFEST in names:
    if resume:
      return
    raise ConvertError(
      f"{directory} already holds a dataset: overwrite=True (--overwrite) replaces it"
    )
  if not (resume or overwrite) or names - ours:
    other = min(names - ours, default=min(names))
    raise ConvertError(
      f"{directory} must not exist, be empty, or with resume=True (--resume) hold what "
      f"an interrupted copy left, but holds {other}: choose another"
    )


def _copy_file(source: str, destination: str, crc: int | None, resume: bool) -> None:
  size = _storage.file_size(source)
  if resume and crc is not None and _storage.file_size(destination) == size:
    if _checksum(destination, lambda data: None) == crc:
      return
  import tensorflow as tf

  # A local file appears when it is whole, as an object does.
  local = not _schemes.scheme_of(destination)
  written = destination + ".tmp" if local else destination
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
