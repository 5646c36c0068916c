"""The codecs that `liquid-tf bench codecs` puts beside each other."""

import dataclasses
import functools
import io
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from PIL import Image

from liquid_tf import codecs

_EFFORTS = ("fast", "default", "best")
_JXL_EFFORTS = (1, 3, 7)
_WEBP_METHODS = (0, 6)
_JPEG_QUALITY = 95


@dataclasses.dataclass(frozen=True)
class Case:
  """One way to store RGB images of 8 bits.

  Attributes:
    name: as in the table.
    what: which library, with which options.
    encode: [height, width, 3] uint8 to bytes.
    prepare: bytes and shape to a function without arguments that decodes them; what can
      be done once for many decodes is done here.
    lossless: whether every pixel comes back.
    window: bytes to a function of (y, x, height, width), where the codec has windows.
  """

  name: str
  what: str
  encode: Callable[[np.ndarray], bytes]
  prepare: Callable[[bytes, tuple[int, int, int]], Callable[[], np.ndarray]]
  lossless: bool = True
  window: Callable[[bytes], Callable[[tuple[int, int, int, int]], tf.Tensor]] | None = (
    None
  )


def _ours(name: str, decode: Callable, encode: Callable, what: str, **more) -> Case:
  def prepare(contents: bytes, shape: tuple[int, int, int]) -> Callable:
    del shape
    file = tf.constant(contents)
    whole = tf.constant((0, 0, 0, 0))
    return lambda: decode(file, window=whole)

  def window(contents: bytes) -> Callable:
    file = tf.constant(contents)
    return lambda place: decode(file, window=place)

  return Case(
    name, what, lambda pixels: encode(pixels).numpy(), prepare, window=window, **more
  )


def _pillow_png(pixels: np.ndarray) -> bytes:
  stream = io.BytesIO()
  Image.fromarray(pixels).save(stream, format="PNG")
  return stream.getvalue()


def _with_tf(decode: Callable) -> Callable:
  def prepare(contents: bytes, shape: tuple[int, int, int]) -> Callable:
    del shape
    file = tf.constant(contents)
    return lambda: decode(file)

  return prepare


def _into(decode: Callable) -> Callable:
  """For decoders that write to memory which is there already."""

  def prepare(contents: bytes, shape: tuple[int, int, int]) -> Callable:
    out = np.empty(shape, np.uint8)

    def run() -> np.ndarray:
      decode(contents, out)
      return out

    return run

  return prepare


def _own_cases() -> list[Case]:
  l3 = codecs.decode_l3
  png = _ours("png", codecs.decode_png, codecs.encode_png, "")
  return [
    _ours("raw", codecs.decode_raw, codecs.encode_raw, "liquid_tf"),
    _ours("bmp", codecs.decode_bmp, codecs.encode_bmp, "liquid_tf"),
    dataclasses.replace(
      png, what="Pillow's default level, decoded by liquid_tf", encode=_pillow_png
    ),
    Case(
      "png tf.io",
      "the same files, decoded by tf.io.decode_png",
      _pillow_png,
      _with_tf(tf.io.decode_png),
    ),
    _ours("webp", codecs.decode_webp, codecs.encode_webp, "lossless, liquid_tf"),
    _ours(
      "jpeg",
      codecs.decode_jpeg,
      lambda pixels: codecs.encode_jpeg(pixels, quality=_JPEG_QUALITY),
      f"quality {_JPEG_QUALITY}, 4:4:4, liquid_tf; lossy",
      lossless=False,
    ),
    _ours("l3 v1", l3, lambda pixels: codecs.encode_l3(pixels, version=1), "liquid_tf"),
    _ours("l3 v2", l3, lambda pixels: codecs.encode_l3(pixels, version=2), "liquid_tf"),
    *(_l3_compact(effort) for effort in _EFFORTS),
  ]


def _l3_compact(effort: str) -> Case:
  name = "l3-compact" if effort == "default" else f"l3-compact {effort}"
  return _ours(
    name,
    codecs.decode_l3,
    lambda pixels: codecs.encode_l3(pixels, profile="compact", effort=effort),
    f"effort {effort}, liquid_tf",
  )


def _foreign_cases() -> list[Case]:
  try:
    import imagecodecs as ic
  except ImportError:
    return []
  version = f"imagecodecs {ic.__version__}"
  return [
    Case(
      "lz4",
      f"of the raw pixels, level 1, {version}",
      lambda pixels: ic.lz4_encode(pixels.tobytes(), header=True),
      _into(
        lambda contents, out: ic.lz4_decode(contents, header=True, out=out.ravel())
      ),
    ),
    Case(
      "zstd",
      f"of the raw pixels, level 3, {version}",
      lambda pixels: ic.zstd_encode(pixels.tobytes(), level=3),
      _into(lambda contents, out: ic.zstd_decode(contents, out=out.ravel())),
    ),
    Case(
      "qoi",
      version,
      ic.qoi_encode,
      _into(lambda contents, out: ic.qoi_decode(contents, out=out)),
    ),
    Case(
      "jp2",
      f"reversible, one thread, {version}",
      lambda pixels: ic.jpeg2k_encode(pixels, level=0, reversible=True, numthreads=1),
      _into(lambda contents, out: ic.jpeg2k_decode(contents, numthreads=1, out=out)),
    ),
    *(
      Case(
        f"webp m{method}",
        f"lossless, method {method}, {version}",
        functools.partial(ic.webp_encode, lossless=True, method=method),
        _into(lambda contents, out: ic.webp_decode(contents, out=out)),
      )
      for method in _WEBP_METHODS
    ),
    *(
      Case(
        f"jxl e{effort}",
        f"lossless, effort {effort}, one thread, {version}",
        functools.partial(ic.jpegxl_encode, lossless=True, effort=effort, numthreads=1),
        _into(lambda contents, out: ic.jpegxl_decode(contents, numthreads=1, out=out)),
      )
      for effort in _JXL_EFFORTS
    ),
  ]


def cases() -> list[Case]:
  """Every case that runs here; those of imagecodecs only where it is installed."""
  return _own_cases() + _foreign_cases()
