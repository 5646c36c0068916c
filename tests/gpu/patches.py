"""Images for the tests of decoders on a GPU."""

import numpy as np

import liquid_tf
from liquid_tf import codecs


def make_image(seed: int, height: int, width: int, channels: int = 3, dtype=np.uint8):
  """Slopes with noise, of which no two channels are alike."""
  random = np.random.default_rng(seed)
  y, x, c = np.ogrid[:height, :width, :channels]
  noise = random.integers(0, 9, (height, width, channels))
  return ((x * 3 + y * 2 + c * 50 + noise) * (1 if dtype == np.uint8 else 131)).astype(
    dtype
  )


def make_flat(seed: int, height: int, width: int, channels: int = 3, dtype=np.uint8):
  """Blocks of a few colours, as a drawing has."""
  random = np.random.default_rng(seed)
  count = (2, 5, 20, 60)[seed % 4]
  colours = random.integers(0, np.iinfo(dtype).max, (count, channels), endpoint=True)
  blocks = random.integers(0, count, (-(-height // 5), -(-width // 7)))
  places = np.kron(blocks, np.ones((5, 7), int))[:height, :width]
  return colours[places].astype(dtype)


def encode(image: np.ndarray, kind: str) -> bytes:
  """The bytes of a file.

  "v1" and "v2" are versions of L3, "compact" is version 2's other profile; and "raw".
  """
  if kind == "raw":
    return codecs.encode(image, "raw").numpy()
  if kind == "compact":
    return codecs.encode_l3(image, profile="compact").numpy()
  return codecs.encode_l3(image, version=int(kind[1])).numpy()


def annotated(path: str, images: int) -> str:
  """A dataset at `path` of unequal images with masks, boxes and keypoints."""
  random = np.random.default_rng(images)

  def item(i: int) -> dict:
    image = make_image(i, 50 + i, 70 - i)
    low = random.uniform(0, 40, (i % 4, 2))
    boxes = np.concatenate([low, low + random.uniform(1, 30, (i % 4, 2))], 1)
    points = random.uniform(0, 50, (i % 4, 2, 3))
    points[..., 2] = 2
    return {
      "image": image,
      "mask": (image[..., 0] > 100).astype(np.uint8),
      "boxes": boxes,
      "box_labels": list(range(i % 4)),
      "keypoints": points,
    }

  source = liquid_tf.Source.from_iterable([item(i) for i in range(images)])
  liquid_tf.convert(source, path, "l3:2,raw:1", progress=False)
  return path
