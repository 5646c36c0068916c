"""The tables, the promises, the page and the plot of `python -m tools.bench codecs`."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.bench import codec_sets, page

# Not in the plot: they decode as l3-compact does.
_EFFORTS = ("l3-compact fast", "l3-compact best")
# Where labels would lie on each other: points right and up, and which end is there.
_LABELS = {
  "bmp": (5, -12, "left"),
  "jxl e7": (-5, -4, "right"),
  "webp": (-5, -12, "right"),
  "webp m6": (-5, 4, "right"),
  "zstd": (-5, 4, "right"),
}
_NOT_ENCODED = "png tf.io"  # The files of "png" once more.
_STORED = "png files"
# Of PNG's bytes, the most that the compact profile takes.
_COMPACT_SIZES = {
  codec_sets.SCREENS: 1.0,
  codec_sets.MASKS: 0.7,
  codec_sets.DRAWN: 0.6,
  codec_sets.DEEP: 0.85,
}
_FLAT = (codec_sets.SCREENS, codec_sets.MASKS, codec_sets.DRAWN)


def _entries(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
  """Sets of photographs, all of them together, and the other sets."""
  sets = result["sets"].items()
  is_one = [entry["kind"] == codec_sets.PHOTOGRAPHS for _, entry in sets]
  yield from (pair for pair, one in zip(sets, is_one) if one)
  yield "photographs", result["all"]
  yield from (pair for pair, one in zip(sets, is_one) if not one)


class Promise(NamedTuple):
  """A figure that is promised.

  Attributes:
    what: is measured.
    measured: in this run.
    least: that is promised, or None.
    most: that is promised, or None.
  """

  what: str
  measured: float
  least: float | None = None
  most: float | None = None

  @property
  def kept(self) -> bool:
    if self.least is not None:
      return self.measured >= self.least
    return self.measured <= self.most

  def row(self) -> list[str]:
    """The cells of a row."""
    bound = (
      f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"
    )
    missed = "" if self.kept else ", **missed**"
    digits = 3 if self.measured < 2 else 1
    return [self.what, f"{self.measured:.{digits}f}", f"{bound}{missed}"]


def promises_table(result: dict[str, Any]) -> str:
  """A table of Markdown, a row for each promise."""
  rows = [promise.row() for promise in promises(result)]
  return page.table([None, "measured", "promised"], rows, (0, 2))


def promises(result: dict[str, Any]) -> list[Promise]:
  """Every promise whose figures are in a result of `codecs.bench`."""
  return [*_fast(result), *_compact(result)]


def _rate(entry: dict[str, Any], name: str, key: str = "decode_gb_per_s") -> float:
  return entry["codecs"][name][key]["median"]


def _sizes(
  result: dict[str, Any], codec: str, most: float, most_of_a_set: float
) -> Iterator[Promise]:
  """Promises of a codec's sizes of photographs."""
  of_all = result["all"]["codecs"][codec]["to_png"]
  yield Promise(f"{codec}, all photographs, of PNG's bytes", of_all, most=most)
  size, name = max(
    (entry["codecs"][codec]["to_png"], name)
    for name, entry in result["sets"].items()
    if entry["kind"] == codec_sets.PHOTOGRAPHS
  )
  largest = f"{codec}, its largest set ({name}), of PNG's bytes"
  yield Promise(largest, size, most=most_of_a_set)


def _window(result: dict[str, Any], codec: str) -> Promise:
  what = f"{codec}, a 224x224 window of 2048x1024, of the whole's time"
  return Promise(what, result["windows"][codec], most=0.125)


def _fast(result: dict[str, Any]) -> Iterator[Promise]:
  every = result["all"]
  l3 = _rate(every, "l3 v2")
  yield Promise("l3 v2, GB/s of pixels decoded on one processor", l3, least=2)
  for other, least in (("png tf.io", 10), ("qoi", 3)):
    if other in every["codecs"]:
      ratio = l3 / _rate(every, other)
      yield Promise(f"l3 v2, decoding, times {other}", ratio, least=least)
  yield from _sizes(result, "l3 v2", 0.95, 1)
  yield _window(result, "l3 v2")


