"""The operations of policies equal Pillow's, to the bit.

By default few draws of each are compared; so many are in a thorough run:

  LIQUID_TEST_CASES=10000 bazel test --test_env=LIQUID_TEST_CASES \\
      --test_timeout=3600 //tests/ops/image:operations_pillow_test
"""

import ctypes
import math
import os
import pathlib

import numpy as np
import PIL
from absl.testing import absltest, parameterized
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from pillow_images import random_pixels, to_image, to_pixels

_CASES = int(os.environ.get("LIQUID_TEST_CASES", "20"))
_KINDS = (
  *("affine", "turn_90", "turn_180", "turn_270", "flip"),
  *("brightness", "color", "contrast", "sharpness", "posterize", "solarize"),
  *("solarize_add", "auto_contrast", "equalize", "invert", "gray", "blur"),
)
_INTERPOLATIONS = (
  Image.Resampling.NEAREST,
  Image.Resampling.BILINEAR,
  Image.Resampling.BICUBIC,
)
_TURNS = {
  "turn_90": Image.Transpose.ROTATE_90,
  "turn_180": Image.Transpose.ROTATE_180,
  "turn_270": Image.Transpose.ROTATE_270,
  "flip": Image.Transpose.FLIP_TOP_BOTTOM,
}
_ENHANCERS = {
  "brightness": ImageEnhance.Brightness,
  "color": ImageEnhance.Color,
  "contrast": ImageEnhance.Contrast,
  "sharpness": ImageEnhance.Sharpness,
}


class _Operation(ctypes.Structure):
  """liquid::Operation of ops/image/operations.h."""

  _fields_ = [
    ("kind", ctypes.c_uint8),
    ("interpolation", ctypes.c_uint8),
    ("fill", ctypes.c_uint8 * 3),
    ("amount", ctypes.c_double),
    ("matrix", ctypes.c_double * 6),
  ]

  def __repr__(self) -> str:
    values = self.interpolation, *self.fill, self.amount, *self.matrix
    return f"{_KINDS[self.kind]} {values}"


def _load():
  """The library of tests/ops/image/image_steps_capi.cc, beside this file."""
  library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libimage_steps_capi.so"))
  apply, size, pointer = library.ApplyOperations, ctypes.c_size_t, ctypes.c_void_p
  apply.argtypes = (pointer, size, size, size, size, pointer, pointer)
  apply.restype = None
  return apply


_APPLY = _load()


def _operation(kind, amount=0.0, interpolation=0, fill=(), matrix=()) -> _Operation:
  fills, numbers = (ctypes.c_uint8 * 3)(*fill), (ctypes.c_double * 6)(*matrix)
  return _Operation(_KINDS.index(kind), interpolation, fills, amount, numbers)


def _applied(pixels, operations) -> np.ndarray:
  # Bytes about both buffers show that none is written there.
  buffers = [np.full(pixels.size + 64, 171, np.uint8) for _ in range(2)]
  canvas, other = (buffer[32:-32] for buffer in buffers)
  canvas[:] = pixels.ravel()
  array = (_Operation * len(operations))(*operations)
  _APPLY(array, len(array), *pixels.shape, canvas.ctypes.data, other.ctypes.data)
  for buffer in buffers:
    assert (buffer[:32] == 171).all() and (buffer[-32:] == 171).all()
  return canvas.reshape(pixels.shape)


def _solarize_add(image, amount):
  table = [min(i + amount, 255) if i < 128 else i for i in range(256)]
  return image.point(table * len(image.getbands()))


def _pillow(image: Image.Image, operation: _Operation) -> Image.Image:
  kind, amount = _KINDS[operation.kind], operation.amount
  if kind == "affine":
    return image.transform(
      image.size,
      Image.Transform.AFFINE,
      tuple(operation.matrix),
      _INTERPOLATIONS[operation.interpolation],
      fillcolor=tuple(operation.fill) if image.mode == "RGB" else operation.fill[0],
    )
  if kind in _TURNS:
    return image.transpose(_TURNS[kind])
  if kind in _ENHANCERS:
    return _ENHANCERS[kind](image).enhance(amount)
  others = {
    "posterize": lambda: ImageOps.posterize(image, int(amount)),
    "solarize": lambda: ImageOps.solarize(image, amount),
    "solarize_add": lambda: _solarize_add(image, int(amount)),
    "auto_contrast": lambda: ImageOps.autocontrast(image),
    "equalize": lambda: ImageOps.equalize(image),
    "invert": lambda: ImageOps.invert(image),
    "gray": lambda: image.convert("L").convert(image.mode),
    "blur": lambda: image.filter(ImageFilter.GaussianBlur(amount)),
  }
  return others[kind]()


