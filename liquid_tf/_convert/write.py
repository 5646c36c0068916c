"""The last pass: shards."""

import os
from collections.abc import Sequence

import numpy as np

from liquid_tf._convert import pipelines
from liquid_tf._convert.errors import ConvertError
from liquid_tf._convert.journal import Journal
from liquid_tf._convert.mix import TARGETS
from liquid_tf._convert.plan import ShardPlan
from liquid_tf._convert.progress import Progress
from liquid_tf._convert.shard_files import PcrFile, RecordFile
from liquid_tf._convert.source import Source
from liquid_tf._files import AtomicFile
from liquid_tf.manifest import FORMATS, INDEX_DTYPE


def _check_element(element: dict, scanned: np.ndarray, target: str, path: str) -> None:
  """Raises ConvertError unless the record holds what the scan saw."""
  error = element["error"].decode(errors="replace")
  crc_changed = element["crc32c"] != scanned["crc32c"] or (
    "mask_crc32c" in element and element["mask_crc32c"] != scanned["mask_crc32c"]
  )
  if crc_changed:
    raise ConvertError(
      f"{path} has changed since it was scanned{': ' + error if error else ''}; "
      "restore it and resume, or start over with overwrite=True (--overwrite)"
    )
  if error:
    raise ConvertError(f"{path} cannot be stored as {target}: {error}")
  same = np.int64(element["pixels_hash"]).astype(np.uint64) == scanned["pixels_hash"]
  if TARGETS[target][1] and not same:
    raise ConvertError(
      f"{path} does not come back from {target} with the same pixels: leave {target} "
      "out of the mix, or choose another number of channels (channels=, --channels)"
    )
  if "mask_hash" in element:
    mask_hash = np.int64(element["mask_hash"]).astype(np.uint64)
    if mask_hash != scanned["mask_hash"]:
      raise ConvertError(f"the mask of {path} does not come back with the same pixels")


def write_shards(
  directory: str,
  source: Source,
  scan: np.ndarray,
  good: np.ndarray,
  plans: Sequence[ShardPlan],
  journal: Journal,
  encoding: pipelines.Encoding,
  pcr_groups: Sequence[int] | None,
  workers: int,
  progress: Progress,
) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
  """Writes the shards that are not yet there.

  Args:
    directory: the output.
    source: what is converted.
    scan: shape [positions], SCAN_DTYPE.
    good: shape [samples], each sample's position in the source.
    plans: every shard of the dataset.
    journal: says which are there, and is told of each.
    encoding: what the encoders are given.
    pcr_groups: the last scan of each scan group of a pcr, or None.
    workers: samples at a time.
    progress: is told of each record.

  Returns:
    For each plan: size of the file, its CRC-32C, its index rows, and of a pcr the
    lengths and checksums of its parts, shape [2, parts].

  Raises:
    ConvertError: a sample cannot be stored, or it has changed.
    OSError: a shard cannot be written.
  """
  done = {}
  for name, result in journal.shards().items():
    path = os.path.join(directory, name)
    if os.path.exists(path) and os.path.getsize(path) == result[0]:
      done[name] = result
  todo = [(i, plan) for i, plan in enumerate(plans) if plan.name not in done]
  total = sum(len(plan.samples) for plan in plans)
  progress.start("write", total, total - sum(len(plan.samples) for _, plan in todo))
  if todo:
    samples = np.concatenate([plan.samples for _, plan in todo])
    targets = [plan.target for _, plan in todo for _ in plan.samples]
    data = pipelines.encode(
      source, good[samples], targets, samples.astype(np.int64), encoding, workers
    )
    elements = data.as_numpy_iterator()
    for i, plan in todo:
      with AtomicFile(os.path.join(directory, plan.name)) as file:
        sink = PcrFile(file, pcr_groups) if plan.target == "pcr" else RecordFile(file)
        rows = _add_samples(i, plan, sink, source, scan, good, elements, progress)
        size, crc, parts = sink.close()
        file.commit()
      result = (size, crc, rows, parts)
      journal.add_shard(plan.name, *result)
      done[plan.name] = result
  return [done[plan.name] for plan in plans]


def _add_samples(
  number: int,
  plan: ShardPlan,
  sink: RecordFile | PcrFile,
  source: Source,
  scan: np.ndarray,
  good: np.ndarray,
  elements,
  progress: Progress,
) -> np.ndarray:
  """Adds the samples of a shard to its file; returns their index rows."""
  rows = np.zeros(len(plan.samples), INDEX_DTYPE)
  for row, sample in zip(rows, plan.samples):
    element = next(elements)
    scanned = scan[good[sample]]
    _check_element(element, scanned, plan.target, source.path(good[sample]))
    height, width, channels = element["shape"]
    values = {
      "sample": sample,
      "split": plan.split,
      "format": FORMATS.index(TARGETS[plan.target][0]),
      "shard": number,
      "offset": sink.add(element),
      "length": len(element["stored"]),
      "crc32c": element["stored_crc32c"],
      "height": height,
      "width": width,
      "channels": channels,
      "bits": element["bits"],
      "pixels_hash": np.int64(element["pixels_hash"]).astype(np.uint64),
    }
    for name, value in values.items():
      row[name] = value
    progress.step()
  return rows
