"""The features of one sample as NumPy arrays."""

import math
import struct
from typing import Any

import numpy as np

from liquid_tf._native import direct
from liquid_tf._native.limits import Limits
from liquid_tf._store import records
from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.labels import are_corrected
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._view.stored_record import PCR, Row, Stored

_RAW = FORMATS.index("raw")
_JPEG = FORMATS.index("jpeg")
_RAW_HEADER = struct.Struct("<4sIIBBH")
(_RAW_MAGIC,) = BY_NAME["raw"].first_bytes

# dtype of the manifest -> the list of a tf.train.Feature, and NumPy's type.
_DTYPES = {"int64": np.int64, "float32": np.float32, "string": object}


class SampleFeatures:
  """Makes the features of samples.

  Args:
    manifest: of the dataset.
    limits: the largest image, and most scans of a JPEG, that are decoded.
  """

  def __init__(self, manifest: Manifest, limits: Limits):
    features = manifest["features"]
    self._limits = limits
    self._image_dtype = np.dtype(features["image"]["dtype"])
    # Where labels were corrected, the record's does not count.
    self._label = None if are_corrected(manifest) else features.get("label")
    self._mask = features.get("mask")
    self._others = {
      name: feature
      for name, feature in features.items()
      if name not in ("image", "label", "mask")
    }

  def values(self, row: Row, stored: Stored) -> dict[str, Any]:
    """Decodes a sample, on the calling thread alone.

    Args:
      row: of the index.
      stored: its record.

    Returns:
      "image", [height, width, channels]; "label", where the record's counts, a np.int64
      or [k] of float32; "mask", [height, width, 1]; every other feature of
      the dataset; "id" and "orientation", np.int64.

    Raises:
      ValueError: the record does not hold what the manifest says; one sentence.
    """
    result = {"image": self._decode(row, stored)}
    if self._label is not None:
      result["label"] = self._labels(stored.labels)
    if self._mask is not None or self._others:
      result.update(self._of_example(row, stored.example))
    result["id"] = np.int64(row.sample)
    result["orientation"] = np.int64(row.orientation)
    return result

  def _decode(self, row: Row, stored: Stored) -> np.ndarray:
    file, shape = stored.image, (row.height, row.width, row.channels)
    if row.format != _RAW:
      number = _JPEG if row.format == PCR else row.format
      dtype, limits = self._image_dtype, self._limits
      return direct.decode(file, shape, dtype, limits, number, stored.index)
    header = (_RAW_MAGIC, *shape, row.bits, 0)
    size = math.prod(shape) * self._image_dtype.itemsize
    if len(file) != _RAW_HEADER.size + size or header != _RAW_HEADER.unpack_from(file):
      raise ValueError("its raw image has another size than the index says")
    # The record is the caller's: what was read is what is given out.
    return file[_RAW_HEADER.size :].view(self._image_dtype).reshape(shape)

  def _labels(self, labels: tuple[float, ...]) -> np.ndarray | np.int64:
    if self._label["dtype"] == "int64":
      if len(labels) != 1 or labels[0] != int(labels[0]):
        raise ValueError(f"its label {list(labels)} must be one whole number")
      return np.int64(labels[0])
    count = self._label["shape"][0]
    if count not in (None, len(labels)):
      raise ValueError(f"it has {len(labels)} labels, features.label says {count}")
    return np.array(labels, np.float32)

  def _of_example(self, row: Row, serialized: bytes) -> dict[str, Any]:
    found = records.Example(serialized)
    result = {}
    if self._mask is not None:
      result["mask"] = self._decode_mask(row, found)
    for name, feature in self._others.items():
      result[name] = of_list(name, feature, found)
    return result

  def _decode_mask(self, row: Row, found: records.Example) -> np.ndarray:
    file = np.frombuffer(records.mask_of(self._mask, found), np.uint8)
    shape, dtype = (row.height, row.width, 1), np.dtype(self._mask["dtype"])
    try:
      return direct.decode(file, shape, dtype, self._limits)
    except ValueError as error:
      raise ValueError(f"its mask: {error}") from error


def of_list(name: str, feature: dict[str, Any], found: records.Example) -> Any:
  """A feature of an example: one value, or an array of them in the feature's shape."""
  key, dtype = feature["example"], _DTYPES[feature["dtype"]]
  values = records.values_of(name, feature, found)
  shape = feature["shape"]
  if not shape:
    return values[0] if dtype is object else dtype(values[0])
  array = np.empty(len(values), dtype)
  array[:] = values
  if None not in shape:
    return array.reshape(shape)
  sides = shape[1:]
  if len(array) % math.prod(sides):
    raise ValueError(
      f'its tf.train.Example has {len(values)} values of "{key}", which are no whole '
      f"number of {sides}"
    )
  return array.reshape(-1, *sides)