def _compact(result: dict[str, Any]) -> Iterator[Promise]:
  every, best = result["all"], result["instructions"]
  compact = every["codecs"]["l3-compact"]
  yield from _sizes(result, "l3-compact", 0.74, 0.79)
  for kind, most in _COMPACT_SIZES.items():
    if kind in result["sets"]:
      size = result["sets"][kind]["codecs"]["l3-compact"]["to_png"]
      yield Promise(f"l3-compact, {kind}, of PNG's bytes", size, most=most)
  yield Promise(
    f"l3-compact, decoding photographs with {best}, of l3 v2's speed",
    _rate(every, "l3-compact") / _rate(every, "l3 v2"),
    least=0.35,
  )
  if "avx2_gb_per_s" in compact:
    yield Promise(
      "l3-compact, decoding photographs with AVX2 alone, times png tf.io",
      _rate(every, "l3-compact", "avx2_gb_per_s") / _rate(every, "png tf.io"),
      least=6,
    )
  for kind in _FLAT:
    if kind in result["sets"]:
      entry = result["sets"][kind]
      ratio = _rate(entry, "l3-compact") / _rate(entry, "l3 v2")
      yield Promise(f"l3-compact, decoding {kind}, of l3 v2's speed", ratio, least=1)
  yield Promise(
    "l3-compact, MB/s of photographs encoded at the default effort",
    1000 * compact["encode_gb_per_s"],
    least=60,
  )
  yield _window(result, "l3-compact")


def sets_table(result: dict[str, Any]) -> str:
  """A table of Markdown of the sets."""
  cells = [
    ("set", lambda one: one[0]),
    ("images", lambda one: one[1]["images"]),
    ("MB of pixels", lambda one: f"{one[1]['pixel_bytes'] / 1e6:.1f}"),
    ("MB of PNG", lambda one: f"{one[1]['codecs']['png']['bytes'] / 1e6:.2f}"),
    ("PNG of pixels", lambda one: f"{one[1]['codecs']['png']['ratio']:.3f}"),
  ]
  return page.columns(_entries(result), cells)


def sizes_table(result: dict[str, Any]) -> str:
  """A table of Markdown: bytes relative to PNG, a column for each set."""
  entries = list(_entries(result))
  rows = []
  for codec in result["codecs"]:
    if codec == _NOT_ENCODED:
      continue
    row = [codec]
    for name, entry in entries:
      values = entry["codecs"].get(codec)
      row.append(f"{values['to_png']:.3f}" if values else "")
      if name == "photographs":
        row.append(f"{values['worst_to_png']:.3f}" if values else "")
    rows.append(row)
  stored = [_STORED]
  for name, entry in entries:
    found = entry["stored_png_bytes"]
    stored.append(f"{found / entry['codecs']['png']['bytes']:.3f}" if found else "")
    if name == "photographs":
      stored.append("")
  if any(stored[1:]):
    rows.append(stored)
  head = ["of PNG"]
  for name, _ in entries:
    head += ["**photographs**", "worst"] if name == "photographs" else [name]
  return page.table(head, rows)


def speeds_table(result: dict[str, Any]) -> str:
  """A table of Markdown: decoding, encoding and windows."""
  others = {
    name: entry["codecs"]
    for name, entry in result["sets"].items()
    if entry["kind"] != codec_sets.PHOTOGRAPHS
  }
  with_avx2 = any("avx2_gb_per_s" in v for v in result["all"]["codecs"].values())
  rows = []
  for codec, values in result["all"]["codecs"].items():
    rate = values["decode_gb_per_s"]
    row = [codec, f"{rate['median']:.3f} ({rate['q1']:.3f} to {rate['q3']:.3f})"]
    if with_avx2:
      avx2 = values.get("avx2_gb_per_s")
      row.append(f"{avx2['median']:.3f}" if avx2 else "")
    for found in others.values():
      each = found.get(codec)
      row.append(f"{each['decode_gb_per_s']['median']:.3f}" if each else "")
    encode = 1000 * values["encode_gb_per_s"]
    row.append("" if codec == _NOT_ENCODED else _short(encode))
    window = result["windows"].get(codec)
    row.append("" if window is None else f"{window:.3f}")
    rows.append(row)
  head = ["codec", "photographs (quartiles)", *(["AVX2 alone"] if with_avx2 else [])]
  return page.table([*head, *others, "encode MB/s", "window"], rows)


