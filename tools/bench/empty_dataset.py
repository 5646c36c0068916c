"""A dataset of very many samples whose shards are holes: what opening it costs.

Its index and manifest are as a conversion writes them, so opening, sharding and
planning take the code that they always take. Only the pixels are missing.
"""

import json
import os
import pathlib
import tempfile
from typing import Any

import numpy as np
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._store import arrays, manifest, texts

# Framing and headers of a record, and a pixel or two.
RECORD_BYTES = 64

_NAMES = ("raw", "png")
CLASSES = 1000
# Rows that are made and written at a time: some 50 MB.
_CHUNK_ROWS = 1 << 20


def write(directory: str, samples: int, files: int) -> None:
  """Writes a dataset of two formats.

  Args:
    directory: an empty folder.
    samples: how many, of each format.
    files: shard files of each format.
  """
  # As NumPy's array_split does: the first ones are one longer.
  bounds = np.arange(files + 1) * (samples // files) + np.minimum(
    np.arange(files + 1), samples % files
  )
  crc = 0
  with open(os.path.join(directory, manifest.INDEX), "wb") as file:

    def put(data: bytes) -> None:
      nonlocal crc
      crc = manifest.crc32c(data, crc)
      file.write(data)

    put(arrays.header(manifest.INDEX_DTYPE, (2 * samples,)))
    for number in range(len(_NAMES)):
      for begin in range(0, samples, _CHUNK_ROWS):
        put(_rows(number, begin, min(samples, begin + _CHUNK_ROWS), bounds).tobytes())
  shards = []
  for name in _NAMES:
    for i, count in enumerate(np.diff(bounds).tolist()):
      path = f"{name}-{i:05}-of-{files:05}.rec"
      with open(os.path.join(directory, path), "wb") as file:
        file.truncate(count * RECORD_BYTES)
      shards.append(
        {
          "path": path,
          "format": name,
          "split": "train",
          "records": count,
          "bytes": count * RECORD_BYTES,
          "crc32c": 0,
        }
      )
  values = _labels(2 * samples)
  data = _manifest(samples, shards, np.bincount(values, minlength=CLASSES).tolist())
  data["index"] = {"path": manifest.INDEX, "rows": 2 * samples, "crc32c": crc}
  data["names"] = texts.write(directory, manifest.NAMES, [], 2 * samples)
  data["labels"] = arrays.write(directory, manifest.LABELS, values)
  with open(os.path.join(directory, manifest.MANIFEST), "w") as file:
    json.dump(data, file)


def _rows(number: int, begin: int, end: int, bounds: np.ndarray) -> np.ndarray:
  """Index rows of the samples [begin, end) of a format."""
  rows = np.zeros(end - begin, manifest.INDEX_DTYPE)
  samples = np.arange(begin, end)
  file = np.searchsorted(bounds, samples, side="right") - 1
  rows["sample"] = number * bounds[-1] + samples
  rows["format"] = manifest.FORMATS.index(_NAMES[number])
  rows["shard"] = number * (len(bounds) - 1) + file
  rows["offset"] = (samples - bounds[file]) * RECORD_BYTES
  rows["length"] = RECORD_BYTES
  rows["height"] = rows["width"] = 4
  rows["channels"], rows["bits"], rows["orientation"] = 1, 8, 1
  return rows


def _labels(count: int) -> np.ndarray:
  """Classes of unlike sizes: of a million samples class k has 2 k + 1."""
  return np.sqrt(np.arange(count) % CLASSES**2).astype(np.int64)


def _manifest(samples: int, shards: list[dict], counts: list[int]) -> dict[str, Any]:
  """The manifest of two small images, with the figures of many."""
  with tempfile.TemporaryDirectory() as folder:
    for name in _NAMES:
      path = pathlib.Path(folder, "source", name, "0.png")
      path.parent.mkdir(parents=True)
      Image.new("L", (4, 4)).save(path)
    source, made = (os.path.join(folder, name) for name in ("source", "made"))
    convert(source, made, dict.fromkeys(_NAMES, 1), progress=False)
    data = manifest.load(made).data
  classes = {"classes": [str(i) for i in range(CLASSES)], "class_counts": counts}
  data["features"]["label"] |= classes
  sizes = {"bytes": samples * RECORD_BYTES, "pixel_bytes": samples * 16}
  for entry in data["formats"].values():
    entry |= {"samples": samples, **sizes}
  data["splits"]["train"]["samples"] = 2 * samples
  return data | {
    "samples": 2 * samples,
    "next_sample": 2 * samples,
    "shards": shards,
  }
