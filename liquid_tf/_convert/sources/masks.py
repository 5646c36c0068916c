"""Segmentation masks: class numbers as gray images."""

import io

import numpy as np
from PIL import Image

from liquid_tf._convert.raw import raw_file
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits

# Feature of a record's tf.train.Example.
FEATURE = "mask"

# A mask is stored in the one that makes it smaller, at a tie the first.
FORMATS = ("l3-compact", "png")


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


def example_with_png(example: bytes, name: str, limits: Limits) -> tuple[bytes, str]:
  """Puts the mask of a serialized tf.train.Example as PNG, which others read.

  Args:
    example: serialized, with a mask of any of FORMATS.
    name: of the mask's feature.
    limits: the largest mask.

  Returns:
    (serialized, ""), or (as it was, why the mask cannot be read).
  """
  import tensorflow as tf

  message = tf.train.Example.FromString(example)
  masks = message.features.feature[name].bytes_list.value
  stored = ops.lib().liquid_transcode_image(
    contents=masks[0], target="png", orientation=1, **limits.attributes()
  )
  error = stored.error.numpy().decode(errors="replace")
  if error:
    return example, f"its mask: {error}"
  masks[0] = stored.encoded.numpy()
  return message.SerializeToString(deterministic=True), ""


def mask_example(mask: bytes) -> bytes:
  """Serializes the tf.train.Example that holds a mask."""
  import tensorflow as tf

  feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[mask]))
  example = tf.train.Example(features=tf.train.Features(feature={FEATURE: feature}))
  return example.SerializeToString(deterministic=True)
