"""Pixels as the bytes of a raw file (docs/formats/liquid.md)."""

import struct

import numpy as np


def raw_file(pixels: np.ndarray) -> bytes:
  """The raw encoding of uint8 or uint16 pixels, [height, width] or with channels."""
  height, width = pixels.shape[:2]
  channels = 1 if pixels.ndim == 2 else pixels.shape[2]
  bits = pixels.itemsize * 8
  header = struct.pack("<4sIIBBH", b"LRAW", height, width, channels, bits, 0)
  return header + pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
