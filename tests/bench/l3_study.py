"""What the choices of L3 version 2 are worth, and what its files take.

  python tests/bench/l3_study.py --data=FOLDER [--every=N] [--sizes_only]

FOLDER holds sets of PNG files (see _SETS; a set that is not there is left out). The
first table varies one choice of the format at a time and estimates sizes with NumPy,
on every Nth image of a set, cut to whole patches; the second encodes every image, and
drawings. Sizes are relative to PNG as Pillow writes it by default.
docs/formats/l3.md quotes both.
"""

import dataclasses
import functools
import io
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
from absl import app, flags
from PIL import Image

from tools.bench import drawings

_DATA = flags.DEFINE_string("data", None, "folder of the sets", required=True)
_EVERY = flags.DEFINE_integer("every", 3, "estimate on every nth image of a set", 1)
_SIZES_ONLY = flags.DEFINE_boolean("sizes_only", False, "leave the estimates out")

_SIDE = 64
_GROUP = 8
_PNG_BITS_AT = 24
_HEADER_BYTES = 4 + 4 + 3 * 4  # table entry, CRC and three words of a patch

# Name -> patterns of files, and whether it counts as photographs.
_SETS = {
  "Kodak": (("open/png_highres/kodak/**/*.png",), True),
  "CLIC": (("open/png_highres/clic2025_validation/**/*.png",), True),
  "CID22": (("open/png_highres/cid22/**/*.png",), True),
  "gb82": (("open/png_highres/gb82/**/*.png",), True),
  "CamVid": (("limited/driving/camvid/train/**/*.png",), True),
  "screens": (("open/png_highres/gb82_screens/**/*.png",), False),
  "CamVid masks": (("limited/driving/camvid/trainannot/**/*.png",), False),
  "DALI": (("open/dali_extra/single/**/*.png",), False),
  "wesaturate": (("open/png_16bit/**/*.png",), False),
  # One drawing with many shades, turned and mirrored.
  "clip-art, shaded (DALI)": (("open/dali_extra/imgcodec/**/*.png",), False),
  # What Pillow's own tests draw: few shapes, no smooth edges.
  "clip-art, flat (Pillow)": (
    (
      "open/conformance/png/pillow/drawing_*.png",
      "open/conformance/png/pillow/imagedraw_*.png",
      "open/conformance/png/pillow/test-card.png",
    ),
    False,
  ),
}
# The set that is drawn here, and its images.
_DRAWN = "clip-art, flat (drawn here)"
_DRAWINGS = 12


@dataclasses.dataclass(frozen=True)
class Choice:
  """One design: what a patch may choose from.

  Attributes:
    label: the row's name in the table.
    predictors: names of `_PREDICTORS`.
    shape: rows and columns of a group.
    table: whether a channel of a patch keeps a table of widths (else 4 bits each).
    colours: transforms to choose from: "none", "green", "mean".
  """

  label: str
  predictors: tuple[str, ...]
  shape: tuple[int, int] = (1, _GROUP)
  table: bool = True
  colours: tuple[str, ...] = ("none", "green", "mean")


_TLG = ("top", "left", "gradient")
_CHOSEN = (*_TLG, "three quarters")
_CHOICES = (
  Choice("as chosen", _CHOSEN),
  Choice("colours: none", _CHOSEN, colours=("none",)),
  Choice("colours: less green", _CHOSEN, colours=("green",)),
  Choice("colours: none or less green", _CHOSEN, colours=("none", "green")),
  Choice("predictors: top", ("top",)),
  Choice("predictors: three quarters", ("three quarters",)),
  Choice("predictors: top, left, gradient", _TLG),
  Choice("predictors: and half", (*_TLG, "half")),
  Choice("predictors: and half, three quarters", (*_CHOSEN, "half")),
  Choice("predictors: and above-right", (*_CHOSEN, "above right")),
  Choice("predictors: and two rows", (*_CHOSEN, "two rows")),
  Choice("predictors: MED (serial)", ("MED",)),
  Choice("groups of 16 x 1", _CHOSEN, (1, 16)),
  Choice("groups of 8 x 2", _CHOSEN, (2, 8)),
  Choice("groups of 4 x 4", _CHOSEN, (4, 4)),
  Choice("groups of 4 x 2", _CHOSEN, (2, 4)),
  Choice("4 bits per width", _CHOSEN, table=False),
  Choice("4 bits per width, groups of 4 x 2", _CHOSEN, (2, 4), table=False),
  Choice("4 bits per width, top, left, gradient", _TLG, table=False),
)


def _signed_shift(difference: np.ndarray, bits: int) -> np.ndarray:
  return (difference.view(np.int8) >> bits).view(np.uint8)


