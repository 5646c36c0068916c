"""One sample of a gallery: a picture, what is drawn over it, and what is known."""

import collections
import os
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._cost import amounts
from liquid_tf._profile.html_page import text
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._view.sample_reader import SampleReader
from liquid_tf._view.stored_record import Row
from liquid_tf.cli.gallery import thumbnail
from liquid_tf.errors import RecordError

# Drawn over one picture at most; a caption says where there are more.
_MOST_BOXES = 50
_MOST_POINTS = 200
# Of a text and of a list of numbers, in a caption.
_MOST_LETTERS, _MOST_NUMBERS = 200, 8
# Of a picture without pixels.
_EMPTY = 100
# Images up to this side are drawn with the pixels that they have.
_PIXELATED = 64


class Figure(NamedTuple):
  """A sample on the page.

  Attributes:
    html: a <figure>.
    damaged: how many of its encodings cannot be read.
  """

  html: str
  damaged: int


class Figures:
  """Makes the figures of a dataset.

  Args:
    manifest: of the dataset.
    reader: of its samples.
  """

  def __init__(self, manifest: Manifest, reader: SampleReader):
    self._reader = reader
    self._folder = manifest.path("")
    self._splits = {split["index"]: name for name, split in manifest["splits"].items()}
    self._columns = manifest["columns"]
    self._box_classes = manifest["features"].get("box_labels", {}).get("classes")

  def make(self, number: int) -> Figure:
    """The figure of the sample of a row of the index, and of its other encodings."""
    sample, problems, sizes = None, [], []
    for encoding in self._reader.encodings(number):
      row = self._reader.row(encoding)
      size = amounts.size(row.length).replace(" ", "\N{NO-BREAK SPACE}")
      sizes.append(f"{FORMATS[row.format]} {size}")
      try:
        found = self._reader.read(encoding)
      except RecordError as error:
        reason = str(error).removeprefix(self._folder)
        problems.append(f"{FORMATS[row.format]} cannot be read: {reason}")
      else:
        sample = found if sample is None else sample
    row = self._reader.row(number)
    name = self._reader.names[row.sample]
    parts = [
      _picture(row, sample),
      "<figcaption>",
      f'<b>#{row.sample}</b> <bdi class="name" title="{text(name)}">'
      f"{text(os.path.basename(name))}</bdi>",
      f"<span>{row.width} × {row.height} · {text(self._splits[row.split])}</span>",
      f"<span>{text(' · '.join(sizes))}</span>",
      *(f"<span>{text(line)}</span>" for line in self._about(row, sample)),
      *(f'<span class="why">{text(problem)}</span>' for problem in problems),
      "</figcaption>",
    ]
    kind = ' class="damaged"' if problems else ""
    identity = f' id="sample-{row.sample}"'
    return Figure(
      f"<figure{kind}{identity}>\n" + "\n".join(parts) + "\n</figure>", len(problems)
    )

  def _about(self, row: Row, sample: dict[str, Any] | None) -> list[str]:
    """Lines about what else there is."""
    lines = []
    if row.bits == 16:
      lines.append("16 bits, from its least to its greatest value")
    if row.orientation != 1:
      lines.append(f"EXIF orientation {row.orientation}, shown as stored")
    if sample is not None and "boxes" in sample:
      count = len(sample["boxes"])
      numbers = sample.get("box_labels", np.zeros(0, np.int64)).tolist()
      counts = collections.Counter(numbers).most_common(3)
      kinds = [f"{self._box_name(kind)} × {times}" for kind, times in counts]
      boxes = "1 box" if count == 1 else f"{count or 'no'} boxes"
      lines.append(boxes + (f": {', '.join(kinds)}" if kinds else ""))
      if count > _MOST_BOXES:
        lines.append(f"{_MOST_BOXES} of them are drawn")
    if sample is not None:
      label = sample.get("label")
      lines += _said("label", label) if isinstance(label, np.ndarray) else []
      lines += [line for name in self._columns for line in _said(name, sample[name])]
    return lines

  def _box_name(self, number: int) -> str:
    classes = self._box_classes
    if classes is not None and 0 <= number < len(classes):
      return classes[number]
    return f"class {number}"


def _said(name: str, value: Any) -> list[str]:
  """A line with a value; none for a text that is empty, and for NaN."""
  if isinstance(value, str):
    cut = value if len(value) <= _MOST_LETTERS else f"{value[:_MOST_LETTERS]}…"
    return [f"{name}: {cut}"] if value else []
  if not isinstance(value, np.ndarray):
    return [f"{name}: {value}"] if value == value else []
  if np.isnan(value).all():
    return []
  numbers = ", ".join(f"{one:g}" for one in value[:_MOST_NUMBERS].tolist())
  more = f", … ({len(value)} numbers)" if len(value) > _MOST_NUMBERS else ""
  return [f"{name}: {numbers}{more}"]


def _picture(row: Row, sample: dict[str, Any] | None) -> str:
  """An <svg> in the coordinates of the image."""
  if sample is None:
    return (
      f'<svg viewBox="0 0 {_EMPTY} {_EMPTY}" role="img" aria-label="no sound encoding">'
      f'<rect class="empty" width="{_EMPTY}" height="{_EMPTY}"/>'
      f'<path class="cross" d="M25 25 75 75M75 25 25 75"/></svg>'
    )
  small = thumbnail.picture(sample["image"])
  parts = [_image(row, thumbnail.data_uri(small), "")]
  if "mask" in sample:
    over = thumbnail.with_mask(small, sample["mask"])
    parts.append(_image(row, thumbnail.data_uri(over), "mask"))
  if "boxes" in sample:
    parts.append(_boxes(sample))
  inner = "".join(parts)
  return (
    f'<svg viewBox="0 0 {row.width} {row.height}" role="img" '
    f'aria-label="sample {row.sample}">{inner}</svg>'
  )


def _image(row: Row, uri: str, kind: str) -> str:
  kinds = [kind] if kind else []
  if max(row.width, row.height) <= _PIXELATED:
    kinds.append("pixels")
  shown = f' class="{" ".join(kinds)}"' if kinds else ""
  return (
    f'<image{shown} width="{row.width}" height="{row.height}" '
    f'preserveAspectRatio="none" href="{uri}"/>'
  )


def _boxes(sample: dict[str, Any]) -> str:
  """Boxes and keypoints over an image."""
  boxes = np.nan_to_num(sample["boxes"][:_MOST_BOXES].reshape(-1, 4)).tolist()
  numbers = sample.get("box_labels", np.zeros(0, np.int64)).tolist()
  parts = ['<g class="boxes">']
  for i, (top, left, bottom, right) in enumerate(boxes):
    place = (
      f'x="{left:.1f}" y="{top:.1f}" width="{max(0, right - left):.1f}" '
      f'height="{max(0, bottom - top):.1f}"'
    )
    ink = thumbnail.colour(numbers[i] if i < len(numbers) else 0)
    # A dark line below, since any colour may be that of the image.
    parts.append(f'<rect class="edge" {place}/><rect {place} stroke="{ink}"/>')
  points = sample.get("keypoints", np.zeros((0, 1, 3), np.float32))
  points = points[:_MOST_BOXES].reshape(-1, 3)
  points = np.nan_to_num(points[points[:, 2] > 0][:_MOST_POINTS]).tolist()
  for top, left, _ in points:
    # A line without length and with round ends is a dot of constant size.
    parts.append(f'<path class="point" d="M{left:.1f} {top:.1f}h.01"/>')
  return "".join([*parts, "</g>"])
