"""The picture of `python -m tools.bench recipe`."""

import os
import pathlib
from collections.abc import Iterator
from html import escape
from typing import Any

from tools.bench import recipes

_RECIPES = {"train": "training", "evaluate": "evaluation"}
# As wide as a phone, in the units of the letters' size. A label stands above its bar,
# where it has the whole width.
_WIDTH = 420
_EDGE = 16
_HEAD = 72
_ROW = 46
_BAR = 18
_FOOT = 36
_NUMBER = 60  # room after the longest bar
_OURS, _OTHERS = "#00796b", "#718096"


def draw(result: dict[str, Any]) -> str:
  """Draws the images/s of each loader as SVG, on a white ground.

  Of the first recipe and stored size, as float32, which every loader gives: a bar for
  the median, the fastest first.
  """
  first = result["rows"][0]
  wanted = (first["recipe"], first["stored"], "float32")
  rows = [
    row
    for row in result["rows"]
    if (row["recipe"], row["stored"], row["dtype"]) == wanted
  ]
  rows.sort(key=lambda row: row["median"], reverse=True)
  height = _HEAD + _ROW * len(rows) + _FOOT
  side, size = recipes.SIDE, "" if first["stored"] == "full" else " of 256 pixels"
  title = f"ImageNet's {_RECIPES[first['recipe']]} recipe, images/s"
  notes = (
    f"{side}x{side} pixels, normalised, {result['threads']} threads; more is better",
    f"MB: {result['images']:,} photographs{size} on disk; all are in memory",
  )
  lines = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
    f'width="{_WIDTH}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
    'font-size="14" fill="#1a202c">',
    f"<title>{escape(title)}</title>",
    f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    _text(_EDGE, 28, title, ' font-size="17" font-weight="bold"'),
    _text(_EDGE, 50, notes[0], ' fill="#4a5568"'),
    *_bars(rows),
    _text(_EDGE, height - 14, notes[1], ' fill="#4a5568"'),
    "</svg>",
  ]
  return "\n".join(lines) + "\n"


def plot(result: dict[str, Any], path: str | os.PathLike) -> None:
  """Writes the picture to a file of SVG."""
  pathlib.Path(path).write_text(draw(result))


def _bars(rows: list[dict[str, Any]]) -> Iterator[str]:
  room = _WIDTH - 2 * _EDGE - _NUMBER
  for number, row in enumerate(rows):
    top = _HEAD + _ROW * number
    length = round(room * row["median"] / rows[0]["median"])
    ours = row["loader"] == "liquid"
    name = row["what"].replace("ours", "liquid_tf") if ours else row["what"]
    weight = ' font-weight="bold"' if ours else ""
    yield _text(_EDGE, top + 14, f"{name}: {row['bytes'] / 1e6:.0f} MB", weight)
    yield (
      f'<rect x="{_EDGE}" y="{top + 20}" width="{length}" height="{_BAR}" '
      f'fill="{_OURS if ours else _OTHERS}"/>'
    )
    yield _text(_EDGE + length + 6, top + 34, f"{row['median']:,.0f}", weight)


def _text(x: int, y: int, text: str, style: str) -> str:
  return f'<text x="{x}" y="{y}"{style}>{escape(text)}</text>'
