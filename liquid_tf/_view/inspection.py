"""Inspects a dataset: its contents, and whether they are right."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import columns, contents, labels, names, storage, subset
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import FORMATS, Manifest, Shard
from liquid_tf._store.pcr_index import PcrEntry
from liquid_tf._store.records import RecordCheck
from liquid_tf._view.mixture import refuse_mixture
from liquid_tf._view.view import View
from liquid_tf.errors import ManifestError

# Records that one op call checks: enough for every thread, few enough for memory.
_CHUNK = 64


def _summary(
  path: str,
  manifest: Manifest | None,
  problems: list[str],
  labelled: int,
  whole: bool,
) -> dict:
  if manifest is None:
    return {
      "path": path,
      "formats": {},
      "mix": {},
      "samples": 0,
      "bytes": 0,
      "problems": problems,
    }
  return {
    "path": path,
    "created_by": manifest["created_by"],
    "samples": manifest["samples"],
    "bytes": sum(shard.bytes for shard in manifest.shards)
    if whole
    else sum(entry["bytes"] for entry in manifest["formats"].values()),
    "features": manifest["features"],
    "supervised": manifest["supervised"],
    "splits": {name: split["samples"] for name, split in manifest["splits"].items()},
    "formats": manifest["formats"],
    "mix": manifest["mix"],
    "seed": manifest["seed"],
    "replicated": manifest["replicated"],
    "pixels": manifest["pixels"],
    "shards": len(manifest.shards),
    "skipped": manifest["skipped"],
    "pcr": manifest.data.get("pcr"),
    "jpeg_index": contents.jpeg_index(manifest.data),
    "labels": labelled,
    "columns": {name: column["dtype"] for name, column in manifest["columns"].items()},
    "version": manifest["version"],
    "made_by": manifest["made_by"],
    "problems": problems,
  }


def _open(
  samples: str | os.PathLike | View,
) -> tuple[str, Manifest | None, np.ndarray | None, list[str]]:
  """Path, manifest and index as far as they can be read, and what is wrong."""
  refuse_mixture("path", samples)
  if not isinstance(samples, View):
    path = os.fspath(samples)
    return path, *_open_path(path)
  samples.check_no_weights("inspection")
  try:
    samples.check_there()
  except ManifestError as error:
    return samples.path, None, None, [str(error)]
  manifest, rows = samples.manifest, samples.stored
  problems = manifests.file_problems(manifest)
  try:
    values = labels.load(manifest)
  except ManifestError:
    values = None  # Will be said.
  data = subset.subset(manifest, rows, values)
  data["splits"] = {name: data["splits"][name] for name in samples.splits}
  return samples.path, dataclasses.replace(manifest, data=data), rows, problems


def _open_path(path: str) -> tuple[Manifest | None, np.ndarray | None, list[str]]:
  try:
    manifest = manifests.load(path, check_files=False)
  except ManifestError as error:
    return None, None, [str(error)]
  problems = manifests.file_problems(manifest)
  index = _loaded(manifests.load_index, manifest, problems)
  if index is not None:
    problems += _index_problems(manifest, index)
  return manifest, index, problems


def _loaded(
  load: Callable[[Manifest], Any], manifest: Manifest, problems: list[str]
) -> Any:
  """Reads files beside the shards; None, and a problem, if one is wrong."""
  try:
    return load(manifest)
  except ManifestError as error:
    # A file that is missing, or a wrong size, was already said.
    paths = [manifest.path(file.name) for file in contents.beside(manifest.data)]
    said = [path for path in paths if any(one.startswith(path) for one in problems)]
    if not str(error).startswith(tuple(said)):
      problems.append(str(error))
    return None


def _label_counts(
  manifest: Manifest, index: np.ndarray, values: np.ndarray | None, problems: list[str]
) -> int:
  """How many samples have a label beside the index; compares the classes' counts."""
  if values is None:
    return 0
  found = values[np.unique(index["sample"])]
  if found.dtype.kind == "f":
    return int((~np.isnan(found).any(axis=1)).sum())
  found = found[found >= 0]
  counts = manifest["features"]["label"].get("class_counts")
  if counts is not None:
    path = manifest.path(manifest["labels"]["path"])
    if (found >= len(counts)).any():
      problems.append(
        f"{path} has a label ({found.max()}) that must be below {len(counts)}, the "
        f"number of features.label.classes of {manifest.file}"
      )
      return len(found)
    have = np.bincount(found, minlength=len(counts))
    for i in np.flatnonzero(have != counts)[:1].tolist():
      problems.append(
        f"features.label.class_counts[{i}] of {manifest.path(manifest.file)} is "
        f"{counts[i]}, but {have[i]} samples have this label in {path}"
      )
  return len(found)


