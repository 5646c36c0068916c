"""The kernels as compiled for a device, interpreted: their pixels, and their manners.

Their source compiled for the host (l3_device_test) has no intrinsics of a device, no
warps whose lanes part, and one thread at a time.
"""

import io
import os
import pathlib
import re
import struct

import interpreted
import numpy as np
import nvrtc
import photos
import ptx
import tensorflow as tf
from absl.testing import parameterized
from patches import encode, make_flat, make_image
from PIL import Image

from liquid_tf import codecs

_KERNEL = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<8>;
	.reg .f32 	%f<8>;
	.reg .f64 	%fd<8>;

	ld.param.u64 	%rd1, [kernel_param_0];
	mov.u32 	%r1, %tid.x;
BODY
	ret;

}
"""


def _run(body: str, threads: int = 32) -> np.ndarray:
  """What a kernel leaves in an array of 64 words, which were 0."""
  machine = ptx.Machine(ptx.Program(_KERNEL.replace("BODY", body)))
  at = machine.memory.add(np.zeros(64, np.uint32), writable=True)
  machine.run("kernel", 1, threads, [at], 256)
  return machine.memory.bytes[at : at + 256].view(np.uint32)


# What ops/image/device/image_device.h has.
_AXIS = [
  ("table", "u8"),
  ("size", "u4"),
  ("begin", "u4"),
  ("count", "u4"),
  ("taps", "u4"),
]
_SAMPLE = np.dtype(
  [("first", "i8"), ("down", "i8"), ("across", "i8"), ("rows", _AXIS)]
  + [("columns", _AXIS)]
  + [(name, "u4") for name in ("image", "method", "rows_first", "mirrored", "flipped")]
  + [("fill", "u4"), ("luma", "u8"), ("changes", "u4"), ("factors", "f4", 3)]
  + [("hue", "u4"), ("threshold", "u4")]
)
_COPY, _PICK, _LERP, _FILTER = range(4)
_OPERATION = np.dtype(
  [(name, "u8") for name in ("from", "to", "table")]
  + [("map", "f8", 6), ("fill", "u2", 4), ("changes", "u4"), ("factors", "f4", 3)]
  + [("hue", "u4"), ("threshold", "u4"), ("kind", "u4"), ("factor", "f4")]
  + [(name, "u4") for name in ("radius", "weight", "edge_weight", "unused")]
)
_ERASURE = np.dtype(
  [(name, "u4") for name in ("image", "y", "x", "height", "width", "noise")]
  + [("key", "u4", 2), ("values", "f4", 4)]
)
_BLEND = np.dtype(
  [("partner", "u4"), ("kind", "u4"), ("share", "f4"), ("rest", "f4")]
  + [(name, "u4") for name in ("y", "x", "height", "width")]
)
_NEAREST, _STEPS, _PLACES, _BILINEAR, _BICUBIC, _COLOURS, _TONES = range(1, 8)
_AUTO_CONTRAST, _EQUALIZE, _SHARPEN, _BLUR_ROWS, _BLUR_COLUMNS = range(8, 13)


def _axis(random, method, tables, begin, count, size, exact):
  """Puts what a method needs of an axis into tables; the axis."""
  taps = 5
  table = len(tables) + len(tables) % 2
  tables += [0] * (table - len(tables))
  first = np.sort(random.integers(0, size - 1, count)).tolist()
  tables += first
  if method == _LERP:
    share = random.random(count, np.float32)
    tables += [place + 1 for place in first] + share.view(np.uint32).tolist()
  if method == _FILTER and exact:
    tables += [0] * (len(tables) % 2)
    tables += random.random(count * taps).view(np.uint32).tolist()
  elif method == _FILTER:
    weights = random.integers(-(1 << 18), 1 << 21, count * taps).astype(np.int32)
    tables += weights.view(np.uint32).tolist()
  return table, size, begin, count, taps


def _of_lanes(body: str) -> np.ndarray:
  """What each lane of a warp, whose number is in %r1, leaves in %r9."""
  return _run(
    f"""
{body}
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	st.global.u32 	[%rd3], %r9;
"""
  )[:32]


# Lines, and what they make of a lane's number `n`, a Python integer.
_COMPUTED = (
  (
    "mul.lo.s32 %r2, %r1, -77; mul.hi.s32 %r9, %r2, 1000000000;",
    lambda n: -77 * n * 10**9 >> 32,
  ),
  ("sub.s32 %r2, %r1, 9; div.s32 %r9, %r2, 4;", lambda n: int((n - 9) / 4)),
  (
    "cvt.u64.u32 %rd4, %r1; mul.hi.u64 %rd4, %rd4, -2; cvt.u32.u64 %r9, %rd4;",
    lambda n: n - 1 if n else 0,
  ),
  (
    "cvt.rn.f64.u32 %fd1, %r1; sqrt.rn.f64 %fd2, %fd1; cvt.rzi.u32.f64 %r9, %fd2;",
    lambda n: int(n**0.5),
  ),
  (
    "cvt.rn.f64.u32 %fd1, %r1; add.f64 %fd1, %fd1, 0d4000000000000000;"
    "rcp.rn.f64 %fd2, %fd1; mul.f64 %fd2, %fd2, 0d4050000000000000;"
    "cvt.rzi.u32.f64 %r9, %fd2;",
    lambda n: 64 // (n + 2),
  ),
  (
    "mov.f32 %f1, 0f7FC00000; setp.leu.f32 %p1, %f1, 0f3F800000;"
    "selp.u32 %r9, 1, 0, %p1;",
    lambda n: 1,
  ),
  ("shf.l.wrap.b32 %r9, -2, %r1, %r1;", lambda n: (n << 32 | 0xFFFFFFFE) << n >> 32),
  ("shf.r.clamp.b32 %r9, %r1, 5, 40;", lambda n: 5),
  (
    "lop3.b32 %r9, %r1, 12, 10, 0xB2;",
    lambda n: sum(
      (0xB2 >> ((n >> b & 1) * 4 + (12 >> b & 1) * 2 + (10 >> b & 1)) & 1) << b
      for b in range(32)
    ),
  ),
  (
    "mul.lo.s32 %r2, %r1, 123456789; bfe.u32 %r9, %r2, 5, 9;",
    lambda n: n * 123456789 >> 5 & 511,
  ),
  ("bfe.s32 %r9, %r1, 2, 3;", lambda n: (n >> 2) - 8 * (n >= 16)),
  ("bfe.s32 %r9, -5, %r1, 40;", lambda n: -5 >> n),
  ("brev.b32 %r9, %r1;", lambda n: int(f"{n:032b}"[::-1], 2)),
  ("bfind.u32 %r9, %r1;", lambda n: n.bit_length() - 1),
  ("bfind.shiftamt.u32 %r9, %r1;", lambda n: 32 - n.bit_length() if n else -1),
  ("cvt.u64.u32 %rd4, %r1; clz.b64 %r9, %rd4;", lambda n: 64 - n.bit_length()),
  (
    "cvt.u64.u32 %rd4, %r1; brev.b64 %rd4, %rd4; shr.u64 %rd4, %rd4, 32;"
    "cvt.u32.u64 %r9, %rd4;",
    lambda n: int(f"{n:032b}"[::-1], 2),
  ),
  ("dp4a.s32.u32 %r9, 0x02FFFE81, %r1, -9;", lambda n: -127 * n - 9),
  ("dp4a.u32.u32 %r9, 0x01010101, 0x04030201, %r1;", lambda n: 10 + n),
  ("dp2a.hi.s32.u32 %r9, 0xFFFE0003, 0xFF010000, %r1;", lambda n: 3 - 2 * 255 + n),
  ("dp2a.lo.u32.u32 %r9, 0xFFFE0003, 0x00000201, %r1;", lambda n: 3 + 2 * 65534 + n),
  (
    "vabsdiff4.u32.u32.u32 %r9, 0x0A0A0A0A, %r1, 0;",
    lambda n: 0x0A0A0A00 | abs(10 - n),
  ),
  ("vabsdiff4.u32.u32.u32.add %r9, 0x01010101, %r1, 7;", lambda n: 10 + abs(1 - n)),
  ("add.u16x2 %r9, 0xFFFF, %r1;", lambda n: n - 1 & 0xFFFF),
  ("max.s16x2 %r9, 0xFFFF0004, %r1;", lambda n: max(n, 4)),
  ("min.u16x2 %r9, 0xFFFF0004, %r1;", lambda n: min(n, 4)),
  (
    "prmt.b32 %r9, %r1, 0x80, 0xC040;",
    lambda n: int.from_bytes(bytes([n, 0x80, n, 0xFF]), "little"),
  ),
  (
    "sub.s32 %r2, %r1, 9; mul.lo.s32 %r2, %r2, 100; cvt.sat.s8.s32 %r9, %r2;",
    lambda n: max(-128, min(127, (n - 9) * 100)),
  ),
  ("sub.s32 %r2, %r1, 9; cvt.sat.u8.s32 %r9, %r2;", lambda n: max(0, n - 9)),
  # 1/3 in 24 bits; the product is rounded once.
  (
    "cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f3EAAAAAB, 0f3F000000;"
    "cvt.rzi.s32.f32 %r9, %f2;",
    lambda n: (2 * n + 3) // 6,
  ),
  (
    "cvt.rn.f64.s32 %fd1, %r1; fma.rn.f64 %fd2, %fd1, 0d3FE0000000000000, %fd1;"
    "cvt.rni.s32.f64 %r9, %fd2;",
    lambda n: round(1.5 * n),
  ),
  (
    "cvt.rn.f32.s32 %f1, %r1; mul.rn.f32 %f2, %f1, 0fBFC00000;"
    "cvt.rmi.s32.f32 %r9, %f2;",
    lambda n: -(3 * n + 1) // 2 if n % 2 else -3 * n // 2,
  ),
  (
    "cvt.rn.f32.s32 %f1, %r1; mul.f32 %f2, %f1, 0fBFC00000; cvt.rpi.s32.f32 %r9, %f2;",
    lambda n: -(3 * n // 2),
  ),
  ("mov.f32 %f1, 0f7FC00000; cvt.rni.s32.f32 %r9, %f1;", lambda n: 0),
  ("mov.f32 %f1, 0f7F000000; cvt.rzi.s32.f32 %r9, %f1;", lambda n: 2**31 - 1),
  ("mov.f32 %f1, 0fC0000000; cvt.rzi.u32.f32 %r9, %f1;", lambda n: 0),
  (
    "cvt.rn.f64.u32 %fd1, %r1; max.f64 %fd2, %fd1, 0d4014000000000000;"
    "min.f64 %fd2, %fd2, 0d4034000000000000; cvt.rzi.u32.f64 %r9, %fd2;",
    lambda n: min(max(n, 5), 20),
  ),
  (
    "mov.f32 %f1, 0f00000000; min.f32 %f2, %f1, 0f80000000; mov.b32 %r9, %f2;",
    lambda n: 1 << 31,
  ),
  (
    "cvt.rn.f64.u32 %fd1, %r1; setp.gt.f64 %p1, %fd1, 0d4014000000000000;"
    "selp.u32 %r9, 1, 0, %p1;",
    lambda n: n > 5,
  ),
  (
    "mov.u32 %r9, 7; setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r9, 9;",
    lambda n: 9 if n < 5 else 7,
  ),
  ("mov.u32 %r9, %laneid;", lambda n: n),
  ("mov.u32 %r9, %lanemask_lt;", lambda n: (1 << n) - 1),
  ("mov.u32 %r9, %lanemask_ge;", lambda n: -(1 << n)),
)
_ALL = range(32)
# Lines, and what a lane gets of all of them, with %r4 the mask of its eight.
_EXCHANGED = (
  ("shfl.sync.down.b32 %r9, %r1, 3, 31, -1;", lambda n: n + 3 if n < 29 else n),
  ("shfl.sync.down.b32 %r9, %r1, 3, 0x181F, -1;", lambda n: n + 3 * (n % 8 < 5)),
  ("shfl.sync.up.b32 %r9, %r1, 3, 0x1800, -1;", lambda n: n - 3 * (n % 8 > 2)),
  ("shfl.sync.bfly.b32 %r9, %r1, 5, 0x181F, %r4;", lambda n: n ^ 5),
  ("shfl.sync.idx.b32 %r9, %r1, 13, 0x181F, %r4;", lambda n: n // 8 * 8 + 5),
  (
    "shfl.sync.up.b32 %r2|%p1, %r1, 3, 0x1800, -1; selp.u32 %r9, 1, 0, %p1;",
    lambda n: n % 8 > 2,
  ),
  (
    "setp.gt.u32 %p1, %r1, 9; vote.sync.ballot.b32 %r9, %p1, %r4;",
    lambda n: sum(1 << i for i in _ALL if i > 9 and i // 8 == n // 8),
  ),
  (
    "setp.eq.u32 %p1, %r1, 9; vote.sync.any.pred %p2, %p1, %r4;"
    "selp.u32 %r9, 1, 0, %p2;",
    lambda n: n // 8 == 1,
  ),
  (
    "setp.gt.u32 %p1, %r1, 9; vote.sync.all.pred %p2, %p1, %r4;"
    "selp.u32 %r9, 1, 0, %p2;",
    lambda n: n // 8 > 1,
  ),
  (
    "setp.gt.u32 %p1, %r1, 9; vote.sync.uni.pred %p2, %p1, %r4;"
    "selp.u32 %r9, 1, 0, %p2;",
    lambda n: n // 8 != 1,
  ),
  (
    "and.b32 %r2, %r1, 5; match.any.sync.b32 %r9, %r2, -1;",
    lambda n: sum(1 << i for i in _ALL if i & 5 == n & 5),
  ),
  (
    "shr.u32 %r2, %r1, 4; match.all.sync.b32 %r9|%p1, %r2, %r4;",
    lambda n: 255 << n // 8 * 8,
  ),
  ("match.all.sync.b32 %r2|%p1, %r1, -1; selp.u32 %r9, %r2, 5, %p1;", lambda n: 5),
  ("redux.sync.add.u32 %r9, %r1, %r4;", lambda n: 8 * (n // 8 * 8) + 28),
  ("sub.s32 %r2, %r1, 9; redux.sync.min.s32 %r9, %r2, -1;", lambda n: -9),
  ("sub.s32 %r2, %r1, 9; redux.sync.max.u32 %r9, %r2, -1;", lambda n: -1),
  ("redux.sync.xor.b32 %r9, %r1, %r4;", lambda n: 0),
  ("redux.sync.or.b32 %r9, %r1, %r4;", lambda n: n | 7),
)


class CompiledTest(tf.test.TestCase):
  def test_machine_code_has_every_kernel(self):
    source = interpreted.source()
    binary = nvrtc.compile_source(source, "sm_90")
    names = {
      f"{kind}_{stored}_{out}"
      for kind in ("v2", "compact", "v1", "raw")
      for stored in ("u8", "u16")
      for out in (stored, "f32", "bf16")
      if (kind, stored) != ("v1", "u16")
    }
    names |= {f"v1_u8_u8_{step}" for step in ("sequential", "unpack", "predict")}
    names |= {"image_luma", "jpeg_codes", "jpeg_blocks", "jpeg_pixels"}
    names |= {
      f"image_{stored}_{out}"
      for stored in ("u8", "u16")
      for out in (stored, "f32", "f16", "bf16")
    }
    names |= {f"image_operate_{stored}" for stored in ("u8", "u16")} | {"image_find"}
    names |= {
      f"image_{kind}_{out}"
      for kind in ("erase", "mix")
      for out in ("f32", "f16", "bf16")
    }
    found = re.findall(rb"liquid_(?:l3_)?(\w+)\0", binary)
    self.assertEqual({name.decode() for name in found} & names, names)


class RecipeTest(tf.test.TestCase, parameterized.TestCase):
  """The kernel of recipes, beside its own code on the host (image_device_test).

  The numbers of its resizes are drawn by chance.
  """

  @parameterized.parameters(
    (_FILTER, "u8", "f32", 3, True, 0),
    (_FILTER, "u8", "u8", 3, False, 1, 0x615243),
    (_FILTER, "u8", "f16", 4, True, 1),
    (_FILTER, "u16", "bf16", 1, False, 0),
    (_LERP, "u8", "bf16", 3, False, 0, 0x4213),
    (_LERP, "u16", "u16", 2, True, 0),
    (_PICK, "u8", "u8", 3, True, 0),
    (_PICK, "u8", "u8", 1, True, 0, 6),
    (_COPY, "u8", "f32", 3, False, 0, 0x15),
  )
  def test_bits_are_those_of_the_host(
    self, method, stored, out, channels, planar, rows_first, changes=0
  ):
    random = np.random.default_rng(method)
    sample_type = np.dtype({"u8": "u1", "u16": "u2"}[stored])
    out_type = {"u8": "u1", "u16": "u2", "f32": "u4", "f16": "u2", "bf16": "u2"}[out]
    height, width, size = 18, 36, 40
    output = np.zeros(1, interpreted.OUTPUT)
    numbers = (120, 110, 0, 9), (58, 60, 1, 3)
    output[0] = (height, width, channels, planar, *numbers, 0, 0, 0)
    # Two images; of the third place, the first bytes are for sums of tiles.
    scratch = random.integers(0, 256, (3, size, size, channels), np.uint8)
    scratch = scratch.astype(sample_type) * (1 if stored == "u8" else 257)
    samples, tables = np.zeros(2, _SAMPLE), []
    for i in range(2):
      axes = [
        _axis(random, method, tables, begin, count, size, stored == "u16")
        for begin, count in ((i, height - 2 * i), (3 * i, width - 5 * i))
      ]
      # The second one lies on its side, and is all of the result but its edges.
      way = (i * size * size, *((1, size) if i else (size, 1)))
      sample = *way, *axes, i, method, rows_first, i, 1 - i, 77
      luma = (len(scratch) - 1) * size * size * channels + 64 * i
      samples[i] = (*sample, luma, changes, (0.7, 1.4, 0.3), 40, 99)
    arguments = [
      output,
      samples,
      np.uint32(2 * 4),
      np.asarray(tables or [0], np.uint32),
      np.full(2 * height * width * channels, 0xA5, out_type),
      scratch,
    ]
    name = f"liquid_image_{stored}_{out}"
    tile = 16 * 32 * channels
    shared = tile * (5 if stored == "u8" else 16)
    shared += 16 * (stored == "u8")
    if changes:
      luma = [np.zeros([2, 4], np.uint32) for _ in range(2)]
      for run, where in zip((interpreted.on_host, interpreted.Kernels()), luma):
        told = [*arguments[:4], where, scratch]
        run("liquid_image_luma", 8, 128, told, shared)
      self.assertAllEqual(luma[1], luma[0])
      scratch[2].reshape(-1)[:128].reshape(2, 64)[:, :16] = luma[0].view(np.uint8)
    wanted = [*arguments[:4], arguments[4].copy(), scratch.copy()]
    interpreted.on_host(name, 8, 128, wanted, shared)
    self.assertGreater(len(np.unique(wanted[4])), 20)
    interpreted.Kernels(misplaced=1)(name, 8, 128, arguments, shared)
    self.assertAllEqual(arguments[4], wanted[4])


class OperationTest(tf.test.TestCase, parameterized.TestCase):
  """The kernels of what follows a resize, beside their own code on the host."""

  @parameterized.parameters(
    (_NEAREST, "u16", 3),
    (_STEPS, "u8", 3),
    (_PLACES, "u8", 1),
    (_BILINEAR, "u8", 3),
    (_BILINEAR, "u8", 4),
    (_BILINEAR, "u16", 2),
    (_BICUBIC, "u8", 3),
    (_COLOURS, "u8", 3),
    (_COLOURS, "u8", 1),
    (_TONES, "u8", 3),
    (_AUTO_CONTRAST, "u8", 3),
    (_EQUALIZE, "u8", 1),
    (_SHARPEN, "u8", 3),
    (_BLUR_ROWS, "u8", 3),
    (_BLUR_COLUMNS, "u8", 1),
  )
  def test_bits_are_those_of_the_host(self, kind, stored, channels):
    random = np.random.default_rng(kind)
    height, width = 18, 36
    output = np.zeros(1, interpreted.OUTPUT)
    output[0] = (height, width, channels, 0, [0] * 4, [1] * 4, 0, 0, 0)
    canvases = random.integers(20, 200, (4, height, width, channels))
    canvases = canvases.astype({"u8": "u1", "u16": "u2"}[stored])
    tables = random.integers(0, 1 << 32, 64, np.uint32)
    map_ = np.array((0.9, 0.2, -3, -0.2, 1.1, 2.5))
    if kind == _STEPS:
      map_ = np.rint(map_ * 65536)
    if kind == _PLACES:
      columns = random.integers(-1, width, width)
      places = np.concatenate([columns, random.integers(-1, height, height)])
      tables = places.astype(np.int32).view(np.uint32)
    operations = np.zeros(3, _OPERATION)
    for i in range(2):
      # Brightness and contrast, then hue.
      changes = (0x421 if channels == 3 else 0x21, (1.2, 0.7, 1), 40, 0)
      operations[i] = (
        *(i * height * width, (2 + i) * height * width, 0, map_, (9, 8, 7, 6)),
        *(*changes, kind, 1.7, 2, 3_000_000, 888_608, 0),
      )
    found = [np.zeros([3, 768], np.uint8) for _ in range(2)]
    made = [canvases.copy() for _ in range(2)]
    kernels = interpreted.Kernels()
    if kind in (_COLOURS, _AUTO_CONTRAST, _EQUALIZE):
      for run, where in zip((interpreted.on_host, kernels), found):
        arguments = [output, operations, np.uint32(3), tables, where, canvases]
        run("liquid_image_find", 3, 512, arguments, 4096)
      self.assertGreater(np.count_nonzero(found[0]), 0)
      self.assertAllEqual(*found)
    for run, where in zip((interpreted.on_host, kernels), made):
      # The third image stays as it is.
      arguments = [output, operations, np.uint32(3 * 4), tables, where, found[0]]
      run(f"liquid_image_operate_{stored}", 12, 128, arguments, 0)
    self.assertAllEqual(*made)
    self.assertAllEqual(made[0][:2], canvases[:2])
    self.assertNotAllEqual(made[0][2:], canvases[:2])

  @parameterized.parameters(
    ("f32", 3, False, True), ("f16", 1, True, True), ("bf16", 4, True, False)
  )
  def test_erased_bits_are_those_of_the_host(self, out, channels, planar, noise):
    height, width = 18, 36
    output = np.zeros(1, interpreted.OUTPUT)
    output[0] = (height, width, channels, planar, [0] * 4, [1] * 4, 0, 0, 0)
    erasures = np.zeros(2, _ERASURE)
    erasures[0] = (1, 3, 5, 14, 30, noise, (5, 7), (1.5, -0.3, 9, 1e-7))
    erasures[1] = (2, 0, 31, 18, 5, noise, (6, 1), (0, 1, 2, 3))
    pixels = np.zeros(3 * height * width * channels, "u4" if out == "f32" else "u2")
    made = [pixels.copy() for _ in range(2)]
    for run, where in zip(
      (interpreted.on_host, interpreted.Kernels(misplaced=1)), made
    ):
      arguments = [output, erasures, np.uint32(8), pixels, where, pixels]
      run(f"liquid_image_erase_{out}", 8, 128, arguments, 0)
    self.assertAllEqual(*made)
    self.assertBetween(np.count_nonzero(made[0]), 14 * 30 * channels, len(pixels) // 3)

  @parameterized.parameters(("f32", 3, False), ("f16", 1, True), ("bf16", 4, True))
  def test_mixed_bits_are_those_of_the_host(self, out, channels, planar):
    height, width = 18, 36
    output = np.zeros(1, interpreted.OUTPUT)
    output[0] = (height, width, channels, planar, [0] * 4, [1] * 4, 0, 0, 0)
    blends = np.zeros(3, _BLEND)
    blends[0] = (2, 2, 0.3, 0.7, 0, 0, 0, 0)
    blends[1] = (1, 0, 1, 0, 0, 0, 0, 0)
    blends[2] = (0, 1, 0.9, 0.1, 5, 7, 12, 20)
    count = 3 * height * width * channels
    floats = np.random.default_rng(4).normal(size=count).astype("f4")
    made = [np.zeros(count, "u4" if out == "f32" else "u2") for _ in range(2)]
    for run, where in zip(
      (interpreted.on_host, interpreted.Kernels(misplaced=1)), made
    ):
      arguments = [output, blends, np.uint32(12), floats, where, floats]
      run(f"liquid_image_mix_{out}", 12, 128, arguments, 0)
    self.assertAllEqual(*made)
    if out == "f32":
      first, second, third = floats.reshape(3, -1)
      found = made[0].view("f4").reshape(3, -1)
      share, rest = np.float32(0.3), np.float32(0.7)
      self.assertAllEqual(found[0], first * share + third * rest)
      self.assertAllEqual(found[1], second)
      self.assertEqual(np.count_nonzero(found[2] != third), 12 * 20 * channels)


class JpegTest(tf.test.TestCase, parameterized.TestCase):
  """The kernels of JPEG, beside Pillow and their own code on the host."""

  @parameterized.parameters(
    (0, 4, (0, 0, 40, 56), {}),
    (1, 2, (9, 13, 20, 30), {}),
    (2, 3, (3, 5, 36, 41), {"restart_marker_blocks": 2}),
    (2, 0, (0, 0, 40, 56), {"optimize": True}),
    (None, 5, (8, 1, 32, 55), {}),
  )
  def test_pixels_are_the_librarys(self, subsampling, spacing, window, options):
    image = photos.photo("coffee")[100:140, 200:256]
    if subsampling is None:
      image = image[..., 0]
    else:
      options = {"subsampling": subsampling, **options}
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "jpeg", quality=80, **options)
    y, x, height, width = window
    whole = np.asarray(Image.open(stream)).reshape(40, 56, -1)
    scratch, results = self._run(stream.getvalue(), spacing, window)
    self.assertAllEqual(results, np.zeros_like(results))
    pixels = scratch.reshape(height, width, -1)
    self.assertAllEqual(pixels, whole[y : y + height, x : x + width])

  def test_damage(self):
    stream = io.BytesIO()
    image = photos.photo("coffee")[100:140, 200:256]
    Image.fromarray(image).save(stream, "jpeg", quality=80)
    _, results = self._run(stream.getvalue(), 1, (0, 0, 40, 56), spoil=100)
    # That a code is none, or that the next entry is elsewhere, of a segment.
    self.assertIn(results[0] & 255, (1, 5))

  def _run(self, file, spacing, window, spoil=None):
    """Pixels and results, the same of the interpreter and of the host."""
    plan = interpreted.plan_jpeg(file, spacing, window)
    data = plan.bytes.copy()
    if spoil is not None:
      data[spoil : spoil + 8] = (255, 0) * 4
    *_, height, width = window
    channels = np.asarray(Image.open(io.BytesIO(file))).reshape(40, 56, -1).shape[2]
    found = []
    for run in (interpreted.Kernels(), interpreted.on_host):
      scratch = np.full(
        plan.jpeg_scratch_bytes + height * width * channels, 0xA5, np.uint8
      )
      results = np.full(len(plan.tasks), 0xFFFFFFFF, np.uint32)
      for name, first, count, blocks, threads, shared in plan.launches:
        part = results[first : first + count]
        tasks = plan.tasks[first : first + count]
        arguments = [plan.jpeg, tasks, np.uint32(count), data, scratch, part]
        run(name, blocks, threads, arguments, shared)
      found.append((scratch[plan.jpeg_scratch_bytes :], results))
    self.assertAllEqual(found[0][1], found[1][1])
    if not found[0][1].any():
      self.assertAllEqual(found[0][0], found[1][0])
    return found[0]


class MachineTest(tf.test.TestCase, parameterized.TestCase):
  def test_lanes_that_part_meet_again(self):
    # Of 32 lanes, those under 5 write 100, the others 7; then all exchange.
    words = _run("""
	setp.lt.u32 	%p1, %r1, 5;
	mov.u32 	%r2, 7;
	@!%p1 bra 	$L__BB0_2;
	mov.u32 	%r2, 100;
