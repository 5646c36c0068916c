"""L3 in plain Python, from the words of docs/formats/l3.md and nothing else.

Slow, and for comparison only: version 1 encodes, version 2 decodes, its compact profile
does both (l3_compact_port.py).
"""

import struct

import l3_compact_port
import numpy as np


def _predict_v1(a: int, b: int, c: int) -> int:
  pa, pb, pc = abs(c - b), abs(a + c - 2 * b), abs(a - b)
  if a == 0:
    return b if pb <= pc else c
  if c == 0:
    return a if pa <= pb else b
  if pa <= pb and pa <= pc:
    return a
  return b if pa <= pc else c


def _signed(value: int) -> int:
  value &= 255
  return value - 256 if value >= 128 else value


def _encode_patch_v1(rows: list[list[int]]) -> bytes:
  out = b""
  for y, row in enumerate(rows):
    if y == 0:
      residuals = [_signed(value) for value in row]
    else:
      above = [0, *rows[y - 1], 0]
      residuals = [
        _signed(value - _predict_v1(*above[x : x + 3])) for x, value in enumerate(row)
      ]
    base = min(residuals)
    bits = (max(residuals) - base).bit_length()
    number = bits | (base & 255) << 4
    for x, residual in enumerate(residuals):
      number |= (residual - base) << (12 + bits * x)
    out += number.to_bytes((12 + bits * len(row) + 7) // 8, "little")
  return out


def encode_v1(pixels: np.ndarray, side: int) -> bytes:
  """Encodes an image as version 1.

  Args:
    pixels: uint8 [height, width, 3].
    side: side of a patch in pixels, 1 to 255.

  Returns:
    The bytes of the file.
  """
  height, width, _ = pixels.shape
  patches = [
    _encode_patch_v1(pixels[y : y + side, x : x + side, c].tolist())
    for c in range(3)
    for y in range(0, height, side)
    for x in range(0, width, side)
  ]
  header = b"LLL." + struct.pack("<iiB", width, height, side)
  sizes = struct.pack(f"<{len(patches)}H", *map(len, patches))
  return header + sizes + b"".join(patches)


def crc32c(data: bytes) -> int:
  """CRC-32C, a bit at a time."""
  crc = 0xFFFFFFFF
  for byte in data:
    crc ^= byte
    for _ in range(8):
      crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
  return crc ^ 0xFFFFFFFF


def _bits(data: bytes, at: int, count: int) -> int:
  return int.from_bytes(data, "little") >> at & ((1 << count) - 1)


def _decode_patch_v2(
  data: bytes, height: int, width: int, channels: int, depth: int
) -> np.ndarray:
  _, *words = struct.unpack_from(f"<{1 + channels}I", data)
  modulus = 1 << depth
  at = 4 + 4 * channels
  codes, tables, code_bits = [], [], []
  for word in words:
    table = [n for n in range(17) if word >> (4 + n) & 1]
    bits = (len(table) - 1).bit_length()
    tables.append(table + [0] * 16)
    code_bits.append(bits)
    codes.append([data[at + y * bits : at + (y + 1) * bits] for y in range(height)])
    at += bits * height
  planes = [[] for _ in words]
  for y in range(height):
    for c, word in enumerate(words):
      residuals = []
      for group in range((width + 7) // 8):
        code = _bits(codes[c][y], group * code_bits[c], code_bits[c])
        bits = tables[c][code]
        for k in range(8):
          value = _bits(data[at : at + bits], bits * k, bits)
          residuals.append(value - (1 << bits - 1) if bits else 0)
        at += bits
      row = []
      for x in range(width):
        above = planes[c][y - 1] if y else None
        left = row[x - 1] if x else above[0] if y else (word >> 24) << (depth - 8)
        slope = (above[x] - above[max(x - 1, 0)]) % modulus if y else 0
        if slope >= modulus // 2:
          slope -= modulus
        guess = left
        if y:
          guess = [above[x], left, left + slope, left + slope - slope // 4][word & 3]
        row.append((guess + residuals[x]) % modulus)
      planes[c].append(row)
  assert at == len(data)
  pixels = np.array(planes).transpose(1, 2, 0)
  if channels >= 3:
    if words[0] >> 2 & 3 == 1:
      pixels[..., 0] += pixels[..., 1]
      pixels[..., 0] %= modulus
    match words[2] >> 2 & 3:
      case 1:
        pixels[..., 2] += pixels[..., 1]
      case 2:
        pixels[..., 2] += (pixels[..., 0] + pixels[..., 1] + 1) // 2
    pixels[..., 2] %= modulus
  return pixels


def decode_v2(data: bytes, page: str) -> np.ndarray:
  """Decodes version 2.

  Args:
    data: the bytes of a valid file.
    page: text of docs/formats/l3.md.

  Returns:
    uint8 or uint16 [height, width, channels].
  """
  magic, height, width, channels, depth, side, profile, crc = struct.unpack_from(
    "<4sIIBBBBI", data
  )
  assert (magic, side) == (b"LLL2", 64) and profile in (0, 1)
  thresholds = l3_compact_port.thresholds(page)
  assert crc == crc32c(data[:16])
  across = -(-width // 64)
  patches = across * -(-height // 64)
  table = struct.unpack_from(f"<{patches + 1}I", data, 20)
  start = 20 + 4 * (patches + 1)
  assert start + table[-1] == len(data)
  pixels = np.zeros((height, width, channels), np.uint8 if depth == 8 else np.uint16)
  for i in range(patches):
    y, x = i // across * 64, i % across * 64
    part = pixels[y : y + 64, x : x + 64]
    patch = data[start + table[i] : start + table[i + 1]]
    stored = int.from_bytes(patch[:4], "little")
    assert stored == crc32c(struct.pack("<I", i) + patch[4:])
    size = (*part.shape[:2], channels, depth)
    if profile == 1:
      part[...] = l3_compact_port.read_patch(patch, *size, thresholds)
    else:
      part[...] = _decode_patch_v2(patch, *size)
  return pixels
