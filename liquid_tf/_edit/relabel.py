"""Labels of a dataset that are corrected, or given to one that has none."""

from typing import Any

import numpy as np

from liquid_tf._convert import labels as _faults
from liquid_tf._convert.sources import alike
from liquid_tf._edit.edit import Edit
from liquid_tf._edit.table import Table
from liquid_tf._store import arrays, contents, texts
from liquid_tf._store import labels as _labels
from liquid_tf._store import manifest as manifests
from liquid_tf._store.columns import TEXT, VECTOR
from liquid_tf._store.schema import LARGEST_LABEL
from liquid_tf._store.table_columns import Cells
from liquid_tf.errors import ConvertError


def relabelled(
  edit: Edit, rows: Table, numbers: np.ndarray, living: np.ndarray
) -> dict[str, Any]:
  """Writes the labels of a new version; returns the manifest's keys that change.

  Records keep the labels that they have: those beside the index count.

  Args:
    edit: of the dataset.
    rows: of one column, of labels.
    numbers: shape [rows], sample numbers.
    living: shape [next_sample], whether a sample has the number.

  Raises:
    ConvertError: they are no labels of the dataset's kind.
    OSError: the file cannot be written.
  """
  [(name, cells)] = rows.columns.items()
  if not cells.there.all():
    row = int((~cells.there).argmax())
    raise ConvertError(f"{rows.what}: {rows.place(row)} has no {name}")
  manifest = edit.manifest
  old = manifest["features"].get("label")
  if old is None:
    lacking = np.setdiff1d(np.flatnonzero(living), numbers)
    if len(lacking):
      raise ConvertError(
        f"{rows.what}: {edit.directory} has no labels, so all of its samples must get "
        f"one, and {len(lacking)} have no row, as sample {lacking[0]}"
      )
  elif None in old["shape"]:
    raise ConvertError(
      f"{edit.directory} has samples with unequal numbers of labels, which are in the "
      "records alone: convert it again to change them"
    )
  label, found = _found(edit, old, rows, name, cells)
  count = manifest["next_sample"]
  values = _labels.empty(label, count)
  if old is not None:
    values[:] = _labels.load(manifest)
  values[numbers] = found.reshape(len(numbers), *values.shape[1:])
  if "classes" in label:
    counts = np.bincount(values[living], minlength=len(label["classes"]))
    label = label | {"class_counts": counts.tolist()}
  supervised = manifest["supervised"]
  if "label" not in supervised:
    supervised = ["image", "label", *supervised[1:]]
  entry = arrays.write(edit.directory, edit.name(manifests.LABELS), values)
  return {
    "features": manifest["features"] | {"label": label},
    "supervised": supervised,
    "labels": entry | {"corrected": True},
  }


def _found(
  edit: Edit, old: dict[str, Any] | None, rows: Table, name: str, cells: Cells
) -> tuple[dict[str, Any], np.ndarray]:
  """The feature of the labels, and the values of the rows."""
  if cells.dtype == TEXT:
    return _of_names(edit, old, rows, cells)
  values = np.asarray(cells.values)
  if cells.dtype == "bool":
    raise ConvertError(f"{rows.what}: {name} must be numbers, or names of classes")
  for row, given in enumerate(values.reshape(len(values), -1).tolist()):
    fault = _faults.fault(given)
    if fault:
      raise ConvertError(f"{rows.what}: {rows.place(row)}: {fault}")
  is_class = cells.dtype != VECTOR and not (values % 1).any() and (values >= 0).all()
  shape = list(values.shape[1:]) or [1]
  if old is None and is_class:
    label = {"dtype": "int64", "shape": []}
  elif old is None:
    label = {"dtype": "float32", "shape": shape}
  else:
    label = old
  if label["dtype"] == "float32":
    if label["shape"] != shape or "pcr" in edit.manifest.data:
      kind = "one class number" if "pcr" in edit.manifest.data else label["shape"]
      raise ConvertError(f"{rows.what}: {name} of {shape} must be {kind} a sample")
    return label, values.astype(np.float32)
  most = len(label["classes"]) - 1 if "classes" in label else LARGEST_LABEL
  wrong = np.ones(len(values), bool)
  if cells.dtype != VECTOR:
    wrong = (values < 0) | (values > most) | (values % 1 != 0)
  if wrong.any():
    row = int(wrong.argmax())
    raise ConvertError(
      f"{rows.what}: {name} ({cells.values[row]}, {rows.place(row)}) must be a class "
      f"number in [0, {most}]"
      + (", or the name of a class" if "classes" in label else "")
    )
  return label, values.astype(contents.COLUMN_DTYPES["int64"])


def _of_names(
  edit: Edit, old: dict[str, Any] | None, rows: Table, cells: Cells
) -> tuple[dict[str, Any], np.ndarray]:
  """The same of labels that are names; new ones come last."""
  if old is not None and "classes" not in old:
    kind = "numbers" if old["dtype"] == "int64" else f"numbers, {old['shape']} a sample"
    raise ConvertError(
      f"{rows.what} has names of classes, but labels of {edit.directory} are {kind}"
    )
  there = [] if old is None else old["classes"]
  given = [text.decode(errors="surrogateescape") for text in cells.values]
  if "" in given:
    raise ConvertError(f"{rows.what}: {rows.place(given.index(''))} has no label")
  if len(set(there)) < len(there):
    raise ConvertError(
      f"{edit.directory} has two classes of one name: give numbers of classes"
    )
  new = alike.sorted_classes(rows.what, set(given) - set(there))
  both = alike.first_alike([*there, *new])
  if new and both is not None and both[1] in new:
    raise ConvertError(
      f"{edit.directory} and {rows.what} have classes {alike.differ_only(both)}: give "
      "them the names that the dataset has"
    )
  classes = [*there, *new]
  numbers = {texts.encode(one): number for number, one in enumerate(classes)}
  label = {"dtype": "int64", "shape": [], **(old or {}), "classes": classes}
  values = np.array([numbers[text] for text in cells.values], np.int64)
  return label, values
