"""What each format can hold: the one place where Python states it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from liquid_tf._store.mix import TARGETS
from liquid_tf.errors import ConvertError

# The largest payload of a record, and what of it is not the image's.
RECORD_BYTES = (1 << 29) - 1
_RECORD_HEADER = 24


def _pixel_bytes(samples: np.ndarray) -> np.ndarray:
  sides = samples["height"].astype(np.int64) * samples["width"]
  return sides * samples["channels"] * samples["bits"] // 8


def _raw_bytes(samples: np.ndarray) -> np.ndarray:
  return 16 + _pixel_bytes(samples)


def _bmp_bytes(samples: np.ndarray) -> np.ndarray:
  rows = samples["width"].astype(np.int64) * samples["channels"]
  headers = np.select(
    [samples["channels"] == 1, samples["channels"] == 4], [1078, 122], 54
  )
  return headers + samples["height"] * ((rows + 3) // 4 * 4)


class _Holds(NamedTuple):
  """What a format can hold such that it comes back the same.

  Attributes:
    channels: numbers of them.
    bits: depths.
    side: the largest height and width, where the format or its library has one below
      that of all images.
    file_bytes: bytes of each sample's file, where its size follows from the pixels'.
      Other files are compressed, and how far is not known before.
  """

  channels: tuple[int, ...]
  bits: tuple[int, ...]
  side: int | None = None
  file_bytes: Callable[[np.ndarray], np.ndarray] | None = None


HOLDS = {
  "png": _Holds((1, 2, 3, 4), (8, 16)),
  "jpeg": _Holds((1, 3), (8,), side=65_500),
  "webp": _Holds((3, 4), (8,), side=16_383),
  "raw": _Holds((1, 2, 3, 4), (8, 16), file_bytes=_raw_bytes),
  "bmp": _Holds((1, 3, 4), (8,), file_bytes=_bmp_bytes),
  "l3": _Holds((1, 2, 3, 4), (8, 16)),
  "l3-compact": _Holds((1, 2, 3, 4), (8, 16)),
  "pcr": _Holds((1, 3), (8,), side=65_500),
}


def too_large(mix: Mapping[str, float], samples: np.ndarray) -> dict[int, str]:
  """Finds samples that are too large for a format of the mix.

  Args:
    mix: of the dataset.
    samples: shape [samples], SCAN_DTYPE.

  Returns:
    Why, by position in `samples`.
  """
  found: dict[int, str] = {}
  labels = np.where(samples["labels"] > 1, samples["labels"], 0).astype(np.int64)
  around = _RECORD_HEADER + 4 * labels
  for name in mix:
    holds = HOLDS[TARGETS[name][0]]
    if holds.side is not None:
      sides = np.maximum(samples["height"], samples["width"])
      for i in np.flatnonzero(sides > holds.side).tolist():
        height, width = samples["height"][i], samples["width"][i]
        found[i] = (
          f'has {height} x {width} pixels, and sides of the mix\'s format "{name}" are '
          f"at most {holds.side}"
        )
    if holds.file_bytes is not None:
      sizes = around + holds.file_bytes(samples)
      for i in np.flatnonzero(sizes > RECORD_BYTES).tolist():
        found[i] = (
          f'needs a record of {sizes[i]} bytes in the mix\'s format "{name}", and '
          f"records have at most {RECORD_BYTES}"
        )
  return found


def check_holds(mix: Mapping[str, float], channels: int, bits: int) -> None:
  """Raises ConvertError if a format of the mix cannot store such images."""
  for name in mix:
    holds = HOLDS[TARGETS[name][0]]
    if channels not in holds.channels or bits not in holds.bits:
      raise ConvertError(
        f'mix: format "{name}" holds images of {_list(holds.channels)} channels and '
        f"{_list(holds.bits)} bits, but these have {channels} channels and {bits} "
        "bits: resume with another format, or transforms=[Channels(N), Bits(N)]"
      )


def _list(numbers: tuple[int, ...]) -> str:
  return " or ".join(str(number) for number in numbers)
