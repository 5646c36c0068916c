"""Small pictures of decoded images, as data URIs of bounded size."""

import base64
import colorsys
import io

import numpy as np
from PIL import Image

# Longest side, and bytes of a file at most.
SIDE = 200
MOST_BYTES = 12_000

_QUALITIES = (80, 60, 40, 20, 5)
# Of the squares that are seen through an image.
_SQUARE = 8
_LIGHT, _DARK = 200, 150
# Degrees between the hues of neighbouring classes, and how bright eights of them are.
_GOLDEN = 137.508
_VALUES = (1.0, 0.75, 0.5)
_MASK_OPACITY = 0.5


def picture(pixels: np.ndarray) -> Image.Image:
  """An RGB picture of an image, not larger than SIDE.

  Args:
    pixels: shape [height, width, 1 to 4], uint8 or uint16. Of 16 bits, the least value
      becomes black and the greatest white.
  """
  if pixels.dtype == np.uint16:
    pixels = _stretched(pixels)
  channels = pixels.shape[2]
  image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
  image.thumbnail((SIDE, SIDE), Image.Resampling.BOX)
  if channels in (1, 3):
    return image.convert("RGB")
  width, height = image.size
  rows, columns = np.indices((height, width)) // _SQUARE
  squares = np.where((rows + columns) % 2, _DARK, _LIGHT).astype(np.uint8)
  result = Image.fromarray(squares).convert("RGB")
  result.paste(image.convert("RGB"), mask=image.getchannel("A"))
  return result


def with_mask(image: Image.Image, mask: np.ndarray) -> Image.Image:
  """The picture with a mask over it: a colour for each class but 0.

  Args:
    image: of `picture`.
    mask: shape [height, width, 1], of the whole image.
  """
  width, height = image.size
  # The nearest pixel, as class numbers have no mean.
  rows = np.arange(height) * mask.shape[0] // height
  columns = np.arange(width) * mask.shape[1] // width
  numbers = mask[rows][:, columns, 0]
  pixels = np.array(image, np.float32)
  for number in np.unique(numbers).tolist():
    if number:
      place = numbers == number
      pixels[place] *= 1 - _MASK_OPACITY
      pixels[place] += _MASK_OPACITY * np.array(_rgb(number), np.float32)
  return Image.fromarray(pixels.round().astype(np.uint8))


def data_uri(image: Image.Image) -> str:
  """A picture as a JPEG file of at most MOST_BYTES, inside a URI."""
  for quality in _QUALITIES:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    if len(file.getvalue()) <= MOST_BYTES:
      break
  return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


def colour(number: int) -> str:
  """A class's colour, for CSS."""
  return "#{:02x}{:02x}{:02x}".format(*_rgb(number))


def _rgb(number: int) -> tuple[int, int, int]:
  # Hues of classes far apart meet again: their brightness differs.
  hue, value = number * _GOLDEN % 360 / 360, _VALUES[number // 8 % len(_VALUES)]
  return tuple(round(255 * part) for part in colorsys.hsv_to_rgb(hue, 1, value))


def _stretched(pixels: np.ndarray) -> np.ndarray:
  low, high = int(pixels.min()), int(pixels.max())
  scaled = (pixels.astype(np.float32) - low) * (255 / max(1, high - low))
  return scaled.round().astype(np.uint8)
