"""Damage done to datasets on purpose."""

import json
import os
import pathlib
import struct
import zlib
from collections.abc import Callable

import numpy as np

from liquid_tf._native import ops
from liquid_tf._store import manifest


def _is_row(rows: np.ndarray, sample: int, format_name: str | None) -> np.ndarray:
  """Which rows are those of a sample, in one format or in all."""
  found = rows["sample"] == sample
  if format_name is not None:
    found &= rows["format"] == manifest.FORMATS.index(format_name)
  return found


def _row(path: str, sample: int, format_name: str | None = None) -> np.void:
  index = manifest.load_index(manifest.load(path, check_files=False))
  return index[np.flatnonzero(_is_row(index, sample, format_name))[0]]


def shard_of(path: str, sample: int, format_name: str | None = None) -> str:
  """Path of the file that holds a sample; `format_name` where several do."""
  loaded = manifest.load(path, check_files=False)
  return loaded.path(loaded.shards[_row(path, sample, format_name)["shard"]].path)


def where(path: str, sample: int, format_name: str | None = None) -> str:
  """The file and record of a sample, as an error names them; a pattern."""
  row = _row(path, sample, format_name)
  shard = os.path.basename(shard_of(path, sample, format_name))
  index = manifest.load_index(manifest.load(path, check_files=False))
  before = (index["shard"] == row["shard"]) & (index["offset"] < row["offset"])
  return (
    rf"{shard}, record {int(before.sum())} "
    rf"\(sample {sample}, offset {row['offset']}\)"
  )


def samples(path: str, format_name: str) -> list[int]:
  """Sample numbers of a format, in stored order."""
  index = manifest.load_index(manifest.load(path, check_files=False))
  number = manifest.FORMATS.index(format_name)
  return [int(sample) for sample in index["sample"][index["format"] == number]]


def flip(path: str, sample: int, format_name: str | None = None, at=None) -> None:
  """Changes one bit of a sample's record: in its image, or in byte `at`."""
  row = _row(path, sample, format_name)
  offset = int(row["offset"] + (row["length"] // 2 if at is None else at))
  with open(shard_of(path, sample, format_name), "r+b") as file:
    file.seek(offset)
    byte = file.read(1)[0]
    file.seek(offset)
    file.write(bytes([byte ^ 1]))


def wipe(path: str, sample: int, format_name: str | None = None) -> None:
  """Makes a sample's whole record zero."""
  row = _row(path, sample, format_name)
  with open(shard_of(path, sample, format_name), "r+b") as file:
    file.seek(int(row["offset"]))
    file.write(bytes(int(row["length"])))


def repack(
  path: str,
  sample: int,
  change: Callable[[bytes], bytes],
  format_name: str | None = None,
  part: str = "image",
) -> None:
  """Changes a part of a sample's record as somebody would who wrote the dataset so.

  The CRCs of the record, of the index and in the manifest are right again.

  Args:
    path: of the dataset.
    sample: its number.
    change: gives the new part, of the same length.
    format_name: of its encodings, where it has several.
    part: "image", or "index" of a JPEG.
  """
  row = _row(path, sample, format_name)
  file = pathlib.Path(shard_of(path, sample, format_name))
  data = bytearray(file.read_bytes())
  begin, end = int(row["offset"]), int(row["offset"] + row["length"])
  record = ops.lib().liquid_unpack_record(framed=bytes(data[begin:end]))
  old = getattr(record, part).numpy()
  changed = change(old)
  if len(changed) != len(old):
    raise ValueError(f"change must give {len(old)} bytes, not {len(changed)}")
  at = data.index(old, begin, end)
  data[at : at + len(changed)] = changed
  file.write_bytes(data)

  loaded = manifest.load(path)
  rows = np.array(manifest.load_index(loaded))
  found = _is_row(rows, sample, format_name)
  rows["crc32c"][found] = manifest.crc32c(bytes(data[begin:end]))
  index = manifest.encode_index(rows)
  pathlib.Path(path, manifest.INDEX).write_bytes(index)
  edit_manifest(path, lambda data: data["index"].update(crc32c=manifest.crc32c(index)))


def edit_manifest(path: str, edit: Callable[[dict], None]) -> None:
  """Changes the manifest's JSON in place."""
  file = os.path.join(path, manifest.MANIFEST)
  with open(file) as f:
    data = json.load(f)
  edit(data)
  with open(file, "w") as f:
    json.dump(data, f)


def lie_about_size(png: bytes) -> bytes:
  """A PNG whose header says twice the height, with a right CRC."""
  width, height = struct.unpack(">II", png[16:24])
  header = png[12:16] + struct.pack(">II", width, 2 * height) + png[24:29]
  return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]
