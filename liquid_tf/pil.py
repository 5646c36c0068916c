"""Pillow opens and saves L3 images once this module is imported.

  import liquid_tf.pil
  from PIL import Image

  Image.open("photo.l3").show()
  image.save("photo.l3", profile="compact")

Opening reads the header; pixels are decoded when they are first asked for. Gray becomes
mode L, or I;16 where it has 16 bits; gray and alpha LA, RGB RGB, RGBA RGBA. Pillow has
no modes for colour of 16 bits: as of its PNG images, the upper 8 are kept; use
`liquid_tf.codecs.decode` for all 16.
"""

import os
from typing import IO

import numpy as np
from PIL import Image, ImageFile

from liquid_tf import codecs
from liquid_tf._native import ops
from liquid_tf._store.formats import BY_NAME
from liquid_tf._tensorflow import tf

_FORMAT = "L3"
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_OPTIONS = {"version", "patch", "profile", "effort"}
_PROFILES = ("fast", "compact")
_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "I;16": 1}


def _accept(prefix: bytes) -> bool:
  return prefix.startswith(BY_NAME["l3"].first_bytes)


class L3ImageFile(ImageFile.ImageFile):
  """An L3 file that was opened, of either version.

  `info` holds `version`, `patch` (side of a patch in pixels) and `bits`.
  """

  format = _FORMAT
  format_description = "L3, lossless image in patches"

  def _open(self) -> None:
    assert self.fp is not None  # Pillow has opened the file.
    contents = self.fp.read()
    try:
      found = codecs.peek_l3(contents)
    except tf.errors.OpError as error:
      # What Pillow takes as "not a file of this format, or a damaged one".
      raise SyntaxError(ops.reason(error)) from error
    height, width, channels = found.shape.numpy().tolist()
    bits = int(found.bits)
    mode = "I;16" if channels == 1 and bits == 16 else _MODES[channels]
    self._mode = mode
    self._size = (width, height)
    self.info = {
      "version": int(found.version),
      "patch": int(found.patch),
      "bits": bits,
    }
    if found.version == 2:
      self.info["profile"] = _PROFILES[int(found.profile)]
    self.tile = [ImageFile._Tile(_FORMAT, (0, 0, width, height), 0, (mode,))]


class _Decoder(ImageFile.PyDecoder):
  """Decodes the whole file at once, when Pillow wants the pixels."""

  _pulls_fd = True

  def decode(self, buffer: object) -> tuple[int, int]:
    del buffer  # It is empty: this decoder reads the file by itself.
    assert self.fd is not None  # Pillow has opened the file.
    contents = self.fd.read()
    dtype = tf.uint16 if self.mode == "I;16" else tf.uint8
    try:
      pixels = codecs.decode(contents, dtype=dtype, format="l3").numpy()
    except tf.errors.OpError as error:
      raise OSError(ops.reason(error)) from error
    if self.mode == "I;16":
      pixels = pixels.astype("<u2")
    self.set_as_raw(pixels.tobytes(), self.mode)
    return -1, 0


def _save(image: Image.Image, file: IO[bytes], filename: str | bytes) -> None:
  """Writes an image; takes the options of `codecs.encode_l3`."""
  if image.mode not in _CHANNELS:
    raise OSError(
      f"{os.fsdecode(filename)}: mode ({image.mode}) must be one of "
      f"{', '.join(_CHANNELS)} to be stored as L3; convert the image first"
    )
  pixels = np.asarray(image)
  pixels = pixels.reshape(image.height, image.width, _CHANNELS[image.mode])
  if image.mode == "I;16":
    pixels = pixels.astype(np.uint16)
  try:
    given = {
      name: image.encoderinfo[name] for name in _OPTIONS & set(image.encoderinfo)
    }
    contents = codecs.encode_l3(pixels, **given)
  except tf.errors.InvalidArgumentError as error:
    raise OSError(f"{os.fsdecode(filename)}: {ops.reason(error)}") from error
  file.write(bytes(contents.numpy()))


Image.register_open(_FORMAT, L3ImageFile, _accept)
Image.register_decoder(_FORMAT, _Decoder)
Image.register_save(_FORMAT, _save)
Image.register_extension(_FORMAT, ".l3")
Image.register_mime(_FORMAT, "image/x-l3")
