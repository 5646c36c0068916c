"""Segmentation masks: class numbers as gray images."""

import io

import numpy as np
from PIL import Image

from liquid_tf._convert.raw import raw_file

# Feature of a record's tf.train.Example.
FEATURE = "mask"


def decode_mask(data: bytes) -> tuple[bytes, str]:
  """Decodes a mask file to the raw encoding of a gray image.

  A palette's indices are the class numbers; its colours are for people. So this cannot
  use the codecs, which decode a palette to its colours.

  Args:
    data: a PNG or another file that Pillow reads, with one channel or a palette.

  Returns:
    (raw encoding, ""), or (b"", why it is not a mask).
  """
  try:
    with Image.open(io.BytesIO(data)) as image:
      if image.mode in ("P", "L", "1"):
        pixels = np.asarray(image).astype(np.uint8)
      elif image.mode in ("I", "I;16", "I;16B", "I;16L"):
        wide = np.asarray(image)
        if wide.min() < 0 or wide.max() > 0xFFFF:
          return b"", "mask has values outside 0..65535"
        pixels = wide.astype("<u2")
      else:
        return b"", f"mask must be gray or have a palette, but is {image.mode}"
  except Exception as error:  # Pillow raises whatever its decoders meet.
    return b"", f"mask cannot be decoded: {error}"
  return raw_file(pixels), ""


def mask_example(png: bytes) -> bytes:
  """Serializes the tf.train.Example that holds a mask."""
  import tensorflow as tf

  feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[png]))
  example = tf.train.Example(features=tf.train.Features(feature={FEATURE: feature}))
  return example.SerializeToString(deterministic=True)
