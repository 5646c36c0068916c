"""The kernels as compiled for a device, interpreted: their pixels, and their manners.

Their source compiled for the host (l3_device_test) has no intrinsics of a device, no
warps whose lanes part, and one thread at a time.
"""

import re
import struct

import fake_cupy
import interpreted
import numpy as np
import nvrtc
import ptx
import tensorflow as tf
from absl.testing import parameterized
from patches import encode, make_flat, make_image

import liquid_tf
from liquid_tf import codecs, transforms
from liquid_tf._gpu import batch

_KERNEL = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<4>;

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
_OUTPUT = np.dtype(
  [(name, "u4") for name in ("height", "width", "channels", "planar")]
  + [("mean", "f4", 4), ("std", "f4", 4)]
)
_COPY, _PICK, _LERP, _FILTER = range(4)


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
    names.add("image_luma")
    names |= {
      f"image_{stored}_{out}"
      for stored in ("u8", "u16")
      for out in (stored, "f32", "f16", "bf16")
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
    output = np.zeros(1, _OUTPUT)
    output[0] = (height, width, channels, planar, (120, 110, 0, 9), (58, 60, 1, 3))
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
      told = "liquid_image_luma", 8, 128
      interpreted.on_host(told[0], [*arguments[:4], luma[0], scratch], 128, shared)
      interpreted.Kernels()(*told, [*arguments[:4], luma[1], scratch], shared)
      self.assertAllEqual(luma[1], luma[0])
      scratch[2].reshape(-1)[:128].reshape(2, 64)[:, :16] = luma[0].view(np.uint8)
    wanted = [*arguments[:4], arguments[4].copy(), scratch.copy()]
    interpreted.on_host(name, wanted, 128, shared)
    self.assertGreater(len(np.unique(wanted[4])), 20)
    interpreted.Kernels(misplaced=1)(name, 8, 128, arguments, shared)
    self.assertAllEqual(arguments[4], wanted[4])


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
    "popc.b64 	%r2, %rd1",
    "bar.sync 	1, 32",
    "ld.u32 	%r2, [%rd1]",
    "mov.u32 	%r2, %laneid",
    "@%p1 mov.u32 	%r2, 0",
    "{ mov.u32 	%r2, 0; }",
  )
  def test_what_it_does_not_know_it_refuses(self, line):
    with self.assertRaisesRegex(ptx.Fault, "does not know"):
      _run(f"	{line};")


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


class KernelTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    batch._module.cache_clear()
    self.addCleanup(batch._module.cache_clear)
    # What is written may begin anywhere: a tensor may be a part of another one.
    self._install(misplaced=1)

  def _install(self, **options) -> interpreted.Kernels:
    kernels = interpreted.Kernels(**options)
    self.enter_context(fake_cupy.install(run=kernels))
    return kernels

  @parameterized.parameters(None, 1)
  def test_mixed_batch(self, blocks):
    self._install(misplaced=1, blocks=blocks)
    kinds = ["v2", "raw", "compact", "v1", "v2"]
    images = [make_image(i, 20, 70) for i in range(len(kinds))]
    decoded = liquid_tf.gpu.decode(
      [encode(image, kind) for image, kind in zip(images, kinds)]
    )
    self.assertAllEqual(decoded.get(), np.stack(images))

  @parameterized.product(channels=(1, 2, 3, 4), dtype=(np.uint8, np.uint16))
  def test_every_kind_of_image(self, channels, dtype):
    image = make_image(channels, 30, 67, channels, dtype)
    decoded = liquid_tf.gpu.decode([encode(image, kind) for kind in ("v2", "compact")])
    self.assertAllEqual(decoded.get(), [image, image])
    flat = make_flat(channels, 30, 67, channels, dtype)
    decoded = liquid_tf.gpu.decode([encode(flat, "compact")])
    self.assertAllEqual(decoded.get()[0], flat)

  @parameterized.product(layout=("NHWC", "NCHW"), dtype=("float32", "bfloat16"))
  def test_windows_normalised(self, layout, dtype):
    images = [make_image(i, 90, 80) for i in range(2)]
    windows = [(3, 5, 40, 50), (50, 21, 40, 50)]
    decoded = liquid_tf.gpu.decode(
      [encode(image, kind) for image, kind in zip(images, ("compact", "raw"))],
      windows=windows,
      transforms=[
        transforms.Normalize((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
        transforms.Cast(dtype),
        *([transforms.ChannelsFirst()] if layout == "NCHW" else []),
      ],
    )
    with tf.device("CPU"):
      crops = tf.stack(
        [a[y : y + h, x : x + w] for a, (y, x, h, w) in zip(images, windows)]
      )
      expected = (tf.cast(crops, tf.float32) - (123.675, 116.28, 103.53)) / (
        58.395,
        57.12,
        57.375,
      )
      if layout == "NCHW":
        expected = tf.transpose(expected, [0, 3, 1, 2])
      expected = tf.cast(expected, dtype)
    self.assertAllEqual(decoded.get().view(np.uint8), expected.numpy().view(np.uint8))

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
    self.assertAllEqual(liquid_tf.gpu.decode([file]).get()[0], image)

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
    # One block does what is whole, too, in the same memory.
    self._install(misplaced=1, blocks=1)
    (begin,) = struct.unpack_from("<I", whole, 20)
    patch = damage(whole[28 + begin :])
    if mended:
      patch = struct.pack("<I", _crc32c(struct.pack("<I", 0) + patch[4:])) + patch[4:]
    table = struct.pack("<2I", begin, begin + len(patch))
    damaged = whole[:20] + table + patch
    with self.assertRaisesRegex(tf.errors.DataLossError, f"image 1: .*{reason}"):
      liquid_tf.gpu.decode([whole, damaged, whole])
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

  @parameterized.parameters(("v2", 20, 42), ("compact", 150, 260))
  def test_instructions_are_few(self, kind, least, most):
    image = make_image(1, 64, 64)
    kernels = self._install(misplaced=0)
    liquid_tf.gpu.decode([encode(image, kind)])
    # Of a thread, for each sample; docs/gpu.md has what this means for the time.
    self.assertBetween(kernels.issued / image.size * 32, least, most)


if __name__ == "__main__":
  tf.test.main()
