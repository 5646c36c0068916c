"""Metadata columns for a dataset that is there."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._edit.edit import Edit, EditReport, editing, report
from liquid_tf._edit.relabel import relabelled
from liquid_tf._edit.table import Table, read, read_labels
from liquid_tf._store import columns, names, schema, texts
from liquid_tf._store import manifest as manifests
from liquid_tf._store.columns import TEXT, VECTOR, Column
from liquid_tf._store.contents import COLUMN_DTYPES
from liquid_tf._store.table_columns import Cells, check_floats
from liquid_tf._words import Shown, said
from liquid_tf.errors import ConvertError, WrongArgument

__all__ = ["annotate"]


def annotate(
  path: str | os.PathLike,
  table: str | os.PathLike | Mapping[str, Sequence[object] | np.ndarray] | None = None,
  *,
  labels: str | os.PathLike | Mapping[str, Sequence[object] | np.ndarray] | None = None,
  defaults: Mapping[str, int | float | bool | str] | None = None,
) -> EditReport:
  """Adds metadata columns and corrects labels, in a new version; writes no shard.

  A row of the table is of the sample that its column `number` (or `sample`) says; or
  one that names it as the source did, by its path or an end of that, with or without
  the extension: `file_name`, `filename`, `path`, `image`, `image_id`, `name` or `id`.
  All other columns become metadata, whose type is that of all their values: int64,
  float64, bool, text, or lists of equally many numbers, float32. Where a column is
  there already, the rows change it.

  Args:
    path: a local dataset directory.
    table: a CSV, JSON Lines or Parquet file; or columns by name. None for none.
    labels: a table of right labels: rows as above, and a column `label` (or `target`,
      `class`) of class names, which may be new ones, or of numbers, or of lists of
      them, as the dataset's labels are. Where it has none, all samples must get one.
      Views, batches, weights and exports then have these; records keep theirs.
    defaults: by column, the value of samples that have none, now or when they are
      appended. Else that is NaN or "" where a column has such values, and an error for
      whole numbers and bools.

  Returns:
    What the new version is.

  Raises:
    ManifestError: the directory is no sound dataset.
    ConvertError: the table cannot be read, or does not fit the samples; or the dataset
      cannot be written.
    ValueError: an argument is wrong.
  """
  given = dict(defaults or {})
  if table is None and labels is None:
    raise WrongArgument("table", None, f"or {said('labels=…')} must be given")
  rows = None if table is None else read(table)
  right = None if labels is None else read_labels(labels)
  for name in given:
    if rows is None or name not in rows.columns:
      raise WrongArgument("defaults", name, "must be of a column of the table")
  with editing(path) as edit:
    index = manifests.load_index(edit.manifest)
    living = np.zeros(edit.manifest["next_sample"], bool)
    living[index["sample"]] = True
    changes, changed = {}, np.zeros(0, np.int64)
    if rows is not None:
      changed = _numbers(edit, rows, np.flatnonzero(living))
      changes["columns"] = _columns(edit, rows, given, changed, living)
    if right is not None:
      numbers = _numbers(edit, right, np.flatnonzero(living))
      changes |= relabelled(edit, right, numbers, living)
      changed = np.union1d(changed, numbers)
    made = edit.publish("annotate", edit.manifest.data | changes)
  return report(made, len(changed))


def _columns(
  edit: Edit,
  rows: Table,
  defaults: Mapping[str, Any],
  numbers: np.ndarray,
  living: np.ndarray,
) -> dict[str, Any]:
  """Writes the columns of a table; returns the manifest's entries of all columns."""
  entries = {}
  for i, (name, cells) in enumerate(rows.columns.items()):
    column = _merged(edit, name, cells, defaults.get(name), numbers, living)
    stem = f"column-{i}-{edit.version}"
    entries[name] = columns.write(edit.directory, stem, column, len(living))
  return edit.manifest["columns"] | entries


