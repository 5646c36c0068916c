"""Exports to Parquet, as Hugging Face's datasets and its hub read them."""

import collections
import json
import os
from typing import Any

from liquid_tf._convert.sources.safe_names import below
from liquid_tf._export.columns import Columns, Kind
from liquid_tf._export.writers import Files, Item, Target

# Rows that are written together: readers take them whole into memory.
_MOST_ROWS = 1000
_MOST_BYTES = 32 << 20


class ParquetWriter:
  """Writes SPLIT-00000-of-00008.parquet and so on.

  A row has the image, as its file's bytes and path; the label; the mask, likewise; and
  all columns. The schema says which columns are images and what classes are called.
  """

  taken = frozenset(["image", "mask"])
  takes_records = True

  def __init__(self, target: Target):
    self._folder = target.folder
    self._files = target.files
    self._dealt = Files(target.samples, target.files)
    self._schema = _schema(target.columns, "mask" in target.manifest["features"])
    self._open: dict[str, tuple[int, _File]] = {}
    self._lost: collections.Counter[str] = collections.Counter()

  def add(self, item: Item) -> None:
    """Writes a sample."""
    path = below(item.name)
    row = {"image": {"bytes": item.image, "path": path + item.extension}}
    if item.mask is not None:
      row["mask"] = {"bytes": item.mask, "path": path + ".png"}
    for name, value in item.values.items():
      row[name] = self._value(name, value)
    self._file(item.split, self._dealt.deal(item.split)).add(row)

  def _value(self, name: str, value: Any) -> Any:
    if isinstance(value, list):
      return [self._value(name, one) for one in value]
    if isinstance(value, bytes):
      self._lost[name] += 1
      return None
    return value

  def _file(self, split: str, number: int) -> "_File":
    found = self._open.get(split)
    if found is not None and found[0] == number:
      return found[1]
    if found is not None:
      found[1].close()
    file = self._begin(split, number)
    self._open[split] = number, file
    return file

  def _begin(self, split: str, number: int) -> "_File":
    name = f"{split}-{number:05}-of-{self._files[split]:05}.parquet"
    return _File(os.path.join(self._folder, name), self._schema)

  def close(self) -> None:
    """Finishes the files."""
    for split, count in self._files.items():
      last = -1
      if split in self._open:
        last, file = self._open[split]
        file.close()
      # Where samples were left out there are fewer to write, but as many files.
      for number in range(last + 1, count):
        self._begin(split, number).close()

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is."""
    return [
      f'the column "{name}" has bytes that are no UTF-8 ({count}), as texts of Parquet '
      "are: they are null"
      for name, count in sorted(self._lost.items())
    ]


class _File:
  """A Parquet file that is being written.

  Args:
    path: of the file.
    schema: of its rows, a pyarrow.Schema.
  """

  def __init__(self, path: str, schema: Any):
    from pyarrow import parquet

    self._schema = schema
    self._writer = parquet.ParquetWriter(path, schema)
    self._rows: list[dict[str, Any]] = []
    self._bytes = 0

  def add(self, row: dict[str, Any]) -> None:
    self._rows.append(row)
    self._bytes += len(row["image"]["bytes"])
    if len(self._rows) >= _MOST_ROWS or self._bytes >= _MOST_BYTES:
      self._flush()

  def _flush(self) -> None:
    import pyarrow

    if self._rows:
      self._writer.write_table(pyarrow.Table.from_pylist(self._rows, self._schema))
    self._rows, self._bytes = [], 0

  def close(self) -> None:
    self._flush()
    self._writer.close()


def _schema(columns: Columns, has_masks: bool) -> Any:
  """The pyarrow.Schema of the rows."""
  import pyarrow

  image = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
  images = ["image", "mask"] if has_masks else ["image"]
  fields = {name: image for name in images}
  features: dict[str, Any] = {name: {"_type": "Image"} for name in images}
  for name, kind in columns.kinds.items():
    fields[name] = _type(kind)
    if kind.classes is not None:
      features[name] = {"names": list(kind.classes), "_type": "ClassLabel"}
      if kind.sides is not None:
        features[name] = {"feature": features[name], "_type": "Sequence"}
  said = json.dumps({"info": {"features": features}})
  return pyarrow.schema(fields, {"huggingface": said})


def _type(kind: Kind) -> Any:
  """The pyarrow.DataType of a column."""
  import pyarrow

  names = {"bool": "bool_"}
  found = getattr(pyarrow, names.get(kind.dtype, kind.dtype))()
  if kind.sides is not None:
    for _ in range(len(kind.sides) + 1):
      found = pyarrow.list_(found)
  return found
