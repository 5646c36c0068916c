"""Shards written anew: without the records of removed samples, or with other entry
points of their JPEG files; and versions that are forgotten."""

import os
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import finish, pipelines, plan
from liquid_tf._edit.edit import Edit, EditReport, editing, report
from liquid_tf._edit.edit import forget as _forget_versions
from liquid_tf._native import encoders, ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import arrays, contents, storage, versions
from liquid_tf._store import manifest as manifests
from liquid_tf._store.files import AtomicFile
from liquid_tf._store.manifest import Shard
from liquid_tf._store.pcr_index import PcrEntry
from liquid_tf._store.progress import Progress
from liquid_tf._view.stored_record import Row, StoredRecords
from liquid_tf._words import Shown, argument
from liquid_tf.errors import ConvertError, WrongArgument

__all__ = ["compact"]

OLDER = "older"


def compact(
  path: str | os.PathLike,
  *,
  jpeg_index: str | int | None = None,
  forget: str | Sequence[int] | None = None,
  progress: bool = True,
) -> EditReport:
  """Writes shards anew that hold records of removed samples, in a new version.

  Records of other samples are copied byte for byte. Sample numbers stay, and so do
  older versions with their files until they are forgotten. Where nothing was removed
  there is no new version.

  Args:
    path: a local dataset directory.
    jpeg_index: the entry points that the records of the format jpeg get, as those of
      `convert`'s `encoders`: "row", 16, 8 or "none". Then all shards of jpeg are
      written anew. If the dataset has these already, they are made again and compared,
      and only shards in which some are wrong are written. The bytes of the JPEG files
      stay, and images that are appended get the same. None: those that there are.
    forget: versions to remove then, with the files that no other one has: "older", all
      but the newest; or their numbers. Opening one later says which there are.
    progress: whether a progress bar of shards appears on stderr.

  Returns:
    What the newest version is.

  Raises:
    ManifestError: the directory is no sound dataset.
    ConvertError: a shard is damaged; or the dataset has no format jpeg to index; or a
      version is not there; or the dataset cannot be written.
    ValueError: an argument is wrong.
  """
  if jpeg_index is not None:
    encoders.check_index(jpeg_index, "jpeg_index")
  bar = Progress(progress)
  with editing(path) as edit:
    found = versions.in_directory(edit.directory)
    _check_forget(edit, forget, found)
    made, has = edit.manifest, edit.manifest["encoding"]["jpeg_index"]
    if jpeg_index is not None and "jpeg" not in made["formats"]:
      raise ConvertError(
        f"{argument('jpeg_index', jpeg_index)} is of the format jpeg, which "
        f"{edit.directory} does not have"
      )
    index = manifests.load_index(made)
    kept = np.bincount(index["shard"], minlength=len(made.shards))
    removed = int(sum(shard.records for shard in made.shards) - kept.sum())
    anew: dict[int, int] = {}
    try:
      if jpeg_index == has:
        anew = _wrong_indexes(made, index, has, bar)
      elif jpeg_index is not None:
        numbers = enumerate(made.shards)
        anew = {i: int(kept[i]) for i, shard in numbers if shard.format == "jpeg"}
      if removed or anew:
        made_by = "index-jpeg" if anew else "compact"
        new = has if jpeg_index is None else jpeg_index
        compaction = _Compaction(edit, index, kept, bar, new, anew)
        made = edit.publish(made_by, compaction.write())
    finally:
      bar.close()
    _forget(edit, forget, found)
    return report(made, sum(anew.values()) if anew else removed)


def _check_forget(edit: Edit, given: Any, found: list[int]) -> None:
  """Checks `forget` before anything is written."""
  if given is None or given == OLDER:
    return
  if isinstance(given, str) or not all(type(version) is int for version in given):
    raise WrongArgument("forget", given, f'must be "{OLDER}", version numbers, or None')
  for version in given:
    if version not in found:
      raise ConvertError(
        f"{argument('forget', Shown(version))} must be one of the versions of "
        f"{edit.directory}: {versions.said(found)}"
      )
    if version == edit.manifest["version"]:
      raise ConvertError(
        f"{argument('forget', Shown(version))} must not be the newest version of "
        f"{edit.directory}"
      )


def _forget(edit: Edit, given: Any, found: list[int]) -> None:
  if given is None:
    return
  newest = versions.in_directory(edit.directory)[-1]
  chosen = found if given == OLDER else sorted(set(given))
  chosen = [version for version in chosen if version != newest]
  if chosen:
    _forget_versions(edit.directory, chosen)


def _damaged(path: str, row: np.void, wrong: str) -> ConvertError:
  """The error for a record that cannot be copied."""
  return ConvertError(
    f"{path} (sample {row['sample']}, offset {row['offset']}) {wrong}; remove this "
    "sample, and then do this again"
  )


