"""L3 as ops: exact pixels whole and in windows, both versions, graphs and batches."""

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import codecs
from liquid_tf._native import ops
from tools.bench import instructions

# Patches of 32 and of 64 are cut at both edges.
_SIZE = (150, 211)


def _pixels(channels: int = 3, dtype=np.uint8, size=_SIZE, seed=0) -> np.ndarray:
  """Random around a slope, so that widths and predictors differ between patches."""
  random = np.random.default_rng(seed)
  top = np.iinfo(dtype).max
  y, x = np.mgrid[: size[0], : size[1]]
  slope = (y * 3 + x * 5)[..., np.newaxis] * (1 + np.arange(channels))
  noise = random.integers(0, 1 << random.integers(1, 8), (*size, channels))
  return ((slope + noise) % (top + 1)).astype(dtype)


def _content(kind: str, size: tuple[int, int], channels: int, random) -> np.ndarray:
  shape = (*size, channels)
  y, x = np.mgrid[: size[0], : size[1]]
  if kind == "random":
    return random.integers(0, 256, shape, np.uint8)
  if kind == "constant":
    return np.full(shape, random.integers(0, 256), np.uint8)
  if kind == "gradient":
    plane = y * random.integers(0, 5) + x * random.integers(0, 5)
    return np.repeat(plane[..., np.newaxis], channels, 2).astype(np.uint8)
  if kind == "checkers":  # The largest differences that neighbours can have.
    return np.repeat(((y + x) % 2 * 255)[..., np.newaxis], channels, 2).astype(np.uint8)
  if kind == "signs":  # Around the step between 127 and 128.
    return random.choice(np.array([0, 127, 128, 255], np.uint8), shape)
  if kind == "rare":  # Zeros with a few extremes: one pixel decides a width.
    pixels = np.zeros(shape, np.uint8)
    pixels[random.random(shape) < 0.01] = 255
    return pixels
  raise ValueError(kind)


