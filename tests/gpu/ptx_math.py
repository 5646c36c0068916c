"""What PTX computes: an interpreter's steps without memory, and without other lanes."""

import ctypes
import math

import numpy as np
from ptx_memory import LANES

LANE = np.arange(LANES)
TYPES = {
  **{f"{kind}{bits}": f"u{bits // 8}" for kind in "bu" for bits in (8, 16, 32, 64)},
  **{f"s{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
  "f32": "f4",
  "f64": "f8",
  "pred": "?",
}
_COMPARE = {
  "eq": np.equal,
  "ne": np.not_equal,
  "lt": np.less,
  "le": np.less_equal,
  "gt": np.greater,
  "ge": np.greater_equal,
}
_ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_C = ctypes.CDLL(None)
_FMA = {}
for _kind, _name, _type in (
  ("f32", "fmaf", ctypes.c_float),
  ("f64", "fma", ctypes.c_double),
):
  _fma = getattr(_C, _name)
  _fma.restype, _fma.argtypes = _type, [_type] * 3
  _FMA[_kind] = np.vectorize(_fma, otypes=[TYPES[_kind]])

# What there is of it; what is not here has not been thought about.
KNOWN = (
  r"(add|sub|min|max)\.[su](16|32|64)|(add|min|max)\.[su]16x2|(abs|neg)\.s(16|32|64)"
  r"|(add|sub|mul)(\.rn)?\.f(32|64)|(min|max|neg|abs)\.f(32|64)|(fma|div)\.rn\.f(32|64)"
  r"|(sqrt|rcp)\.rn\.f64"
  r"|mul\.lo\.[su](16|32|64)|mul\.wide\.[su](16|32)|mul\.hi\.([su]32|u64)"
  r"|mad\.lo\.[su](16|32|64)|mad\.wide\.[su](16|32)"
  r"|div\.[su](16|32|64)|rem\.u(16|32|64)"
  r"|(and|or|xor|not)\.(pred|b(16|32|64))|shl\.b(16|32|64)|shr\.[su](16|32|64)|shr\.b32"
  r"|lop3\.b32|shf\.[lr]\.(wrap|clamp)\.b32|prmt\.b32|bfi\.b(32|64)|bfe\.[su]32"
  r"|(popc|clz|brev)\.b(32|64)|bfind(\.shiftamt)?\.u32"
  r"|dp4a\.[su]32\.[su]32|dp2a\.(lo|hi)\.[su]32\.[su]32|vabsdiff4\.u32\.u32\.u32(\.add)?"
  r"|setp\.(eq|ne|lt|le|gt|ge)\.([bsu](16|32|64)|f(32|64))"
  r"|setp\.(equ|neu|ltu|leu|gtu|geu)\.f(32|64)"
  r"|selp\.([bsu](16|32|64)|f(32|64))"
  r"|cvt(\.sat)?\.[su](8|16|32|64)\.[su](8|16|32|64)"
  r"|cvt\.rn\.f(32|64)\.[su](8|16|32|64)|cvt\.r[nzmp]i\.[su](8|16|32|64)\.f(32|64)"
  r"|cvt\.(r[nzmp]i\.f32\.f32|r[nzmp]i\.f64\.f64|rn\.f32\.f64|f64\.f32)"
  r"|cvta(\.to)?\.(global|shared|const)\.u64|mov\.(pred|[bsu](16|32|64)|f(32|64))"
)


def _high_word(a, b):
  """The upper half of the products of two words of 64 bits."""
  products = [x * y >> 64 for x, y in zip(a.tolist(), b.tolist())]
  return np.array(products, np.uint64)


class Math:
  """Steps by the names of instructions; `_read` and `_math` are the kernel's."""

  def _add(self, parts, operands):
    return self._pairs(parts, operands, np.add)

  def _sub(self, parts, operands):
    return self._math(operands, parts[-1], np.subtract)

  def _min(self, parts, operands):
    if parts[-1].startswith("f"):
      return self._extreme(parts, operands, np.fmin, np.bitwise_or)
    return self._pairs(parts, operands, np.minimum)

  def _max(self, parts, operands):
    if parts[-1].startswith("f"):
      return self._extreme(parts, operands, np.fmax, np.bitwise_and)
    return self._pairs(parts, operands, np.maximum)

  def _pairs(self, parts, operands, function):
    """`function`, of both halves where a word is two numbers."""
    if not parts[-1].endswith("x2"):
      return self._math(operands, parts[-1], function)
    half = np.dtype(TYPES[parts[-1][:-2]])
    return self._math(
      operands, "u32", lambda a, b: function(a.view(half), b.view(half)).view(np.uint32)
    )

  def _extreme(self, parts, operands, function, of_zeros):
    """The lesser or greater of two numbers, of which -0 is under +0."""
    bits = np.dtype(TYPES["b" + parts[-1][1:]])

    def choose(a, b):
      either = of_zeros(a.view(bits), b.view(bits)).view(a.dtype)
      return np.where((a == 0) & (b == 0), either, function(a, b))

    return self._math(operands, parts[-1], choose)

  def _and(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_and)

  def _or(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_or)

  def _xor(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_xor)

  def _not(self, parts, operands):
    return self._math(operands, parts[-1], np.invert)

  def _neg(self, parts, operands):
    return self._math(operands, parts[-1], np.negative)

  def _abs(self, parts, operands):
    return self._math(operands, parts[-1], np.abs)

  def _rem(self, parts, operands):
    return self._math(operands, parts[-1], np.remainder)

  def _div(self, parts, operands):
    if parts[-1].startswith("f"):
      return self._math(operands, parts[-1], np.divide)

    def divide(a, b):
      # Towards 0.
      below = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
      return np.floor_divide(a, b) + below.astype(a.dtype)

    return self._math(operands, parts[-1], divide)

  def _rcp(self, parts, operands):
    return self._math(operands, parts[-1], np.reciprocal)

  def _sqrt(self, parts, operands):
    return self._math(operands, parts[-1], np.sqrt)

  def _fma(self, parts, operands):
    return self._math(operands, parts[-1], _FMA[parts[-1]])

  def _mul(self, parts, operands):
    kind = parts[-1]
    if parts[1] == "wide":
      wide = kind[0] + str(2 * int(kind[1:]))
      dtype = np.dtype(TYPES[wide])
      return self._math(
        operands, kind, lambda a, b: a.astype(dtype) * b.astype(dtype), wide
      )
    if parts[1:] == ["hi", "u64"]:
      return self._math(operands, kind, _high_word)
    if parts[1] == "hi":
      wide = np.dtype(TYPES[kind[0] + "64"])
      return self._math(
        operands, kind, lambda a, b: a.astype(wide) * b.astype(wide) >> wide.type(32)
      )
    return self._math(operands, kind, np.multiply)

  def _mad(self, parts, operands):
    kind = parts[-1]
    if parts[1] == "wide":
      wide = kind[0] + str(2 * int(kind[1:]))
      a, b = (self._read(text, kind) for text in operands[1:3])
      c = self._read(operands[3], wide)
      dtype = np.dtype(TYPES[wide])

      def step(warp):
        with np.errstate(all="ignore"):
          product = a(warp).astype(dtype) * b(warp).astype(dtype)
          warp.set(operands[0], product + c(warp))

      return step
    return self._math(operands, kind, lambda a, b, c: a * b + c)

  def _shift(self, parts, operands, function):
    kind = parts[-1]
    bits = int(kind[1:])
    source, count = self._read(operands[1], kind), self._read(operands[2], "u32")

    def step(warp):
      value, by = source(warp), count(warp)
      low = np.minimum(by, bits - 1).astype(value.dtype)
      moved = function(value, low)
      # What is moved out altogether is gone; of a signed number, its sign stays.
      if kind[0] != "s":
        moved = np.where(by >= bits, value.dtype.type(0), moved)
      warp.set(operands[0], moved)

    return step

  def _shl(self, parts, operands):
    return self._shift(["", "b" + parts[-1][1:]], operands, np.left_shift)

  def _shr(self, parts, operands):
    return self._shift(parts, operands, np.right_shift)

  def _shf(self, parts, operands):
    def funnel(low, high, by):
      by = (by & 31) if parts[2] == "wrap" else np.minimum(by, 32)
      by = by.astype(np.uint64)
      both = high.astype(np.uint64) << np.uint64(32) | low
      return both >> by if parts[1] == "r" else both << by >> np.uint64(32)

    return self._math(operands, "u32", funnel)

  def _lop3(self, parts, operands):
    table = int(operands.pop(), 0)

    def logic(a, b, c):
      result = np.zeros(LANES, np.uint32)
      for i in range(8):
        if table >> i & 1:
          result |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
      return result

    return self._math(operands, "u32", logic)

  def _prmt(self, parts, operands):
    def permute(a, b, which):
      both = np.stack([a, b], 1).view(np.uint8)  # [lanes, 8]
      result = np.empty((LANES, 4), np.uint8)
      for i in range(4):
        digit = which >> np.uint32(4 * i) & np.uint32(15)
        byte = both[LANE, digit & 7]
        sign = np.where(byte & 128, 255, 0).astype(np.uint8)
        result[:, i] = np.where(digit & 8, sign, byte)
      return result.view(np.uint32).ravel()

    return self._math(operands, "u32", permute)

  def _bfi(self, parts, operands):
    kind = parts[-1]
    bits = int(kind[1:])
    a, b = (self._read(text, kind) for text in operands[1:3])
    at, size = (int(text) for text in operands[3:5])
    if at + size > bits:
      raise ValueError("bits that there are not")
    mask = ((1 << size) - 1) << at
    dtype = np.dtype(TYPES[kind]).type

    def step(warp):
      inserted = a(warp) << dtype(at) & dtype(mask)
      warp.set(operands[0], inserted | b(warp) & dtype(~mask % (1 << bits)))

    return step

  def _bfe(self, parts, operands):
    kind = parts[-1]

    def extract(value, at, size):
      at, size = at & 255, size & 255
      # Behind the last bit there are copies of the sign, or zeros.
      field = value.astype(np.int64) >> np.minimum(at, 63).astype(np.int64)
      keep = np.minimum(size, 32).astype(np.int64)
      field &= (np.int64(1) << keep) - 1
      if kind == "s32":
        sign = value.astype(np.int64) >> np.minimum(at.astype(np.int64) + keep - 1, 31)
        field = np.where((sign & 1 == 1) & (keep > 0), field - (1 << keep), field)
      return field

    source = self._read(operands[1], kind)
    at, size = (self._read(text, "u32") for text in operands[2:4])
    dtype = np.dtype(TYPES[kind])
    return lambda warp: warp.set(
      operands[0], extract(source(warp), at(warp), size(warp)).astype(dtype)
    )

  def _of_bits(self, parts, operands, function):
    """`function` of a number's bits [lanes, bits], the highest first."""
    kind = "u" + parts[-1][1:]
    source = self._read(operands[1], kind)
    size = int(kind[1:])

    def step(warp):
      value = source(warp).byteswap().view(np.uint8).reshape(LANES, size // 8)
      warp.set(operands[0], function(np.unpackbits(value, axis=1)))

    return step

  def _popc(self, parts, operands):
    return self._of_bits(parts, operands, lambda bits: bits.sum(1).astype(np.uint32))

  def _clz(self, parts, operands):
    size = int(parts[-1][1:])
    return self._of_bits(
      parts,
      operands,
      lambda bits: np.where(bits.any(1), bits.argmax(1), size).astype(np.uint32),
    )

  def _bfind(self, parts, operands):
    top = 0 if "shiftamt" in parts else 31
    return self._of_bits(
      parts,
      operands,
      lambda bits: np.where(bits.any(1), abs(top - bits.argmax(1)), 0xFFFFFFFF).astype(
        np.uint32
      ),
    )

  def _brev(self, parts, operands):
    size = int(parts[-1][1:])

    def reverse(bits):
      swapped = np.packbits(bits[:, ::-1], axis=1)
      return np.ascontiguousarray(swapped).view(f"u{size // 8}").ravel().byteswap()

    return self._of_bits(parts, operands, reverse)

  def _dot(self, parts, operands, values: int, first: int = 0):
    """Adds products of `values` numbers of a word with bytes of another."""
    small = np.dtype(f"{'i' if parts[-2][0] == 's' else 'u'}{4 // values}")
    byte = np.dtype("i1" if parts[-1][0] == "s" else "u1")

    def dot(a, b, c):
      left = a.view(small).astype(np.int64).reshape(LANES, values)
      right = b.view(byte).astype(np.int64).reshape(LANES, 4)
      sums = (left * right[:, first : first + values]).sum(1) + c.view(np.int32)
      return sums.astype(np.uint32)

    return self._math(operands, "u32", dot)

  def _dp4a(self, parts, operands):
    return self._dot(parts, operands, 4)

  def _dp2a(self, parts, operands):
    return self._dot(parts, operands, 2, 2 * (parts[1] == "hi"))

  def _vabsdiff4(self, parts, operands):
    def differences(a, b, c):
      each = abs(a.view(np.uint8).astype(np.int16) - b.view(np.uint8)).astype(np.uint8)
      if parts[-1] == "add":
        return each.reshape(LANES, 4).sum(1).astype(np.uint32) + c
      return each.view(np.uint32)

    return self._math(operands, "u32", differences)

  def _setp(self, parts, operands):
    compare = _COMPARE[parts[1][:2]]
    if len(parts[1]) == 2:
      return self._math(operands, parts[-1], compare, "pred")
    return self._math(
      operands,
      parts[-1],
      lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b),
      "pred",
    )

  def _selp(self, parts, operands):
    a, b = (self._read(text, parts[-1]) for text in operands[1:3])
    chosen = self._read(operands[3], "pred")

    def step(warp):
      warp.set(operands[0], np.where(chosen(warp), a(warp), b(warp)))

    return step

  def _cvt(self, parts, operands):
    to, source = parts[-2:]
    if parts[1] in _ROUND:
      return self._rounded(_ROUND[parts[1]], to, source, operands)
    if parts[1] == "sat":
      limits = np.iinfo(TYPES[to])
      wide = np.int64 if source != "u64" else np.uint64
      low = max(limits.min, np.iinfo(wide).min)
      high = min(limits.max, np.iinfo(wide).max)
      return self._math(
        operands, source, lambda value: np.clip(value.astype(wide), low, high), to
      )
    return self._math(operands, source, lambda value: value, to)

  def _rounded(self, rounded, to: str, source: str, operands):
    if to[0] == "f":
      return self._math(operands, source, rounded)
    limits = np.iinfo(TYPES[to])

    def convert(value):
      # Python's integers have no end; what is no number becomes 0.
      return np.array(
        [
          0
          if math.isnan(number)
          else limits.max
          if number >= limits.max
          else max(limits.min, int(number))
          if number > limits.min
          else limits.min
          for number in rounded(value.astype(np.float64)).tolist()
        ],
        TYPES[to],
      )

    return self._math(operands, source, convert, to)

  def _cvta(self, parts, operands):
    return self._math(operands, "u64", lambda value: value)

  def _mov(self, parts, operands):
    kind = parts[-1]
    to, source = operands
    if "{" not in to + source:
      return self._math(operands, kind, lambda value: value)
    packed = np.dtype(TYPES[kind])
    names = [
      name.strip() for name in (to + source).split("{")[1].split("}")[0].split(",")
    ]
    part = np.dtype(f"u{packed.itemsize // len(names)}")
    part_kind = f"u{8 * part.itemsize}"
    if to.startswith("{"):
      read = self._read(source, kind)

      def unpack(warp):
        values = read(warp).view(part).reshape(LANES, -1)
        for i, name in enumerate(names):
          if name != "_":
            warp.set(name, values[:, i].copy())

      return unpack
    reads = [self._read(name, part_kind) for name in names]

    def pack(warp):
      values = np.stack([read(warp) for read in reads], 1)
      warp.set(to, np.ascontiguousarray(values).view(packed).ravel())

    return pack
