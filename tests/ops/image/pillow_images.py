"""Images for comparisons with Pillow."""

import numpy as np
from PIL import Image

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def random_pixels(rng, height, width, channels, dtype=np.uint8) -> np.ndarray:
  """Noise, smooth values or a few colours: [height, width, channels]."""
  most = np.iinfo(dtype).max
  shape = (height, width, channels)
  kind = rng.integers(3)
  if kind == 0:
    return rng.integers(0, most, shape, dtype, endpoint=True)
  if kind == 1:
    y, x, c = (np.arange(side) for side in shape)
    down, right = np.sin(np.add.outer(y / 9, c)), np.sin(np.subtract.outer(x / 7, c))
    waves = down[:, None] + right[None]
    return np.round((waves / 4 + 0.5) * most).astype(dtype)
  few = np.array([0, 1, most // 2, most - 1, most], dtype)
  return few[rng.integers(0, len(few), shape, np.uint8)]


def to_image(pixels: np.ndarray) -> Image.Image:
  """Pixels of [height, width, channels] as Pillow holds them."""
  if pixels.shape[2] == 1:
    return Image.fromarray(pixels[:, :, 0])
  return Image.fromarray(pixels, _MODES[pixels.shape[2]])


def to_pixels(image: Image.Image) -> np.ndarray:
  """The pixels of an image: [height, width, channels]."""
  pixels = np.asarray(image)
  return pixels.reshape(*pixels.shape[:2], -1)
