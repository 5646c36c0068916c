"""Arrow files of rows with images, as Hugging Face's library keeps data sets on a disk.

They are mapped, and not compressed: rows are read where they are, by position.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from liquid_tf import _extras
from liquid_tf._convert.sources.arrow_rows import Rows
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.samples import (
  name_files,
  splits_of_files,
  stat_file,
)
from liquid_tf._store import schemes, storage, text_file
from liquid_tf.errors import ConvertError

if TYPE_CHECKING:
  import pyarrow

EXTENSIONS = (".arrow", ".feather")
# `datasets` leaves what it computed beside the data, as rows or as their numbers.
_CACHE = re.compile(r"(cache|tmp|indices)-?[0-9a-z_]+([-_]\d+[-_]of[-_]\d+)?\.arrow")
# A file with an index of its batches; others are streams.
_MAGIC = b"ARROW1"


class ArrowFile:
  """One file: a `RowFile`.

  Args:
    path: of the file.

  Attributes:
    mapped: its rows, a batch after the other; None where they are compressed.
    begins: number of the first row of each batch, and of all rows.

  Raises:
    ConvertError: it cannot be read, or is none.
  """

  def __init__(self, path: str):
    self.path = path
    self.mapped: list[pyarrow.RecordBatch] | None = []
    counts = [0]
    with self._opened() as (schema, batches, allocated):
      self.schema = schema
      before = allocated()
      for batch in batches:
        # Offsets and texts of a file of others.
        batch.validate(full=True)
        counts.append(batch.num_rows)
        if allocated() - before > batch.nbytes // 2:
          self.mapped = None
        if self.mapped is not None:
          self.mapped.append(batch)
        before = allocated()
    self.begins = np.cumsum(counts)
    self.rows = int(self.begins[-1])

  @contextlib.contextmanager
  def _opened(self) -> Iterator[tuple]:
    """Gives schema, batches, and a function that tells what is in memory of them."""
    with _extras.explained():
      import pyarrow
    from pyarrow import ipc

    try:
      with text_file.explained(self.path):
        size, _ = stat_file(self.path)
      if not size:
        raise ConvertError(f"{self.path} is empty")
      with pyarrow.memory_map(os.fsencode(self.path)) as opened:
        if opened.read(len(_MAGIC)) == _MAGIC:
          file = ipc.open_file(opened)
          batches = map(file.get_batch, range(file.num_record_batches))
        else:
          opened.seek(0)
          batches = file = ipc.open_stream(opened)
        yield file.schema, batches, pyarrow.total_allocated_bytes
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
      raise ConvertError(f"{self.path} cannot be read as Arrow: {error}") from error

  def batches(self, columns: Sequence[str]) -> Iterator["pyarrow.RecordBatch"]:
    if self.mapped is not None:
      for batch in self.mapped:
        yield _selected(batch, columns)
      return
    with self._opened() as (_, batches, _):
      for batch in batches:
        batch.validate(full=True)
        yield _selected(batch, columns)


def _selected(
  batch: "pyarrow.RecordBatch", columns: Sequence[str]
) -> "pyarrow.RecordBatch":
  """The columns of a batch, whole where a part is asked for."""
  names = (n if n in batch.schema.names else n.rpartition(".")[0] for n in columns)
  return batch.select(list(names))


class MappedRows(Rows):
  """Rows that are read by position."""

  def __len__(self) -> int:
    return self.count

  def __getitem__(self, number: int) -> dict[str, Any]:
    file = int(np.searchsorted(self.begins, number, "right")) - 1
    row = number - int(self.begins[file])
    rows = self.files[file]
    batch = int(np.searchsorted(rows.begins, row, "right")) - 1
    return self.item(file, row, rows.mapped[batch], row - int(rows.begins[batch]))


def arrow_rows(
  paths: Sequence[str], names: ExampleNames, splits: Sequence[str], what: str
) -> Rows:
  """The rows of Arrow files.

  Args:
    paths: of the files, in order.
    names: of columns that the user chose.
    splits: the split of each file.
    what: the source, for people.

  Raises:
    ConvertError: a file cannot be read, or what its columns are is not clear.
    ImportError: pyarrow is not installed.
  """
  for path in paths:
    if storage.is_remote(path):
      raise ConvertError(
        f"{schemes.shown(path)} is a table of Arrow, which must be on a local disk: "
        "copy it, or write it as Parquet"
      )
  files = [ArrowFile(path) for path in paths]
  kind = Rows if any(file.mapped is None for file in files) else MappedRows
  return kind(files, names, splits, what)


def list_arrow(paths: Sequence[str], names: ExampleNames) -> Unlisted:
  """Lists Arrow files; see `arrow_rows`. Caches beside data are left out."""
  data = [path for path in paths if not _CACHE.fullmatch(os.path.basename(path))]
  # Who names caches alone means them.
  data = data or list(paths)
  splits, split_of = splits_of_files(data, in_folders=True)
  every = [splits[number] for number in split_of]
  result = arrow_rows(data, names, every, name_files(data)).unlisted("arrow")
  result.skipped.extend(
    LeftOut(
      path, "is what datasets computed, and no data", 0, "name it alone, if it is"
    )
    for path in paths
    if path not in data
  )
  return result
