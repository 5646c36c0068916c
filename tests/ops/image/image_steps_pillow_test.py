"""The steps of ops/image equal Pillow's, to the bit."""

import ctypes
import itertools
import math
import pathlib

import numpy as np
import PIL
from absl.testing import absltest, parameterized
from PIL import Image, ImageEnhance, ImageOps
from pillow_images import random_pixels, to_image, to_pixels

_ENHANCERS = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)
_BRIGHTNESS, _CONTRAST, _SATURATION, _HUE = range(4)
_FACTORS = (0, 0.25, 0.6, 0.999, 1, 1.001, 1.4, 2, 7.5, 1e6)


def _load() -> ctypes.CDLL:
  """The library of tests/ops/image/image_steps_capi.cc, beside this file."""
  library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libimage_steps_capi.so"))
  size, number, pointer = ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
  byte, word, real = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_float
  integer, side = ctypes.c_int, ctypes.c_uint32
  signatures = {
    "ApplyJitter": ((pointer, integer, real, real, real, byte) + (pointer, size, size)),
    "MakeGray": (pointer, size, size),
    "Orient": (pointer, size, size, size, size, integer, pointer),
    "StoredWindow": (integer, pointer, side, side),
    "MirrorRow": (pointer, size, size, pointer),
    "RotateSource": (number, size, size, pointer),
    "RotateBytes": (pointer, size, size, size, number, integer, byte, pointer),
    "RotateWords": (pointer, size, size, size, number, integer, word, pointer),
  }
  for name, arguments in signatures.items():
    function = getattr(library, name)
    function.argtypes = arguments
    function.restype = None
  return library


_STEPS = _load()


def _side(rng) -> int:
  return int(rng.choice([rng.integers(1, 8), rng.integers(1, 301)]))


def _jitter(pixels, order, factors, hue) -> np.ndarray:
  result = pixels.copy()
  steps = np.array(order, np.uint8)
  _STEPS.ApplyJitter(
    steps.ctypes.data,
    len(order),
    *factors,
    hue,
    result.ctypes.data,
    *result.shape[:2],
  )
  return result


def _shift_hue(image: Image.Image, shift: int) -> Image.Image:
  hue, saturation, value = image.convert("HSV").split()
  hue = hue.point([(i + shift) & 255 for i in range(256)])
  return Image.merge("HSV", (hue, saturation, value)).convert("RGB")


def _pillow_jitter(pixels, order, factors, hue) -> np.ndarray:
  image = to_image(pixels)
  for step in order:
    if step == _HUE:
      image = _shift_hue(image, hue)
    else:
      image = _ENHANCERS[step](image).enhance(factors[step])
  return to_pixels(image)


def _rotate(pixels, degrees, nearest, fill=0) -> np.ndarray:
  result = np.empty_like(pixels)
  rotate = _STEPS.RotateBytes if pixels.dtype == np.uint8 else _STEPS.RotateWords
  rotate(pixels.ctypes.data, *pixels.shape, degrees, nearest, fill, result.ctypes.data)
  return result


def _matrix(degrees, height, width) -> np.ndarray:
  matrix = np.empty(6)
  _STEPS.RotateSource(degrees, height, width, matrix.ctypes.data)
  return matrix


def _rotate_words(pixels, degrees, fill) -> np.ndarray:
  """What float64 gives for 16 bits without alpha, halves up."""
  height, width = pixels.shape[:2]
  a, b, c, d, e, f = _matrix(degrees, height, width)
  y, x = np.indices((height, width)) + 0.5
  x, y = a * x + b * y + c, d * x + e * y + f
  inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
  left, top = np.floor(x - 0.5), np.floor(y - 0.5)
  right_part, down_part = (x - 0.5 - left)[..., None], (y - 0.5 - top)[..., None]

  def value(down, right):
    rows = np.clip(top.astype(int) + down, 0, height - 1)
    columns = np.clip(left.astype(int) + right, 0, width - 1)
    return pixels[rows, columns].astype(np.float64)

  upper = value(0, 0) + (value(0, 1) - value(0, 0)) * right_part
  lower = value(1, 0) + (value(1, 1) - value(1, 0)) * right_part
  mixed = np.floor(upper + (lower - upper) * down_part + 0.5)
  return np.where(inside[..., None], mixed, fill).astype(np.uint16)


def _orient(pixels, orientation) -> np.ndarray:
  height, width, channels = pixels.shape
  shape = (width, height) if orientation > 4 else (height, width)
  result = np.empty((*shape, channels), pixels.dtype)
  _STEPS.Orient(
    pixels.ctypes.data,
    pixels.strides[0],
    height,
    width,
    channels * pixels.itemsize,
    orientation,
    result.ctypes.data,
  )
  return result


