"""Checks of an index's rows, by themselves and beside the manifest."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from liquid_tf._store.formats import FORMATS

INDEX_DTYPE = np.dtype(
  [
    ("sample", "<u8"),
    ("split", "u1"),
    ("format", "u1"),
    ("channels", "u1"),
    ("bits", "u1"),
    ("shard", "<u4"),
    ("offset", "<u8"),
    ("length", "<u8"),
    ("crc32c", "<u4"),
    ("height", "<u4"),
    ("width", "<u4"),
    ("orientation", "<u4"),
    ("pixels_hash", "<u8"),
  ]
)

# An index of millions of rows is checked in parts, each small beside it.
_CHUNK_ROWS = 1 << 18

_PCR = FORMATS.index("pcr")
# Of a record: the headers of a part and of a sample.
_SMALLEST = 8 + 24
_LONGEST = np.uint64(2**32 - 1)

# Their product is the size of an image in bits.
_PIXEL_FIELDS = ("height", "width", "channels", "bits")


def pixel_bytes(rows: np.ndarray) -> int:
  """Bytes of the images of some rows, decoded."""
  sides = (rows[field].astype(np.int64) for field in _PIXEL_FIELDS)
  return int((functools.reduce(np.multiply, sides) // 8).sum())


def find_problem(index: np.ndarray, data: dict[str, Any]) -> str:
  """Finds the first row that is wrong, if any.

  Args:
    index: shape [n], INDEX_DTYPE.
    data: a checked manifest.

  Returns:
    One sentence, which names the row, or "".
  """
  shards = np.array(
    [
      (
        data["splits"][shard["split"]]["index"],
        FORMATS.index(shard["format"]),
        shard["bytes"],
        # Offsets count bytes, or images of a pcr.
        shard["records"] if shard["format"] == "pcr" else shard["bytes"],
      )
      for shard in data["shards"]
    ],
    np.uint64,
  ).reshape(-1, 4)
  for start in range(0, len(index), _CHUNK_ROWS):
    # With the row before, for the order.
    begin = max(0, start - 1)
    rows = index[begin : start + _CHUNK_ROWS]
    for wrong, field, must in _checks(rows, shards, data):
      if wrong.any():
        row = int(wrong.argmax())
        return (
          f"row {begin + row} (sample {rows['sample'][row]}): {field} "
          f"({rows[field][row]}) must {must}"
        )
  return ""


def _checks(
  rows: np.ndarray, shards: np.ndarray, data: dict[str, Any]
) -> Iterator[tuple[np.ndarray, str, str]]:
  """Yields (which rows are wrong, field, what it must); each relies on those before."""
  yield (
    rows["shard"] >= len(shards),
    "shard",
    f"be below {len(shards)}, the number of shards of the manifest",
  )
  yield (
    rows["sample"] >= data["next_sample"],
    "sample",
    f"be below {data['next_sample']}, next_sample of the manifest",
  )
  of = shards[rows["shard"]]
  for column, field in enumerate(("split", "format")):
    yield rows[field] != of[:, column], field, "be that of its shard in the manifest"
  stored = rows["format"] != _PCR
  offset, length = rows["offset"], rows["length"]
  yield (
    (length > np.minimum(of[:, 2], _LONGEST))
    | (stored & ((length < _SMALLEST) | (length % 4 != 0))),
    "length",
    f"be a multiple of 4 in [{_SMALLEST}, 2^32), and at most the shard's bytes",
  )
  extent = np.where(stored, length, np.uint64(1))
  yield (
    (offset > of[:, 3] - np.minimum(extent, of[:, 3])) | (stored & (offset % 4 != 0)),
    "offset",
    "be a multiple of 4 that leaves room for the record in its shard",
  )
  image = data["features"]["image"]
  bits = int(image["dtype"].removeprefix("uint"))
  for field, wanted in zip(
    ("height", "width", "channels", "bits"), (*image["shape"], bits)
  ):
    if wanted is None:
      yield rows[field] == 0, field, "be at least 1"
    else:
      yield (
        rows[field] != wanted,
        field,
        f"be {wanted}, as features.image of the manifest says",
      )
  orientation = rows["orientation"]
  yield (orientation < 1) | (orientation > 8), "orientation", "be 1 to 8"
  # Of rows in this order, those of a format in a split lie together.
  keys: Sequence[np.ndarray] = (rows["split"], rows["format"], rows["shard"])
  place = np.zeros(len(rows), np.uint64)
  for key, width in zip(keys, (8, 8, 32)):
    place = place << np.uint64(width) | key
  follows = np.ones(len(rows), bool)
  follows[1:] = np.where(
    place[1:] == place[:-1],
    offset[1:] >= offset[:-1] + extent[:-1],
    place[1:] > place[:-1],
  )
  yield (
    ~follows,
    "offset",
    "come after the record of the row before: rows ascend by (split, format, shard, "
    "offset)",
  )
