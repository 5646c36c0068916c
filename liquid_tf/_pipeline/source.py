"""One format of a view and part, as it is read for an interleave."""

import os

import numpy as np

from liquid_tf._native import messages
from liquid_tf._pipeline.format_rows import FormatRows
from liquid_tf._store.labels import are_corrected
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._store.records import RecordCheck
from liquid_tf._view.mixture import Mixture, as_source
from liquid_tf._view.rows import Rows
from liquid_tf._view.stored_record import Row, StoredRecords
from liquid_tf._view.view import View
from liquid_tf.errors import ManifestError, WrongArgument

_READERS = ("auto", "io_uring", "threads", "buffered")


class Source(FormatRows):
  """Records of one format, and how they are read.

  Args:
    view: the samples that may be read.
    format_name: their format.
    part: (start, length) of the rows to read, in stored order; None for all. It wraps
      at the end.
    threads: most reads under way at once.
    lookahead_bytes: most bytes read and not yet used, or read into.
    reader: how they are read; also "cached", through the kernel's page cache, which
      keeps what it wants.
    patience: seconds in which a read over a network that fails is repeated.

  Attributes:
    lookahead_bytes: as given.
    message: of all this, as ops take it.
    chosen: shape [samples], uint8, which are meant; [0] for all.
  """

  def __init__(
    self,
    view: View,
    format_name: str,
    part: tuple[int, int] | None,
    threads: int,
    lookahead_bytes: int,
    reader: str,
    patience: int = 120,
  ):
    super().__init__(view, format_name, part)
    self.lookahead_bytes = lookahead_bytes
    manifest = self.manifest
    start, length = self.part
    paths = [
      manifest.path(shard.path) if shard.format == format_name else ""
      for shard in manifest.shards
    ]
    replica_paths, replica_formats = [], []
    if manifest["replicated"]:
      replica_paths = [manifest.path(shard.path) for shard in manifest.shards]
      replica_formats = manifest.by_preference()
    self.chosen = np.zeros(0, np.uint8) if view.chosen is None else view.chosen
    self.message = messages.format(
      index=manifest.index_path,
      index_crc32c=manifest["index"]["crc32c"],
      pcr_index=manifest.path(manifest["pcr"]["path"])
      if "pcr" in manifest.data
      else "",
      paths=paths,
      splits=sorted(map(manifest.split_index, view.splits)),
      format=FORMATS.index(format_name),
      start=start,
      length=length,
      threads=threads,
      lookahead_bytes=lookahead_bytes,
      reader=reader,
      replica_paths=replica_paths,
      replica_formats=[FORMATS.index(name) for name in replica_formats],
      patience=patience,
    )


def check_reader(reader: str) -> None:
  """Checks `reader=`.

  Raises:
    ValueError: it is none.
  """
  if reader not in _READERS:
    raise WrongArgument("reader", reader, f"must be one of {', '.join(_READERS)}")


def open_source(
  source: str | os.PathLike | View | Mixture, split: str | None
) -> View | Mixture:
  """Opens a dataset to read samples of it.

  Args:
    source: a dataset directory, a view, or a mixture.
    split: of it; None for the default split of a directory, and all of the others.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: there is no such split.
  """
  opened = as_source(source, split)
  for view in opened.members if isinstance(opened, Mixture) else [opened]:
    for name in view.formats:
      _check_features(view.manifest, view.rows(name))
  return opened


def _check_features(manifest: Manifest, rows: Rows) -> None:
  """Raises ManifestError where a record does not hold what the features say.

  The features are those of all records, so one of each format shows whether the
  manifest belongs to them; the smallest, since it is read whole.
  """
  if not len(rows) or rows[0]["format"] == FORMATS.index("pcr"):
    return  # Of a pcr, all images are one record.
  row = rows[int(rows["length"].argmin())]
  path = manifest.path(manifest.shards[row["shard"]].path)
  try:
    read = StoredRecords(manifest).read(Row._make(row.item()))
  except (OSError, ValueError):
    return  # The batch reports the error unless the sample is skipped.
  labels = np.array(read.labels, np.float32)
  check = RecordCheck(manifest["features"], corrected=are_corrected(manifest))
  problem = check.problem(row, labels, read.example)
  if problem:
    raise ManifestError(
      f"{manifest.path(manifest.file)} does not fit {path}: of sample "
      f"{row['sample']}, {problem}"
    )
