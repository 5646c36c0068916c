"""The formats: all that Python knows of each stands in its row.

ops/codecs/formats.h has the rows of C++; tests/liquid_tf/store/formats_test.py compares
them.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Format(NamedTuple):
  """A format that datasets hold.

  Attributes:
    name: in datasets and arguments.
    number: in a dataset's index: never renumber.
    first_bytes: what its files begin with, "?" for any byte; of those that fit the
      longest counts. Without any it is never found by them.
    channels: numbers of them that come back the same.
    bits: depths, likewise.
    lossless: whether pixels come back as they were.
    cost: bytes that are copied while one of its bytes is decoded, about.
    side: the largest height and width, where the format or its library has one below
      that of all images.
    lossy_name: its name in a mix where it shall lose pixels.
    extensions: of its files, the usual one first. Other formats share their files with
      these.
    exported: whether other programs read its files, so that an export may have them.
    file_bytes: bytes of each sample's file, where its size follows from the pixels'.
      Other files are compressed, and how far is not known before. It takes an array
      with the fields height, width, channels and bits.
  """

  name: str
  number: int
  first_bytes: tuple[bytes, ...]
  channels: tuple[int, ...]
  bits: tuple[int, ...]
  lossless: bool
  cost: int
  side: int | None = None
  lossy_name: str | None = None
  extensions: tuple[str, ...] = ()
  exported: bool = False
  file_bytes: Callable[[np.ndarray], np.ndarray] | None = None


def _raw_bytes(samples: np.ndarray) -> np.ndarray:
  sides = samples["height"].astype(np.int64) * samples["width"]
  return 16 + sides * samples["channels"] * samples["bits"] // 8


def _bmp_bytes(samples: np.ndarray) -> np.ndarray:
  rows = samples["width"].astype(np.int64) * samples["channels"]
  headers = np.select(
    [samples["channels"] == 1, samples["channels"] == 4], [1078, 122], 54
  )
  return headers + samples["height"] * ((rows + 3) // 4 * 4)


_ANY = (1, 2, 3, 4)
_DEEP = (8, 16)

# In the order in which messages list them.
ROWS = (
  Format(
    "png",
    1,
    (b"\x89PNG\r\n\x1a\n",),
    _ANY,
    _DEEP,
    lossless=True,
    cost=40,
    extensions=(".png",),
    exported=True,
  ),
  Format(
    "jpeg",
    2,
    (b"\xff\xd8\xff",),
    (1, 3),
    (8,),
    lossless=False,
    cost=100,
    side=65_500,
    extensions=(".jpg", ".jpeg"),
    exported=True,
  ),
  Format(
    "webp",
    3,
    (b"RIFF????WEBP",),
    (3, 4),
    (8,),
    lossless=True,
    cost=100,
    side=16_383,
    lossy_name="webp-lossy",
    extensions=(".webp",),
    exported=True,
  ),
  Format(
    "raw",
    0,
    (b"LRAW",),
    _ANY,
    _DEEP,
    lossless=True,
    cost=1,
    extensions=(".raw",),
    file_bytes=_raw_bytes,
  ),
  Format(
    "bmp",
    4,
    (b"BM",),
    (1, 3, 4),
    (8,),
    lossless=True,
    cost=1,
    extensions=(".bmp",),
    exported=True,
    file_bytes=_bmp_bytes,
  ),
  Format(
    "l3",
    5,
    (b"LLL.", b"LLL2"),
    _ANY,
    _DEEP,
    lossless=True,
    cost=4,
    extensions=(".l3",),
  ),
  Format(
    "l3-compact",
    7,
    (b"LLL2???????????\x01",),
    _ANY,
    _DEEP,
    lossless=True,
    cost=12,
  ),
  Format(
    "pcr",
    6,
    (),
    (1, 3),
    (8,),
    lossless=False,
    cost=100,
    side=65_500,
  ),
)

BY_NAME = {row.name: row for row in ROWS}

# Names by number.
FORMATS = tuple(row.name for row in sorted(ROWS, key=lambda row: row.number))

# Extension, in lower case -> format.
BY_EXTENSION = dict(
  sorted((extension, row.name) for row in ROWS for extension in row.extensions)
)

_FIRST_BYTES = re.compile(
  b"|".join(
    re.escape(pattern).replace(rb"\?", b".")
    for row in ROWS
    for pattern in row.first_bytes
  ),
  re.DOTALL,
)


def begins_so(head: bytes) -> bool:
  """Whether a file that begins with `head` may be of one of the formats."""
  return _FIRST_BYTES.match(head) is not None
