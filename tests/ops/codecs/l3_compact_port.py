"""L3's compact profile in plain Python, from docs/formats/l3.md and nothing else.

Slow, and for comparison only. It reads a patch and, with the choices that another
encoder made, writes it.
"""

import struct

import numpy as np

_LIMITS = (0, 1, 3, 8)
_LONGEST = 24


def thresholds(page: str) -> list[list[int]]:
  """The table of thresholds that the specification prints.

  Args:
    page: text of docs/formats/l3.md.

  Returns:
    16 lists of 15 numbers.
  """
  lines = page.split("```thresholds\n")[1].split("```")[0].splitlines()
  return [[int(number) for number in line.split(":")[1].split()] for line in lines]


class _Bits:
  """Bits of bytes, from the least significant of the first one on."""

  def __init__(self, data: bytes):
    self.number, self.at = int.from_bytes(data, "little"), 0

  def read(self, count: int) -> int:
    value = self.number >> self.at & ((1 << count) - 1)
    self.at += count
    return value

  def write(self, value: int, count: int) -> None:
    self.number |= value << self.at
    self.at += count

  def bytes(self) -> int:
    return -(-self.at // 8)


def _wrap(value: int, depth: int) -> int:
  """A number as a signed one of `depth` bits."""
  value &= (1 << depth) - 1
  return value - (1 << depth) if value >> (depth - 1) else value


def _terms(predictor: int, above: list[int], depth: int) -> list[int]:
  """What is added to the left pixel."""
  d = [0] + [_wrap(b - a, depth) for a, b in zip(above, above[1:], strict=False)]
  if predictor >= 4:
    around = [0, *d, 0]
    d = [
      ((around[x] + around[x + 2] + 1) // 2 + d[x] + 1) // 2 for x in range(len(above))
    ]
  if predictor in (3, 5):
    d = [value - value // 4 for value in d]
  return [0] * len(d) if predictor == 1 else d


def _k(row: list[int], total: int, depth: int) -> int:
  return sum(number <= total for number in row[: 7 if depth == 8 else 15])


class _Channel:
  """One channel of a patch of residuals: its word, and its planes row by row."""

  def __init__(self, word: int, width: int, depth: int, table: list[list[int]]):
    self.predictors = [word >> 3 * band & 7 for band in range(4)]
    self.colour = word >> 12 & 3
    self.row = table[word >> 14 & 15]
    self.limit = _LIMITS[word >> 18 & 3]
    self.first_k = word >> 20 & 15
    self.base = (word >> 24) << (depth - 8)
    self.groups, self.depth = -(-width // 8), depth
    self.sums = [0] * self.groups

  def guesses(self, y: int, above: list[int]) -> tuple[bool, list[int], int]:
    """Whether they are added to the row above, what is added, and what is left."""
    predictor = self.predictors[y // 16] if y else 1
    if predictor == 0:
      return True, above, 0
    terms = _terms(predictor, above, self.depth) if y else [0] * (8 * self.groups)
    return False, terms, above[0] if y else self.base

  def ks(self, y: int) -> list[int]:
    if y == 0:
      return [self.first_k] * self.groups
    return [_k(self.row, total, self.depth) for total in self.sums]

  def flagged(self, y: int) -> list[bool]:
    return [y > 0 and total < self.limit for total in self.sums]

  def note(self, residuals: list[int]) -> None:
    self.sums = [
      sum(map(abs, residuals[8 * g : 8 * g + 8])) for g in range(self.groups)
    ]

  def read(self, segment: bytes, height: int) -> list[list[int]]:
    bits, back, size = _Bits(segment), len(segment), self.depth // 8
    rows, above = [], [0] * (8 * self.groups)
    for y in range(height):
      coded = [not flag or bits.read(1) == 1 for flag in self.flagged(y)]
      ks = [k if on else 0 for k, on in zip(self.ks(y), coded, strict=True)]
      zeros = []
      for on in coded:
        for _ in range(8):
          count = 0
          while on and not bits.read(1):
            count += 1
            assert count <= _LONGEST
          zeros.append(count)
      lows = sum(ks)
      back -= lows + size * zeros.count(_LONGEST)
      assert bits.bytes() <= back
      low, escape, residuals = back, back + lows, []
      for g, k in enumerate(ks):
        number = int.from_bytes(segment[low : low + k], "little")
        low += k
        for i, count in enumerate(zeros[8 * g : 8 * g + 8]):
          z = count << k | number >> k * i & ((1 << k) - 1)
          if count == _LONGEST:
            z = int.from_bytes(segment[escape : escape + size], "little")
            escape += size
          residuals.append(-(z + 1 >> 1) if z & 1 else z >> 1)
      self.note(residuals)
      top, terms, left = self.guesses(y, above)
      row = []
      for term, residual in zip(terms, residuals, strict=True):
        left = ((term if top else left + term) + residual) % (1 << self.depth)
        row.append(left)
      rows.append(row)
      above = row
    assert bits.bytes() == back
    return rows

  def write(self, rows: list[list[int]]) -> bytes:
    bits, back, above = _Bits(b""), b"", [0] * (8 * self.groups)
    for y, row in enumerate(rows):
      top, terms, left = self.guesses(y, above)
      residuals = []
      for x, term in enumerate(terms):
        guess = term if top else (row[x - 1] if x else left) + term
        residuals.append(_wrap(row[x] - guess, self.depth))
      flagged, ks = self.flagged(y), self.ks(y)
      self.note(residuals)
      for flag, total in zip(flagged, self.sums, strict=True):
        if flag:
          bits.write(total > 0, 1)
      lows = escapes = b""
      for g, k in enumerate(ks):
        if flagged[g] and self.sums[g] == 0:
          continue
        number = 0
        for i, r in enumerate(residuals[8 * g : 8 * g + 8]):
          z = 2 * r if r >= 0 else -2 * r - 1
          count = min(z >> k, _LONGEST)
          bits.write(1 << count, count + 1)
          number |= (z & ((1 << k) - 1)) << k * i
          if count == _LONGEST:
            escapes += z.to_bytes(self.depth // 8, "little")
        lows += number.to_bytes(k, "little")
      back = lows + escapes + back
      above = row
    return bits.number.to_bytes(bits.bytes(), "little") + back


def _add_colours(pixels: np.ndarray, red: int, blue: int, modulus: int) -> None:
  """Undoes the colour transforms of planes, in place."""
  if red == 1:
    pixels[0] = (pixels[0] + pixels[1]) % modulus
  if blue:
    added = pixels[1] if blue == 1 else (pixels[0] + pixels[1] + 1) // 2
    pixels[2] = (pixels[2] + added) % modulus


def _bit_for_each(bits: _Bits, pixels: list[int]) -> set[int]:
  return {x for x in pixels if bits.read(1)}


def _edges(above: list[int]) -> tuple[set[int], set[int]]:
  before = {x for x in range(1, len(above)) if above[x] != above[x - 1]}
  return before, {x - 1 for x in before}


def _read_flat(data: bytes, height: int, width: int, channels: int, depth: int):
  colours, size = data[0] + 1, depth // 8
  at = 2 + colours * channels * size
  palette = np.frombuffer(data[2:at], "<u2" if size == 2 else np.uint8)
  palette = palette.reshape(channels, colours).T
  bits = _Bits(data[at:])
  literal_bits = max(colours - 2, 0).bit_length()
  rows, above = [], [0] * width
  for _ in range(height):
    row = list(above)
    if colours > 1:
      before, after = _edges(above)
      near = sorted(before | after)
      changed = _bit_for_each(bits, near)
      calm = [x for x in range(width) if x not in near]
      if calm and bits.read(1):
        groups = {g for g in sorted({x // 8 for x in calm}) if bits.read(1)}
        changed |= _bit_for_each(bits, [x for x in calm if x // 8 in groups])
      left, following = set(), set()
      if colours > 3:
        left = _bit_for_each(
          bits, [x for x in sorted(changed) if x - 1 in changed or x in before]
        )
        following = _bit_for_each(
          bits, [x for x in sorted(changed - left) if x in after]
        )
      for x in sorted(changed):
        if x in left:
          row[x] = row[x - 1]
        elif x in following:
          row[x] = above[x + 1]
        else:
          literal = bits.read(literal_bits)
          row[x] = literal + (literal >= above[x])
    rows.append(row)
    above = row
  assert bits.bytes() == len(data) - at
  return palette[np.array(rows)]


def _write_flat(pixels: np.ndarray, depth: int) -> bytes:
  height, width, channels = pixels.shape
  palette, rows = [], []
  for line in pixels.tolist():
    for pixel in line:
      if pixel not in palette:
        palette.append(pixel)
    rows.append([palette.index(pixel) for pixel in line])
  colours = len(palette)
  table = np.array(palette, "<u2" if depth == 16 else np.uint8).T.tobytes()
  bits, above = _Bits(b""), [0] * width
  literal_bits = max(colours - 2, 0).bit_length()
  for row in rows if colours > 1 else []:
    changed = {x for x in range(width) if row[x] != above[x]}
    before, after = _edges(above)
    near = sorted(before | after)
    for x in near:
      bits.write(x in changed, 1)
    calm = [x for x in range(width) if x not in near]
    if calm:
      moved = {x // 8 for x in calm if x in changed}
      bits.write(bool(moved), 1)
      if moved:
        for g in sorted({x // 8 for x in calm}):
          bits.write(g in moved, 1)
        for x in calm:
          if x // 8 in moved:
            bits.write(x in changed, 1)
    literals = set(changed)
    if colours > 3:
      for x in sorted(changed):
        if x - 1 in changed or x in before:
          bits.write(row[x] == row[x - 1], 1)
          literals -= {x} if row[x] == row[x - 1] else set()
      for x in sorted(literals & after):
        bits.write(row[x] == above[x + 1], 1)
        literals -= {x} if row[x] == above[x + 1] else set()
    for x in sorted(literals):
      bits.write(row[x] - (row[x] > above[x]), literal_bits)
    above = row
  head = bytes([colours - 1, 0x80]) + table
  return head + bits.number.to_bytes(bits.bytes(), "little")


def read_patch(
  data: bytes, height: int, width: int, channels: int, depth: int, table
) -> np.ndarray:
  """Decodes a patch and proves that encoding it again gives the same bytes.

  Args:
    data: the bytes of a valid patch.
    height: its rows.
    width: its columns.
    channels: 1 to 4.
    depth: 8 or 16.
    table: what `thresholds` returns.

  Returns:
    int [height, width, channels].
  """
  data = data[4:]
  if data[1] & 0x80:
    pixels = _read_flat(data, height, width, channels, depth)
    assert _write_flat(pixels, depth) == data
    return pixels.astype(np.int64)
  at, planes, codecs, segments = 6 * channels, [], [], []
  for c in range(channels):
    size, word = struct.unpack_from("<HI", data, 6 * c)
    codecs.append((word, size))
    segments.append(data[at : at + size])
    planes.append(_Channel(word, width, depth, table).read(segments[c], height))
    at += size
  assert at == len(data)
  for c, (word, _) in enumerate(codecs):
    assert _Channel(word, width, depth, table).write(planes[c]) == segments[c]
  pixels = np.array(planes)
  if channels >= 3:
    red, _, blue, *_ = (word >> 12 & 3 for word, _ in codecs)
    _add_colours(pixels, red, blue, 1 << depth)
  return pixels.transpose(1, 2, 0)[:, :width]
