"""The resampler's pixels are Pillow's, and those of float64 with 16 bits."""

import ctypes
import os

import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

_LIBRARY = ctypes.CDLL(
  os.environ.get(
    "LIQUID_RESAMPLE_LIBRARY",
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "libresample_capi.so"),
  )
)
_TARGETS = range(_LIBRARY.targets())
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_FILTERS = {
  "nearest": Image.Resampling.NEAREST,
  "bilinear": Image.Resampling.BILINEAR,
  "bicubic": Image.Resampling.BICUBIC,
}
_NUMBERS = {name: number for number, name in enumerate(_FILTERS)}


def _resample(image, size, filter, part=None, antialias=True, target=-1):
  """Resizes in C++.

  Args:
    image: uint8 or uint16 array of [height, width, channels].
    size: (height, width) of the result.
    filter: name of the interpolation.
    part: (y, x, height, width) of the result; all of it by default.
    antialias: whether filters widen as the image gets smaller.
    target: number of the instructions to use; the widest by default.

  Returns:
    The part, of the image's type.
  """
  image = np.ascontiguousarray(image)
  part = part or (0, 0, *size)
  out = np.empty((*part[2:], image.shape[2]), image.dtype)
  refused = _LIBRARY.resample(
    image.ctypes.data_as(ctypes.c_void_p),
    *image.shape,
    image.dtype.itemsize * 8,
    *size,
    (ctypes.c_uint32 * 4)(*part),
    _NUMBERS[filter],
    int(antialias),
    _TARGETS[target],
    out.ctypes.data_as(ctypes.c_void_p),
  )
  assert not refused
  return out


def _pillow(image, size, filter):
  # As PIL.Image.fromarray, which wants no last axis of one channel.
  height, width, channels = image.shape
  source = Image.frombytes(_MODES[channels], (width, height), image.tobytes())
  result = source.resize(size[::-1], _FILTERS[filter])
  return np.asarray(result).reshape(*size, channels)