def _index_problems(manifest: Manifest, index: np.ndarray) -> list[str]:
  """Finds rows of the index that contradict each other."""
  problems = []
  path = manifest.index_path
  records = np.bincount(index["shard"], minlength=len(manifest.shards))
  for i, shard in enumerate(manifest.shards):
    if records[i] > shard.records:
      problems.append(
        f"{path} has {records[i]} rows of {shard.path}, but shards[{i}].records of "
        f"{manifest.file} says {shard.records}"
      )
  for name, entry in manifest["formats"].items():
    rows = int((index["format"] == FORMATS.index(name)).sum())
    if rows != entry["samples"]:
      problems.append(
        f"{path} has {rows} rows of {name}, but formats.{name}.samples of "
        f"{manifest.file} says {entry['samples']}"
      )
  copies = len(manifest["formats"]) if manifest["replicated"] else 1
  samples, stored = np.unique(index["sample"], return_counts=True)
  wrong = np.flatnonzero(stored != copies)
  if len(wrong):
    problems.append(
      f"{path} has {stored[wrong[0]]} rows of sample {samples[wrong[0]]}, not {copies} "
      f"({len(wrong)} such samples)"
    )
  unchecked = manifest["pixels"] == manifests.PIXELS["headers"]
  wrong = np.flatnonzero((index["pixels_hash"] == 0) != unchecked)
  if len(wrong):
    problems.append(
      f"{path} has {'a' if unchecked else 'no'} hash of the pixels of sample "
      f"{index['sample'][wrong[0]]}, but pixels of {manifest.file} says "
      f"{manifest['pixels']}"
    )
  lossless = [
    FORMATS.index(name)
    for name, entry in manifest["formats"].items()
    if entry["lossless"]
  ]
  rows = index[np.isin(index["format"], lossless)]
  order = np.lexsort((rows["format"], rows["sample"]))
  sample, pixels = rows["sample"][order], rows["pixels_hash"][order]
  differ = (sample[1:] == sample[:-1]) & (pixels[1:] != pixels[:-1])
  if differ.any():
    problems.append(
      f"{path} says that sample {sample[1:][differ.argmax()]} has other pixels in "
      "another lossless format"
    )
  for name, split in manifest["splits"].items():
    found = len(np.unique(index["sample"][index["split"] == split["index"]]))
    if found != split["samples"]:
      problems.append(
        f'{path} has {found} samples of split "{name}", but {manifest.file} says '
        f"{split['samples']}"
      )
  return problems


def inspect(path: str | os.PathLike | View) -> dict[str, Any]:
  """Says what a dataset holds, from its manifest, index and the sizes of its files.

  Takes no longer for a large dataset; `verify` reads every record.

  Args:
    path: a dataset directory; or a view, of whose samples alone `samples`, `splits`,
      `formats`, the classes' counts and `labels` are then. Of pcr, `bytes` has all
      records that have one of them, since these are read whole.

  Returns:
    A dict of plain values: `path`, `samples`, `bytes` on disk, `features`,
    `supervised`, `pixels` ("checked", or "unchecked" by `convert(check="headers")`),
    `splits` (samples by name), `formats` (`samples`, `bytes`,
    `pixel_bytes`, `lossless` by name), `mix`, `seed`, `replicated`, `shards`,
    `skipped`, `pcr` (its key of the manifest, or None), `jpeg_index` (as of
    `ConvertReport`, of whole shards), `labels` (how many samples have one beside the
    index), `columns` (type of each metadata column), `version` and `made_by` (what made
    it), and `problems`: one sentence for each thing that is wrong, empty for a sound
    dataset. Of a directory that is no dataset, only `problems` says anything.
  """
  whole = not isinstance(path, View)
  path, manifest, index, problems = _open(path)
  labelled = 0
  if index is not None:
    values = _loaded(labels.load, manifest, problems)
    labelled = _label_counts(manifest, index, values, problems)
  return _summary(path, manifest, problems, labelled, whole)