def _numbers(edit: Edit, table: Table, living: np.ndarray) -> np.ndarray:
  """The sample number of each row.

  Args:
    edit: of the dataset.
    table: the rows.
    living: the dataset's sample numbers, ascending.
  """
  if table.by_name:
    try:
      found = names.load(edit.manifest).numbers(table.keys, living)
    except ValueError as error:
      raise ConvertError(f"{table.what}: {error}") from error
  else:
    keys = [
      key if 0 <= key < edit.manifest["next_sample"] else -1 for key in table.keys
    ]
    found = np.array(keys, np.int64)
    unknown = ~np.isin(found, living)
    found[unknown] = -1
    values, counts = np.unique(found[~unknown], return_counts=True)
    if (counts > 1).any():
      raise ConvertError(f"{table.what} has two rows of sample {values[counts > 1][0]}")
  lost = np.flatnonzero(found < 0)
  if len(lost):
    raise ConvertError(
      f"{table.what}: {len(lost)} rows are of no sample of {edit.directory}, as "
      f"{table.place(lost[0])} ({table.keys[lost[0]]!r})"
    )
  return found


def _merged(
  edit: Edit,
  name: str,
  cells: Cells,
  default: Any,
  numbers: np.ndarray,
  living: np.ndarray,
) -> Column:
  """A column of all samples: the rows' values, those that were there, and defaults.

  Args:
    edit: of the dataset.
    name: of the column.
    cells: of the rows.
    default: that is given, or None.
    numbers: shape [rows], sample numbers.
    living: shape [next_sample], whether a sample has the number.
  """
  if name in edit.manifest["features"]:
    raise ConvertError(f'column ("{name}") must have a name that no feature has')
  entry = edit.manifest["columns"].get(name)
  old, dtype = None, cells.dtype
  if entry is not None:
    if entry["dtype"] == "float64" and dtype == "int64":
      dtype = "float64"
    if entry["dtype"] != dtype:
      raise ConvertError(
        f'column ("{name}") is {entry["dtype"]}, but the table has {dtype}'
      )
    old = columns.load(edit.manifest, name)
    if dtype == VECTOR and old.shape[1:] != cells.values.shape[1:]:
      raise ConvertError(
        f'column ("{name}") has lists of {old.shape[1]} numbers, but the table of '
        f"{cells.values.shape[1]}"
      )
    default = entry.get("default") if default is None else default
  default = _checked_default(name, dtype, default)
  filler = columns.missing(dtype, default)
  there = cells.there
  has = np.zeros(len(living), bool) if old is None else np.ones(len(living), bool)
  has[numbers[there]] = True
  lacking = np.flatnonzero(living & ~has)
  if filler is None and len(lacking):
    raise ConvertError(
      f'column ("{name}", {dtype}) has no value for {len(lacking)} samples, as '
      f'{lacking[0]}: give defaults={{"{name}": …}}'
    )
  if dtype == TEXT:
    new = [text for text, is_there in zip(cells.values, there) if is_there]
    return Column(dtype, _texts(filler, old, numbers[there], new, has), default)
  new = cells.values[there]
  if dtype == "float64":
    check_floats(f'column ("{name}")', new.tolist())
  result = np.zeros((len(living), *new.shape[1:]), COLUMN_DTYPES[dtype])
  if old is not None:
    result[:] = old
  elif filler is not None:
    result[:] = filler
  result[numbers[there]] = new
  return Column(dtype, result, default)


def _texts(
  filler: bytes,
  old: texts.Texts | None,
  numbers: np.ndarray,
  values: list[bytes],
  has: np.ndarray,
) -> Iterator[bytes]:
  """Yields the text of each sample number, as it is stored."""
  changed = dict(zip(numbers.tolist(), values))
  for number in range(len(has)):
    text = changed.get(number)
    if text is None:
      text = filler if old is None else old.encoded(number)
    yield text


def _checked_default(name: str, dtype: str, default: Any) -> Any:
  """A default as JSON has it; raises ValueError unless it is of the column's type."""
  if default is None:
    return None
  if isinstance(default, np.generic):
    default = default.item()
  if not schema.is_of(dtype, default) or (
    dtype in ("int64", "float64") and not abs(default) < 2**63
  ):
    raise WrongArgument(
      "defaults", Shown(f'"{name}": {default!r}'), f"must be of {dtype}"
    )
  return default
