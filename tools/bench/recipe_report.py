"""The section and the picture of `python -m tools.bench recipe`."""

import os
import pathlib
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from tools.bench import imagenet, page, recipe_sets

_COLUMNS = (
  *("loader", "stored", "gives", "images/s, median", "best", "processor ms an image"),
  *("MB on disk", "to the best peer, full size", "to the best peer, same size"),
  *("to FFCV at 256", "to uint8"),
)
_AGAINST = ("full", "same", "ffcv-256", "uint8")
_DOES = {
  "train": "a random window of 8 to 100 % of the area and a ratio of 3:4 to 4:3, "
  "resized; half of them mirrored; mean and deviation",
  **{
    name: f"as train, with {policy} before the mean and deviation"
    for name, policy in imagenet.POLICIES.items()
  },
  "evaluate": f"the shorter side resized to {imagenet.SHORTER}, the centre; mean and "
  "deviation",
}


class _Promise(NamedTuple):
  """What training is to reach: a row of ours, against what, and the least ratio."""

  format: str
  stored: str
  dtype: str
  against: str
  wanted: float


_PROMISES = (
  _Promise("l3", "256", "float32", "uint8", 0.6),
  _Promise("l3", "256", "bfloat16", "uint8", 0.7),
  _Promise("jpeg", "full", "float32", "full", 1.3),
  _Promise("l3", "256", "float32", "full", 4.0),
  _Promise("l3", "256", "float32", "ffcv-256", 2.5),
)


def table(result: dict[str, Any], recipe: str) -> str:
  """What one recipe gave, as a Markdown table; ratios are those of the medians."""
  rows = []
  for row in result["rows"]:
    if row["recipe"] != recipe:
      continue
    found = row.get("ratios", {})
    rates = [f"{row[key]:,.0f}" for key in ("median", "max")]
    size = f"{row['bytes'] / 1e6:.1f}"
    cells = [row["what"], row["stored"], row["dtype"], *rates, f"{row['cpu_ms']:.3f}"]
    ratios = (f"{found[key]['median']:.2f}" if key in found else "" for key in _AGAINST)
    rows.append([*cells, size, *ratios])
  return page.table(_COLUMNS, rows, range(3))


def promises(result: dict[str, Any]) -> Iterator[str]:
  """What was promised of training, as lines: reached or missed, and by how much.

  The peers must all have run, at both sizes.
  """
  rows = [row for row in result["rows"] if row["recipe"] == "train" and "ratios" in row]
  for promise in _PROMISES:
    for row in rows:
      fits = (row["format"], row["stored"], row["dtype"]) == promise[:3]
      ratio = row["ratios"].get(promise.against)
      if fits and ratio and not (result["skipped"] and promise.against == "full"):
        ok = min(ratio["median"], ratio["best"]) >= promise.wanted
        yield (
          f"{row['what']}, {row['stored']}, {row['dtype']}, to {ratio['what']}"
          f"{', uint8' if promise.against == 'uint8' else ''}: {ratio['median']:.2f} "
          f"by medians, {ratio['best']:.2f} by the best epochs; {promise.wanted} was "
          f"promised{'' if ok else ', missed'}."
        )


def text(result: dict[str, Any]) -> str:
  """Tables, promises and who was skipped, for the screen."""
  parts = []
  for recipe in result["others"]:
    parts.append(f"{recipe}: {_DOES[recipe]}\n{table(result, recipe)}")
  lines = [*promises(result), *_skipped(result), *result["unlike"]]
  return "\n".join([*parts, *lines])


def section(result: dict[str, Any], image: str | None) -> page.Section:
  """What was measured, how, with what, a picture if there is one, the tables."""
  tables = "\n\n".join(
    f"*{recipe}*: {_DOES[recipe]}. Other programs kept {busy} processors busy "
    f"meanwhile, on average.\n\n{table(result, recipe)}"
    for recipe, busy in result["others"].items()
  )
  again = f" ({result['distinct']} different ones, which come again)"
  said = [
    f"*{page.versions(peer['versions'])}*, {recipe}: `{settings}`."
    for peer in result["peers"].values()
    for recipe, settings in peer["settings"].items()
  ]
  return page.section(
    "recipe",
    result,
    again=again if result["images"] > result["distinct"] else "",
    pixels=imagenet.SIDE,
    picture=page.picture("Images per second of each loader", image),
    tables=tables,
    said=page.bullets([*said, *_skipped(result), *result["unlike"], ""])[:-2],
    quality=recipe_sets.QUALITY,
    promised=page.bullets(promises(result)),
  )


def _skipped(result: dict[str, Any]) -> list[str]:
  return [f"{name} was skipped: {why}." for name, why in result["skipped"].items()]


_RECIPES = {"train": "training", **imagenet.POLICIES, "evaluate": "evaluation"}
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
  side, size = imagenet.SIDE, "" if first["stored"] == "full" else " of 256 pixels"
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