def _verify_pcr(
  manifest: Manifest,
  number: int,
  entry: PcrEntry,
  rows: np.ndarray,
  check: RecordCheck,
  limits: Limits,
) -> tuple[list[str], int]:
  """Checks every image of a record; returns what is wrong, and how many are right."""
  from liquid_tf._tensorflow import tf

  shard = manifest.shards[number]
  path = manifest.path(shard.path)
  packed = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
  try:
    checked = ops.lib().liquid_verify_pcr(
      record=storage.read_file(path),
      lengths=entry.lengths,
      crc32cs=entry.crc32cs,
      rows=packed,
      images=np.int64(shard.records),
      **limits.attributes(),
    )
  except (OSError, tf.errors.OpError) as error:
    return [f"{path} cannot be read: {ops.reason(error, path)}"], 0
  problem = checked.problem.numpy().decode(errors="replace")
  if problem:
    return [f"{path}: {problem}"], 0
  problems = []
  for row, text, example, label in zip(
    rows, checked.problems.numpy(), checked.examples.numpy(), checked.labels.numpy()
  ):
    labels = np.array([label] if label >= 0 else [])  # -1 is none
    text = text.decode(errors="replace") or check.problem(row, labels, example)
    if text:
      problems.append(f"{path}, image {row['offset']} (sample {row['sample']}): {text}")
  return problems, len(rows) - len(problems)


def _verify_shard(
  manifest: Manifest,
  number: int,
  rows: np.ndarray,
  check: RecordCheck,
  limits: Limits,
  step,
) -> tuple[list[str], np.ndarray]:
  """Checks every record of a shard; `step(n)` is told of n checked ones.

  Returns:
    What is wrong, and bytes of the JPEG index of each record, int64.
  """
  from liquid_tf._tensorflow import tf

  shard = manifest.shards[number]
  path = manifest.path(shard.path)
  problems, indexes = [], np.zeros(len(rows), np.int64)
  for begin in range(0, len(rows), _CHUNK):
    chunk = np.ascontiguousarray(rows[begin : begin + _CHUNK])
    packed = chunk.view(np.uint8).reshape(len(chunk), -1)
    try:
      checked = ops.lib().liquid_verify_records(
        path=path, rows=packed, **limits.attributes()
      )
    except tf.errors.OpError as error:
      return [f"{path} cannot be read: {ops.reason(error, path)}"], indexes
    indexes[begin : begin + len(chunk)] = checked.index_bytes.numpy()
    ends = np.cumsum(checked.label_counts.numpy())
    labels = np.split(checked.labels.numpy(), ends[:-1])
    for i, (problem, example) in enumerate(
      zip(checked.problems.numpy(), checked.examples.numpy())
    ):
      text = problem.decode(errors="replace")
      text = text or check.problem(chunk[i], labels[i], example)
      if text:
        problems.append(
          f"{path}, record {begin + i} (sample {chunk[i]['sample']}, offset "
          f"{chunk[i]['offset']}): {text}"
        )
    step(len(chunk))
  return problems, indexes


def _indexes_problem(manifest: Manifest, number: int, indexes: np.ndarray) -> str:
  """Problem of what the manifest says of the JPEG indexes in a shard, or "".

  Args:
    manifest: of the dataset.
    number: of the shard.
    indexes: shape [records], bytes of the index of every record in it.
  """
  shard = manifest["shards"][number]
  if shard["format"] != "jpeg":
    return ""
  have = {"indexed": int(np.count_nonzero(indexes)), "index_bytes": int(indexes.sum())}
  said = {key: shard[key] for key in have}
  if have == said:
    return ""
  return (
    f"{manifest.path(shard['path'])} has {have['index_bytes']} bytes of indexes in "
    f"{have['indexed']} records, but shards[{number}] of {manifest.file} says "
    f"{said['index_bytes']} in {said['indexed']}"
  )