def _reindexed(
  path: str, rows: np.ndarray, jpeg_index: str | int
) -> Iterator[tuple[np.void, dict[str, Any]]]:
  """Yields rows of a shard of jpeg, and of each what `pipelines.reindexed` gives.

  Raises:
    ConvertError: a record is damaged.
  """
  made = pipelines.reindexed(path, rows, jpeg_index, os.cpu_count() or 1)
  for row, element in zip(rows, made):
    wrong = element["error"].decode(errors="replace")
    if not wrong and element["crc32c"] != row["crc32c"]:
      wrong = storage.wrong_crc(int(element["crc32c"]), row["crc32c"], "the index")
    if wrong:
      raise _damaged(path, row, wrong)
    yield row, element


def _wrong_indexes(
  manifest: manifests.Manifest,
  index: np.ndarray,
  jpeg_index: str | int,
  progress: Progress,
) -> dict[int, int]:
  """By number of a shard, its records whose entry points are not what they should be.

  Args:
    manifest: of the dataset.
    index: its rows.
    jpeg_index: the entry points that records should have.
    progress: is told of each shard.
  """
  numbers = [i for i, shard in enumerate(manifest.shards) if shard.format == "jpeg"]
  progress.start("check", len(numbers), unit="file")
  result = {}
  for number in numbers:
    path = manifest.path(manifest.shards[number].path)
    records = _reindexed(path, index[index["shard"] == number], jpeg_index)
    wrong = sum(element["stored_crc32c"] != row["crc32c"] for row, element in records)
    if wrong:
      result[number] = int(wrong)
    progress.step()
  return result