def _residuals(plane: np.ndarray, predictor: str) -> np.ndarray:
  """What a predictor leaves of patches.

  Args:
    plane: uint8 [patches, 64, 64].
    predictor: a predictor's name.

  Returns:
    int8 [patches, 64, 64]; row 0 is always what is left by the pixel to the left.
  """
  top = np.zeros_like(plane)
  top[:, 1:] = plane[:, :-1]
  left = top.copy()
  left[:, :, 1:] = plane[:, :, :-1]
  left[:, 0, 0] = plane[:, 0, 0]
  top_left = top.copy()
  top_left[:, :, 1:] = top[:, :, :-1]
  top_right = top.copy()
  top_right[:, :, :-1] = top[:, :, 1:]
  above_top = top.copy()
  above_top[:, 2:] = plane[:, :-2]
  slope = top - top_left
  match predictor:
    case "top":
      guess = top
    case "left":
      guess = left
    case "gradient":
      guess = left + slope
    case "half":
      guess = left + _signed_shift(slope, 1)
    case "three quarters":
      guess = left + slope - _signed_shift(slope, 2)
    case "above right":
      guess = left + _signed_shift(top_right - top_left, 1)
    case "two rows":
      guess = top + _signed_shift(top - above_top, 1)
    case "MED":
      high, low = np.maximum(top, left), np.minimum(top, left)
      guess = np.where(top_left <= low, high, left + slope)
      guess = np.where(top_left >= high, low, guess)
    case _:
      raise ValueError(f'predictor ("{predictor}") is unknown')
  residuals = plane - guess
  residuals[:, 0] = plane[:, 0] - left[:, 0]
  return residuals.view(np.int8)


