"""A new version of a dataset: who may write it, and how it appears.

A version is there when its manifest is. All its other files come before, under names
that no other version has, so whatever ends a writer leaves the last whole version and
files that the next writer removes.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import finish
from liquid_tf._convert import output as outputs
from liquid_tf._convert.journal import Journal
from liquid_tf._convert.sources import iterable
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import contents, pcr_index, schema, storage, versions
from liquid_tf._store import manifest as manifests
from liquid_tf._store.files import TEMPORARY, sync_directory, write_file
from liquid_tf._store.manifest import JOURNAL, Manifest
from liquid_tf._store.pcr_index import PcrEntry
from liquid_tf._version import __version__
from liquid_tf.errors import ConvertError, WrongArgument

# Where samples that are to be added are converted, until they are a version.
WORK = "_append" + TEMPORARY
# Is there while versions are forgotten.
_FORGETTING = "_forget" + TEMPORARY

_NUMBER = re.compile(r"v(\d+)-|.*-(\d+)\.(?:npy|bin|pb)\Z")


@dataclasses.dataclass(frozen=True)
class EditReport:
  """Description of a new version of a dataset.

  Attributes:
    path: the dataset directory.
    version: its number; that of the last one where nothing was to be done.
    samples: how many it has.
    changed: samples that were added, removed or annotated; of `compact`, removed
      samples whose records are gone from its shards, or with `jpeg_index` those whose
      records got other entry points.
    bytes: of its shards.
    jpeg_index: its entry points of JPEG files, as of `ConvertReport`.
    skipped: `path` and `reason` of every source file that is in no sample.
    duplicates: images that `append` left out since the dataset knows their names.
    notes: as of `ConvertReport`, of the source that was appended.
  """

  path: str
  version: int
  samples: int
  changed: int
  bytes: int
  jpeg_index: dict[str, int] | None
  skipped: list[dict[str, str]] = dataclasses.field(default_factory=list)
  duplicates: int = 0
  notes: list[str] = dataclasses.field(default_factory=list)

  def to_dict(self) -> dict[str, Any]:
    """The report as plain values, for JSON."""
    return dataclasses.asdict(self)


def report(
  manifest: Manifest,
  changed: int,
  skipped: Sequence[tuple[str, str]] = (),
  duplicates: int = 0,
  notes: Sequence[str] = (),
) -> EditReport:
  """Describes a version; see `EditReport`."""
  return EditReport(
    manifest.directory,
    manifest["version"],
    manifest["samples"],
    changed,
    sum(shard.bytes for shard in manifest.shards),
    contents.jpeg_index(manifest.data),
    [{"path": path, "reason": reason} for path, reason in skipped],
    duplicates,
    list(notes),
  )


@dataclasses.dataclass(frozen=True)
class Edit:
  """A dataset that is held against other writers.

  Attributes:
    manifest: of its newest version.
  """

  manifest: Manifest

  @property
  def directory(self) -> str:
    return self.manifest.directory

  @property
  def version(self) -> int:
    """The number of the new version."""
    return self.manifest["version"] + 1

  def name(self, name: str) -> str:
    """Name of a file of the new version."""
    return versions.file_name(name, self.version)

  def path(self, name: str) -> str:
    return os.path.join(self.directory, name)

  def write_index(self, rows: np.ndarray) -> dict[str, Any]:
    """Writes the rows of the new version; returns the manifest's entry."""
    return manifests.write_index(self.directory, self.name(manifests.INDEX), rows)

  def write_pcr(
    self, entries: Sequence[PcrEntry], data: dict[str, Any], limits: Limits
  ) -> dict[str, Any]:
    """Writes the index of all records; see `finish.write_pcr`."""
    name = self.name(pcr_index.INDEX)
    return finish.write_pcr(self.directory, self.directory, name, entries, data, limits)

  def publish(self, made_by: str, data: dict[str, Any]) -> Manifest:
    """Makes the new version appear.

    Args:
      made_by: what it is made by.
      data: its manifest, but for its number and who made it.

    Raises:
      ConvertError: another process made this version meanwhile, which no lock kept from
        it; or the manifest would be longer than one that is read.
      OSError: it cannot be written.
    """
    data = data | {
      "version": self.version,
      "made_by": made_by,
      "created_by": f"liquid_tf {__version__}",
    }
    schema.check(data)
    path = self.path(versions.manifest_file(self.version))
    # First: it may list a version that is not there, but must list all that are.
    _list(self.directory, [*versions.in_directory(self.directory), self.version])
    try:
      write_file(path, finish.encode_manifest(data), replace=False)
    except FileExistsError as error:
      raise ConvertError(
        f"{path} was made by another process meanwhile, and is kept: do this again"
      ) from error
    return manifests.load(self.directory, self.version)


