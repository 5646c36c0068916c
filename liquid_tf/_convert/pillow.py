"""Images that the codecs do not decode, by Pillow or tifffile, as raw files."""

import io
import struct

import numpy as np
import tensorflow as tf
from PIL import Image, UnidentifiedImageError

from liquid_tf._convert import tiff
from liquid_tf._convert.graph import by_python
from liquid_tf._native import image_ops, ops
from liquid_tf._native.limits import Limits
from liquid_tf._words import said

# Advice on values that may be below 0.
OF_SIGNED = "add 32,768 and save uint16, which keeps all values of int16"

# No other: Pillow's readers of some formats start programs.
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")

# Mode -> mode of the pixels; where there is transparency, RGBA in place of RGB.
_MODES = {
  "1": "L",
  "L": "L",
  "LA": "LA",
  "La": "LA",
  "P": "RGB",
  "PA": "RGBA",
  "RGB": "RGB",
  "RGBX": "RGB",
  "RGBA": "RGBA",
  "RGBa": "RGBA",
  "CMYK": "RGB",
  "YCbCr": "RGB",
}

_BITS_PER_SAMPLE = 258  # of TIFF


def _stored_bits(image: Image.Image) -> int:
  """Bits of a channel in the file, of which Pillow may keep 8."""
  if image.format == "TIFF":
    return max(image.tag_v2.get(_BITS_PER_SAMPLE, (1,)))
  # One whose pixels were read has no tiles.
  tiles = image.tile if image.format == "PPM" else []
  if tiles and isinstance(tiles[0].args, tuple):
    return int(tiles[0].args[1]).bit_length()
  return 8


def _deep(image: Image.Image) -> bool:
  return _stored_bits(image) > 8


def pixels(image: Image.Image) -> np.ndarray:
  """The first frame's pixels, uint8 or uint16.

  Raises:
    ValueError: they cannot be had without loss.
  """
  deep = _deep(image)
  if image.mode.startswith("I"):
    found = np.asarray(image)
    if found.min() < 0 or found.max() > 0xFFFF:
      raise ValueError(f"it has values outside of 0 to 65535: {OF_SIGNED}")
    return found.astype(np.uint16)
  mode = _MODES.get(image.mode)
  if mode is None:
    raise ValueError(f"its mode is {image.mode}")
  if deep:
    raise ValueError("it would keep 8 bits of a channel that has more")
  if mode == "RGB" and image.has_transparency_data:
    mode = "RGBA"
  return np.asarray(image.convert(mode))


def as_raw(contents: bytes, reason: bytes, limits: Limits) -> tuple[bytes, bytes]:
  """Reads an image by Pillow: its first frame, as RGB or gray, or with alpha.

  Args:
    contents: an image file.
    reason: why the codecs do not decode it.
    limits: of the image, in force before its pixels are decoded.

  Returns:
    (A raw encoding, nothing), or (nothing, why there is none).
  """
  why = reason.decode(errors="replace")
  try:
    # Only headers, up to where the pixels are asked for.
    with Image.open(io.BytesIO(contents), formats=_FORMATS) as image:
      width, height = image.size
      if width * height > limits.pixels:
        why = (
          f"{image.format.lower()}: {height} x {width} pixels are over the limit of "
          f"{limits.pixels}: raise it with "
          f"{said('limits=Limits(pixels=N)')}"
        )
        return b"", why.encode()
      if not tiff.begins_so(contents) or image.mode not in _MODES or not _deep(image):
        return raw_file(pixels(image)), b""
  except UnidentifiedImageError:
    if not tiff.begins_so(contents):
      return b"", f"{why}, nor is it one that Pillow reads".encode()
  except Exception as error:  # Pillow raises whatever its decoders meet.
    why = f"{why}; nor can Pillow read it ({error}): convert it to PNG"
    return b"", why.encode(errors="replace")
  try:
    return raw_file(tiff.pixels(contents, limits)), b""
  except Exception as error:  # So does tifffile.
    why = f"{why}; nor can tifffile read it ({error}): convert it to PNG"
    return b"", why.encode(errors="replace")


def pages(contents: bytes) -> int:
  """Counts pages or frames of an image that `as_raw` reads; 1 if they are damaged."""
  try:
    with Image.open(io.BytesIO(contents), formats=_FORMATS) as image:
      return getattr(image, "n_frames", 1)
  except Exception:  # Pillow raises whatever its readers meet.
    return 1


def decodable(
  contents: tf.Tensor, limits: Limits
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Gives the codecs an image that they can decode, inside a tf.data graph.

  Args:
    contents: scalar, an image file.
    limits: of the image.

  Returns:
    The file itself, or a raw encoding of Pillow's pixels; whether it is that; and why
    there is neither, empty where there is one.
  """
  reason = ops.lib().liquid_why_unsupported(contents=contents, **limits.attributes())

  def by_pillow():
    image, error = by_python(
      lambda contents, reason: as_raw(contents, reason, limits),
      [contents, reason],
      tf.string,
      tf.string,
    )
    return image, tf.constant(True), error

  return tf.cond(
    tf.equal(reason, ""),
    lambda: (contents, tf.constant(False), tf.constant("")),
    by_pillow,
  )


def size_of(image: bytes) -> tuple[int, int] | None:
  """Height and width by the header; None where nothing knows the format."""
  try:
    height, width, _ = image_ops.peek(image).shape.numpy().tolist()
    return height, width
  except tf.errors.OpError:
    pass  # It may be one that Pillow reads.
  try:
    with Image.open(io.BytesIO(image)) as opened:
      return opened.height, opened.width
  except Exception:  # Whether the image is sound is for the codecs to say.
    return None


def raw_file(pixels: np.ndarray) -> bytes:
  """The raw encoding of uint8 or uint16 pixels, [height, width] or with channels."""
  height, width = pixels.shape[:2]
  channels = 1 if pixels.ndim == 2 else pixels.shape[2]
  bits = pixels.itemsize * 8
  header = struct.pack("<4sIIBBH", b"LRAW", height, width, channels, bits, 0)
  return header + pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