def _group_widths(residuals: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
  """Bits per pixel that each group of `shape` needs; [patches, groups]."""
  folded = np.where(residuals < 0, ~residuals, residuals).astype(np.uint8)
  widths = (residuals != 0).astype(np.uint8)
  for bit in range(7):
    widths += folded >> bit > 0
  rows, columns = shape
  grid = widths.reshape(-1, _SIDE // rows, rows, _SIDE // columns, columns)
  return grid.max(axis=(2, 4)).reshape(len(residuals), -1)


@functools.cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
  """For each of 511 sets of widths: the width kept for each, and bits per code."""
  kept = np.full((511, 9), 1e9, np.float32)
  bits = np.zeros(511, np.float32)
  for chosen in range(1, 512):
    widths = [n for n in range(9) if chosen >> n & 1]
    bits[chosen - 1] = (len(widths) - 1).bit_length()
    for n in range(max(widths) + 1):
      kept[chosen - 1, n] = min(w for w in widths if w >= n)
  return kept, bits


def _bytes(widths: np.ndarray, pixels: int, table: bool) -> np.ndarray:
  """Bytes of each patch whose groups of `pixels` have `widths`."""
  groups = widths.shape[1]
  if not table:
    return widths.sum(axis=1) * pixels / 8 + groups / 2
  counts = np.stack([(widths == n).sum(axis=1) for n in range(9)]).astype(np.float32)
  kept, bits = _tables()
  return (kept @ counts * (pixels / 8) + bits[:, np.newaxis] * groups / 8).min(axis=0)


def _patches(plane: np.ndarray) -> np.ndarray:
  grid = plane.reshape(plane.shape[0] // _SIDE, _SIDE, -1, _SIDE)
  return np.ascontiguousarray(grid.swapaxes(1, 2)).reshape(-1, _SIDE, _SIDE)


class _Estimate:
  """Sizes of one RGB image, whose sides are multiples of 64, under any choice."""

  def __init__(self, image: np.ndarray) -> None:
    red, green, blue = (image[..., c] for c in range(3))
    mean = ((red.astype(np.int32) + green + 1) >> 1).astype(np.uint8)
    self._planes = {
      "red none": red,
      "red green": red - green,
      "green": green,
      "blue none": blue,
      "blue green": blue - green,
      "blue mean": blue - mean,
    }
    self._left: dict[tuple, np.ndarray] = {}
    self._sizes: dict[tuple, np.ndarray] = {}

  def _residuals(self, plane: str, predictor: str) -> np.ndarray:
    key = (plane, predictor)
    if key not in self._left:
      self._left[key] = _residuals(_patches(self._planes[plane]), predictor)
    return self._left[key]

  def _plane(self, plane: str, predictor: str, choice: Choice) -> np.ndarray:
    key = (plane, predictor, choice.shape, choice.table)
    if key not in self._sizes:
      widths = _group_widths(self._residuals(plane, predictor), choice.shape)
      pixels = choice.shape[0] * choice.shape[1]
      self._sizes[key] = _bytes(widths, pixels, choice.table)
    return self._sizes[key]

  def size(self, choice: Choice) -> float:
    """Bytes of the image."""

    def least(planes: Sequence[str]) -> np.ndarray:
      return np.minimum.reduce(
        [
          self._plane(plane, predictor, choice)
          for plane in planes
          for predictor in choice.predictors
        ]
      )

    blue = [f"blue {colour}" for colour in choice.colours]
    red = [f"red {colour}" for colour in choice.colours if colour != "mean"]
    total = least(red) + least(["green"]) + least(blue) + _HEADER_BYTES
    return float(total.sum())


def _files(data: pathlib.Path, name: str) -> list[pathlib.Path]:
  """The files of a set."""
  return sorted(file for pattern in _SETS[name][0] for file in data.glob(pattern))


def _png_bytes(image: Image.Image) -> int:
  buffer = io.BytesIO()
  image.save(buffer, "PNG")
  return buffer.tell()


def _estimates(data: pathlib.Path, every: int) -> Iterator[str]:
  """Rows of the first table."""
  names = [name for name in _SETS if _files(data, name)]
  names = [name for name in names if _SETS[name][1] or name == "screens"]
  relative: dict[str, dict[str, float]] = {choice.label: {} for choice in _CHOICES}
  for name in names:
    png = 0
    sizes = dict.fromkeys(relative, 0.0)
    for file in _files(data, name)[::every]:
      image = Image.open(file).convert("RGB")
      image = image.crop((0, 0, *(side // _SIDE * _SIDE for side in image.size)))
      png += _png_bytes(image)
      estimate = _Estimate(np.asarray(image))
      for choice in _CHOICES:
        sizes[choice.label] += estimate.size(choice)
    for label, size in sizes.items():
      relative[label][name] = size / png
  yield "| | " + " | ".join(names) + " |"
  yield "| --- " * (len(names) + 1) + "|"
  for label, row in relative.items():
    yield f"| {label} | " + " | ".join(f"{row[name]:.3f}" for name in names) + " |"


def _pixels(file: pathlib.Path) -> np.ndarray:
  """An image's pixels as its file holds them; [height, width, channels]."""
  import tensorflow as tf

  if file.read_bytes()[_PNG_BITS_AT] == 16:
    return tf.io.decode_png(file.read_bytes(), dtype=tf.uint16).numpy()
  image = Image.open(file)
  if image.mode == "P":
    image = image.convert("RGBA" if "transparency" in image.info else "RGB")
  if image.mode not in ("L", "LA", "RGB", "RGBA"):
    image = image.convert("RGB")
  pixels = np.asarray(image)
  return pixels[..., np.newaxis] if pixels.ndim == 2 else pixels


def _images(data: pathlib.Path, name: str) -> Iterator[tuple[str, np.ndarray]]:
  """Label and pixels of each image of a set."""
  if name == _DRAWN:
    for i in range(_DRAWINGS):
      yield f"number {i}", np.asarray(drawings.draw(i))
    return
  for file in _files(data, name):
    yield file.name, _pixels(file)


def _sizes(data: pathlib.Path) -> Iterator[str]:
  """Rows of the second table."""
  import tensorflow as tf

  from liquid_tf import codecs

  yield "| set | images | PNG / raw | v1 / PNG | v2 / PNG | v2 / raw | worst v2 / PNG |"
  yield "| --- | --- | --- | --- | --- | --- | --- |"
  total_png = total_v2 = total_raw = 0
  for name in (*_SETS, _DRAWN):
    photographs = name in _SETS and _SETS[name][1]
    raw = png = v2 = v1 = v1_png = images = 0
    worst = (0.0, "")
    for label, pixels in _images(data, name):
      if pixels.dtype == np.uint16:
        # Pillow writes no RGB of 16 bits.
        png_bytes = len(tf.io.encode_png(pixels).numpy())
      else:
        png_bytes = _png_bytes(Image.fromarray(pixels.squeeze()))
      v2_bytes = len(codecs.encode_l3(pixels).numpy())
      if pixels.dtype == np.uint8 and pixels.shape[2] == 3:
        v1 += len(codecs.encode_l3(pixels, version=1).numpy())
        v1_png += png_bytes
      images += 1
      raw += pixels.nbytes
      png += png_bytes
      v2 += v2_bytes
      worst = max(worst, (v2_bytes / png_bytes, label))
    if not images:
      continue
    if photographs:
      total_png, total_v2, total_raw = total_png + png, total_v2 + v2, total_raw + raw
    v1_text = f"{v1 / v1_png:.3f}" if v1_png else ""
    yield (
      f"| {name} | {images} | {png / raw:.3f} | {v1_text} | {v2 / png:.3f} "
      f"| {v2 / raw:.3f} | {worst[0]:.3f} ({worst[1]}) |"
    )
  if total_png:
    yield (
      f"| all photographs | | {total_png / total_raw:.3f} | "
      f"| {total_v2 / total_png:.3f} | {total_v2 / total_raw:.3f} | |"
    )


def main(argv: Sequence[str]) -> None:
  del argv
  data = pathlib.Path(_DATA.value)
  if not _SIZES_ONLY.value:
    for row in _estimates(data, _EVERY.value):
      print(row, flush=True)
    print()
  for row in _sizes(data):
    print(row, flush=True)


if __name__ == "__main__":
  app.run(main)
