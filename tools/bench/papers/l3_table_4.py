"""L3, table 4: how large lossless formats are."""

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tools.bench import codec_sets, page
from tools.bench.papers import l3_10, show
from tools.bench.papers.figure import Part, Setting

_FORMATS = ("png", "jp2", "bmp", "lz4", "webp", "l3 v1", "l3 v2", "l3-compact")
# Stored of raw bytes. The first set of --data stands beside Cityscapes, the second one
# beside DIV2K. The paper's L3 is version 1.
_PAPER = {
  "Cityscapes": {
    "png": 0.39, "jp2": 0.38, "bmp": 1.0, "lz4": 0.79, "webp": 0.29, "l3 v1": 0.44,
  },
  "DIV2K": {
    "png": 0.67, "jp2": 0.59, "bmp": 1.0, "lz4": 0.83, "webp": 0.49, "l3 v1": 0.76,
  },
  "random": {
    "png": 1.01, "jp2": 1.09, "bmp": 1.0, "lz4": 1.01, "webp": 1.0, "l3 v1": 1.02,
  },
  "black": {
    "png": 0.001, "jp2": 0.005, "bmp": 1.0, "lz4": 0.026, "webp": 2e-6, "l3 v1": 0.13,
  },
}  # fmt: skip
_PHOTOGRAPHS = ("Cityscapes", "DIV2K")
_MADE = ("random", "black")
_SIDES = (1080, 1920)
_QUICK_SIDES = (54, 96)
_ENTROPY = "entropy of L3 v1's residuals"


def parts(setting: Setting) -> Mapping[str, Part]:
  sets: dict[str, Part] = {}
  for images in setting.sets:
    if images.name in _MADE:
      raise ValueError(f'sets name "{images.name}", which this figure makes itself')
    sets[images.name] = functools.partial(_set, images, setting.quick)
  sides = _QUICK_SIDES if setting.quick else _SIDES
  random = np.random.default_rng(0).integers(0, 256, (*sides, 3), np.uint8)
  black = np.zeros_like(random)
  made = {"random": random, "black": black}
  return sets | {n: functools.partial(measure, [one]) for n, one in made.items()}


def _set(images: codec_sets.ImageSet, quick: bool) -> dict[str, Any]:
  arrays = codec_sets.load(images)
  if quick:
    arrays = [pixels[: _QUICK_SIDES[0], : _QUICK_SIDES[1]] for pixels in arrays[:2]]
  return measure([np.ascontiguousarray(pixels) for pixels in arrays])


def measure(arrays: list[np.ndarray]) -> dict[str, Any]:
  """Encodes images in each format, and decodes them again.

  Args:
    arrays: [height, width, 3] uint8 each.

  Returns:
    `images`, `pixel_bytes`, `bytes` of all images by format, and `entropy_bytes`: what
    an ideal code of order 0 would need for the residuals of L3 version 1, headers left
    out.

  Raises:
    ValueError: a format does not give back the pixels.
  """
  from liquid_tf import codecs
  from tools.bench import codec_cases

  cases = {case.name: case for case in codec_cases.cases(arrays)}
  sizes = {}
  for name in _FORMATS:
    if name not in cases:
      continue  # imagecodecs is not installed.
    case, sizes[name] = cases[name], 0
    for pixels in arrays:
      contents = case.encode(pixels)
      l3_10.check(name, [case.prepare(contents, pixels)], [pixels])
      sizes[name] += len(contents)
  counts = np.zeros(256, np.int64)
  for pixels in arrays:
    side = int(codecs.peek_l3(codecs.encode_l3(pixels, version=1)).patch)
    for patch in residuals(pixels, side):
      counts += np.bincount(patch.reshape(-1).view(np.uint8), minlength=256)
  shares = counts[counts > 0] / counts.sum()
  bits = float(-(shares * np.log2(shares)).sum())
  pixel_bytes = sum(pixels.nbytes for pixels in arrays)
  return {
    "images": len(arrays),
    "pixel_bytes": pixel_bytes,
    "bytes": sizes,
    "entropy_bytes": round(pixel_bytes * bits / 8),
  }


