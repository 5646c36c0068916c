"""Measures the cost and the fidelity of each scan group of progressive records."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import plan
from liquid_tf._native import image_ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import storage
from liquid_tf._store.pcr_index import PcrEntry

# Enough images for two digits, few enough not to be felt beside the conversion.
_RECORDS = 8
_IMAGES = 4
# Only the middle of a larger image is compared; all five scales fit into it.
_SIDE = 256

_FILTER = 11
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def mssim(images: np.ndarray, reference: np.ndarray) -> np.ndarray | None:
  """Multi-scale structural similarity (Wang et al., 2003).

  Args:
    images: shape [n, height, width, 1 or 3], uint8; their luma is compared.
    reference: shape [height, width, 1 or 3], uint8.

  Returns:
    Shape [n], float32, 1 for an equal image. It is that of tf.image.ssim_multiscale,
    with its first scales only where the sides are too small for all; None where they
    are for the first.
  """
  side = min(reference.shape[:2])
  scales = sum(side >= _FILTER << k for k in range(len(_WEIGHTS)))
  if not scales:
    return None
  if images.shape[-1] == 3:
    images, reference = (
      tf.image.rgb_to_grayscale(each).numpy() for each in (images, reference)
    )
  weights = np.array(_WEIGHTS[:scales])
  result = tf.image.ssim_multiscale(
    images,
    np.broadcast_to(reference, images.shape),
    max_val=255,
    power_factors=(weights / weights.sum()).tolist(),
    filter_size=_FILTER,
  )
  return result.numpy()


def _decode(jpeg: bytes, limits: Limits) -> np.ndarray:
  image = image_ops.decode(jpeg, format="jpeg", limits=limits).numpy()
  y, x = (max(0, size - _SIDE) // 2 for size in image.shape[:2])
  return image[y : y + _SIDE, x : x + _SIDE]


def _measure_record(
  record: bytes, entry: PcrEntry, chosen: np.ndarray, groups: int, limits: Limits
) -> list[np.ndarray]:
  """MSSIM by group, shape [groups], of each chosen image that is large enough."""
  stages = [entry.read(record, group + 1).images.numpy() for group in range(groups)]
  result = []
  for position in chosen:
    images = np.stack([_decode(stage[position], limits) for stage in stages])
    found = mssim(images, images[-1])
    if found is not None:
      result.append(found)
  return result


def _is_right(entry: PcrEntry, record: bytes) -> bool:
  """Whether the parts of a record have their checksums."""
  ends = np.cumsum(entry.lengths).tolist()
  return all(
    storage.crc32c(record[begin:end]) == crc
    for begin, end, crc in zip([0, *ends], ends, entry.crc32cs.tolist())
  )


def measure(
  directory: str,
  entries: Sequence[PcrEntry],
  images: Sequence[int],
  seed: int,
  limits: Limits,
  images_each: int = _IMAGES,
) -> list[dict[str, Any]]:
  """Measures the fidelities of a dataset.

  Args:
    directory: path or URL of the dataset.
    entries: of every record.
    images: how many each record has.
    seed: of the dataset; it draws the images that are compared.
    limits: of every image.
    images_each: of a drawn record, at most.

  Returns:
    For each scan group from 1 on: `bytes` that an epoch reads, and the mean `mssim`, or
    None where no drawn image is large enough.
  """
  groups = max((entry.groups for entry in entries), default=0)
  order = plan.words(seed, plan.Purpose.FIDELITY, len(entries) + sum(images))
  found: list[np.ndarray] = []
  for record in order[: len(entries)].argsort(kind="stable")[:_RECORDS]:
    begin = len(entries) + sum(images[:record])
    drawn = order[begin : begin + images[record]].argsort(kind="stable")[:images_each]
    entry = entries[record]
    path = storage.join(directory, entry.name)
    data = storage.read_right(path, functools.partial(_is_right, entry))
    found += _measure_record(data, entry, drawn, groups, limits)
  means = np.mean(found, axis=0) if found else [None] * groups
  return [
    {
      "bytes": sum(entry.prefix_bytes(group) for entry in entries),
      "mssim": None if mean is None else round(float(mean), 4),
    }
    for group, mean in enumerate(means, start=1)
  ]
