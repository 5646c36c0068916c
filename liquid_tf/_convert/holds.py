"""Whether the formats of a mix can hold images."""

from collections.abc import Mapping

import numpy as np

from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.mix import TARGETS
from liquid_tf.errors import ConvertError, said

# The largest payload of a record, and what of it is not the image's.
RECORD_BYTES = (1 << 29) - 1
_RECORD_HEADER = 24


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
    holds = BY_NAME[TARGETS[name][0]]
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
    holds = BY_NAME[TARGETS[name][0]]
    if channels not in holds.channels or bits not in holds.bits:
      raise ConvertError(
        f'mix: format "{name}" holds images of {_list(holds.channels)} channels and '
        f"{_list(holds.bits)} bits, but these have {channels} channels and {bits} "
        "bits: resume with another format, or "
        f"{said('transforms=[Channels(N), Bits(N)]')}"
      )


def _list(numbers: tuple[int, ...]) -> str:
  return " or ".join(str(number) for number in numbers)
