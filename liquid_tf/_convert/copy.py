"""Dataset directories between file systems: to object storage, and from it."""

import itertools
import os
from collections.abc import Iterable

from liquid_tf._convert import output as outputs
from liquid_tf._convert.arguments import path_of, resumes_replaces
from liquid_tf._native import ops
from liquid_tf._store import contents, manifest, schemes, storage, versions
from liquid_tf._store.files import TEMPORARY
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._store.progress import Progress
from liquid_tf.errors import ConvertError, ManifestError

# An object that says that a dataset is being replaced.
_MARK = b"A copy is under way.\n"


def copy(
  source: str | os.PathLike,
  destination: str | os.PathLike,
  *,
  existing: str = "refuse",
  progress: bool = True,
) -> None:
  """Copies the newest version of a dataset, checking every byte by its checksums.

  The copy keeps the version's number; older versions stay behind. The manifest is
  copied last, so that what was interrupted is no dataset. A shard that is already there
  with "resume" is read again and kept if it is right. A local dataset is replaced in
  one step when the copy is whole. Object storage knows no such step: there the source
  is checked first, and the old dataset goes before the new one comes.

  Args:
    source: a dataset directory; local, or of a file system that TensorFlow has, as
      "s3://bucket/photos.liquid".
    destination: a directory that does not exist, is empty, or holds what an earlier
      copy left; likewise. Only files of a dataset are ever replaced or removed.
    existing: what happens to a destination that is there: "refuse" it; "resume" the
      interrupted copy, or start one; or "replace" the dataset.
    progress: whether a progress bar of files appears on stderr.

  Raises:
    ImportError: TensorFlow lacks the file system, and what to install.
    ManifestError: the source is no sound dataset.
    ConvertError: the destination cannot be written, or must not be.
    ValueError: an argument is wrong.
  """
  resume, overwrite = resumes_replaces(existing)
  source = path_of("source", source)
  destination = path_of("destination", destination)
  schemes.require_dataset(source)
  schemes.require_writable(destination)
  _copy(source, destination, resume, overwrite, progress)


def publish(source: str, destination: str, replaces: bool, progress: bool) -> None:
  """Copies a whole dataset to object storage, or goes on with that.

  Args:
    source: the local directory.
    destination: its URL.
    replaces: whether another dataset that is there may be replaced.
    progress: whether a progress bar of files appears on stderr.

  Raises:
    As `copy`.
  """
  _copy(source, destination, resume=True, overwrite=replaces, progress=progress)


def _copy(
  source: str, destination: str, resume: bool, overwrite: bool, progress: bool
) -> None:
  """Copies; with both `resume` and `overwrite`, goes on or begins, as may be."""
  import tensorflow as tf

  data = manifest.load(source)
  bar = Progress(progress)
  place = _copy_remotely if schemes.scheme_of(destination) else _copy_locally
  try:
    place(data, destination, resume, overwrite, bar)
  except (tf.errors.OpError, OSError) as error:
    raise ConvertError(
      f"cannot copy {source} to {destination}: {ops.reason(error)}; what is there is "
      'kept: mend it and existing="resume"'
    ) from error
  finally:
    bar.close()


def _copy_locally(
  data: manifest.Manifest,
  destination: str,
  resume: bool,
  overwrite: bool,
  bar: Progress,
) -> None:
  destination = os.path.abspath(destination)
  if os.path.realpath(data.directory) == outputs.beside(destination):
    raise ConvertError(
      f"{data.directory} must not be the source: what replaces {destination} is made "
      "there"
    )
  with outputs.opened(destination, resume, overwrite) as place:
    if place.is_finished:
      _check_same(data, destination)
      return
    if storage.file_size(os.path.join(place.folder, JOURNAL)):
      raise ConvertError(
        f"{place.folder} is an unfinished conversion: finish that, or start over with "
        'existing="replace"'
      )
    outputs.mark(place.folder)
    outputs.remove_leftovers(place.folder, set(_files(data)))
    _copy_files(data, place.folder, resume, bar)
    # One sync for all files, before what is replaced goes.
    os.sync()
    place.publish()


def _copy_remotely(
  data: manifest.Manifest,
  destination: str,
  resume: bool,
  overwrite: bool,
  bar: Progress,
) -> None:
  import tensorflow as tf

  finished = check_destination(destination, resume, overwrite)
  mark = storage.join(destination, JOURNAL)
  if not (finished and _is_same(data, destination)):
    if finished and not overwrite:
      _check_same(data, destination)
    _prepare_remotely(data, destination, resume, overwrite, bar)
    _copy_files(data, destination, resume, bar)
  if tf.io.gfile.exists(mark):
    tf.io.gfile.remove(mark)


def _copy_files(
  data: manifest.Manifest, destination: str, resume: bool, bar: Progress
) -> None:
  import tensorflow as tf

  files = _files(data)
  bar.start("copy", len(files), unit="file")
  for name, crc in files.items():
    place = storage.join(destination, name)
    if name == versions.LIST:
      with tf.io.gfile.GFile(place, "wb") as file:
        file.write(versions.encode_list([data["version"]]))
    else:
      _copy_file(data.path(name), place, crc, resume)
    bar.step()