def _matrix(rng, height, width) -> tuple[float, ...]:
  """Maps of policies, and any others."""
  kind = rng.integers(10)
  x, y = width / 2, height / 2
  if kind == 0:
    return 1, math.tan(rng.uniform(-0.6, 0.6)), 0, 0, 1, 0
  if kind == 1:
    return 1, 0, 0, rng.uniform(-0.6, 0.6), 1, 0
  if kind == 2:
    return 1, 0, float(rng.integers(-width, width + 1)), 0, 1, 0
  if kind == 3:
    return 1, 0, 0, 0, 1, rng.uniform(-height, height)
  if kind in (4, 5):
    angle = math.radians(rng.uniform(-180, 180) if kind == 4 else rng.uniform(-9, 9))
    cosine, sine = round(math.cos(angle), 15), round(math.sin(angle), 15)
    return (
      *(cosine, sine, x - cosine * x - sine * y),
      *(-sine, cosine, y + sine * x - cosine * y),
    )
  if kind == 6:
    # Scales, mirrors and squeezes to a line.
    a, e = rng.choice([0, 1, -1, *rng.normal(0, 1.5, 3)], 2)
    return a, 0, rng.uniform(-width, 2 * width), 0, e, rng.uniform(-height, 2 * height)
  if kind == 7:
    # Places on and between pixels, to the bit.
    values = rng.integers(-12, 13, 6) / 8
    return tuple(values * (1, 1, 8, 1, 1, 8) + (0, 0, x, 0, 0, y))
  a, b, d, e = rng.normal(0, 1, 4) * rng.choice([1e-9, 0.1, 1, 3])
  if kind == 8:
    return a, b, x - a * x - b * y, d, e, y - d * x - e * y
  # Far beyond what 16 bits hold.
  far = rng.choice([100, 3e4, 1e6, 1e12])
  return (
    *(a, b * far, x + far * rng.normal(0, 1)),
    *(d * far, e, y + far * rng.normal(0, 1)),
  )


def _draw_affine(rng, interpolation, height, width) -> _Operation:
  fill = rng.integers(0, 256, 3).tolist()
  return _operation("affine", 0, interpolation, fill, _matrix(rng, height, width))


def _draw(rng, kind, height, width) -> _Operation:
  if kind == "affine":
    return _draw_affine(rng, int(rng.integers(3)), height, width)
  if kind in _ENHANCERS:
    chosen = rng.choice([0, 1, 1e-9, 1 - 1e-9, 7.5, 1e6])
    return _operation(kind, rng.choice([chosen, *rng.uniform(0, 2.5, 4)]))
  amount = {
    "posterize": lambda: rng.integers(1, 9),
    "solarize": lambda: rng.choice([rng.integers(0, 257), rng.uniform(0, 256)]),
    "solarize_add": lambda: rng.integers(0, 256),
    "blur": lambda: rng.choice([0, 0.1, *rng.uniform(0, 3, 3), rng.uniform(0, 90)]),
  }
  return _operation(kind, float(amount[kind]()) if kind in amount else 0)


def _side(rng) -> int:
  return int(
    rng.choice([rng.integers(1, 8), rng.integers(1, 80), rng.integers(1, 501)])
  )


class OperationsTest(parameterized.TestCase):
  def test_pillow_is_the_one_that_is_equalled(self):
    self.assertEqual(PIL.__version__, "13.0.0")

  def _compare(self, pixels, operations):
    image = to_image(pixels)
    for operation in operations:
      image = _pillow(image, operation)
    got, want = _applied(pixels, operations), to_pixels(image)
    if not np.array_equal(got, want):
      np.testing.assert_array_equal(got, want, f"{operations}, {pixels.shape}")

  @parameterized.product(kind=_KINDS[1:], channels=(1, 3))
  def test_an_operation_equals_pillow(self, kind, channels):
    rng = np.random.default_rng([channels, _KINDS.index(kind)])
    for case in range(_CASES):
      height, width = _side(rng), _side(rng)
      if kind in ("turn_90", "turn_270"):
        height = width
      if kind == "equalize" and case % 2 == 0:
        # Few pixels of many values, and so a step of 0 or little more.
        height, width = int(rng.integers(1, 30)), int(rng.integers(1, 30))
      pixels = random_pixels(rng, height, width, channels)
      self._compare(pixels, [_draw(rng, kind, height, width)])

  @parameterized.product(interpolation=(0, 1, 2), channels=(1, 3))
  def test_an_affine_map_equals_pillow(self, interpolation, channels):
    rng = np.random.default_rng([channels, interpolation])
    for _ in range(_CASES):
      height, width = _side(rng), _side(rng)
      pixels = random_pixels(rng, height, width, channels)
      self._compare(pixels, [_draw_affine(rng, interpolation, height, width)])

  @parameterized.parameters(1, 3)
  def test_one_after_the_other_equals_pillow(self, channels):
    rng = np.random.default_rng(channels)
    for _ in range(_CASES):
      height, width = _side(rng), _side(rng)
      kinds = [*set(_KINDS) - {"turn_90", "turn_270"}]
      kinds = rng.choice(sorted(kinds), rng.integers(0, 6))
      operations = [_draw(rng, kind, height, width) for kind in kinds]
      self._compare(random_pixels(rng, height, width, channels), operations)


if __name__ == "__main__":
  absltest.main()
