"""Datasets for both faces, and what each face gives of them, to be compared."""

import io
import json
import os
import pathlib
from typing import Any

import numpy as np
import photos
import runs
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf._loader.ragged import RaggedArray

Plain = list[tuple[str, str, list[int], bytes]]


def plain(value: Any, name: str = "") -> Plain:
  """Every array of a batch: its place in it, dtype, shape and bytes.

  Of rows of unequal length, values and row splits.
  """
  if isinstance(value, dict):
    found = [plain(value[key], f"{name}.{key}") for key in value]
  elif isinstance(value, tuple):
    found = [plain(one, f"{name}.{i}") for i, one in enumerate(value)]
  elif isinstance(value, (tf.RaggedTensor, RaggedArray)):
    splits = np.asarray(value.row_splits, np.int64)
    found = [plain(value.values, f"{name}.values"), plain(splits, f"{name}.splits")]
  else:
    array = np.asarray(value)
    data = array.tobytes()
    if array.dtype == object:
      data = b"\0".join(array.reshape(-1))
    return [(name, str(array.dtype), list(array.shape), data)]
  return [one for part in found for one in part]


def batches(face: Any) -> list[Plain]:
  """All batches of the next epoch."""
  return [plain(batch) for batch in face]


def _example(values: np.ndarray) -> tf.train.Feature:
  if values.dtype == np.float32:
    floats = tf.train.FloatList(value=values.reshape(-1))
    return tf.train.Feature(float_list=floats)
  if values.dtype == np.int64:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values.reshape(-1)))
  return tf.train.Feature(bytes_list=tf.train.BytesList(value=values.tolist()))


def _with_boxes(root: str) -> str:
  """A dataset of images with boxes, keypoints and other features, some without any."""
  os.makedirs(root)
  random = np.random.default_rng(3)
  source, output = os.path.join(root, "a.tfrecord"), os.path.join(root, "dataset")
  shapes = {"boxes": [None, 4], "box_labels": [None], "name": [None], "depth": []}
  shapes |= {"vector": [3], "counts": [2]}
  with tf.io.TFRecordWriter(source) as writer:
    for _ in range(30):
      height, width = (int(side) for side in random.integers(24, 60, 2))
      data = io.BytesIO()
      pixels = photos.crop(photos.photo("coffee"), (height, width), random)
      Image.fromarray(pixels).save(data, "png")
      count = int(random.integers(0, 4))
      low = random.uniform(-0.1, 0.8, (count, 2)) * (height, width)
      sides = random.uniform(1, 30, (count, 2))
      words = [b"%d" % i for i in random.integers(0, 1000, count)]
      features = {
        "image/encoded": np.array([data.getvalue()], object),
        "boxes": np.concatenate([low, low + sides], 1).astype(np.float32),
        "box_labels": random.integers(0, 90, count),
        "name": np.array(words, object),
        "depth": random.uniform(0, 9, 1).astype(np.float32),
        "vector": np.array([height, width, count / 3], np.float32),
        "counts": np.array([count, -height]),
      }
      example = tf.train.Features(feature={k: _example(v) for k, v in features.items()})
      writer.write(tf.train.Example(features=example).SerializeToString())
  liquid_tf.convert(
    liquid_tf.Source(source, label_feature="", features=list(shapes)),
    output,
    "png:1,raw:1",
    progress=False,
  )
  # TFRecords do not say how many numbers a feature has.
  path = pathlib.Path(output, "dataset.json")
  data = json.loads(path.read_text())
  for name, shape in shapes.items():
    data["features"][name]["shape"] = shape
  path.write_text(json.dumps(data))
  return output


def _with_masks(root: str) -> str:
  """A dataset of images of one size with masks."""
  random = np.random.default_rng(4)
  for i in range(20):
    pixels = photos.crop(photos.photo("chelsea"), (40, 48), random)
    photos.save(os.path.join(root, "images", f"{i:02}.png"), pixels)
    mask = random.integers(0, 256, (40, 48), np.uint8)
    photos.save(os.path.join(root, "masks", f"{i:02}.png"), mask)
  output = os.path.join(root, "dataset")
  source = liquid_tf.Source(
    os.path.join(root, "images"), masks=os.path.join(root, "masks")
  )
  liquid_tf.convert(source, output, "png:1,l3:1", progress=False)
  return output


# What `runs.make` is told.
_MADE: dict[str, dict[str, Any]] = {
  "formats": {"mix": "png:5,raw:3,webp:2"},
  "unequal": {"mix": "png:1,l3:1", "sides": (24, 60)},
  "jpeg": {"mix": "jpeg:1,raw:1", "extension": "jpg", "sides": (40, 70)},
  "replicated": {"mix": "png:1,raw:2", "replicate": True},
  "pcr": {
    "mix": "pcr:1,raw:1",
    "extension": "jpg",
    "encoders": {"pcr": {"images": 7}},
  },
  "only_pcr": {
    "mix": "pcr:1",
    "extension": "jpg",
    "sides": (40, 40),
    "encoders": {"pcr": {"images": 7}},
  },
  "pcr_and_raw": {
    "mix": "pcr:1,raw:1",
    "extension": "jpg",
    "replicate": True,
    "encoders": {"pcr": {"images": 7}},
  },
}
KINDS = [*_MADE, "boxes", "masks"]


def make(root: str, kind: str) -> str:
  """Makes a dataset of KINDS in a folder; returns its directory."""
  folder = os.path.join(root, kind)
  if kind == "boxes":
    return _with_boxes(folder)
  os.makedirs(folder)
  if kind == "masks":
    return _with_masks(folder)
  return runs.make(folder, splits="train:.9,val:.1", **_MADE[kind])
