"""Dataset directories between file systems: to object storage, and from it."""

import contextlib
import os
import tempfile
from collections.abc import Mapping

from liquid_tf._convert import output as outputs
from liquid_tf._convert.arguments import path_of, resumes_replaces
from liquid_tf._convert.stores import publish
from liquid_tf._convert.stores.open import open_store
from liquid_tf._convert.stores.sender import Sender
from liquid_tf._convert.stores.store import Store, Stored
from liquid_tf._native import ops
from liquid_tf._store import contents, manifest, schemes, storage, versions
from liquid_tf._store.files import TEMPORARY, write_file
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._store.progress import Progress
from liquid_tf._words import setting
from liquid_tf.errors import ConvertError, ManifestError


def copy(
  source: str | os.PathLike,
  destination: str | os.PathLike,
  *,
  existing: str = "refuse",
  progress: bool = True,
) -> None:
  """Copies the newest version of a dataset, checking every byte by its checksums.

  The copy keeps the version's number; older versions stay behind. The manifest is
  copied last, so that what was interrupted is no dataset. With "resume", a file that is
  there is kept if it is right, and so is each part of it that S3 has. A local dataset
  is replaced in one step when the copy is whole. Stores know no such step: there the
  source is checked first, and the old dataset goes before the new one comes.

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
  data = manifest.load(source)
  bar = Progress(progress)
  place = _copy_remotely if storage.is_remote(destination) else _copy_locally
  try:
    place(data, destination, resume, overwrite, bar)
  except OSError as error:
    raise ConvertError(
      f"cannot copy {source} to {destination}: {ops.reason(error)}; what is there is "
      f"kept: mend it and {setting('existing', 'resume')}"
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
        f"{place.folder} is an unfinished conversion: finish that, or start over "
        f"with {setting('existing', 'replace')}"
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
  store = open_store(destination)
  if publish.check(store, resume, overwrite):
    _check_same(data, destination)
  elif publish.is_finished(store):
    # Nothing goes for a source that turns out to be damaged.
    _check_source(data, bar)
  text = storage.read_right(data.path(data.file), storage.is_json)
  files = _files(data)
  del files[data.file]
  if not publish.is_finished(store) or overwrite:
    publish.begin(store, overwrite)
    _send_files(data, files, store, bar)
  publish.end(store, files, data.file, text)


def _send_files(
  data: manifest.Manifest, files: Mapping[str, int | None], store: Store, bar: Progress
) -> None:
  """Sends files of a dataset; those of another store by way of a local folder."""
  remote = storage.is_remote(data.directory)
  bar.start("copy", len(files), unit="file")
  with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:

    def sent(name: str, stored: Stored) -> None:
      if remote:
        os.unlink(os.path.join(folder, name))
      bar.step()

    sender = stack.enter_context(Sender(store, sent))
    for name, crc in files.items():
      path = data.path(name)
      if remote:
        path = os.path.join(folder, name)
        found = _fetch(data.path(name), path, crc)
      else:
        found = storage.checksum(path)
        if crc is not None and found != crc:
          raise _damaged(path, found, crc)
      sender.add(path, name, found)
    sender.finish()


def _copy_files(
  data: manifest.Manifest, destination: str, resume: bool, bar: Progress
) -> None:
  files = _files(data)
  bar.start("copy", len(files), unit="file")
  if data["version"] > 1:
    listed = versions.encode_list([data["version"]])
    write_file(os.path.join(destination, versions.LIST), listed)
  for name, crc in files.items():
    _copy_file(data.path(name), os.path.join(destination, name), crc, resume)
    bar.step()


def _files(data: manifest.Manifest) -> dict[str, int | None]:
  """Every file of a dataset, the manifest last; its CRC-32C where that is known."""
  files = {file.name: file.crc32c for file in contents.every(data.data)}
  return files | {data.file: None}


def _check_same(data: manifest.Manifest, destination: str) -> None:
  """Raises ConvertError unless the finished dataset there is this version."""
  if versions.in_directory(destination) == [data["version"]]:
    paths = (data.path(data.file), storage.join(destination, data.file))
    here, there = (storage.read_right(path, storage.is_json) for path in paths)
    if here == there:
      return
  raise publish.holds_another(destination)


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
  return ManifestError(f"{path} {storage.wrong_crc(found, crc, 'the manifest')}")


def _copy_file(source: str, destination: str, crc: int | None, resume: bool) -> None:
  size = storage.file_size(source)
  if resume and crc is not None and storage.file_size(destination) == size:
    if storage.checksum(destination) == crc:
      return
  # The file appears when it is whole.
  _fetch(source, destination + TEMPORARY, crc)
  os.replace(destination + TEMPORARY, destination)


def _fetch(source: str, path: str, crc: int | None) -> int:
  """Makes a local file of one that is anywhere; returns its CRC-32C.

  Raises:
    ManifestError: the source has another checksum.
    OSError: it cannot be read, or the file not written.
  """
  remote = storage.is_remote(source)
  if crc is None and remote:
    crc = storage.checksum(source)  # of one read, to compare another with
  for _ in range(storage.REMOTE_ATTEMPTS if remote else 1):
    with open(path, "wb") as file:
      found = storage.checksum(source, file.write)
    if crc is None or found == crc:
      return found
  os.unlink(path)
  raise _damaged(source, found, crc)