def _image(random, height, width, channels, dtype=np.uint8):
  """Noise, or what makes a cubic filter overshoot: black and white."""
  top = np.iinfo(dtype).max
  image = random.integers(0, top + 1, (height, width, channels), dtype=dtype)
  kind = random.integers(3)
  if kind == 1:
    image = (image > top // 2).astype(dtype) * dtype(top)
  if channels in (2, 4) and random.integers(2):
    # Opacities where rounding matters most.
    image[..., -1] = random.choice(
      np.array([0, 1, 2, 127, top - 1, top], dtype), image.shape[:2]
    )
  return image


def _side(random):
  """Mostly moderate, at times as small or as large as they get."""
  return int(
    random.choice(
      [
        random.integers(1, 8),
        random.integers(1, 100),
        random.integers(1, 400),
        random.integers(1, 400),
        random.integers(1, 3001),
      ]
    )
  )


def _window(random, height, width):
  h = int(random.integers(1, height + 1))
  w = int(random.integers(1, width + 1))
  return (
    int(random.integers(0, height - h + 1)),
    int(random.integers(0, width - w + 1)),
    h,
    w,
  )


def _weights(in_size, out_size, filter):
  """The matrix [out_size, in_size] of a filter, by its definition."""
  if in_size == out_size:
    return np.eye(in_size)
  scale = in_size / out_size
  width = max(scale, 1.0)
  support = {"bilinear": 1, "bicubic": 2}[filter] * width
  result = np.zeros((out_size, in_size))
  for i in range(out_size):
    center = (i + 0.5) * scale
    first = max(int(center - support + 0.5), 0)
    last = min(int(center + support + 0.5), in_size)
    x = np.abs((np.arange(first, last) + 0.5 - center) / width)
    if filter == "bilinear":
      weights = np.maximum(1 - x, 0)
    else:
      weights = np.where(
        x < 1,
        (1.5 * x - 2.5) * x * x + 1,
        np.where(x < 2, ((-0.5 * x + 2.5) * x - 4) * x + 2, 0),
      )
    result[i, first:last] = weights / weights.sum()
  return result


def _reference(image, size, filter):
  """The unrounded result of 16 bits."""
  values = image.astype(np.float64)
  alpha = image.shape[2] in (2, 4)
  if image.shape[:2] == size:
    return values
  if alpha:
    values[..., :-1] *= values[..., -1:] / 65535
  values = np.einsum("yi,ixc->yxc", _weights(image.shape[0], size[0], filter), values)
  values = np.einsum("xj,yjc->yxc", _weights(image.shape[1], size[1], filter), values)
  if alpha:
    opacity = values[..., -1:]
    shown = opacity >= 0.5
    values[..., :-1] = np.where(
      shown, values[..., :-1] * 65535 / np.where(shown, opacity, 1), 0
    )
  return np.clip(values, 0, 65535)


class ResamplePillowTest(parameterized.TestCase):
  @parameterized.product(filter=tuple(_FILTERS), channels=tuple(_MODES))
  def test_equals_pillow(self, filter, channels):
    random = np.random.default_rng([channels, *filter.encode()])
    for case in range(40):
      image = _image(random, _side(random), _side(random), channels)
      height, width = image.shape[:2]
      size = _side(random), _side(random)
      if case % 8 == 0:
        size = height, size[1]
      elif case % 8 == 1:
        size = size[0], width
      elif case % 8 == 2 and height > 4:
        # Where the order of the passes turns.
        less = int(random.integers(1, height // 2))
        size = height - less, max(1, width - less // 2 - int(random.integers(-1, 2)))
      wanted = _pillow(image, size, filter)
      for target in _TARGETS:
        with self.subTest(shape=image.shape, size=size, target=target):
          np.testing.assert_array_equal(
            _resample(image, size, filter, target=target), wanted
          )
      y, x, h, w = part = _window(random, *size)
      with self.subTest(shape=image.shape, size=size, part=part):
        np.testing.assert_array_equal(
          _resample(image, size, filter, part), wanted[y : y + h, x : x + w]
        )
      y, x, h, w = _window(random, height, width)
      cropped = image[y : y + h, x : x + w]
      size = _side(random), _side(random)
      with self.subTest(cropped=cropped.shape, size=size):
        np.testing.assert_array_equal(
          _resample(cropped, size, filter), _pillow(cropped, size, filter)
        )

  @parameterized.parameters(*_FILTERS)
  def test_long_and_thin(self, filter):
    random = np.random.default_rng(list(filter.encode()))
    for shape in ((1, 1), (1, 3000), (3000, 1), (2, 2999), (3000, 3)):
      for size in ((1, 1), (1, 3000), (3000, 1), (224, 224), (5, 1201)):
        image = _image(random, *shape, int(random.integers(1, 5)))
        with self.subTest(shape=image.shape, size=size):
          np.testing.assert_array_equal(
            _resample(image, size, filter), _pillow(image, size, filter)
          )

  @parameterized.product(filter=("bilinear", "bicubic"), channels=tuple(_MODES))
  def test_16_bits_are_near_float64(self, filter, channels):
    random = np.random.default_rng([channels, 16, *filter.encode()])
    for case in range(25):
      shape = [int(random.integers(1, 300)) for _ in range(2)]
      size = tuple(int(random.integers(1, 300)) for _ in range(2))
      if case == 0:
        shape, size = [1, 3000], (7, 5)
      elif case == 1:
        shape, size = [3000, 2], (5, 7)
      elif case == 2:
        size = tuple(shape)
      elif case == 3:
        size = shape[0], size[1]
      image = _image(random, *shape, channels, np.uint16)
      wanted = _reference(image, size, filter)
      whole = _resample(image, size, filter)
      error = np.abs(whole - wanted)
      with self.subTest(shape=image.shape, size=size):
        self.assertLessEqual(error.max(), 0.51)
        y, x, h, w = part = _window(random, *size)
        np.testing.assert_array_equal(
          _resample(image, size, filter, part), whole[y : y + h, x : x + w]
        )
        for target in _TARGETS:
          np.testing.assert_array_equal(
            _resample(image, size, filter, target=target), whole
          )


if __name__ == "__main__":
  absltest.main()