def _exif_transpose(pixels, orientation) -> np.ndarray:
  image = to_image(pixels)
  image.getexif()[0x112] = orientation
  return to_pixels(ImageOps.exif_transpose(image))


class ColourTest(parameterized.TestCase):
  def test_pillow_is_the_one_that_is_equalled(self):
    self.assertEqual(PIL.__version__, "13.0.0")

  @parameterized.parameters(_BRIGHTNESS, _CONTRAST, _SATURATION)
  def test_a_factor_equals_pillow(self, step):
    rng = np.random.default_rng(step)
    for factor in (*_FACTORS, *rng.uniform(0, 3, 40)):
      pixels = random_pixels(rng, _side(rng), _side(rng), 3)
      order, factors = [step], [factor] * 3
      np.testing.assert_array_equal(
        _jitter(pixels, order, factors, 0),
        _pillow_jitter(pixels, order, factors, 0),
        f"factor {factor}, {pixels.shape}",
      )

  def test_any_order_equals_pillow(self):
    rng = np.random.default_rng(4)
    for count in range(5):
      for order in itertools.permutations(range(4), count):
        for _ in range(3):
          pixels = random_pixels(rng, _side(rng), _side(rng), 3)
          factors = list(rng.uniform(0.4, 1.8, 3))
          hue = int(rng.integers(256))
          np.testing.assert_array_equal(
            _jitter(pixels, order, factors, hue),
            _pillow_jitter(pixels, order, factors, hue),
            f"{order}, {factors}, {hue}, {pixels.shape}",
          )

  def test_every_colour_to_hsv_and_back_equals_pillow(self):
    green, blue = np.indices((256, 256), np.uint8)
    for red in range(256):
      pixels = np.stack([np.full_like(green, red), green, blue], axis=-1)
      np.testing.assert_array_equal(
        _jitter(pixels, [_HUE], [1, 1, 1], red),
        _pillow_jitter(pixels, [_HUE], [1, 1, 1], red),
        f"red {red}",
      )

  def test_every_hue_equals_pillow(self):
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (256, 256, 3), np.uint8)
    for hue in range(256):
      np.testing.assert_array_equal(
        _jitter(pixels, [_HUE], [1, 1, 1], hue),
        _pillow_jitter(pixels, [_HUE], [1, 1, 1], hue),
        f"hue {hue}",
      )

  def test_gray_equals_pillow(self):
    rng = np.random.default_rng(6)
    for _ in range(50):
      pixels = random_pixels(rng, _side(rng), _side(rng), 3)
      gray = pixels.copy()
      _STEPS.MakeGray(gray.ctypes.data, *gray.shape[:2])
      want = to_pixels(to_image(pixels).convert("L").convert("RGB"))
      np.testing.assert_array_equal(gray, want)


class OrientTest(parameterized.TestCase):
  @parameterized.product(orientation=(*range(1, 9),), channels=(1, 2, 3, 4))
  def test_equals_pillow(self, orientation, channels):
    rng = np.random.default_rng(orientation)
    for _ in range(20):
      pixels = random_pixels(rng, _side(rng), _side(rng), channels)
      want = _exif_transpose(pixels, orientation)
      np.testing.assert_array_equal(_orient(pixels, orientation), want)
      # Pillow has no such images of 16 bits: high and low bytes, each for itself.
      low = random_pixels(rng, *pixels.shape)
      words = pixels * np.uint16(256) + low
      want_words = want * np.uint16(256) + _exif_transpose(low, orientation)
      np.testing.assert_array_equal(_orient(words, orientation), want_words)

  @parameterized.parameters(*range(1, 9))
  def test_a_window_of_the_upright_image_is_all_that_is_needed(self, orientation):
    rng = np.random.default_rng(orientation)
    for _ in range(50):
      pixels = random_pixels(rng, _side(rng), _side(rng), 3)
      upright = _exif_transpose(pixels, orientation)
      top, bottom = sorted(rng.choice(upright.shape[0] + 1, 2, replace=False))
      left, right = sorted(rng.choice(upright.shape[1] + 1, 2, replace=False))
      window = np.array([top, left, bottom - top, right - left], np.uint32)
      _STEPS.StoredWindow(orientation, window.ctypes.data, *pixels.shape[:2])
      y, x, height, width = (int(value) for value in window)
      # Rows that are farther apart than they are long.
      stored = pixels[y : y + height, x : x + width]
      self.assertEqual(stored.shape, (height, width, 3))
      np.testing.assert_array_equal(
        _orient(stored, orientation), upright[top:bottom, left:right]
      )

  @parameterized.product(channels=(1, 2, 3, 4), dtype=(np.uint8, np.uint16))
  def test_a_row_is_mirrored(self, channels, dtype):
    rng = np.random.default_rng(channels)
    for width in (*range(1, 40), 224, 300):
      row = random_pixels(rng, 1, width, channels, dtype)
      # Bytes beyond the row stay as they are.
      result = np.full(row.nbytes + 32, 171, np.uint8)
      _STEPS.MirrorRow(
        row.ctypes.data, width, channels * row.itemsize, result[16:].ctypes.data
      )
      want = np.full_like(result, 171)
      want[16:-16] = np.ascontiguousarray(row[:, ::-1]).view(np.uint8).ravel()
      np.testing.assert_array_equal(result, want)


