"""Liquid, figure 2: CPU, disk and accelerator with PNG, raw, JPEG and their mix."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import trainings
from tools.bench.papers.figure import Figure, Part, Setting, first_result

_PART = "training"
_NETWORK = trainings.Network("mobilenet_v3_small", "MobileNetV3-small", 96, 32)
_FORMATS = ("png", "raw", "jpeg")
# The paper's: one small and dear to decode, one the other way round.
_MIXED = ("png", "raw")
_MIX = "mix"
_SECONDS = 30.0
# Goodput, by what loads.
_PAPER = {"png": 0.245, "raw": 0.274, "jpeg": 0.694}
# Corners of a triangle: where each lies, in degrees.
_CORNERS = {"CPU": 210, "disk": 330, "goodput": 90}


def _parts(setting: Setting) -> Mapping[str, Part]:
  return {_PART: lambda: _measure(setting)}


def _measure(setting: Setting) -> dict[str, Any]:
  made = trainings.make(setting, "png", _FORMATS)
  mix = trainings.advise(setting, made, _MIXED, _NETWORK, 0)
  mixes = {name: {name: 1.0} for name in _FORMATS}
  if len(mix) > 1:
    mixes[_MIX] = mix
  found = trainings.run(setting, _NETWORK, made, mixes, seconds=_SECONDS)
  return {"mix": mix} | found


def _titles(result: Mapping[str, Any]) -> dict[str, str]:
  """What each side is called; the advice may be one of the formats."""
  titles = {name: name for name in result["sides"]}
  titles[trainings.STOCK] = "png, stock tf.data"
  advised = _advised(result)
  titles[advised] = f"**advised: {trainings.mix_words(result['mix'])}**"
  return titles


def _advised(result: Mapping[str, Any]) -> str:
  return _MIX if len(result["mix"]) > 1 else next(iter(result["mix"]))


def _table(evidence: Mapping[str, Any]) -> str:
  result = first_result(evidence)
  paper = _PAPER | {trainings.STOCK: _PAPER["png"], trainings.IDEAL: 1}
  rows = [
    [title, paper.get(side, ""), *trainings.row(result, side)]
    for side, title in (_titles(result) | {trainings.IDEAL: "ideal"}).items()
  ]
  return page.table(["what loads", "paper: goodput", *trainings.HEAD], rows)


def _words(evidence: Mapping[str, Any]) -> dict[str, Any]:
  result = first_result(evidence)
  uses = []
  for side in (*_FORMATS, trainings.STOCK):
    limits = {"CPU": trainings.cpu(result, side), "disk": trainings.disk(result, side)}
    most = max(limits, key=limits.__getitem__)
    uses.append(f"{side} uses {limits[most]:.0%} of its {most}")
  advised = _advised(result)
  singles = [trainings.median(result, name) for name in _MIXED]
  return {
    **trainings.words(_NETWORK, [result]),
    "uses": "; ".join(uses),
    "ratio": singles[0] / trainings.median(result, trainings.STOCK),
    "goodput": statistics.median(trainings.goodputs(result, advised)),
    "gain": trainings.median(result, advised) / max(singles),
  }


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  result = first_result(evidence)
  titles = {side: title.strip("*") for side, title in _titles(result).items()}
  every = canvas.subplots(1, len(titles), squeeze=False)[0]
  for axes, (side, title) in zip(every, titles.items()):
    values = {
      "CPU": min(1.0, trainings.cpu(result, side)),
      "disk": min(1.0, trainings.disk(result, side)),
      "goodput": min(1.0, statistics.median(trainings.goodputs(result, side))),
    }
    _triangle(axes, dict.fromkeys(_CORNERS, 1.0), color="black", fill=False)
    _triangle(axes, values, color="tab:blue", alpha=0.5)
    for corner, (x, y) in _points(dict.fromkeys(_CORNERS, 1.25)).items():
      axes.text(x, y, f"{corner}\n{values[corner]:.0%}", ha="center", va="center")
    paper = _PAPER.get(side)
    if paper:
      axes.plot(*_points({"goodput": paper})["goodput"], "x", color="tab:red")
    axes.set_title(title, fontsize=9)
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.1, 1.6), aspect="equal")
    axes.axis("off")
  every[0].text(0, -1.05, "x: goodput in the paper", ha="center", color="tab:red")


def _points(values: Mapping[str, float]) -> dict[str, tuple[float, float]]:
  turns = {corner: math.radians(_CORNERS[corner]) for corner in values}
  return {
    corner: (value * math.cos(turns[corner]), value * math.sin(turns[corner]))
    for corner, value in values.items()
  }


def _triangle(axes: Any, values: Mapping[str, float], **look: Any) -> None:
  from matplotlib.patches import Polygon

  axes.add_patch(Polygon(list(_points(values).values()), **look))


FIGURE = Figure(
  "liquid-2",
  "Liquid, figure 2: use of CPU, disk and accelerator by format",
  _parts,
  _words,
  _table,
  _draw,
  size=(11.0, 3.0),
  why_not=trainings.why_not,
)
