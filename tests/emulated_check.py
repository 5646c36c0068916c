"""Compares what an op library decodes with what another processor's does.

usage: emulated_check.py make FOLDER    here: images, a dataset, and their pixels
       emulated_check.py check FOLDER   there, or in an emulator of it

`check` decodes every format, and reads an epoch of the dataset, and fails unless all
pixels are the same.
"""

import hashlib
import pathlib
import platform
import sys

import numpy as np

import liquid_tf
from liquid_tf import codecs

_FORMATS = ("bmp", "jpeg", "l3", "l3-compact", "png", "raw", "webp")


def _decoded(data: bytes) -> np.ndarray:
  return codecs.decode(data).numpy()


def _epoch(path: str) -> str:
  """A hash of all batches of one epoch."""
  found = hashlib.sha256()
  for images, labels in liquid_tf.dataset(path, 4, seed=1, cache="0%"):
    found.update(images.numpy().tobytes() + labels.numpy().tobytes())
  return found.hexdigest()


def make(folder: pathlib.Path) -> None:
  random = np.random.default_rng(0)
  photos = folder / "photos" / "a"
  photos.mkdir(parents=True)
  for i in range(12):
    ramp = np.add.outer(np.arange(67), np.arange(93))[..., None] * (1 + i % 3)
    pixels = (ramp + random.integers(0, 40, (67, 93, 3))).astype(np.uint8)
    (photos / f"{i}.png").write_bytes(codecs.encode(pixels, "png").numpy())
  for name in _FORMATS:
    data = codecs.encode(pixels, name).numpy()
    (folder / f"image.{name}").write_bytes(data)
    np.save(folder / f"{name}.npy", _decoded(data))
  path = str(folder / "photos.liquid")
  mix = dict.fromkeys(_FORMATS, 1)
  liquid_tf.convert(str(photos.parent), path, mix, shard_size=1 << 20)
  (folder / "epoch").write_text(_epoch(path))


def check(folder: pathlib.Path) -> None:
  for name in _FORMATS:
    found = _decoded((folder / f"image.{name}").read_bytes())
    np.testing.assert_array_equal(found, np.load(folder / f"{name}.npy"), name)
    print(f"{platform.machine()}: {name} has the same pixels", flush=True)
  assert _epoch(str(folder / "photos.liquid")) == (folder / "epoch").read_text()
  print(f"{platform.machine()}: an epoch has the same pixels")


if __name__ == "__main__":
  {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