class RotateTest(parameterized.TestCase):
  def test_matrices_equal_those_of_python(self):
    rng = np.random.default_rng(7)
    differ = 0
    angles = [*range(-720, 721), *rng.uniform(-180, 180, 20000)]
    for degrees in angles:
      angle = -math.radians(degrees % 360.0)
      cosine, sine = round(math.cos(angle), 15), round(math.sin(angle), 15)
      matrix = _matrix(degrees, 2, 2)
      np.testing.assert_allclose(matrix[[0, 1]], [cosine, sine], rtol=0, atol=1.5e-15)
      np.testing.assert_array_equal(matrix[[4, 3]], matrix[[0, 1]] * [1, -1])
      differ += tuple(matrix[[0, 1]]) != (cosine, sine)
    self.assertLess(differ, len(angles) / 1000)

  @parameterized.product(channels=(1, 2, 3, 4), nearest=(False, True))
  def test_equals_pillow(self, channels, nearest):
    rng = np.random.default_rng(channels)
    resample = Image.Resampling.NEAREST if nearest else Image.Resampling.BILINEAR
    angles = (0, 90, 180, 270, -90, 45, 1e-9, 1e-14, 179.99999999999997, 30, 359)
    for degrees in (*angles, *rng.uniform(-180, 180, 50), *rng.uniform(-9, 9, 20)):
      pixels = random_pixels(rng, _side(rng), _side(rng), channels)
      want = to_pixels(to_image(pixels).rotate(degrees, resample, fillcolor=0))
      np.testing.assert_array_equal(
        _rotate(pixels, degrees, nearest), want, f"{degrees}, {pixels.shape}"
      )

  def test_a_square_is_turned_as_it_is_transposed(self):
    rng = np.random.default_rng(8)
    pixels = random_pixels(rng, 65, 65, 3)
    for degrees in (0, 90, 180, 270):
      want = to_pixels(to_image(pixels).rotate(degrees))
      for nearest in (False, True):
        np.testing.assert_array_equal(_rotate(pixels, degrees, nearest), want)

  def test_what_is_outside_is_filled(self):
    rng = np.random.default_rng(9)
    pixels = random_pixels(rng, 40, 70, 3)
    for nearest in (False, True):
      resample = Image.Resampling.NEAREST if nearest else Image.Resampling.BILINEAR
      want = to_image(pixels).rotate(33, resample, fillcolor=(114, 114, 114))
      got = _rotate(pixels, 33, nearest, fill=114)
      np.testing.assert_array_equal(got, to_pixels(want))

  def test_masks_of_16_bits_equal_pillow(self):
    rng = np.random.default_rng(10)
    for degrees in rng.uniform(-180, 180, 50):
      pixels = random_pixels(rng, _side(rng), _side(rng), 1, np.uint16)
      want = to_pixels(to_image(pixels).rotate(degrees))
      np.testing.assert_array_equal(_rotate(pixels, degrees, True), want)

  @parameterized.parameters(1, 3)
  def test_16_bits_are_rounded_from_float64(self, channels):
    rng = np.random.default_rng(channels)
    for degrees in rng.uniform(-180, 180, 20):
      pixels = random_pixels(rng, _side(rng), _side(rng), channels, np.uint16)
      want = _rotate_words(pixels, degrees, fill=7)
      np.testing.assert_array_equal(_rotate(pixels, degrees, False, fill=7), want)

  def test_colours_of_16_bits_count_as_their_alpha(self):
    pixels = np.zeros((1, 2, 4), np.uint16)
    pixels[0, 0] = (60000, 30000, 1, 40000)
    # Clear, so that its colour must not show.
    pixels[0, 1] = (9, 65535, 65535, 0)
    turned = _rotate(pixels, 20, False)
    self.assertEqual(tuple(turned[0, 0, :3]), (60000, 30000, 1))
    self.assertBetween(turned[0, 0, 3], 30000, 40000)


if __name__ == "__main__":
  absltest.main()
