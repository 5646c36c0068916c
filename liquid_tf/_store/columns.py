"""Metadata columns: values of samples, beside the index (docs/formats/liquid.md)."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from liquid_tf._store import arrays, texts
from liquid_tf._store.contents import COLUMN_DTYPES
from liquid_tf._store.manifest import Manifest

TEXT = "string"
# Of lists of equally many numbers.
VECTOR = "float32"
# Of such a list, at most.
MOST_SIDE = 1 << 20
# What the index has of each image.
OF_IMAGE = ("height", "width", "channels", "bits")
# What a batch calls other things (liquid_tf.graph.decode_and_batch).
OF_BATCH = (
  "affine",
  "bytes",
  "example",
  "format",
  "id",
  "image",
  "label",
  "mask",
  "mirrored",
  "num_boxes",
  "orientation",
  "size",
  "window",
)
# And what tables do.
TAKEN = (*OF_BATCH, "name", "number", "path", "sample", "split")


def name_problem(name: object) -> str:
  """Why a column cannot have a name, or ""."""
  if not isinstance(name, str) or not name or len(name) > 255:
    return "must have a name of up to 255 characters"
  if name in (*TAKEN, *OF_IMAGE):
    return (
      "must have a name that nothing else of a sample has, so none of "
      f"{', '.join(sorted((*TAKEN, *OF_IMAGE)))}"
    )
  return ""


@dataclasses.dataclass(frozen=True)
class Column:
  """A column in memory.

  Attributes:
    dtype: int64, float64, bool, string; or float32, of lists of equally many numbers.
    values: by sample number: an array of that type, [samples] or [samples, k]; or texts
      as they are stored.
    default: of samples that have no value; None where none was given.
  """

  dtype: str
  values: np.ndarray | Iterable[bytes]
  default: Any = None


def shape_of(entry: dict[str, Any]) -> list[int]:
  """Shape of a sample's value, by the manifest's entry."""
  return entry.get("shape", [])


def missing(dtype: str, default: Any) -> Any:
  """The value of samples that have none, as it is stored; None where there is none."""
  if default is not None:
    return texts.encode(default) if dtype == TEXT else default
  return {"float64": np.nan, VECTOR: np.nan, TEXT: b""}.get(dtype)


def write(directory: str, stem: str, column: Column, count: int) -> dict[str, Any]:
  """Writes a column; returns the manifest's entry of it.

  Args:
    directory: of the dataset.
    stem: of the files' names.
    column: of these values.
    count: of sample numbers.

  Raises:
    OSError: a file cannot be written.
  """
  entry: dict[str, Any] = {"dtype": column.dtype}
  if column.default is not None:
    entry["default"] = column.default
  if column.dtype == TEXT:
    return entry | texts.write(directory, stem, column.values, count)
  values = np.asarray(column.values, COLUMN_DTYPES[column.dtype])
  if column.dtype == VECTOR:
    entry["shape"] = list(values.shape[1:])
  return entry | {"values": arrays.write(directory, f"{stem}.npy", values)}


def load(manifest: Manifest, name: str) -> np.ndarray | texts.Texts:
  """Reads a column and checks every byte of it.

  Args:
    manifest: of the dataset.
    name: of a column that it has.

  Returns:
    By sample number: shape [next_sample], int64, float64 or bool, or [next_sample, k],
    float32, read-only, and mapped where the dataset is local; or texts.

  Raises:
    ManifestError: a file is missing or damaged.
  """
  entry, key = manifest["columns"][name], f'columns["{name}"]'
  if entry["dtype"] == TEXT:
    return texts.Texts(*texts.load(manifest, entry, key))
  return arrays.load(
    manifest.path(entry["values"]["path"]),
    COLUMN_DTYPES[entry["dtype"]],
    (manifest["next_sample"], *shape_of(entry)),
    entry["values"]["crc32c"],
    manifest.says("next_sample", f"{key}.values.crc32c"),
  )