class _Compaction:
  """Writes the files of a compacted version.

  Args:
    edit: of the dataset.
    index: of its newest version.
    kept: shape [shards], records of each shard that samples have.
    progress: is told of each shard.
    jpeg_index: the entry points that the manifest says.
    anew: numbers of the shards whose records get these.
  """

  def __init__(
    self,
    edit: Edit,
    index: np.ndarray,
    kept: np.ndarray,
    progress: Progress,
    jpeg_index: str | int,
    anew: Container[int],
  ):
    self._edit = edit
    self._manifest = edit.manifest
    self._index = index
    self._kept = kept
    self._progress = progress
    self._jpeg_index = jpeg_index
    self._anew = anew
    index_of_jpeg = contents.jpeg_index(edit.manifest.data)
    self._has_index = bool(index_of_jpeg and index_of_jpeg["records"])
    self._entries = manifests.load_pcr_index(edit.manifest)

  def write(self) -> dict[str, Any]:
    """Writes shards, their indexes and the dataset's; returns the manifest."""
    manifest, kept = self._manifest, self._kept
    data = dict(manifest.data)
    data["encoding"] = data["encoding"] | {"jpeg_index": self._jpeg_index}
    records = np.array([shard.records for shard in manifest.shards])
    stay = np.flatnonzero(kept).tolist()
    anew = [number in self._anew for number in range(len(kept))]
    changed = np.flatnonzero((kept > 0) & ((kept < records) | anew)).tolist()
    names = self._names(changed)
    rows = np.array(self._index)
    data["shards"], entries = [], []
    self._progress.start("compact", len(changed), unit="file")
    # Rows of a shard lie together.
    begins = np.flatnonzero(np.diff(self._index["shard"], prepend=-1, append=-1))
    place = {
      int(self._index["shard"][b]): slice(b, e) for b, e in zip(begins, begins[1:])
    }
    for position, number in enumerate(stay):
      mine = place[number]
      entry = self._entries.get(number)
      described = manifest["shards"][number]
      if number in names:
        described, entry = self._rewrite(number, names[number], rows, mine)
        self._progress.step()
      rows["shard"][mine] = position
      data["shards"].append(described)
      if entry is not None:
        entries.append(entry)
    data["index"] = self._edit.write_index(rows)
    sizes = {}
    for shard in data["shards"]:
      sizes[shard["format"]] = sizes.get(shard["format"], 0) + shard["bytes"]
    data["formats"] = {
      name: entry | {"bytes": sizes.get(name, 0)}
      for name, entry in data["formats"].items()
    }
    if any(manifest.shards[i].format == "pcr" for i in np.flatnonzero(kept < records)):
      data["pcr"] = data["pcr"] | self._edit.write_pcr(entries, data, Limits())
    return data

  def _names(self, changed: list[int]) -> dict[int, str]:
    """The name of each new shard, by the number of the old one."""
    manifest = self._manifest
    groups: dict[tuple[str, str], list[int]] = {}
    for number in changed:
      shard = manifest.shards[number]
      groups.setdefault((shard.split, shard.format), []).append(number)
    result = {}
    for (split, name), numbers in groups.items():
      for i, number in enumerate(numbers):
        own = plan.shard_name(manifest["splits"], split, name, i, len(numbers))
        result[number] = f"v{self._edit.version}-{own}"
    return result

  def _rewrite(
    self, number: int, name: str, rows: np.ndarray, mine: slice
  ) -> tuple[dict[str, Any], PcrEntry | None]:
    """Writes a shard of the records that stay, and their places into `rows`.

    Returns:
      What the manifest says of it, and what the index of the pcr does.
    """
    shard = self._manifest.shards[number]
    new = rows[mine]
    entry, sizes = None, np.zeros(0, np.int64)
    with AtomicFile(self._edit.path(name)) as file:
      out = arrays.Checked(file.write)
      if shard.format == "pcr":
        entry = self._write_pcr(out, number, name, new)
        new["offset"] = np.arange(len(new))
      else:
        if number in self._anew:
          sizes = self._write_indexed(out, shard, new)
        else:
          for data in self._records(shard, new):
            out.write(data)
          sizes = self._index_sizes(shard, new)
        new["offset"] = np.cumsum(new["length"]) - new["length"]
      file.commit()
    if shard.format != "pcr":
      finish.write_idx(self._edit.path(contents.idx_name(name)), new)
    described = self._manifest["shards"][number] | {
      "path": name,
      "records": len(new),
      "bytes": out.size,
      "crc32c": out.crc32c,
    }
    if shard.format == "jpeg":
      size, count = int(sizes.sum()), int(np.count_nonzero(sizes))
      described |= {"indexed": count, "index_bytes": size}
    return described, entry

  def _index_sizes(self, shard: Shard, rows: np.ndarray) -> np.ndarray:
    """Bytes of the entry points in each record that is copied, int64."""
    if shard.format != "jpeg" or not self._has_index:
      return np.zeros(0, np.int64)
    read = StoredRecords(self._manifest).read
    sizes = [len(read(Row._make(row.item())).index) for row in rows]
    return np.array(sizes, np.int64)

  def _write_indexed(
    self, out: arrays.Checked, shard: Shard, rows: np.ndarray
  ) -> np.ndarray:
    """Writes records of jpeg with other entry points, whose bytes it returns, int64.

    Args:
      out: takes the records.
      shard: that has them now.
      rows: of the dataset's index; get their new lengths and checksums.
    """
    path = self._manifest.path(shard.path)
    sizes = np.zeros(len(rows), np.int64)
    made = _reindexed(path, rows, self._jpeg_index)
    for i, (row, element) in enumerate(made):
      out.write(element["stored"])
      row["length"] = len(element["stored"])
      row["crc32c"] = element["stored_crc32c"]
      sizes[i] = element["index_bytes"]
    return sizes

  def _records(self, shard: Shard, rows: np.ndarray) -> Iterator[bytes]:
    """Yields the bytes of the records of some rows, runs of them together."""
    path = self._manifest.path(shard.path)
    # Of a file that has its checksum, so does each record.
    is_whole = storage.checksum(path) == shard.crc32c
    ends = rows["offset"] + rows["length"]
    cuts = np.flatnonzero(rows["offset"][1:] != ends[:-1]) + 1
    if not is_whole:
      cuts = np.arange(1, len(rows))
    with open(path, "rb", opener=storage.regular) as file:
      for run in np.split(np.arange(len(rows)), cuts):
        at, left = int(rows["offset"][run[0]]), int(rows["length"][run].sum())
        file.seek(at)
        crc = 0
        while left:
          data = file.read(min(left, 16 << 20))
          if not data:
            raise ConvertError(f"{path} ends {left} bytes too early")
          left -= len(data)
          if not is_whole:
            crc = storage.crc32c(data, crc)
          yield data
        row = rows[run[0]]
        if not is_whole and crc != row["crc32c"]:
          wrong = storage.wrong_crc(crc, row["crc32c"], "the index")
          raise _damaged(path, row, wrong)

  def _write_pcr(
    self, out: arrays.Checked, number: int, name: str, rows: np.ndarray
  ) -> PcrEntry:
    """Writes the images of some rows as a record."""
    import tensorflow as tf

    entry = self._entries[number]
    path = self._manifest.path(self._manifest.shards[number].path)
    try:
      read = entry.read(storage.read_file(path))
    except tf.errors.OpError as error:
      raise ConvertError(f"{path} is damaged: {ops.reason(error)}") from error
    chosen = rows["offset"].astype(np.int64)
    images = read.images.numpy()[chosen]
    for row, image in zip(rows, images):
      if storage.crc32c(image) != row["crc32c"]:
        raise ConvertError(
          f"{path}, image {row['offset']} (sample {row['sample']}) is damaged: its "
          "CRC-32C is not the index's"
        )
    written = ops.lib().liquid_write_pcr(
      images=images,
      labels=read.labels.numpy()[chosen],
      examples=read.examples.numpy()[chosen],
      groups=self._manifest["pcr"]["groups"] or [],
    )
    out.write(written.record.numpy())
    return PcrEntry(name, written.lengths.numpy(), written.crc32cs.numpy())
