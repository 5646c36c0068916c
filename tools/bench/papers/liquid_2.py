"""Liquid, figure 2: CPU, disk and accelerator with PNG, raw, JPEG and their mix."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import trainings
from tools.bench.papers.figure import Setting

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


def measure(setting: Setting) -> dict[str, Any]:
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


def table(result: Mapping[str, Any]) -> str:
  paper = _PAPER | {trainings.STOCK: _PAPER["png"], trainings.IDEAL: 1}
  rows = [
    [title, paper.get(side, ""), *trainings.row(result, side)]
    for side, title in (_titles(result) | {trainings.IDEAL: "ideal"}).items()
  ]
  return page.table(["what loads", "paper: goodput", *trainings.HEAD], rows)


def words(result: Mapping[str, Any]) -> dict[str, Any]:
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


def draw(result: Mapping[str, Any], canvas: Any) -> None:
  titles = {side: title.strip("*") for side, title in _titles(result).items()}
  every = canvas.subplots(1, len(titles), squeeze=False)[0]
  for axes, (side, title) in zip(every, titles.items()):
    values = {
      "CPU": trainings.cpu(result, side),
      "disk": trainings.disk(result, side),
      "goodput": statistics.median(trainings.goodputs(result, side)),
    }
    values = {corner: min(1.0, value) for corner, value in values.items()}
    whole = (_place(corner, 1) for corner in values)
    used = (_place(corner, value) for corner, value in values.items())
    axes.fill(*zip(*whole), color="black", fill=False)
    axes.fill(*zip(*used), color="tab:blue", alpha=0.5)
    for corner, value in values.items():
      label = f"{corner}\n{value:.0%}"
      axes.text(*_place(corner, 1.25), label, ha="center", va="center")
    if side in _PAPER:
      axes.plot(*_place("goodput", _PAPER[side]), "x", color="tab:red")
    axes.set_title(title, fontsize=9)
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.1, 1.6), aspect="equal")
    axes.axis("off")
  every[0].text(0, -1.05, "x: goodput in the paper", ha="center", color="tab:red")


def _place(corner: str, value: float) -> tuple[float, float]:
  turn = math.radians(_CORNERS[corner])
  return value * math.cos(turn), value * math.sin(turn)
