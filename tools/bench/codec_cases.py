"""The codecs that `python -m tools.bench codecs` puts beside each other."""

import dataclasses
import functools
import io
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf
from PIL import Image

from liquid_tf import codecs
from liquid_tf._store.formats import BY_NAME, ROWS

_EFFORTS = ("fast", "default", "best")
_JXL_EFFORTS = (1, 3, 7)
_WEBP_METHODS = (0, 6)
_JPEG_QUALITY = 95
_ANY = (1, 2, 3, 4)
_COLOUR = (3, 4)
# Formats whose cases have options, or peers in their row.
_OF_THEIR_OWN = ("png", "webp", "l3", "l3-compact")


@dataclasses.dataclass(frozen=True)
class Case:
  """One way to store images.

  Attributes:
    name: as in the table.
    what: which library, with which options.
    encode: [height, width, channels] uint8 or uint16 to bytes.
    prepare: bytes, and an array of the image's shape and type, to a function without
      arguments that decodes them; what can be done once for many decodes is done here.
    channels: numbers of channels that it holds.
    bits: depths that it holds.
    lossless: whether every pixel comes back.
    l3: whether our L3 decodes it, whose instructions can be chosen.
    window: bytes to a function of (y, x, height, width), where the codec has windows.
  """

  name: str
  what: str
  encode: Callable[[np.ndarray], bytes]
  prepare: Callable[[bytes, np.ndarray], Callable[[], np.ndarray]]
  channels: tuple[int, ...] = _ANY
  bits: tuple[int, ...] = (8, 16)
  lossless: bool = True
  l3: bool = False
  window: Callable[[bytes], Callable[[tuple[int, int, int, int]], tf.Tensor]] | None = (
    None
  )

  def holds(self, images: Sequence[np.ndarray]) -> bool:
    """Whether it can hold every one of the images."""
    return all(
      pixels.shape[2] in self.channels and 8 * pixels.itemsize in self.bits
      for pixels in images
    )


def _ours(name: str, format: str, encode: Callable, what: str, **more) -> Case:
  """A case of a format that liquid_tf decodes."""
  decode = functools.partial(codecs.decode, format=format)

  def prepare(contents: bytes, like: np.ndarray) -> Callable:
    file, whole = tf.constant(contents), tf.constant((0, 0, 0, 0))
    return lambda: decode(file, window=whole, dtype=like.dtype)

  def window(contents: bytes) -> Callable:
    file = tf.constant(contents)
    return lambda place: decode(file, window=place)

  holds = BY_NAME[format]
  return Case(
    name,
    what,
    lambda pixels: encode(pixels).numpy(),
    prepare,
    **{"channels": holds.channels, "bits": holds.bits, "window": window, **more},
  )


def _flat(pixels: np.ndarray) -> np.ndarray:
  """As libraries take an image: one of one channel has no axis for it."""
  return pixels[..., 0] if pixels.shape[2] == 1 else pixels


def _stock_png(pixels: np.ndarray) -> bytes:
  if pixels.dtype == np.uint16:
    return tf.io.encode_png(pixels).numpy()  # Pillow writes no RGB of 16 bits.
  stream = io.BytesIO()
  Image.fromarray(_flat(pixels)).save(stream, format="PNG")
  return stream.getvalue()


def _tf_png(contents: bytes, like: np.ndarray) -> Callable:
  file = tf.constant(contents)
  return lambda: tf.io.decode_png(file, dtype=like.dtype)


def _into(decode: Callable) -> Callable:
  """For decoders that write to memory which is there already."""

  def prepare(contents: bytes, like: np.ndarray) -> Callable:
    out = np.empty_like(like)
    flat = _flat(out)

    def run() -> np.ndarray:
      decode(contents, flat)
      return out

    return run

  return prepare


def _encode(format: str) -> Callable:
  return functools.partial(codecs.encode, format=format)


