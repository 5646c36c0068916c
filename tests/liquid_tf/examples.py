"""TFRecord files of tf.train.Examples for tests."""

import io
import os

import numpy as np
import photos
import tensorflow as tf
from PIL import Image


def _feature(value) -> tf.train.Feature:
  values = value if isinstance(value, list) else [value]
  if not values:
    return tf.train.Feature(int64_list=tf.train.Int64List())
  if isinstance(values[0], bytes):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
  if isinstance(values[0], int):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
  return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write(path: str, examples: list[dict]) -> list[int]:
  """Writes a TFRecord file; returns the offset of each record, and at last its size."""
  offsets = []
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with tf.io.TFRecordWriter(path) as writer:
    for example in examples:
      writer.flush()
      offsets.append(os.path.getsize(path))
      features = {name: _feature(value) for name, value in example.items()}
      message = tf.train.Example(features=tf.train.Features(feature=features))
      writer.write(message.SerializeToString())
  return [*offsets, os.path.getsize(path)]


def images(count: int, seed: int = 0, size: tuple[int, int] = (20, 24)) -> list[bytes]:
  """PNG files: windows of a photograph."""
  random = np.random.default_rng(seed)
  result = []
  for _ in range(count):
    data = io.BytesIO()
    pixels = photos.crop(photos.photo("coffee"), size, random)
    Image.fromarray(pixels).save(data, "png")
    result.append(data.getvalue())
  return result
