"""L3, figure 7 (b): training throughput with lossless formats."""

from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import show, trainings
from tools.bench.papers.figure import Setting

_NETWORK = trainings.Network("resnet18", "ResNet-18", 96, 32)
_FORMATS = ("png", "raw", "l3", "l3-compact")
_OURS = ("l3", "l3-compact")
_SECONDS = 30.0
# Times PNG's: the geometric mean of seven networks.
_PAPER = {"png": 1.0, "l3": 1.71, "l3-compact": 1.71}


def measure(setting: Setting) -> dict[str, Any]:
  made = trainings.make(setting, "png", _FORMATS)
  mixes = {name: {name: 1} for name in _FORMATS}
  return trainings.run(setting, _NETWORK, made, mixes, seconds=_SECONDS)


def _title(side: str) -> str:
  return "png, stock tf.data" if side == trainings.STOCK else side


def table(result: Mapping[str, Any]) -> str:
  png = trainings.median(result, "png")
  stock = trainings.median(result, trainings.STOCK)
  rows = []
  for side in (*result["sides"], trainings.IDEAL):
    speed = trainings.median(result, side)
    ratios = [f"{speed / png:.2f}", f"{speed / stock:.2f}"]
    paper = _PAPER.get(side, "")
    rows.append([_title(side), paper, *ratios, *trainings.row(result, side)])
  head = ["what loads", "paper: to PNG", "to PNG", "to stock tf.data"]
  return page.table([*head, *trainings.HEAD], rows)


def words(result: Mapping[str, Any]) -> dict[str, Any]:
  png = trainings.median(result, "png")
  best = max(_OURS, key=lambda side: trainings.median(result, side))
  return {
    **trainings.words(_NETWORK, [result]),
    "best": best,
    "most": trainings.median(result, trainings.IDEAL) / png,
    "gain": trainings.median(result, best) / png,
    "goodput": page.span(trainings.goodputs(result, best), ".2f"),
    "idle": trainings.median(result, best, "idle"),
  }


def draw(result: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  png = trainings.median(result, "png")
  sides = (*result["sides"], trainings.IDEAL)
  bars = {_title(n): trainings.median(result, n) / png for n in sides}
  looks = {"ideal": "tab:gray", "l3": "tab:red", "l3-compact": "tab:red"}
  axes.bar(
    list(bars), list(bars.values()), color=[looks.get(n, "tab:blue") for n in bars]
  )
  axes.axhline(_PAPER["l3"], color="black", linestyle=":", label="paper: L3")
  axes.tick_params(axis="x", labelsize=8)
  show.style(axes, "y", 10, ylabel="training, images/s, to PNG")