def _own_cases() -> list[Case]:
  return [
    *(
      _ours(row.name, row.name, _encode(row.name), "liquid_tf")
      for row in ROWS
      if row.lossless and row.name not in _OF_THEIR_OWN
    ),
    dataclasses.replace(
      _ours("png", "png", _encode("png"), ""),
      what="Pillow's default level (16 bits: TensorFlow's), decoded by liquid_tf",
      encode=_stock_png,
    ),
    Case(
      "png tf.io",
      "the same files, decoded by tf.io.decode_png",
      _stock_png,
      _tf_png,
    ),
    _ours("webp", "webp", _encode("webp"), "lossless, liquid_tf"),
    _ours(
      "jpeg",
      "jpeg",
      lambda pixels: codecs.encode(pixels, "jpeg", jpeg_quality=_JPEG_QUALITY),
      f"quality {_JPEG_QUALITY}, 4:4:4, liquid_tf; lossy",
      lossless=False,
    ),
    _l3("l3 v1", "", version=1, channels=(3,), bits=(8,)),
    _l3("l3 v2", "", version=2),
    *(
      _l3(
        "l3-compact" if effort == "default" else f"l3-compact {effort}",
        f"effort {effort}, ",
        profile="compact",
        effort=effort,
      )
      for effort in _EFFORTS
    ),
  ]


def _l3(name: str, what: str, channels=_ANY, bits=(8, 16), **options) -> Case:
  def encode(pixels: np.ndarray) -> tf.Tensor:
    return codecs.encode_l3(pixels, **options)

  return _ours(
    name, "l3", encode, f"{what}liquid_tf", channels=channels, bits=bits, l3=True
  )


def _foreign_cases() -> list[Case]:
  try:
    import imagecodecs as ic
  except ImportError:
    return []
  version = f"imagecodecs {ic.__version__}"

  def flat_bytes(out: np.ndarray) -> np.ndarray:
    return out.reshape(-1).view(np.uint8)

  def on_flat(encode: Callable, **options) -> Callable:
    return lambda pixels: encode(_flat(pixels), **options)

  return [
    Case(
      "lz4",
      f"of the raw pixels, level 1, {version}",
      lambda pixels: ic.lz4_encode(pixels.tobytes(), header=True),
      _into(
        lambda contents, out: ic.lz4_decode(contents, header=True, out=flat_bytes(out))
      ),
    ),
    Case(
      "zstd",
      f"of the raw pixels, level 3, {version}",
      lambda pixels: ic.zstd_encode(pixels.tobytes(), level=3),
      _into(lambda contents, out: ic.zstd_decode(contents, out=flat_bytes(out))),
    ),
    Case(
      "qoi",
      version,
      ic.qoi_encode,
      _into(lambda contents, out: ic.qoi_decode(contents, out=out)),
      channels=_COLOUR,
      bits=(8,),
    ),
    Case(
      "jp2",
      f"reversible, one thread, {version}",
      on_flat(ic.jpeg2k_encode, level=0, reversible=True, numthreads=1),
      _into(lambda contents, out: ic.jpeg2k_decode(contents, numthreads=1, out=out)),
      channels=(1, 3, 4),
    ),
    *(
      Case(
        f"webp m{method}",
        f"lossless, method {method}, {version}",
        functools.partial(ic.webp_encode, lossless=True, method=method),
        _into(lambda contents, out: ic.webp_decode(contents, out=out)),
        channels=_COLOUR,
        bits=(8,),
      )
      for method in _WEBP_METHODS
    ),
    *(
      Case(
        f"jxl e{effort}",
        f"lossless, effort {effort}, one thread, {version}",
        on_flat(ic.jpegxl_encode, lossless=True, effort=effort, numthreads=1),
        _into(lambda contents, out: ic.jpegxl_decode(contents, numthreads=1, out=out)),
      )
      for effort in _JXL_EFFORTS
    ),
  ]


def cases(images: Sequence[np.ndarray] = ()) -> list[Case]:
  """The cases that hold all of some images.

  Those of imagecodecs are there only where it is installed.
  """
  every = _own_cases() + _foreign_cases()
  return [case for case in every if case.holds(images)]
