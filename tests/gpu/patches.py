"""Images for the tests of decoders on a GPU."""

import numpy as np

from liquid_tf import codecs


def make_image(seed: int, height: int, width: int, channels: int = 3, dtype=np.uint8):
  """Slopes with noise, of which no two channels are alike."""
  random = np.random.default_rng(seed)
  y, x, c = np.ogrid[:height, :width, :channels]
  noise = random.integers(0, 9, (height, width, channels))
  return ((x * 3 + y * 2 + c * 50 + noise) * (1 if dtype == np.uint8 else 131)).astype(
    dtype
  )


def encode(image: np.ndarray, kind: str) -> bytes:
  """The bytes of a file: "v1" and "v2" are versions of L3, the other one is "raw"."""
  if kind == "raw":
    return codecs.encode_raw(image).numpy()
  return codecs.encode_l3(image, version=int(kind[1])).numpy()