$L__BB0_2:
	mov.u32 	%r4, 31;
	mov.u32 	%r5, -1;
	mov.u32 	%r6, 1;
	shfl.sync.bfly.b32 	%r3|%p1, %r2, %r6, %r4, %r5;
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	st.global.u32 	[%rd3], %r3;
""")
    self.assertAllEqual(words[:8], [100, 100, 100, 100, 7, 100, 7, 7])

  def test_lanes_apart_do_not_exchange(self):
    with self.assertRaisesRegex(ptx.Fault, "shfl.*apart"):
      _run("""
	setp.lt.u32 	%p1, %r1, 5;
	@!%p1 bra 	$L__BB0_2;
	shfl.sync.up.b32 	%r3|%p1, %r1, 1, 0, -1;
$L__BB0_2:
""")

  def test_addresses_are_those_of_arrays_and_multiples_of_the_size(self):
    with self.assertRaisesRegex(ptx.Fault, "no multiple of 4"):
      _run("	ld.global.u32 	%r2, [%rd1+2];")
    with self.assertRaisesRegex(ptx.Fault, "outside of arrays"):
      _run("	ld.global.u32 	%r2, [%rd1+256];")
    with self.assertRaisesRegex(ptx.Fault, "of shared memory"):
      _run("	mov.u32 	%r2, 256;\n	ld.shared.u32 	%r3, [%r2];")

  _EXCHANGE = """
	shl.b32 	%r2, %r1, 2;
	xor.b32 	%r3, %r2, WITH;
	st.shared.u32 	[%r2], %r1;
	BARRIER;
	ld.shared.u32 	%r4, [%r3];
