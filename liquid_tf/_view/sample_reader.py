"""Single samples by rows of the index."""

import errno
import logging
import os
import weakref
from typing import Any

import numpy as np

from liquid_tf._native.limits import Limits
from liquid_tf._store import columns as _columns
from liquid_tf._store import labels as _labels
from liquid_tf._store import manifest as manifests
from liquid_tf._store import names as _names
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._store.texts import Texts
from liquid_tf._view import stored_record
from liquid_tf._view.sample_features import SampleFeatures
from liquid_tf._view.stored_record import PCR, Row, StoredRecords
from liquid_tf.errors import RecordError

_logger = logging.getLogger(__name__)

# What the machine lacks is no fault of a record.
_LACKS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class SampleReader:
  """Reads and decodes single samples, each on the thread that asks.

  Thread-safe; a forked child may go on with its parent's.

  Args:
    manifest: of the dataset.
    index: of the dataset, shape [rows], INDEX_DTYPE.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    past_cache: as `ShardFiles` takes it.
  """

  # So that views of one dataset share its open files.
  _of_manifest = weakref.WeakValueDictionary()

  def __init__(
    self,
    manifest: Manifest,
    index: np.ndarray,
    limits: Limits = Limits(),
    past_cache: bool | None = None,
  ):
    self._manifest = manifest
    self._index = index
    self._bytes = memoryview(index.view(np.uint8))
    self._records = StoredRecords(manifest, past_cache)
    self._features = SampleFeatures(manifest, limits)
    # Read where the first one is asked for.
    self._names: _names.Names | None = None
    self._columns: dict[str, np.ndarray | Texts] | None = None
    # Rows that are damaged -> those that are read instead.
    self._settled: dict[int, int] = {}

  @classmethod
  def of(cls, manifest: Manifest, index: np.ndarray) -> "SampleReader":
    """The reader that all views of an opened dataset share."""
    found = cls._of_manifest.get(id(manifest))
    if found is None:
      # It keeps the manifest, so that no other one has the same id meanwhile.
      found = cls(manifest, index)
      cls._of_manifest[id(manifest)] = found
    return found

  @property
  def names(self) -> _names.Names:
    """Names of samples in the source, by their numbers.

    Raises:
      ManifestError: the files of names are missing or damaged.
    """
    # No cached_property: its lock might be taken where a process forks.
    if self._names is None:
      self._names = _names.load(self._manifest)
    return self._names

  @property
  def columns(self) -> dict[str, np.ndarray | Texts]:
    """Metadata columns by name, and "label" where labels were corrected.

    Raises:
      ManifestError: a file of them is missing or damaged.
    """
    if self._columns is None:
      self._columns = {
        name: _columns.load(self._manifest, name) for name in self._manifest["columns"]
      }
      if _labels.are_corrected(self._manifest):
        self._columns["label"] = _labels.load(self._manifest)
    return self._columns

  def row(self, number: int) -> Row:
    """A row of the index."""
    return stored_record.unpack_row(self._bytes, number)

  def read(self, number: int) -> dict[str, Any]:
    """Reads and decodes one encoding of a sample.

    Args:
      number: of a row of the index.

    Returns:
      As `SampleFeatures.values`; each metadata column, a NumPy value, a str or [k]; and
      "name", what the source called it, where the dataset has no feature of that name.

    Raises:
      RecordError: it is damaged; the message has file, record, sample and offset.
      ManifestError: the names or columns are missing or damaged.
      OSError: the process has no more memory or file handles.
    """
    row = self.row(number)
    try:
      values = self._features.values(row, self._records.read(row))
    except manifests.ManifestError:
      raise
    except ValueError as error:
      raise RecordError(f"{self.where(number)}: {error}") from error
    except OSError as error:
      if error.errno in _LACKS:
        raise
      reason = error.strerror or error
      raise RecordError(f"{self.where(number)}: cannot be read: {reason}") from error
    for name, column in self.columns.items():
      value = column[row.sample]
      values[name] = value.copy() if isinstance(value, np.ndarray) else value
    values.setdefault("name", self.names[row.sample])
    return values

  def sample(self, number: int) -> dict[str, Any]:
    """Reads and decodes a sample, in another format where this one is damaged.

    Args:
      number: of the row to try first.

    Raises:
      RecordError: it is damaged in every format; the message is that of the first.
    """
    try:
      return self.read(self._settled.get(number, number))
    except RecordError as error:
      for other in self.encodings(number)[1:]:
        try:
          result = self.read(other)
        except RecordError:
          continue
        self._settled[number] = other
        name = FORMATS[self.row(other).format]
        _logger.warning("%s; read as %s from now on", error, name)
        return result
      raise

  def where(self, number: int) -> str:
    """Names file, record, sample and offset of a row, for errors."""
    row = self.row(number)
    path = self._manifest.path(self._manifest.shards[row.shard].path)
    if row.format == PCR:
      return f"{path}, image {row.offset} (sample {row.sample})"
    run = manifests.rows_of(self._index, row.split, row.format)
    before = (run["shard"] == row.shard) & (run["offset"] < row.offset)
    record = int(np.count_nonzero(before))
    return f"{path}, record {record} (sample {row.sample}, offset {row.offset})"

  def encodings(self, number: int) -> list[int]:
    """The row, and those of the same sample in other formats, preferred ones first."""
    found = [number]
    if not self._manifest["replicated"]:
      return found
    row = self.row(number)
    # Of a replicated dataset, all formats have their samples in one order.
    rank = number - manifests.run_of(self._index, row.split, row.format).start
    for name in self._manifest.by_preference():
      run = manifests.run_of(self._index, row.split, FORMATS.index(name))
      other = run.start + rank
      if other != number and other < run.stop:
        if self.row(other).sample == row.sample:
          found.append(other)
    return found


def export_sample(
  path: str | os.PathLike, sample: int, output: str, *, limits: Limits = Limits()
) -> None:
  """Writes the image of a sample to a PNG file.

  Args:
    path: a dataset directory.
    sample: its number, which must be there.
    output: the file to write.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Raises:
    ManifestError: the dataset cannot be read.
    RecordError: the sample's record cannot be read.
    OSError: `output` cannot be written.
  """
  from liquid_tf import codecs

  manifest = manifests.load(path, check_files=False)
  index = manifests.load_index(manifest)
  number = int((index["sample"] == sample).argmax())
  image = SampleReader(manifest, index, limits).read(number)["image"]
  with open(output, "wb") as file:
    file.write(codecs.encode(image, "png").numpy())
