"""Parquet files of rows with images, as Hugging Face's datasets are."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from liquid_tf import _extras
from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.arrow_rows import Rows
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.samples import name_files, splits_of_files, stat_file
from liquid_tf._store import schemes, text_file
from liquid_tf.errors import ConvertError

if TYPE_CHECKING:
  import pyarrow
  from pyarrow import parquet

EXTENSIONS = (".parquet", ".pq")
# Decoded rows that are in memory at a time, by their mean size and at most so many.
_BYTES = 32 << 20
_ROWS = 1024
# A column of a row group is read in such parts, and not whole.
_STRETCH = 1 << 20


class ParquetFile:
  """One file: a `RowFile`.

  Args:
    path: of the file, or its URL.

  Raises:
    ConvertError: it cannot be read, or is none.
  """

  def __init__(self, path: str):
    self.path = path
    with text_file.explained(schemes.shown(path)):
      self._size, _ = stat_file(path)
    with self._opened() as file:
      self.schema, self.rows = file.schema_arrow, file.metadata.num_rows

  @contextlib.contextmanager
  def _opened(self) -> Iterator["parquet.ParquetFile"]:
    with _extras.explained():
      import pyarrow
      from pyarrow import parquet
    try:
      with reading.opened(self.path, _STRETCH) as opened:
        # Without a buffer, all of a row group would be read at once.
        yield parquet.ParquetFile(opened, buffer_size=_STRETCH, pre_buffer=False)
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
      raise ConvertError(
        f"{schemes.shown(self.path)} cannot be read as Parquet: {error}"
      ) from error

  def batches(self, columns: Sequence[str]) -> Iterator["pyarrow.RecordBatch"]:
    with self._opened() as file:
      begin = 0
      for group in range(file.num_row_groups):
        told = file.metadata.row_group(group)
        # What a column takes may be told wrongly: the size of the file is not.
        mean = max(
          told.total_byte_size // max(told.num_rows, 1), self._size // max(self.rows, 1)
        )
        row = begin
        for batch in file.iter_batches(
          max(1, min(_ROWS, _BYTES // max(mean, 1))),
          row_groups=[group],
          columns=list(columns),
          use_threads=False,
        ):
          yield batch
          row += batch.num_rows
        if row - begin != told.num_rows:
          raise ConvertError(
            f"{schemes.shown(self.path)}: its rows from {begin} on should be "
            f"{told.num_rows} and are {row - begin}: it is damaged"
          )
        begin = row


def list_parquet(paths: Sequence[str], names: ExampleNames) -> Unlisted:
  """Lists Parquet files, whose rows come once: they are compressed.

  Args:
    paths: of the files, in order.
    names: of columns that the user chose.

  Raises:
    ConvertError: a file cannot be read, or what its columns are is not clear.
    ImportError: pyarrow is not installed.
  """
  splits, split_of = splits_of_files(paths, in_folders=True)
  rows = Rows(
    [ParquetFile(path) for path in paths],
    names,
    [splits[number] for number in split_of],
    name_files(paths),
  )
  return rows.unlisted("parquet")