def _files(data: manifest.Manifest) -> dict[str, int | None]:
  """Every file of a dataset, the manifest last; its CRC-32C where that is known.

  With the list of versions, which is not copied but made: only this one is there.
  """
  every = itertools.chain(contents.shards(data.data), contents.beside(data.data))
  files: dict[str, int | None] = {file.name: file.crc32c for file in every}
  if data["version"] > 1:
    files[versions.LIST] = None
  return files | {data.file: None}


def _is_same(data: manifest.Manifest, destination: str) -> bool:
  """Whether the finished dataset there is this version."""
  if versions.in_directory(destination) != [data["version"]]:
    return False
  paths = (data.path(data.file), storage.join(destination, data.file))
  here, there = (storage.read_right(path, storage.is_json) for path in paths)
  return here == there


def _check_same(data: manifest.Manifest, destination: str) -> None:
  if not _is_same(data, destination):
    raise ConvertError(
      f'{destination} already holds another dataset: existing="replace" replaces it'
    )


def check_destination(directory: str, resume: bool, overwrite: bool) -> bool:
  """Looks whether a dataset may be copied to object storage; changes nothing.

  Returns:
    Whether it holds a finished dataset already, with `resume`.

  Raises:
    ConvertError: it holds something that must not be touched.
  """
  names = storage.names_in(directory)
  finished, marked = bool(_manifests(names)), JOURNAL in names
  if names and not (resume or overwrite):
    if finished:
      raise ConvertError(
        f'{directory} already holds a dataset: existing="replace" replaces it'
      )
    raise ConvertError(
      f'{directory} must not exist, be empty, or with existing="resume" hold what '
      f"an interrupted copy left, but holds {min(names)}: choose another"
    )
  foreign = {name for name in names if not outputs.is_ours(name)}
  if foreign and (marked or (finished and overwrite)):
    raise ConvertError(
      f"{directory} holds {min(foreign)}, which is of no dataset: choose another"
    )
  return finished and resume


def _manifests(names: Iterable[str]) -> list[str]:
  """Manifests among names, the newest last."""
  found = filter(None, map(versions.of_manifest, names))
  return [versions.manifest_file(version) for version in sorted(found)]


def _prepare_remotely(
  data: manifest.Manifest,
  directory: str,
  resume: bool,
  overwrite: bool,
  bar: Progress,
) -> None:
  """Makes a destination that was checked ready to be written."""
  import tensorflow as tf

  names, files = storage.names_in(directory), _files(data)
  mark = storage.join(directory, JOURNAL)
  old = _manifests(names)
  if old:
    # Nothing goes for a source that turns out to be damaged.
    _check_source(data, bar)
    with tf.io.gfile.GFile(mark, "wb") as file:
      file.write(_MARK)
    # The manifests first, so that no part of a dataset is ever one.
    for name in old:
      tf.io.gfile.remove(storage.join(directory, name))
      names.remove(name)
  elif JOURNAL not in names:
    foreign = {name for name in names if name.removesuffix(TEMPORARY) not in files}
    if foreign:
      raise ConvertError(
        f"{directory} holds {min(foreign)}, which is not of this dataset: choose "
        "another"
      )
    tf.io.gfile.makedirs(directory)
    return
  for name in names - {JOURNAL} - (set(files) if resume else set()):
    tf.io.gfile.remove(storage.join(directory, name))


def _check_source(data: manifest.Manifest, bar: Progress) -> None:
  """Raises ManifestError unless every file of a dataset has its checksum."""
  files = {name: crc for name, crc in _files(data).items() if crc is not None}
  bar.start("check", len(files), unit="file")
  for name, crc in files.items():
    found = storage.checksum(data.path(name))
    if found != crc:
      raise _damaged(data.path(name), found, crc)
    bar.step()


def _damaged(path: str, found: int, crc: int) -> ManifestError:
  return ManifestError(
    f"{path} is damaged: its CRC-32C is 0x{found:08x}, the manifest says 0x{crc:08x}"
  )


def _copy_file(source: str, destination: str, crc: int | None, resume: bool) -> None:
  size = storage.file_size(source)
  if resume and crc is not None and storage.file_size(destination) == size:
    if storage.checksum(destination) == crc:
      return
  import tensorflow as tf

  # A local file appears when it is whole, as an object does.
  local = not schemes.scheme_of(destination)
  written = destination + TEMPORARY if local else destination
  remote = storage.is_remote(source)
  if crc is None and remote:
    crc = storage.checksum(source)  # of one read, to compare another with
  for _ in range(storage.REMOTE_ATTEMPTS if remote else 1):
    with tf.io.gfile.GFile(written, "wb") as file:
      found = storage.checksum(source, file.write)
    if crc is None or found == crc:
      break
  else:
    tf.io.gfile.remove(written)
    raise _damaged(source, found, crc)
  if local:
    os.replace(written, destination)
  arrived = storage.file_size(destination)
  if arrived != size:
    raise OSError(f"{destination} has {arrived} bytes instead of {size}")