def _short(number: float) -> str:
  return f"{number:.1f}" if number < 10 else f"{number:.0f}"


def text(result: dict[str, Any]) -> str:
  """All tables, for a terminal."""
  parts = (sets_table, sizes_table, speeds_table, promises_table)
  return "\n\n".join(part(result) for part in parts)


def plot(result: dict[str, Any], path: str | os.PathLike) -> None:
  """Draws size against decoding speed, a point for each codec, to an image file.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: the extension of `path` is of no image format.
  """
  import matplotlib

  matplotlib.use("Agg")
  from matplotlib import pyplot

  figure, axes = pyplot.subplots(figsize=(7, 5))
  for name, values in result["all"]["codecs"].items():
    if name in _EFFORTS:
      continue
    rate = values["decode_gb_per_s"]
    ours = name.startswith("l3")
    axes.errorbar(
      values["ratio"],
      rate["median"],
      yerr=[[rate["median"] - rate["q1"]], [rate["q3"] - rate["median"]]],
      fmt="o",
      color="tab:red" if ours else "tab:blue",
    )
    right, up, end = _LABELS.get(name, (5, 4, "left"))
    axes.annotate(
      name,
      (values["ratio"], rate["median"]),
      xytext=(right, up),
      textcoords="offset points",
      ha=end,
      fontweight="bold" if ours else "normal",
    )
  axes.set_yscale("log")
  axes.set_xlim(0, 1.15)
  axes.grid(True, which="both", alpha=0.3)
  axes.set_xlabel("size, of raw pixels")
  axes.set_ylabel("decoding, GB/s of pixels on one processor")
  axes.set_title(f"{result['all']['images']} photographs, {result['evidence']['cpu']}")
  figure.tight_layout()
  figure.savefig(path, dpi=150)
  pyplot.close(figure)


def _command(result: dict[str, Any]) -> str:
  sets, settings = result["sets"], ("squares", "passes", "rounds")
  kinds = {entry["kind"] for entry in sets.values()}
  names = [n for n, e in sets.items() if e["kind"] == codec_sets.PHOTOGRAPHS]
  others = {codec_sets.SCREENS: "screens", codec_sets.MASKS: "masks"}
  others[codec_sets.DEEP] = "deep"
  drawings = sets[codec_sets.DRAWN]["images"] if codec_sets.DRAWN in sets else 0
  lines = [
    f"--sets={','.join(f'{name}=FOLDER' for name in names)}",
    " ".join(f"--{flag}=FOLDER" for kind, flag in others.items() if kind in kinds),
    f"--drawings={drawings} " + " ".join(f"--{key}={result[key]}" for key in settings),
    "--output=tools/bench/results/codecs.json --plot=docs/codecs.png",
  ]
  return " \\\n  ".join(["python -m tools.bench codecs", *filter(None, lines)])


def section(result: dict[str, Any], image: str | None) -> page.Section:
  """A whole page: what was measured, how and with what, the plot and the tables.

  Args:
    result: of `codecs.bench`.
    image: of the plot, a file beside the page, or None.
  """
  evidence = result["evidence"]
  return page.section(
    "codecs",
    result,
    command=_command(result),
    picture=page.picture("size and speed", image),
    promises=promises_table(result),
    images=sets_table(result),
    stored=_STORED,
    sizes=sizes_table(result),
    speeds=speeds_table(result),
    what=page.bullets(f"**{name}**: {what}" for name, what in result["codecs"].items()),
    versions=page.versions(evidence["versions"]),
    revision=evidence["revision"] or "unknown",
  )
