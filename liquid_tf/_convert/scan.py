"""The first pass: what every sample is."""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from liquid_tf._convert import labels, pipelines
from liquid_tf._convert.job import Engine
from liquid_tf._convert.journal import SCAN_DTYPE, Journal, changed_source
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._store.manifest import FORMATS
from liquid_tf._store.progress import Progress

# Scanned samples are journaled this often; a kill costs as much of the scan.
_SECONDS = 1.0


def _row(
  element: dict, encoding: pipelines.Encoding, has_mask: bool
) -> tuple[np.ndarray, str]:
  """One row of the scan, and why it cannot be a sample ("" if it can)."""
  row = np.zeros((), SCAN_DTYPE)
  row["done"] = True
  row["crc32c"] = element["crc32c"]
  if has_mask:
    row["mask_crc32c"] = element["mask_crc32c"]
  error = element["error"].decode(errors="replace")
  if error:
    return row, error
  fault = labels.fault(element["labels"].tolist())
  if fault:
    return row, fault
  row["labels"] = len(element["labels"])
  if row["labels"] == 1:
    row["label"] = element["labels"][0]
  height, width, channels = element["shape"]
  if has_mask:
    mask_height, mask_width, _ = element["mask_shape"]
    if (mask_height, mask_width) != (height, width):
      return row, (
        f"mask is {mask_height} x {mask_width} pixels, the image {height} x {width}"
      )
    row["mask_bits"] = element["mask_bits"]
    row["mask_hash"] = np.int64(element["mask_hash"]).astype(np.uint64)
  row["format"] = FORMATS.index(element["format"].decode())
  row["by_pillow"], row["pages"] = element["by_pillow"], element["pages"]
  row["height"], row["width"], _ = element["changed_shape"]
  row["source_channels"], row["source_bits"] = channels, element["bits"]
  row["channels"] = encoding.channels or channels
  row["bits"] = encoding.bits or element["bits"]
  row["orientation"] = 1 if encoding.geometry.orient else element["orientation"]
  row["pixels_hash"] = np.int64(element["pixels_hash"]).astype(np.uint64)
  return row, ""


def note_pages(source: SampleSource, scan: np.ndarray, good: np.ndarray) -> None:
  """Notes in a source how many of its files have more than the page that is read.

  Args:
    source: the samples.
    scan: shape [samples], SCAN_DTYPE.
    good: positions of those that are stored.
  """
  several = good[scan["pages"][good] > 1]
  if len(several):
    first = int(several[0])
    source.notes.append(
      f"{len(several)} of {len(good)} files have several pages or frames (first: "
      f"{source.path(first)}, {scan['pages'][first]}): only the first of each was read"
    )


def scan_samples(
  source: SampleSource,
  positions: Sequence[int],
  encoding: pipelines.Encoding,
  workers: int,
) -> Iterator[tuple[int, np.ndarray, str]]:
  """Scans samples in this process.

  Args:
    source: the samples.
    positions: which.
    encoding: its geometry, channels and bits are those of every image after it.
    workers: samples at a time.

  Yields:
    Position, row of SCAN_DTYPE, and why it cannot be a sample ("" if it can).
  """
  data = pipelines.scan(source, positions, encoding, workers)
  for position, element in zip(positions, data):
    yield int(position), *_row(element, encoding, source.has_masks)


def forget(
  scan: np.ndarray, errors: dict[int, str], encoding: pipelines.Encoding
) -> None:
  """Forgets what a resumed conversion must scan again, and no more.

  That is what had another target of channels or bits, and what failed: with this one,
  or now that a file can be read, it may do.

  Args:
    scan: shape [samples], SCAN_DTYPE; changed in place.
    errors: why one cannot be a sample, by position; emptied.
    encoding: its geometry, channels and bits are those of every image after it.
  """
  same = np.ones(len(scan), bool)
  for field in ("channels", "bits"):
    same &= scan[field] == (getattr(encoding, field) or scan[f"source_{field}"])
  same[list(errors)] = False
  scan["done"] &= same
  errors.clear()


def scan_source(
  source: SampleSource,
  engine: Engine,
  journal: Journal,
  scan: np.ndarray,
  errors: dict[int, str],
  touched: Sequence[int],
  encoding: pipelines.Encoding,
  progress: Progress,
) -> None:
  """Scans the samples that are not yet scanned, and those that were touched since.

  Args:
    source: the samples.
    engine: that scans them.
    journal: gets the results in batches.
    scan: shape [samples], SCAN_DTYPE; completed in place.
    errors: why one cannot be a sample, by position; completed in place.
    touched: positions of scanned samples whose file's time has changed.
    encoding: its geometry, channels and bits are those of every image after it.
    progress: is told of each.

  Raises:
    ConvertError: a touched sample has changed.
  """
  again = [position for position in touched if scan["done"][position]]
  positions = np.append(np.flatnonzero(~scan["done"]), again).astype(np.int64)
  progress.start("scan", len(scan), len(scan) - len(positions))
  if not len(positions):
    return
  batch: list[int] = []
  last = time.monotonic()
  for position, row, error in engine.scan(source, positions, encoding):
    if scan[position]["done"] and row != scan[position]:
      journal.add_scanned(batch, scan, errors)
      raise changed_source("the conversion", f"changed: {source.path(position)}")
    scan[position] = row
    if error:
      errors[position] = error
    batch.append(position)
    progress.step()
    if time.monotonic() - last > _SECONDS:
      journal.add_scanned(batch, scan, errors)
      batch, last = [], time.monotonic()
  journal.add_scanned(batch, scan, errors)