def _file_problem(path: str, shard: Shard) -> list[str]:
  """Problem of a file whose records are all right: bytes between them."""
  try:
    crc = storage.checksum(path)
  except OSError as error:
    return [f"{path} cannot be read: {ops.reason(error, path)}"]
  if crc == shard.crc32c:
    return []
  return [f"{path} has CRC-32C 0x{crc:08x}, the manifest says 0x{shard.crc32c:08x}"]


def _is_there(path: str) -> bool:
  """Whether a file can be read, as the manifest's own check says it too."""
  try:
    return storage.file_size(path) is not None
  except OSError:
    return False


def _idx_problem(manifest: Manifest, number: int, rows: np.ndarray) -> str:
  shard = manifest.shards[number]
  path = manifest.path(contents.idx_name(shard.path))
  wanted = [b"%d\t%d" % (row["sample"], row["offset"]) for row in rows]
  try:
    found = storage.read_file(path)
  except OSError as error:
    return f"{path} cannot be read: {ops.reason(error, path)}"
  # The shard has records of samples that were removed, too.
  listed = found.splitlines()
  if len(listed) != shard.records or not set(wanted) <= set(listed):
    return f"{path} does not list its shard's records"
  return ""


def verify(
  path: str | os.PathLike | View,
  *,
  limits: Limits = Limits(),
  progress: bool = False,
) -> dict[str, Any]:
  """Reads a whole dataset: every CRC, decode, pixel hash, label, mask and feature.

  Args:
    path: a dataset directory; or a view, of whose samples alone the records are read.
    limits: the largest image, and most scans of a JPEG, that are decoded; others are
      problems.
    progress: whether a progress bar appears on stderr.

  Returns:
    What `inspect` returns, with `verified`, the number of records that were read and
    found right. `problems` names file, record, sample and offset.
  """
  from liquid_tf._store.progress import Progress

  # Of some samples, what else is in their files does not matter.
  whole = not isinstance(path, View)
  path, manifest, index, problems = _open(path)
  verified = labelled = 0
  if index is not None:
    values = _loaded(labels.load, manifest, problems)
    labelled = _label_counts(manifest, index, values, problems)
    _loaded(names.load, manifest, problems)
    for name in manifest["columns"]:
      _loaded(lambda m, name=name: columns.load(m, name), manifest, problems)
    entries = _loaded(manifests.load_pcr_index, manifest, problems) or {}
    corrected = labels.are_corrected(manifest)
    check = RecordCheck(manifest["features"], values, corrected)
    bar = Progress(progress)
    bar.start("verify", len(index))
    for number, shard in enumerate(manifest.shards):
      rows = index[index["shard"] == number]
      if not (whole or len(rows)) or not _is_there(manifest.path(shard.path)):
        continue  # Said already.
      if shard.format == "pcr":
        if number not in entries:
          continue  # Said already.
        entry = entries[number]
        found, right = _verify_pcr(manifest, number, entry, rows, check, limits)
        bar.step(len(rows))
        problem = ""
      else:
        found, indexes = _verify_shard(manifest, number, rows, check, limits, bar.step)
        right = len(rows) - min(len(found), len(rows))
        problem = _idx_problem(manifest, number, rows)
        # Removed samples have records there, too.
        if not (found or problem) and len(rows) == shard.records:
          problem = _indexes_problem(manifest, number, indexes)
      verified += right
      if whole and not found:
        found = _file_problem(manifest.path(shard.path), shard)
      problems += found + ([problem] if problem else [])
    bar.close()
    copies = len(manifest["formats"]) if manifest["replicated"] else 1
    wrong = check.counts_problem(copies)
    # A record that could not be read was not counted.
    if wrong and not problems:
      problems.append(f"{manifest.path(manifest.file)}: {wrong}")
  summary = _summary(path, manifest, problems, labelled, whole)
  return summary | {"verified": verified}