"""

  def test_other_lanes_memory_needs_a_barrier(self):
    lanes = self._EXCHANGE.replace("WITH", "4")
    _run(lanes.replace("BARRIER", "bar.warp.sync -1"))
    with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
      _run(lanes.replace("BARRIER", "mov.u32 	%r5, 0"))

  def test_other_warps_memory_needs_one_of_the_block(self):
    warps = self._EXCHANGE.replace("WITH", "128")
    _run(warps.replace("BARRIER", "bar.sync 	0"), 64)
    with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
      _run(warps.replace("BARRIER", "bar.warp.sync -1"), 64)

  @parameterized.parameters(0, 31, 32, 63)
  def test_what_several_have_read_is_not_written(self, writer):
    body = f"""
	mov.u32 	%r2, 0;
	ld.shared.u32 	%r3, [%r2];
	BARRIER;
	setp.eq.u32 	%p1, %r1, {writer};
	@!%p1 bra 	$L__BB0_2;
	st.shared.u32 	[%r2], %r1;
$L__BB0_2:
"""
    _run(body.replace("BARRIER", "bar.sync 	0"), 64)
    for barrier in ("mov.u32 	%r5, 0", "bar.warp.sync -1"):
      with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
        _run(body.replace("BARRIER", barrier), 64)
    if writer < 32:
      _run(body.replace("BARRIER", "bar.warp.sync -1"))
      with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
        _run(body.replace("BARRIER", "mov.u32 	%r5, 0"))

  def test_arrays_are_written_once(self):
    write = "	st.global.u32 	[%rd3], %r1;"
    own = "	mul.wide.u32 	%rd2, %r1, 4;\n	add.s64 	%rd3, %rd1, %rd2;\n"
    _run(own + write)
    for body in (own + write + "\n" + write, write.replace("%rd3", "%rd1")):
      with self.assertRaisesRegex(ptx.Fault, "not again"):
        _run(body)

  def _check_lanes(self, lines, expected):
    begin = "and.b32 %r3, %r1, 24; shl.b32 %r4, 255, %r3;"
    words = _of_lanes(
      "\n".join(f"	{line};" for line in (begin + lines).split(";")[:-1])
    )
    self.assertAllEqual(words, [int(expected(lane)) % 2**32 for lane in _ALL])

  @parameterized.parameters(*_COMPUTED)
  def test_computes(self, lines, expected):
    self._check_lanes(lines, expected)

  @parameterized.parameters(*_EXCHANGED)
  def test_exchanges(self, lines, expected):
    self._check_lanes(lines, expected)

  def test_lanes_name_each_other(self):
    with self.assertRaisesRegex(ptx.Fault, "name lanes that name others"):
      _run("""
	setp.lt.u32 	%p1, %r1, 5;
	selp.u32 	%r2, 31, -1, %p1;
	shfl.sync.up.b32 	%r3, %r1, 1, 0, %r2;
