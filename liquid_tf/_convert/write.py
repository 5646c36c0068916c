"""The last pass: shards."""

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._convert import pipelines
from liquid_tf._convert.job import Engine, ShardResult, WriteJob
from liquid_tf._convert.journal import Journal
from liquid_tf._convert.outlet import Outlet
from liquid_tf._convert.shard_files import PcrFile, RecordFile
from liquid_tf._native import ops
from liquid_tf._store.files import AtomicFile
from liquid_tf._store.manifest import FORMATS, INDEX_DTYPE
from liquid_tf._store.mix import TARGETS
from liquid_tf._store.progress import Progress
from liquid_tf._words import said, setting
from liquid_tf.errors import ConvertError


def _check_element(element: dict, scanned: np.ndarray, target: str, path: str) -> None:
  """Raises ConvertError unless the record holds what the scan saw."""
  error = element["error"].decode(errors="replace")
  crc_changed = element["crc32c"] != scanned["crc32c"] or (
    "mask_crc32c" in element and element["mask_crc32c"] != scanned["mask_crc32c"]
  )
  if crc_changed:
    raise ConvertError(
      f"{path} has changed since it was scanned{': ' + error if error else ''}; "
      f"restore it and resume, or start over with {setting('existing', 'replace')}"
    )
  if error:
    raise ConvertError(f"{path} cannot be stored as {target}: {error}")
  same = np.int64(element["pixels_hash"]).astype(np.uint64) == scanned["pixels_hash"]
  if TARGETS[target][1] and not same:
    raise ConvertError(
      f"{path} does not come back from {target} with the same pixels: leave {target} "
      f"out of the mix, or give {said('transforms=[Channels(N)]')}"
    )
  if "mask_hash" in element:
    mask_hash = np.int64(element["mask_hash"]).astype(np.uint64)
    if mask_hash != scanned["mask_hash"]:
      raise ConvertError(f"the mask of {path} does not come back with the same pixels")


def write_some(
  job: WriteJob, numbers: Sequence[int], workers: int, step: Callable[[], None]
) -> Iterator[tuple[int, ShardResult]]:
  """Writes shards in this process.

  Args:
    job: of which they are a part.
    numbers: of their plans.
    workers: samples at a time.
    step: is called for each record.

  Yields:
    The number of a shard that is in its place, and what is to be known of it.

  Raises:
    ConvertError: a sample cannot be stored, or it has changed.
    OSError: a shard cannot be written.
  """
  plans = [job.plans[number] for number in numbers]
  samples = np.concatenate([plan.samples for plan in plans])
  targets = [plan.target for plan in plans for _ in plan.samples]
  elements = pipelines.encode(
    job.source,
    job.good[samples],
    targets,
    job.first + samples.astype(np.int64),
    job.encoding,
    workers,
    job.scan[job.good[samples]],
  )
  for number, plan in zip(numbers, plans):
    with AtomicFile(os.path.join(job.directory, plan.name)) as file:
      is_pcr = plan.target == "pcr"
      sink = PcrFile(file, job.pcr_groups) if is_pcr else RecordFile(file)
      rows, labels, sizes = _add_samples(job, number, sink, elements, step)
      size, crc, parts = sink.close()
      file.commit()
    indexed = int(np.count_nonzero(sizes)), int(sizes.sum())
    yield number, ShardResult(size, crc, *indexed, rows, labels, parts)


def write_shards(
  job: WriteJob, engine: Engine, journal: Journal, outlet: Outlet, progress: Progress
) -> list[ShardResult]:
  """Writes the shards that are not yet there, or no longer right.

  Args:
    job: all shards of the dataset.
    engine: that writes them.
    journal: says which are there, and is told of each.
    outlet: says whether they still are, and takes each.
    progress: is told of each record.

  Returns:
    What is to be known of each shard, in the order of the plans.

  Raises:
    ConvertError: a sample cannot be stored, or it has changed.
    OSError: a shard cannot be written, or not be brought where it belongs.
  """
  done = _right_shards(outlet, journal.shards(), progress)
  todo = [i for i, plan in enumerate(job.plans) if plan.name not in done]
  total = sum(len(plan.samples) for plan in job.plans)
  left = sum(len(job.plans[number].samples) for number in todo)
  progress.start("write", total, total - left)
  if todo:
    for number, result in engine.write(job, todo, progress.step):
      name = job.plans[number].name
      journal.add_shard(name, result)
      done[name] = result
      outlet.take(name, result)
  outlet.finish()
  return [done[plan.name] for plan in job.plans]


def _right_shards(
  outlet: Outlet, journaled: dict[str, ShardResult], progress: Progress
) -> dict[str, ShardResult]:
  """The journaled shards that are where they belong, or on their way there."""
  progress.start("check", len(journaled), unit="file")
  right = {}
  for name, result in journaled.items():
    if outlet.has(name, result):
      right[name] = result
    progress.step()
  return right


def _add_samples(
  job: WriteJob,
  number: int,
  sink: RecordFile | PcrFile,
  elements: Iterator[dict],
  step: Callable[[], None],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Adds the samples of a shard to its file.

  Returns:
    Their rows of the dataset's index, their labels, and bytes of their JPEGs' indices.
  """
  plan = job.plans[number]
  rows = np.zeros(len(plan.samples), INDEX_DTYPE)
  labels = np.zeros((len(rows), job.labels), np.float32)
  sizes = np.zeros(len(rows), np.int64)
  for i, (row, label, sample) in enumerate(zip(rows, labels, plan.samples)):
    position = job.good[sample]
    path = job.source.path(position)
    try:
      element = next(elements)
    except tf.errors.InvalidArgumentError as error:
      # Its encoding is too long for a record, or the like.
      raise ConvertError(
        f"{path} cannot be stored as {plan.target}: {ops.reason(error)}; leave "
        f"{plan.target} out of the mix, or the file out of the source, and start "
        f"over with {setting('existing', 'replace')}"
      ) from error
    scanned = job.scan[position]
    _check_element(element, scanned, plan.target, path)
    height, width, channels = element["shape"]
    values = {
      "sample": job.first + sample,
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
      "orientation": scanned["orientation"],
      "pixels_hash": np.int64(element["pixels_hash"]).astype(np.uint64),
    }
    for name, value in values.items():
      row[name] = value
    if plan.target == "jpeg":
      sizes[i] = element["index_bytes"]
    if job.labels:
      label[:] = element["labels"]
    step()
  return rows, labels, sizes
