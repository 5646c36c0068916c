"""Rows of one format of a view and part, known without reading a record."""

import functools

import numpy as np

from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf._store.pcr_index import PcrEntry
from liquid_tf._view.view import View


class FormatRows:
  """Rows of one format, and the records that they lie in.

  Args:
    view: the samples that are meant.
    format_name: their format.
    part: (start, length) of their rows, in stored order; None for all. It wraps at the
      end.

  Attributes:
    view: as given.
    part: as given, or (0, all).
    manifest: of the dataset.
    format: name of the format.
    name: in statistics: of the format, or of a mixture "member/format"; "pcr@2" where
      scan groups are given.
    scan_groups: that are read of each record at most; None for those of its batch.
    first_group: number of the first group of its samples, where these have weights.
    groups: of each sample its group, counted from the first, uint16; empty for one.
    rows: the index's `Rows` of this part, in stored order.
    file_counts: records in each shard, in stored order.
    record_samples: samples of each record, in stored order, of the format pcr; None
      where a record is a sample.
  """

  def __init__(self, view: View, format_name: str, part: tuple[int, int] | None):
    self.view = view
    self.manifest = view.manifest
    self.format = format_name
    self.name = format_name
    self.scan_groups = None
    self.first_group = 0
    self.groups = np.zeros(0, np.uint16)
    stored = view.rows(format_name)
    self.part = start, length = part if part is not None else (0, len(stored))
    wrap = len(stored) - start
    self.rows = stored[start : start + length]
    if length > wrap:
      self.rows += stored[: length - wrap]
    self.file_counts = _file_counts(self.rows["shard"], wrap)
    self.record_samples = None
    if format_name == "pcr":
      self.record_samples = self.file_counts
      self.file_counts = np.ones_like(self.record_samples)

  def weigh(self, name: str, first_group: int, groups: np.ndarray) -> None:
    """Says whose groups its samples are of; see the attributes."""
    self.name, self.first_group, self.groups = name, first_group, groups

  def read_through(self, scan_group: int) -> None:
    """Says at which fidelity all of its records are read; see the attributes."""
    self.name, self.scan_groups = f"{self.format}@{scan_group}", scan_group

  @property
  def records(self) -> int:
    """Number of units that the planner loads and keeps: samples, or records of many."""
    return int(self.file_counts.sum())

  def span(self, begin: int, end: int) -> slice:
    """The records that begin at one of these samples, `end` not among them."""
    if self.record_samples is None:
      return slice(begin, end)
    first = np.cumsum(self.record_samples) - self.record_samples
    return slice(*np.searchsorted(first, [begin, end]).tolist())

  def samples(self, part: slice = slice(None)) -> int:
    """Samples of all records, or of a part of these."""
    if self.record_samples is None:
      return len(self.rows[part])
    return int(self.record_samples[part].sum())

  def stored_bytes(self, fidelity: int | None, part: slice = slice(None)) -> int:
    """Bytes of all records, or of a part; of pcr through that scan group."""
    if self.record_samples is None:
      return int(self.rows["length"][part].sum())
    return sum(
      entry.prefix_bytes(fidelity or entry.groups) for entry in self._entries[part]
    )

  @functools.cached_property
  def _entries(self) -> list[PcrEntry]:
    """Index entry of each record of the format pcr."""
    first = np.cumsum(self.record_samples) - self.record_samples
    entries = manifests.load_pcr_index(self.manifest)
    return [entries[shard] for shard in self.rows["shard"][first].tolist()]

  def pixel_bytes(self, part: slice = slice(None)) -> int:
    """Bytes of the pixels of all records, or of a part, masks included."""
    return int(self.pixel_bytes_each(part).sum())

  def pixel_bytes_each(self, part: slice = slice(None)) -> np.ndarray:
    """Likewise, of each record."""
    rows = self.rows[part]
    of_image = rows["channels"].astype(np.int64) * (rows["bits"] // 8)
    pixels = rows["height"].astype(np.int64) * rows["width"]
    return pixels * (of_image + mask_bytes(self.manifest))


def mask_bytes(manifest: Manifest) -> int:
  """Bytes of a pixel of the masks; 0 where there are none."""
  mask = manifest["features"].get("mask")
  return np.dtype(mask["dtype"]).itemsize * mask["shape"][-1] if mask else 0


def _file_counts(shards: np.ndarray, wrap: int) -> np.ndarray:
  """Lengths of the runs of one shard; at `wrap` the first sample follows."""
  if len(shards) == 0:
    return np.zeros([0], np.int64)
  new_file = np.ones([len(shards)], bool)
  new_file[1:] = shards[1:] != shards[:-1]
  if wrap < len(shards):
    new_file[wrap] = True
  starts = np.flatnonzero(new_file)
  return np.diff(np.append(starts, len(shards))).astype(np.int64)