""")
    with self.assertRaisesRegex(ptx.Fault, "asks lanes that are not named"):
      _run("""
	and.b32 	%r2, %r1, 24;
	shl.b32 	%r2, 255, %r2;
	shfl.sync.up.b32 	%r3, %r1, 1, 0, %r2;
""")

  def test_a_barrier_orders_whom_it_names(self):
    eight = "and.b32 %r5, %r1, 24;\n	shl.b32 %r6, 255, %r5;\n	bar.warp.sync %r6"
    lanes = self._EXCHANGE.replace("BARRIER", eight)
    _run(lanes.replace("WITH", "16"))
    with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
      _run(lanes.replace("WITH", "32"))

  def test_what_one_lane_knows_another_learns(self):
    # Lane 0 writes, 1 waits with it, then 2 with 1, and reads.
    body = """
	mov.u32 	%r2, 0;
	setp.eq.u32 	%p1, %r1, 0;
	@%p1 st.shared.u32 	[%r2], %r1;
	setp.lt.u32 	%p2, %r1, 2;
	@%p2 bar.warp.sync 	3;
	setp.eq.u32 	%p2, %r1, 2;
	setp.eq.u32 	%p3, %r1, 1;
	or.pred 	%p3, %p2, %p3;
	@%p3 bar.warp.sync 	MASK;
	@%p2 ld.shared.u32 	%r3, [%r2];