@contextlib.contextmanager
def editing(path: str | os.PathLike) -> Iterator[Edit]:
  """Holds a dataset against other writers, and opens its newest version.

  Raises:
    ManifestError: it is no sound dataset.
    ConvertError: another process writes it; or the machine fails.
    ValueError: it is not local.
  """
  path = os.fspath(path)
  if not path or storage.is_remote(path):
    raise WrongArgument(
      "path", path, "must be a local dataset: copy it, and change the copy"
    )
  path = os.path.realpath(path)
  with _clear_errors(path):
    # Says what it is, where it is no dataset.
    manifests.load(path, check_files=False)
    with outputs.locked(path):
      if os.path.lexists(os.path.join(path, JOURNAL)):
        outputs.settle(path)
      manifest = manifests.load(path)
      _clear(manifest)
      yield Edit(manifest)


@contextlib.contextmanager
def _clear_errors(path: str) -> Iterator[None]:
  """Turns what the machine says into one sentence."""
  kept = "the versions that are there are whole: mend it and do this again"
  try:
    yield
  except OSError as error:
    raise ConvertError(
      f"cannot write {error.filename or path}: {error.strerror or error}; {kept}"
    ) from error
  except tf.errors.OpError as error:
    raise ConvertError(f"cannot change {path}: {ops.reason(error)}; {kept}") from error


def _clear(manifest: Manifest) -> None:
  """Removes what killed writers left."""
  names = os.listdir(manifest.directory)
  if _FORGETTING in names:
    remove_unused(manifest.directory)
    names = os.listdir(manifest.directory)
  begun_append(manifest)
  for name in names:
    if name.endswith(TEMPORARY) and name != WORK:
      os.unlink(os.path.join(manifest.directory, name))
  if manifest["version"] > 1:
    _list(manifest.directory, versions.in_directory(manifest.directory))
  late = [name for name in names if _is_later(name, manifest["version"])]
  if late:
    # The name of a split may look like a version's.
    every = versions.in_directory(manifest.directory)
    for name in set(late) - _used(manifest.directory, every):
      os.unlink(os.path.join(manifest.directory, name))


def _list(directory: str, found: list[int]) -> None:
  """Writes which versions there are, unless that is written already."""
  path, listed = os.path.join(directory, versions.LIST), versions.encode_list(found)
  if not os.path.exists(path) or storage.read_file(path) != listed:
    write_file(path, listed)


def _is_later(name: str, version: int) -> bool:
  """Whether a file has the name of one that a later version would have."""
  match = _NUMBER.match(name)
  if match is None or not versions.is_written(name):
    return False
  return int(match[1] or match[2]) > version


def forget(directory: str, forgotten: list[int]) -> None:
  """Removes versions, and the files that no other one has.

  Raises:
    ManifestError: another version's manifest cannot be read; nothing was removed.
    OSError: a file cannot be removed.
  """
  kept = [v for v in versions.in_directory(directory) if v not in forgotten]
  _used(directory, kept)
  with open(os.path.join(directory, _FORGETTING), "wb"):
    pass
  sync_directory(directory)
  for version in forgotten:
    os.unlink(os.path.join(directory, versions.manifest_file(version)))
  # No version is there of which files are gone.
  sync_directory(directory)
  _list(directory, kept)
  remove_unused(directory)


def remove_unused(directory: str) -> None:
  """Removes files that no version has."""
  used = _used(directory, versions.in_directory(directory))
  for name in os.listdir(directory):
    if versions.is_written(name) and name not in used:
      os.unlink(os.path.join(directory, name))
  mark = os.path.join(directory, _FORGETTING)
  if os.path.exists(mark):
    sync_directory(directory)
    os.unlink(mark)
  sync_directory(directory)


def _used(directory: str, kept: list[int]) -> set[str]:
  """The names of all files of some versions."""
  used: set[str] = set()
  for version in kept:
    data = manifests.load(directory, version, check_files=False).data
    used.update(file.name for file in contents.every(data))
  return used


def begun_append(manifest: Manifest) -> dict[str, Any] | None:
  """Arguments of an unfinished append; None where there is none.

  They are empty where it has listed items at most. One that was finished, or cannot be
  gone on with, is removed.

  Raises:
    OSError: it cannot be removed.
  """
  work = os.path.join(manifest.directory, WORK)
  has_items = iterable.is_listed(work)
  begun = {} if has_items else None
  if os.path.exists(os.path.join(work, JOURNAL)):
    begun = None
    # Nothing that a damaged journal knows can be used.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(Journal(work)) as found:
      begun = found.arguments()
  if begun == {} and has_items:
    return begun
  # Its first sample has the number that is next, unless it was appended already.
  if begun and begun.get("next_sample") == manifest["next_sample"]:
    return begun
  remove_work(manifest.directory)
  return None


def remove_work(directory: str, but_items: bool = False) -> None:
  """Removes what an append began; all, or all but the items that it listed."""
  path = os.path.join(directory, WORK)
  if not os.path.lexists(path):
    return
  if but_items:
    for entry in list(os.scandir(path)):
      if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.path)
      elif entry.name != iterable.FOLDER:
        shutil.rmtree(entry.path)
    sync_directory(path)
    return
  shutil.rmtree(path)
  sync_directory(directory)
