"""What both profiles of L3 promise, beside what `tools.bench codecs` measured."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.bench import codec_sets

# Of PNG's bytes, the most that the compact profile takes.
_COMPACT_SIZES = {
  codec_sets.SCREENS: 1.0,
  codec_sets.MASKS: 0.7,
  codec_sets.DRAWN: 0.6,
  codec_sets.DEEP: 0.85,
}
_FLAT = (codec_sets.SCREENS, codec_sets.MASKS, codec_sets.DRAWN)
_WINDOW = 0.125


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

  def row(self) -> str:
    """A row of a table of Markdown."""
    bound = (
      f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"
    )
    missed = "" if self.kept else ", **missed**"
    digits = 3 if self.measured < 2 else 1
    return f"| {self.what} | {self.measured:.{digits}f} | {bound}{missed} |"


def table(result: dict[str, Any]) -> str:
  """A table of Markdown, a row for each promise."""
  rows = [promise.row() for promise in promises(result)]
  return "\n".join(["| | measured | promised |", "| --- | ---: | --- |", *rows])


def promises(result: dict[str, Any]) -> list[Promise]:
  """Every promise whose figures are in a result of `codecs.bench`."""
  return [*_fast(result), *_compact(result)]


def _rate(entry: dict[str, Any], name: str, key: str = "decode_gb_per_s") -> float:
  return entry["codecs"][name][key]["median"]


def _largest(result: dict[str, Any], codec: str) -> tuple[str, float]:
  """The set of photographs on which a codec is largest, relative to PNG."""
  sizes = {
    name: entry["codecs"][codec]["to_png"]
    for name, entry in result["sets"].items()
    if entry["kind"] == codec_sets.PHOTOGRAPHS
  }
  name = max(sizes, key=sizes.get)
  return name, sizes[name]


def _fast(result: dict[str, Any]) -> Iterator[Promise]:
  every = result["all"]
  l3 = _rate(every, "l3 v2")
  name, size = _largest(result, "l3 v2")
  yield Promise("l3 v2, GB/s of pixels decoded on one processor", l3, least=2)
  for other, least in (("png tf.io", 10), ("qoi", 3)):
    if other in every["codecs"]:
      ratio = l3 / _rate(every, other)
      yield Promise(f"l3 v2, decoding, times {other}", ratio, least=least)
  size_of_all = every["codecs"]["l3 v2"]["to_png"]
  yield Promise("l3 v2, all photographs, of PNG's bytes", size_of_all, most=0.95)
  yield Promise(f"l3 v2, its largest set ({name}), of PNG's bytes", size, most=1)
  yield Promise(
    "l3 v2, a 224x224 window of 2048x1024, of the whole's time",
    result["windows"]["l3 v2"],
    most=_WINDOW,
  )


def _compact(result: dict[str, Any]) -> Iterator[Promise]:
  every, best = result["all"], result["instructions"]
  compact = every["codecs"]["l3-compact"]
  name, size = _largest(result, "l3-compact")
  yield Promise(
    "l3-compact, all photographs, of PNG's bytes", compact["to_png"], most=0.74
  )
  yield Promise(
    f"l3-compact, its largest set ({name}), of PNG's bytes", size, most=0.79
  )
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
  yield Promise(
    "l3-compact, a 224x224 window of 2048x1024, of the whole's time",
    result["windows"]["l3-compact"],
    most=_WINDOW,
  )