class L3CodecsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.product(channels=[1, 2, 3, 4], dtype=[np.uint8, np.uint16])
  def test_round_trip(self, channels, dtype):
    pixels = _pixels(channels, dtype)
    contents = codecs.encode_l3(pixels)
    self.assertAllEqual(codecs.decode(contents, dtype=dtype), pixels)
    self.assertAllEqual(codecs.decode(contents, dtype=dtype), pixels)
    for info in (codecs.peek_l3(contents), codecs.peek(contents)):
      self.assertAllEqual(info.shape, pixels.shape)
      self.assertEqual(info.bits, 8 * pixels.itemsize)
    self.assertEqual(codecs.peek(contents).format, b"l3")

  def test_every_instruction_set_gives_the_same_pixels(self):
    found = instructions.runnable()
    self.assertEqual(found[0], "scalar")
    try:
      for profile in ("fast", "compact"):
        contents = codecs.encode_l3(_pixels(), profile=profile)
        for name in found:
          instructions.use(name)
          self.assertAllEqual(codecs.decode(contents), _pixels())
      with self.assertRaisesRegex(
        tf.errors.InvalidArgumentError, r'use \("mmx"\) must be one of scalar'
      ):
        instructions.use("mmx")
    finally:
      instructions.use(found[-1])

  def test_peek_tells_version_and_patch(self):
    for version, patch in ((1, 32), (1, 255), (2, 64)):
      contents = codecs.encode_l3(_pixels(), version=version, patch=patch)
      info = codecs.peek_l3(contents)
      self.assertEqual(info.version, version)
      self.assertEqual(info.patch, patch)
      self.assertEqual(info.bits, 8)
      self.assertAllEqual(info.shape, (*_SIZE, 3))

  @parameterized.product(
    version=[1, 2],
    kind=["random", "constant", "gradient", "checkers", "signs", "rare"],
  )
  def test_every_size_and_content(self, version, kind):
    random = np.random.default_rng(version)
    for _ in range(40):
      size = tuple(random.integers(1, 301, 2))
      channels = 3 if version == 1 else int(random.integers(1, 5))
      pixels = _content(kind, size, channels, random)
      contents = codecs.encode_l3(pixels, version=version)
      decoded = codecs.decode(contents)
      self.assertTrue(np.array_equal(decoded, pixels), f"{size} x {channels}")
      y, x = (int(random.integers(0, side)) for side in size)
      height = int(random.integers(1, size[0] - y + 1))
      width = int(random.integers(1, size[1] - x + 1))
      window = (y, x, height, width)
      part = codecs.decode(contents, window=window)
      self.assertTrue(
        np.array_equal(part, pixels[y : y + height, x : x + width]),
        f"{window} of {size} x {channels}",
      )

  @parameterized.parameters(1, 2)
  def test_windows(self, version):
    pixels = _pixels()
    contents = codecs.encode_l3(pixels, version=version)
    for window in ((0, 0, 1, 1), (63, 63, 2, 2), (149, 210, 1, 1), (5, 7, 140, 3)):
      y, x, height, width = window
      part = pixels[y : y + height, x : x + width]
      self.assertAllEqual(codecs.decode(contents, window=window), part)
      self.assertAllEqual(codecs.decode(contents, window=window), part)

  def test_wrong_windows(self):
    contents = codecs.encode_l3(_pixels())
    for window in ((0, 0, 151, 1), (0, 211, 1, 1), (-1, 0, 1, 1), (0, 0, 1)):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "window"):
        codecs.decode(contents, window=window)

  def test_channels_and_depth(self):
    gray = _pixels(1)
    rgb = np.repeat(gray, 3, 2)
    contents = codecs.encode_l3(gray)
    self.assertAllEqual(codecs.decode(contents, channels=3), rgb)
    self.assertAllEqual(
      codecs.decode(contents, dtype=tf.uint16), gray.astype(np.uint16) * 257
    )
    deep = _pixels(3, np.uint16)
    self.assertAllEqual(codecs.decode(codecs.encode_l3(deep)), deep >> 8)
    colour = _pixels(3)
    colour[:100] = rgb[:100]
    # The window's rows count, although threads decode parts of it.
    y = 100 + int(np.flatnonzero((colour[100:] != colour[100:, :, :1]).any((1, 2)))[0])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, f"y {y - 2}, .*gray"):
      codecs.decode(codecs.encode_l3(colour), channels=1, window=(2, 0, 148, _SIZE[1]))

  def test_what_an_encoding_cannot_hold(self):
    for arguments, message in (
      ({"image": _pixels(5)}, "shape"),
      ({"image": _pixels(4), "version": 1}, "channels .4. must"),
      ({"image": _pixels(3, np.uint16), "version": 1}, "bits .16. must"),
      ({"image": _pixels(), "version": 3}, r"version \(3\) must be 1 or 2"),
      ({"image": _pixels(), "patch": -1}, r"patch \(-1\)"),
      ({"image": _pixels(), "patch": 32}, r"patch \(32\) must be 0 or 64"),
      ({"image": _pixels(), "patch": 256, "version": 1}, r"patch \(256\) must be"),
    ):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
        codecs.encode_l3(**arguments)

  @parameterized.product(
    effort=("fast", "default", "best"), dtype=(np.uint8, np.uint16)
  )
  def test_the_compact_profile_comes_back(self, effort: str, dtype):
    pixels = np.tile(_pixels(3, dtype) >> 3, (2, 1, 1))
    contents = codecs.encode_l3(pixels, profile="compact", effort=effort)
    self.assertEqual(codecs.peek_l3(contents).profile, 1)
    self.assertAllEqual(codecs.decode(contents, dtype=dtype), pixels)
    self.assertAllEqual(
      codecs.decode(contents, dtype=dtype, window=(70, 3, 100, 90)),
      pixels[70:170, 3:93],
    )

  def test_profiles_and_efforts_that_there_are_not(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "profile"):
      codecs.encode_l3(_pixels(), profile="small")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "effort"):
      codecs.encode_l3(_pixels(), effort="9")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "only version 2 has"):
      codecs.encode_l3(_pixels(), version=1, profile="compact")

  def test_damage_is_an_error(self):
    contents = codecs.encode_l3(_pixels()).numpy()
    for cut in (0, 3, 4, 20, len(contents) // 2, len(contents) - 1):
      with self.assertRaises((tf.errors.DataLossError, tf.errors.InvalidArgumentError)):
        codecs.decode(contents[:cut])
    flipped = bytearray(contents)
    flipped[len(contents) // 2] ^= 0x10
    with self.assertRaises(tf.errors.DataLossError):
      codecs.decode(bytes(flipped))
    with self.assertRaises(tf.errors.DataLossError):
      codecs.decode(codecs.encode(_pixels(), "png"), format="l3")

  def test_limit_on_pixels(self):
    contents = codecs.encode_l3(_pixels())
    count = _SIZE[0] * _SIZE[1]
    codecs.decode(contents, limits=codecs.Limits(pixels=count))
    for function in (codecs.decode, codecs.peek_l3):
      with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, "150 x 211"):
        function(contents, limits=codecs.Limits(pixels=count - 1))

  def test_batch(self):
    images = np.stack([_pixels(seed=i) for i in range(5)])
    files = [
      codecs.encode_l3(image, version=1 + i % 2) for i, image in enumerate(images)
    ]
    self.assertAllEqual(codecs.decode_batch(files), images)
    windows = [(i * 3, i * 5, 99, 101) for i in range(5)]
    decoded = codecs.decode_batch(files, windows=windows, dtype=tf.uint16)
    for i, (y, x, height, width) in enumerate(windows):
      part = images[i, y : y + height, x : x + width].astype(np.uint16)
      self.assertAllEqual(decoded[i], part * 257)
    self.assertEqual(codecs.decode_batch(tf.zeros([0], tf.string)).shape[0], 0)

  def test_batch_names_the_image_at_fault(self):
    good = codecs.encode_l3(_pixels()).numpy()
    other = codecs.encode_l3(_pixels(size=(149, 211))).numpy()
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, "number 2 is 149 x 211"
    ):
      codecs.decode_batch([good, good, other])
    with self.assertRaisesRegex(tf.errors.DataLossError, "image 1: l3"):
      codecs.decode_batch([good, good[:-20]])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "shape"):
      codecs.decode_batch([good, good], windows=[(0, 0, 0, 0)])

  def test_static_shapes_and_pipelines(self):
    @tf.function
    def decode(contents):
      whole = codecs.decode(contents)
      part = codecs.decode(contents, channels=3, window=(0, 0, 8, 9))
      batch = codecs.decode_batch(tf.stack([contents] * 2), channels=1)
      return whole, part, batch, codecs.peek_l3(contents).shape

    trace = decode.get_concrete_function(tf.TensorSpec([], tf.string))
    shapes = [output.shape.as_list() for output in trace.structured_outputs]
    self.assertEqual(shapes, [[None] * 3, [8, 9, 3], [2, None, None, 1], [3]])
    images = np.stack([_pixels(seed=i) for i in range(6)])
    data = tf.data.Dataset.from_tensor_slices(images)
    data = data.map(codecs.encode_l3, num_parallel_calls=2)
    data = data.map(codecs.decode, num_parallel_calls=2).batch(6)
    self.assertAllEqual(next(iter(data)), images)

  def test_transcoding_keeps_the_pixel_hash(self):
    lib = ops.lib()
    contents = codecs.encode(photos.photo("astronaut"), "png")
    found = lib.liquid_scan_image(contents, orientation=1)
    stored = lib.liquid_transcode_image(contents, "l3", orientation=1)
    self.assertEqual(stored.error, b"")
    self.assertEqual(stored.pixels_hash, found.pixels_hash)
    self.assertEqual(lib.liquid_scan_image(stored.encoded, orientation=1).format, b"l3")
    back = lib.liquid_transcode_image(stored.encoded, "png", orientation=1)
    self.assertEqual(back.pixels_hash, found.pixels_hash)

  def test_photographs_are_smaller_than_raw(self):
    for name in ("astronaut", "coffee", "chelsea"):
      pixels = photos.photo(name)
      self.assertLess(len(codecs.encode_l3(pixels).numpy()), 0.8 * pixels.size, name)


if __name__ == "__main__":
  tf.test.main()