def residuals(pixels: np.ndarray, side: int) -> Iterator[np.ndarray]:
  """What L3 version 1 codes (docs/formats/l3.md), patch by patch.

  Args:
    pixels: [height, width, channels] uint8.
    side: of a patch.

  Yields:
    [rows, columns] int8, contiguous.
  """
  height, width, channels = pixels.shape
  for channel in range(channels):
    for y in range(0, height, side):
      for x in range(0, width, side):
        patch = pixels[y : y + side, x : x + side, channel].astype(np.int16)
        found = patch.copy()
        found[1:] -= _predicted(patch[:-1])
        yield found.astype(np.int8)


def _predicted(above: np.ndarray) -> np.ndarray:
  b, a, c = above, np.zeros_like(above), np.zeros_like(above)
  a[:, 1:], c[:, :-1] = b[:, :-1], b[:, 1:]
  pa, pb, pc = abs(c - b), abs(a + c - 2 * b), abs(a - b)
  return np.select(
    [a == 0, c == 0, (pa <= pb) & (pa <= pc), pa <= pc],
    [np.where(pb <= pc, b, c), np.where(pa <= pb, a, b), a, b],
    c,
  )


def _sets(found: Mapping[str, Any]) -> list[str]:
  return [name for name in found if name not in _MADE]


def _columns(found: Mapping[str, Any]) -> list[tuple[str, str]]:
  """Each part, and the paper's set that it stands beside, or ""."""
  names = _sets(found)
  papers = _PHOTOGRAPHS[: len(names)]
  return [*itertools.zip_longest(names, papers, fillvalue=""), *zip(_MADE, _MADE)]


def _ratio(result: Mapping[str, Any], name: str) -> float | None:
  stored = result["entropy_bytes"] if name == _ENTROPY else result["bytes"].get(name)
  return None if stored is None else stored / result["pixel_bytes"]


def _number(value: float | None) -> str:
  return "" if value is None else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def table(found: Mapping[str, Any]) -> str:
  names = (*_FORMATS, _ENTROPY)
  columns = [("of raw bytes", *names)]
  for part, paper in _columns(found):
    columns.append((f"**{part}**", *(_number(_ratio(found[part], n)) for n in names)))
    if paper:
      columns.append(
        (f"paper: {paper}", *(_number(_PAPER[paper].get(n)) for n in names))
      )
  head, *rows = zip(*columns)
  return page.table(head, rows)


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  names = _sets(found)
  size, png, least = (_ratio(found[names[0]], n) for n in ("l3 v1", "png", _ENTROPY))
  left_out = [name for name in _FORMATS if name not in found["black"]["bytes"]]
  names_left_out = f" Left out without imagecodecs: {', '.join(left_out)}."
  return {
    "sets": ", ".join(
      f"*{name}* {found[name]['images']} images, "
      f"{found[name]['pixel_bytes'] / 1e6:.1f} MB of pixels"
      for name in names
    ),
    "left_out": names_left_out if left_out else "",
    "size": size,
    "to_png": size / png,
    "least": least,
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  columns = _columns(found)
  every = canvas.subplots(1, len(columns), sharey=True, squeeze=False)[0]
  places = np.arange(len(_FORMATS))
  for axes, (part, paper) in zip(every, columns):
    ours = [_ratio(found[part], name) or 0 for name in _FORMATS]
    axes.barh(places - 0.2, ours, 0.4, color="tab:red", label="here")
    theirs = [_PAPER.get(paper, {}).get(name, 0) for name in _FORMATS]
    axes.barh(places + 0.2, theirs, 0.4, color="tab:gray", label="paper")
    axes.set_title(f"{part}\n(paper: {paper})" if paper else part, fontsize=9)
    axes.set_yticks(places, _FORMATS)
    axes.set_xlabel("of raw bytes", fontsize=8)
    show.style(axes, "x")
  every[0].invert_yaxis()
  every[-1].legend(frameon=False, fontsize=8)