"""
    _run(body.replace("MASK", "6"))
    with self.assertRaisesRegex(ptx.Fault, "no barrier is between"):
      _run(
        body.replace("or.pred 	%p3, %p2, %p3", "mov.pred 	%p3, %p2").replace(
          "MASK", "4"
        )
      )

  def test_atomic_operations(self):
    words = _run("""
	add.s64 	%rd2, %rd1, 4;
	sub.s32 	%r2, 40, %r1;
	red.global.add.u32 	[%rd1], %r2;
	atom.global.max.u32 	%r3, [%rd2], %r2;
	atom.global.cas.b32 	%r4, [%rd1+8], 0, %r2;
	atom.global.exch.b32 	%r5, [%rd1+12], %r4;
	atom.shared.exch.b32 	%r7, [%r6], %r6;
	atom.shared.min.s32 	%r7, [%r6], %r2;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd3, %rd3, %rd1;
	st.global.u32 	[%rd3+128], %r3;
""")
    self.assertAllEqual(words[:4], [sum(range(9, 41)), 40, 40, 40])
    self.assertAllEqual(words[32:], [0] + [40] * 31)

  @parameterized.parameters(
    ("atom.shared.add.u32 %r3, [%r2], 1; ld.shared.u32 %r3, [%r2];", "no barrier"),
    ("ld.shared.u32 %r3, [%r2]; atom.shared.add.u32 %r3, [%r2], 1;", "no barrier"),
    (
      "red.global.add.u32 [%rd1], 1; ld.global.u32 %r3, [%rd1];",
      "by atomic operations",
    ),
    ("red.global.add.u32 [%rd1], 1; st.global.u32 [%rd1], %r3;", "not again"),
  )
  def test_atomic_operations_are_not_mixed_with_others(self, lines, problem):
    body = "	mov.u32 %r2, 0;\n	setp.eq.u32 %p1, %r1, 3;\n" + "\n".join(
      f"	{'@%p1 ' * (i > 0)}{line.strip()};"
      for i, line in enumerate(lines.split(";")[:-1])
    )
    with self.assertRaisesRegex(ptx.Fault, problem):
      _run(body)

  _COPY = """
	shl.b32 	%r2, %r1, 2;
	cvt.u64.u32 	%rd2, %r2;
	and.b64 	%rd2, %rd2, 31;
	add.s64 	%rd2, %rd2, table;
	cp.async.ca.shared.global 	[%r2], [%rd2], 4;
	cp.async.commit_group;
	add.s32 	%r3, %r2, 128;
	setp.gt.u32 	%p1, %r1, 3;
	selp.u32 	%r4, 4, 0, %p1;
	cp.async.ca.shared.global 	[%r3], [%rd2], 4, %r4;
	cp.async.commit_group;
