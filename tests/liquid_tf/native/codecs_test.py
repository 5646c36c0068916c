"""The codecs as ops: against Pillow and tf.io, in graphs, batches and tf.data."""

import functools
import io
import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image
from skimage import data as skimage_data

from liquid_tf import codecs
from liquid_tf._native import ops

_DATA = pathlib.Path(skimage_data.__file__).parent
_PHOTOS = ("astronaut", "camera", "chelsea", "coffee", "horse", "logo", "page")

_FORMATS = ("raw", "png", "jpeg", "webp", "bmp")
_DECODERS = {name: functools.partial(codecs.decode, format=name) for name in _FORMATS}
_ENCODERS = {name: functools.partial(codecs.encode, format=name) for name in _FORMATS}
_PEEKS = {name: functools.partial(codecs.peek, format=name) for name in _FORMATS}


def _photo(name: str) -> bytes:
  return (_DATA / f"{name}.png").read_bytes()


def _pixels(channels: int = 3, dtype=np.uint8, size=(37, 53)) -> np.ndarray:
  random = np.random.default_rng(channels)
  top = np.iinfo(dtype).max
  return random.integers(0, top, (*size, channels), dtype, endpoint=True)


def _pillow(contents: bytes) -> np.ndarray:
  """Pillow's pixels as HWC, with a palette made RGB or RGBA."""
  with Image.open(io.BytesIO(contents)) as image:
    image.load()
    if image.mode == "P":
      image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
      image = image.convert("L")
    array = np.asarray(image)
  return array[..., np.newaxis] if array.ndim == 2 else array


def _save(array: np.ndarray, **options) -> bytes:
  stream = io.BytesIO()
  Image.fromarray(array).save(stream, **options)
  return stream.getvalue()


class CodecsTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(*_PHOTOS)
  def test_png_equals_tf_and_pillow(self, name):
    contents = _photo(name)
    decoded = codecs.decode(contents)
    self.assertAllEqual(decoded, _pillow(contents))
    self.assertAllEqual(decoded, tf.io.decode_png(contents))

  @parameterized.product(
    subsampling=["4:4:4", "4:2:2", "4:2:0"],
    progressive=[False, True],
    quality=[30, 90],
  )
  def test_jpeg_equals_pillow(self, subsampling, progressive, quality):
    photo = np.array(Image.open(_DATA / "astronaut.png"))[100:307, 50:301]
    contents = _save(
      photo,
      format="JPEG",
      subsampling=subsampling,
      progressive=progressive,
      quality=quality,
    )
    self.assertAllEqual(codecs.decode(contents), _pillow(contents))

  def test_gray_jpeg_equals_pillow(self):
    contents = _save(np.array(Image.open(_DATA / "camera.png")), format="JPEG")
    decoded = codecs.decode(contents)
    self.assertEqual(decoded.shape, (512, 512, 1))
    self.assertAllEqual(decoded, _pillow(contents))

  @parameterized.product(channels=[3, 4], lossless=[False, True])
  def test_webp_equals_pillow(self, channels, lossless):
    contents = _save(_pixels(channels), format="WEBP", lossless=lossless, quality=70)
    self.assertAllEqual(codecs.decode(contents), _pillow(contents))

  @parameterized.parameters(1, 3, 4)
  def test_bmp_equals_pillow(self, channels):
    pixels = _pixels(channels)
    contents = _save(pixels[..., 0] if channels == 1 else pixels, format="BMP")
    self.assertAllEqual(codecs.decode(contents), _pillow(contents))

  @parameterized.product(format=["png", "bmp", "webp"], channels=[1, 3, 4])
  def test_pillow_reads_what_is_encoded(self, format, channels):  # noqa: A002
    if format == "webp" and channels == 1:
      self.skipTest("webp has no gray")
    pixels = _pixels(channels)
    contents = _ENCODERS[format](pixels).numpy()
    self.assertAllEqual(_pillow(contents), pixels)

  def test_tf_reads_what_is_encoded(self):
    for channels in (1, 2, 3, 4):
      for dtype in (np.uint8, np.uint16):
        pixels = _pixels(channels, dtype)
        contents = codecs.encode(pixels, "png")
        self.assertAllEqual(tf.io.decode_png(contents, dtype=dtype), pixels)
    self.assertAllEqual(tf.io.decode_bmp(codecs.encode(_pixels(3), "bmp")), _pixels(3))
    self.assertEqual(
      tf.io.decode_jpeg(codecs.encode(_pixels(3), "jpeg")).shape, (37, 53, 3)
    )

  def test_png_is_about_as_small_as_pillows(self):
    photo = np.array(Image.open(_DATA / "coffee.png"))
    ours = len(codecs.encode(photo, "png").numpy())
    self.assertLess(ours, 1.05 * len(_save(photo, format="PNG")))

  def test_sixteen_bits_equal_tf(self):
    for channels in (1, 2, 3, 4):
      pixels = _pixels(channels, np.uint16)
      contents = tf.io.encode_png(pixels)
      self.assertAllEqual(codecs.decode(contents, dtype=tf.uint16), pixels)
      self.assertAllEqual(codecs.decode(contents), tf.io.decode_png(contents))
      self.assertEqual(codecs.peek(contents).bits, 16)

  def test_eight_bits_as_sixteen_equal_tf(self):
    contents = _photo("chelsea")
    self.assertAllEqual(
      codecs.decode(contents, dtype=tf.uint16),
      tf.io.decode_png(contents, dtype=tf.uint16),
    )

  @parameterized.parameters(*_DECODERS)
  def test_decode_peek_and_window(self, format):  # noqa: A002
    contents = _ENCODERS[format](_pixels(3))
    whole = _DECODERS[format](contents).numpy()
    self.assertEqual(whole.shape, (37, 53, 3))
    self.assertAllEqual(codecs.decode(contents), whole)
    window = (5, 7, 20, 31)
    expected = whole[5:25, 7:38]
    self.assertAllEqual(_DECODERS[format](contents, window=window), expected)
    self.assertAllEqual(codecs.decode(contents, window=window), expected)
    for info in (_PEEKS[format](contents), codecs.peek(contents)):
      self.assertAllEqual(info.shape, [37, 53, 3])
      self.assertEqual(info.bits, 8)
      self.assertEqual(info.format, format.encode())
    other = "png" if format != "png" else "bmp"
    for function in (_DECODERS[other], _PEEKS[other]):
      with self.assertRaises(tf.errors.DataLossError):
        function(contents)

  def test_channels(self):
    gray = _pixels(1)
    contents = codecs.encode(gray, "png")
    rgb = np.repeat(gray, 3, 2)
    self.assertAllEqual(codecs.decode(contents, channels=3), rgb)
    opaque = np.concatenate([rgb, np.full_like(gray, 255)], 2)
    self.assertAllEqual(codecs.decode(contents, channels=4), opaque)
    contents = codecs.encode(opaque, "png")
    self.assertAllEqual(codecs.decode(contents, channels=3), rgb)
    self.assertAllEqual(codecs.decode(contents, channels=1), gray)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "is not opaque"):
      codecs.decode(codecs.encode(_pixels(4), "png"), channels=3)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "is not gray"):
      codecs.decode(codecs.encode(_pixels(3), "png"), channels=1)

  def test_limit_on_pixels(self):
    contents = codecs.encode(_pixels(3), "png")
    codecs.decode(contents, limits=codecs.Limits(pixels=37 * 53))
    for function in (_DECODERS["png"], codecs.decode, codecs.peek):
      with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, "37 x 53 pixels"):
        function(contents, limits=codecs.Limits(pixels=37 * 53 - 1))

  @parameterized.parameters(
    ((0, 0, 38, 1),),
    ((0, 0, 1, 54),),
    ((37, 0, 1, 1),),
    ((-1, 0, 1, 1),),
    ((0, 0, 1, 0),),
    ((2**31 - 1, 0, 2, 2),),
    ((0, 0, 1),),
  )
  def test_wrong_windows(self, window):
    contents = codecs.encode(_pixels(3), "png")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "window"):
      codecs.decode(contents, window=window)

  def test_batch(self):
    images = np.stack([_pixels(3), 255 - _pixels(3), _pixels(3)[::-1]])
    files = [
      codecs.encode(images[0], "png"),
      codecs.encode(images[1], "raw"),
      codecs.encode(images[2], "webp"),
    ]
    self.assertAllEqual(codecs.decode_batch(files), images)
    windows = [(0, 0, 9, 8), (28, 45, 9, 8), (3, 4, 9, 8)]
    decoded = codecs.decode_batch(files, windows=windows, dtype=tf.uint16)
    for i, (y, x, height, width) in enumerate(windows):
      window = images[i, y : y + height, x : x + width].astype(np.uint16)
      self.assertAllEqual(decoded[i], window * 257)
    self.assertEqual(codecs.decode_batch(tf.zeros([0], tf.string)).shape[0], 0)

  def test_batch_names_the_image_at_fault(self):
    good = codecs.encode(_pixels(3), "png").numpy()
    other = codecs.encode(_pixels(3, size=(36, 53)), "png").numpy()
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "number 2 is 36 x 53"):
      codecs.decode_batch([good, good, other])
    with self.assertRaisesRegex(tf.errors.DataLossError, "image 1: png"):
      codecs.decode_batch([good, good[:-20]])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "image 0"):
      codecs.decode_batch([b"text", good])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "shape"):
      codecs.decode_batch([good, good], windows=[(0, 0, 0, 0)])

  def test_static_shapes(self):
    @tf.function
    def decode(contents, window):
      whole = codecs.decode(contents)
      part = codecs.decode(contents, channels=3, window=(0, 0, 8, 9))
      batch = codecs.decode_batch(tf.stack([contents] * 2), channels=1)
      moving = codecs.decode(contents, window=window)
      return whole, part, batch, moving

    trace = decode.get_concrete_function(
      tf.TensorSpec([], tf.string), tf.TensorSpec([4], tf.int32)
    )
    shapes = [output.shape.as_list() for output in trace.structured_outputs]
    self.assertEqual(shapes, [[None] * 3, [8, 9, 3], [2, None, None, 1], [None] * 3])
    with self.assertRaisesRegex(ValueError, "rank 0"):
      tf.function(codecs.decode).get_concrete_function(tf.TensorSpec([2], tf.string))

  def test_in_a_pipeline(self):
    images = np.stack([_pixels(3) + i for i in range(6)])
    ds = tf.data.Dataset.from_tensor_slices(images)
    ds = ds.map(_ENCODERS["webp"], num_parallel_calls=2)
    ds = ds.map(codecs.decode, num_parallel_calls=2).batch(6)
    self.assertAllEqual(next(iter(ds)), images)

  def test_images_that_a_format_cannot_hold(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "channels .4. must"):
      codecs.encode(_pixels(4), "jpeg")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "bits .16. must"):
      codecs.encode(_pixels(3, np.uint16), "webp")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "shape"):
      codecs.encode(_pixels(5), "png")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "quality .101. must"):
      codecs.encode(_pixels(3), "jpeg", jpeg_quality=101)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "must be one of raw"):
      codecs.encode(_pixels(3), "gif")

  def test_scan_and_transcode(self):
    pixels = _pixels(3)
    contents = codecs.encode(pixels, "png")
    lib = ops.lib()
    found = lib.liquid_scan_image(contents, orientation=1)
    self.assertEqual(found.format, b"png")
    self.assertEqual(found.error, b"")
    self.assertAllEqual(found.shape, [37, 53, 3])
    self.assertEqual(found.bits, 8)
    for target in ("raw", "png", "webp", "bmp"):
      stored = lib.liquid_transcode_image(contents, target, orientation=1)
      self.assertEqual(stored.error, b"")
      self.assertEqual(stored.pixels_hash, found.pixels_hash)
      self.assertAllEqual(_DECODERS[target](stored.encoded), pixels)
    for target in ("jpeg", "webp-lossy"):
      stored = lib.liquid_transcode_image(contents, target, orientation=1)
      self.assertNotEqual(int(stored.pixels_hash), int(found.pixels_hash))
      again = lib.liquid_scan_image(stored.encoded, orientation=1)
      self.assertEqual(stored.pixels_hash, again.pixels_hash)

  def test_scan_and_transcode_report_instead_of_failing(self):
    lib = ops.lib()
    cut = codecs.encode(_pixels(3), "png").numpy()[:-30]
    for contents, reason in ((cut, "png: "), (b"text", "no raw, png"), (b"", "begin")):
      found = lib.liquid_scan_image(contents, orientation=1)
      self.assertIn(reason, found.error.numpy().decode())
      self.assertEqual(found.format, b"")
      self.assertAllEqual(found.shape, [0, 0, 0])
      stored = lib.liquid_transcode_image(contents, "raw", orientation=1)
      self.assertIn(reason, stored.error.numpy().decode())
      self.assertEqual(stored.encoded, b"")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "must be one of"):
      lib.liquid_transcode_image(cut, "gif", orientation=1)


if __name__ == "__main__":
  tf.test.main()
