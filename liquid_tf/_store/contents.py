"""Lists the files that a manifest names, and what each must be."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._store import arrays
from liquid_tf._store.index_rows import INDEX_DTYPE

ENDS = np.dtype("<u8")
# Of a metadata column that is no text.
COLUMN_DTYPES = {
  "int64": np.dtype("<i8"),
  "float64": np.dtype("<f8"),
  "float32": np.dtype("<f4"),
  "bool": np.dtype("?"),
}


class File(NamedTuple):
  """A file of a dataset.

  Attributes:
    name: inside the directory.
    bytes: its size; None where only its shard tells.
    crc32c: of the whole file; None likewise.
    key: of the manifest, that makes the size.
  """

  name: str
  bytes: int | None
  crc32c: int | None
  key: str


def idx_name(shard: str) -> str:
  """The index that MXNet reads, of a shard that is no pcr."""
  return shard.removesuffix(".rec") + ".idx"


def label_layout(
  label: dict[str, Any] | None, count: int
) -> tuple[np.dtype, tuple[int, ...]] | None:
  """Type and shape of the labels beside the index; None where there are none.

  Args:
    label: the manifest's feature, or None.
    count: of sample numbers.
  """
  if label is None or None in label["shape"]:
    return None
  dtype = np.dtype("<i8" if label["dtype"] == "int64" else "<f4")
  return dtype, (count, *label["shape"])


def shards(data: dict[str, Any]) -> Iterator[File]:
  """Yields the shards of a manifest with their indexes."""
  for i, shard in enumerate(data["shards"]):
    key = f"shards[{i}].bytes"
    yield File(shard["path"], shard["bytes"], shard["crc32c"], key)
    if shard["format"] != "pcr":
      yield File(idx_name(shard["path"]), None, None, key)


def jpeg_index(data: Mapping[str, Any]) -> dict[str, int] | None:
  """Entry points of JPEG files in the shards of a manifest.

  Returns:
    `records` with entry points, `bytes` of these, and `without`, records of jpeg that
    have none; None without the format jpeg.
  """
  shards = [shard for shard in data["shards"] if shard["format"] == "jpeg"]
  if not shards:
    return None
  records = sum(shard["indexed"] for shard in shards)
  return {
    "records": records,
    "bytes": sum(shard["index_bytes"] for shard in shards),
    "without": sum(shard["records"] for shard in shards) - records,
  }


def every(data: dict[str, Any]) -> Iterator[File]:
  """Yields all files of a manifest but itself."""
  yield from shards(data)
  yield from beside(data)


def beside(data: dict[str, Any]) -> Iterator[File]:
  """Yields the files beside the shards of a manifest."""
  count = data["next_sample"]
  if "pcr" in data:
    pcr = data["pcr"]
    yield File(pcr["path"], pcr["index_bytes"], pcr["index_crc32c"], "pcr.index_bytes")
  yield _array(data["index"], INDEX_DTYPE, (data["index"]["rows"],), "index.rows")
  layout = label_layout(data["features"].get("label"), count)
  if layout is not None:
    yield _array(data["labels"], *layout, "next_sample")
  yield from _texts(data["names"], count, "names")
  for name, column in data["columns"].items():
    if column["dtype"] == "string":
      yield from _texts(column, count, f'columns["{name}"]')
    else:
      dtype = COLUMN_DTYPES[column["dtype"]]
      shape = (count, *column.get("shape", ()))
      yield _array(column["values"], dtype, shape, "next_sample")


def _array(
  entry: dict[str, Any], dtype: np.dtype, shape: tuple[int, ...], key: str
) -> File:
  return File(entry["path"], arrays.size(dtype, shape), entry["crc32c"], key)


def _texts(entry: dict[str, Any], count: int, key: str) -> Iterator[File]:
  yield _array(entry["ends"], ENDS, (count + 1,), "next_sample")
  text = entry["text"]
  yield File(text["path"], text["bytes"], text["crc32c"], f"{key}.text.bytes")