WAIT
	ld.shared.u32 	%r9, [%r5];
"""

  def _copied(self, wait: str, which: str = "%r2") -> np.ndarray:
    text = _KERNEL.replace(
      "BODY",
      f"""
{self._COPY.replace("WAIT", wait).replace("%r5", which)}
	mul.wide.u32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	st.global.u32 	[%rd3], %r9;
""",
    )
    table = ", ".join(f"{i}, 0, 0, 0" for i in range(10, 18))
    program = ptx.Program(f".const .align 4 .b8 table[32] = {{{table}}};\n" + text)
    machine = ptx.Machine(program)
    at = machine.memory.add(np.zeros(32, np.uint32), writable=True)
    machine.run("kernel", 1, 32, [at], 256)
    return machine.memory.bytes[at : at + 128].view(np.uint32)

  def test_asynchronous_copies(self):
    words = [10 + lane % 8 for lane in _ALL]
    self.assertAllEqual(self._copied("	cp.async.wait_group 	1;"), words)
    later = [0] * 4 + words[4:]
    self.assertAllEqual(self._copied("	cp.async.wait_all;", "%r3"), later)
    self.assertAllEqual(self._copied("	cp.async.wait_group 	0;", "%r3"), later)

  @parameterized.parameters(
    ("	mov.u32 %r5, 0;", "%r2", "not been waited for"),
    ("	cp.async.wait_group 	2;", "%r2", "not been waited for"),
    ("	cp.async.wait_group 	1;", "%r3", "not been waited for"),
    # Who waits sees its own, and others' after a barrier.
    ("	cp.async.wait_all;\n	xor.b32 %r6, %r2, 4;", "%r6", "no barrier is between"),
    (
      "	bar.warp.sync -1;\n	cp.async.wait_all;\n	xor.b32 %r6, %r2, 4;",
      "%r6",
      "no barrier",
    ),
  )
  def test_copies_are_waited_for(self, wait, which, problem):
    with self.assertRaisesRegex(ptx.Fault, problem):
      self._copied(wait, which)

  def test_waiting_lanes_and_a_barrier_show_copies(self):
    wait = "	cp.async.wait_all;\n	bar.warp.sync -1;\n	xor.b32 %r6, %r2, 4;"
    self.assertAllEqual(
      self._copied(wait, "%r6"), [10 + (lane % 8 ^ 1) for lane in _ALL]
    )

  def test_shared_memory_of_a_kernel_lies_before_that_of_a_launch(self):
    text = ".extern .shared .align 16 .b8 given[];\n" + _KERNEL.replace(
      "BODY",
      """
	.shared .align 4 .b8 own[20];
	mov.u32 	%r2, given;
	mov.u32 	%r3, own;
	setp.eq.u32 	%p1, %r1, 0;
	@%p1 st.global.v2.u32 	[%rd1], {%r2, %r3};
	mov.u32 	%r4, PLACE;
	@%p1 ld.shared.u32 	%r5, [%r4];
""",
    )

    def places(place: int, given: int):
      machine = ptx.Machine(ptx.Program(text.replace("PLACE", str(place))))
      at = machine.memory.add(np.zeros(2, np.uint32), writable=True)
      machine.run("kernel", 1, 32, [at], given)
      return machine.memory.bytes[at : at + 8].view(np.uint32)

    self.assertAllEqual(places(44, 16), [32, 0])
    with self.assertRaisesRegex(ptx.Fault, "of 48 of shared memory"):
      places(48, 16)

  def test_instructions_are_counted(self):
    program = ptx.Program(_KERNEL.replace("BODY", "	add.s32 	%r2, %r1, 1;"))
    machine = ptx.Machine(program)
    machine.run("kernel", 3, 64, [0], 0)
    counts = machine.counts[program.kernel("kernel")]
    self.assertAllEqual(counts, [6, 6, 6, 6])  # with those before and behind it

  @parameterized.parameters("bar.sync 	0", "mov.u32 	%r2, 0")
  def test_warps_wait_at_the_same_barrier(self, other):
    with self.assertRaisesRegex(ptx.Fault, "waits at a barrier"):
      _run(
        f"""
	setp.lt.u32 	%p1, %r1, 32;
	@%p1 bra 	$L__BB0_2;
	bar.sync 	0;
	bra.uni 	$L__BB0_3;
$L__BB0_2:
	{other};
$L__BB0_3:
""",
        64,
      )

  @parameterized.parameters(
    "sin.approx.f32 	%r2, %r1",
    "add.sat.s32 	%r2, %r1, %r1",
    "activemask.b32 	%r2",
    "@%p1 bar.sync 	0",
    "bar.sync 	1, 32",
    "ld.u32 	%r2, [%rd1]",
    "mov.u32 	%r2, %warpid",
    "@%p1 ret",
    "cp.async.cg.shared.global 	[%r2], [%rd1], 8",
    "{ mov.u32 	%r2, 0; }",
    "atom.global.add.f32 	%f1, [%rd1], %f1",
  )
  def test_what_it_does_not_know_it_refuses(self, line):
    with self.assertRaisesRegex(ptx.Fault, "does not know"):
      _run(f"	{line};")


def _bench_kernel(name: str) -> ptx.Machine:
  """A device with a kernel of the command that measures a GPU."""
  root = pathlib.Path(os.path.abspath(__file__)).parents[2]
  source = root / f"ops/gpu/bench/{name}_kernel.h"
  (text,) = re.findall(r'R"\((.*?)\)"', source.read_text(), re.DOTALL)
  return ptx.Machine(ptx.Program(text))


class BenchKernelsTest(tf.test.TestCase, parameterized.TestCase):
  """Kernels of the command that measures a GPU: a step, and what gathers."""

  @parameterized.parameters(0, 1, 3)
  def test_halves_and_adds_one(self, rounds):
    machine = _bench_kernel("step")
    numbers = np.array([*range(40), 2], np.float32)
    at = machine.memory.add(numbers, writable=True)
    machine.run("liquid_bench_step", 2, 32, [at, 41, rounds], 0)
    written = machine.memory.bytes[at : at + numbers.nbytes].view(np.float32)
    for _ in range(rounds):
      numbers = numbers / 2 + 1
    self.assertAllEqual(written, numbers)

  @parameterized.parameters(1, 2, 7)
  def test_gathers_pieces(self, blocks):
    machine = _bench_kernel("gather")
    random = np.random.default_rng(1)
    pieces = [
      random.integers(0, 256, 16 * size, np.uint8) for size in (1, 70, 33, 64, 2)
    ]
    expected = np.concatenate(pieces)
    to = machine.memory.add(np.zeros_like(expected), writable=True)
    table = []
    for piece in pieces:
      begin = to + sum(size for _, _, size, _ in table)
      table.append((machine.memory.add(piece), begin, piece.nbytes, 0))
    at = machine.memory.add(np.array(table, np.uint64))
    machine.run("liquid_bench_gather", blocks, 32, [at, len(pieces)], 0)
    self.assertAllEqual(machine.memory.bytes[to : to + expected.nbytes], expected)


def _words(file: bytes) -> np.ndarray:
  """[patches, 3]: the words of an RGB image's patches of 64x64, in version 2."""
  height, width, _ = codecs.peek_l3(file).shape.numpy()
  patches = -(-height // 64) * -(-width // 64)
  table = np.frombuffer(file, "<u4", patches, 20)
  begin = 20 + 4 * (patches + 1)
  return np.array([struct.unpack_from("<3I", file, begin + at + 4) for at in table])


def _with_word(patch: bytes, channel: int, ones: int, zeros: int) -> bytes:
  """The patch with some bits of a channel's word set, and some not."""
  at = 4 + 4 * channel
  (word,) = struct.unpack_from("<I", patch, at)
  return patch[:at] + struct.pack("<I", word & ~zeros | ones) + patch[at + 4 :]


def _with_byte(patch: bytes, at: int, bits: int) -> bytes:
  """The patch with some bits of a byte set."""
  return patch[:at] + bytes([patch[at] | bits]) + patch[at + 1 :]


def _crc32c(data: bytes) -> int:
  value = 0xFFFFFFFF
  for byte in data:
    value ^= byte
    for _ in range(8):
      value = value >> 1 ^ (value & 1) * 0x82F63B78
  return value ^ 0xFFFFFFFF


def _decode(files, windows=None, out=None, blocks=None, **how) -> np.ndarray:
  """Decodes as `interpreted.decode` does; to what is stored, or to `out`."""
  plan = interpreted.plan(files, windows)
  stored = f"u{plan.bits}"
  # What is written may begin anywhere: a tensor may be a part of another one.
  kernels = interpreted.Kernels(misplaced=1, blocks=blocks)
  return interpreted.decode(plan, kernels, f"{stored}_{out or stored}", **how)


class KernelTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(None, 1)
  def test_mixed_batch(self, blocks):
    kinds = ["v2", "raw", "compact", "v1", "v2"]
    images = [make_image(i, 20, 70) for i in range(len(kinds))]
    files = [encode(image, kind) for image, kind in zip(images, kinds)]
    self.assertAllEqual(_decode(files, blocks=blocks), np.stack(images))

  @parameterized.parameters("v2", "compact")
  def test_a_wrong_table_is_found_and_nothing_else_is_read(self, kind):
    files = [encode(make_image(i, 20, 130), kind) for i in range(3)]
    (right,) = struct.unpack_from("<I", files[1], 24)
    for wrong in (0, 3, right + 1, 2**31, 2**32 - 9):
      files[1] = files[1][:24] + struct.pack("<I", wrong) + files[1][28:]
      # The patch before may have room for more, and then a wrong checksum.
      message = "image 1: l3: (the table at offset 2[04]|patch 0 .*CRC-32C)"
      with self.assertRaisesRegex(tf.errors.DataLossError, message):
        _decode(files)

  @parameterized.product(channels=(1, 2, 3, 4), dtype=(np.uint8, np.uint16))
  def test_every_kind_of_image(self, channels, dtype):
    image = make_image(channels, 30, 67, channels, dtype)
    decoded = _decode([encode(image, kind) for kind in ("v2", "compact")])
    self.assertEqual(decoded.dtype, dtype)
    self.assertAllEqual(decoded, [image, image])
    flat = make_flat(channels, 30, 67, channels, dtype)
    self.assertAllEqual(_decode([encode(flat, "compact")])[0], flat)

  @parameterized.product(planar=(False, True), out=("f32", "bf16"))
  def test_windows_normalised(self, planar, out):
    images = [make_image(i, 90, 80) for i in range(2)]
    windows = [(3, 5, 40, 50), (50, 21, 40, 50)]
    mean, std = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
    files = [encode(image, kind) for image, kind in zip(images, ("compact", "raw"))]
    decoded = _decode(files, windows, out, planar=planar, mean=mean, std=std)
    with tf.device("CPU"):
      crops = tf.stack(
        [a[y : y + h, x : x + w] for a, (y, x, h, w) in zip(images, windows)]
      )
      expected = (tf.cast(crops, tf.float32) - mean) / std
      if planar:
        expected = tf.transpose(expected, [0, 3, 1, 2])
      if out == "bf16":
        expected = tf.cast(expected, tf.bfloat16)
    self.assertAllEqual(decoded.view(np.uint8), expected.numpy().view(np.uint8))

  def test_every_predictor_and_colour(self):
    random = np.random.default_rng(4)
    y, x = np.mgrid[:256, :256]
    green = 128 + 90 * np.sin(x / 19) * np.sin(y / 23)
    plain = random.integers(0, 40, (256, 256, 3))
    with_green = plain // 8 + green[..., None] * (1, 1, 1)
    with_mean = plain // 8 + np.stack([green / 4, green, green * 0.625], -1)
    rows = np.broadcast_to(random.integers(0, 256, (1, 256, 3)), (256, 256, 3))
    lines = np.broadcast_to(random.integers(0, 256, (256, 1, 3)), (256, 256, 3))
    image = np.concatenate(
      [
        part[:, :128]
        for part in (plain, with_green, with_mean, rows, lines, rows + lines)
      ],
      1,
    ).astype(np.uint8)[:128]
    file = encode(image, "v2")
    words = _words(file)
    self.assertEqual(set((words & 3).ravel()), {0, 1, 2, 3})
    self.assertEqual(set(words[:, 0] >> 2 & 3), {0, 1})
    self.assertEqual(set(words[:, 2] >> 2 & 3), {0, 1, 2})
    self.assertAllEqual(_decode([file])[0], image)

  @parameterized.named_parameters(
    ("checksum", lambda patch: patch[:-1] + bytes([patch[-1] ^ 1]), "CRC-32C", False),
    ("reserved", lambda patch: _with_word(patch, 1, 1 << 21, 0), "bits 21 to 23"),
    ("colour", lambda patch: _with_word(patch, 1, 1 << 2, 0), "colour"),
    ("widths", lambda patch: _with_word(patch, 2, 0, 0x1FFFF << 4), "widths is empty"),
    ("wide", lambda patch: _with_word(patch, 0, 1 << 13, 0), "over the sample's"),
    ("long", lambda patch: patch + b"\0", "longer than its rows"),
    ("short", lambda patch: patch[:-1], "past the patch's end"),
    ("codes", lambda patch: patch[:40], "codes reach past"),
    ("words", lambda patch: patch[:16], "codes reach past"),
  )
  def test_damage(self, damage, reason, mended=True):
    self._check_damage(encode(make_image(8, 40, 60), "v2"), damage, reason, mended)

  def _check_damage(self, whole, damage, reason, mended):
    """Decodes a file of one patch beside what `damage` makes of that."""
    (begin,) = struct.unpack_from("<I", whole, 20)
    patch = damage(whole[28 + begin :])
    if mended:
      patch = struct.pack("<I", _crc32c(struct.pack("<I", 0) + patch[4:])) + patch[4:]
    table = struct.pack("<2I", begin, begin + len(patch))
    damaged = whole[:20] + table + patch
    with self.assertRaisesRegex(tf.errors.DataLossError, f"image 1: .*{reason}"):
      # One block does what is whole, too, in the same memory.
      _decode([whole, damaged, whole], blocks=1)
    with self.assertRaises(tf.errors.DataLossError):
      codecs.decode(damaged)

  @parameterized.named_parameters(
    ("checksum", lambda patch: patch[:-1] + bytes([patch[-1] ^ 1]), "CRC-32C", False),
    ("predictor", lambda patch: _with_byte(patch, 6, 7), "predictor"),
    ("colour", lambda patch: _with_byte(patch, 7, 0x30), "colour"),
    ("k", lambda patch: _with_byte(patch, 8, 0xF0), "first row"),
    ("rest", lambda patch: patch + b"\0", "ends before"),
    ("segment", lambda patch: patch[:-1], "more bytes than"),
    ("codes", lambda patch: patch[:-40] + bytes(40), "code that"),
    ("headers", lambda patch: patch[:12], "ends inside"),
  )
  def test_damage_of_the_compact_profile(self, damage, reason, mended=True):
    image = make_image(8, 40, 60)
    self._check_damage(encode(image, "compact"), damage, reason, mended)

  @parameterized.named_parameters(
    ("word", lambda patch: _with_byte(patch, 5, 0x01), "bits 8 to 14"),
    ("palette", lambda patch: patch[:9], "palette"),
    ("codes", lambda patch: patch[:-9], "code that"),
    ("long", lambda patch: patch + b"\0", "longer than its rows"),
  )
  def test_damage_of_few_colours(self, damage, reason):
    self._check_damage(encode(make_flat(8, 40, 60), "compact"), damage, reason, True)


if __name__ == "__main__":
  tf.test.main()
