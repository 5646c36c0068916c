"""L3, figure 7 (b): training throughput with lossless formats."""

from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import trainings
from tools.bench.papers.figure import Figure, Part, Setting, only_result

_PART = "training"
_NETWORK = trainings.Network("resnet18", "ResNet-18", 96, 32)
_FORMATS = ("png", "raw", "l3", "l3-compact")
_OURS = ("l3", "l3-compact")
_SECONDS = 30.0
# Times PNG's: the geometric mean of seven networks.
_PAPER = {"png": 1.0, "l3": 1.71, "l3-compact": 1.71}


def _parts(setting: Setting) -> Mapping[str, Part]:
  return {_PART: lambda: _measure(setting)}


def _measure(setting: Setting) -> dict[str, Any]:
  made = trainings.make(setting, "png", _FORMATS)
  sides = {name: trainings.ours(made, {name: 1}) for name in _FORMATS}
  sides[trainings.STOCK] = trainings.stock(made)
  found = trainings.run(setting, _NETWORK, sides, seconds=_SECONDS)
  return {key: made[key] for key in ("images", "side", "image_bytes")} | found


def _title(side: str) -> str:
  return "png, stock tf.data" if side == trainings.STOCK else side


def _table(evidence: Mapping[str, Any]) -> str:
  result = only_result(evidence)
  png = trainings.median(result, "png")
  stock = trainings.median(result, trainings.STOCK)
  rows = []
  for side in result["sides"]:
    speed = trainings.median(result, side)
    ratios = [f"{speed / png:.2f}", f"{speed / stock:.2f}"]
    paper = _PAPER.get(side, "")
    rows.append([_title(side), paper, *ratios, *trainings.row(result, side)])
  best = trainings.ideal(result)
  ratios = [f"{best / png:.2f}", f"{best / stock:.2f}"]
  rows.append(["ideal", "", *ratios, *trainings.ideal_row(result)])
  head = ["what loads", "paper: to PNG", "to PNG", "to stock tf.data"]
  return page.table([*head, *trainings.HEAD], rows)


def _about(evidence: Mapping[str, Any]) -> str:
  result = only_result(evidence)
  sizes = ", ".join(f"{n} {s / 1e6:.2f}" for n, s in result["image_bytes"].items())
  return (
    f"{_NETWORK.words}, with 16 filters in its first stage and not 64, at "
    f"{result['size']} pixels on {result['images']} photographs of {result['side']}x"
    f"{result['side']} (MB an image: {sizes}), with nothing cached. "
    f"{trainings.about([result])}"
  )


def _why(evidence: Mapping[str, Any]) -> str:
  result = only_result(evidence)
  png = trainings.median(result, "png")
  best = max(_OURS, key=lambda side: trainings.median(result, side))
  speed, most = trainings.median(result, best), trainings.ideal(result)
  reached = page.span(trainings.goodputs(result, best), ".2f")
  return (
    "the network and the disk decide what can be gained: the ideal is "
    f"{most / png:.2f} times PNG here, because a small network was chosen for one "
    f"core. {best} comes to {speed / png:.2f} times PNG; its goodput is {reached}, and "
    f"it waits for {trainings.median(result, best, 'idle'):.0%} of the time. The paper "
    "decodes L3 on the GPU that trains, and PNG on its CPU; here one core decodes "
    "both, and the other trains."
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  result = only_result(evidence)
  axes = canvas.subplots()
  png = trainings.median(result, "png")
  bars = {_title(n): trainings.median(result, n) / png for n in result["sides"]}
  bars["ideal"] = trainings.ideal(result) / png
  looks = {"ideal": "tab:gray", "l3": "tab:red", "l3-compact": "tab:red"}
  axes.bar(
    list(bars), list(bars.values()), color=[looks.get(n, "tab:blue") for n in bars]
  )
  axes.axhline(_PAPER["l3"], color="black", linestyle=":", label="paper: L3")
  axes.tick_params(axis="x", labelsize=8)
  axes.set_ylabel("training, images/s, to PNG")
  axes.grid(True, axis="y", alpha=0.3)
  axes.legend(frameon=False)


FIGURE = Figure(
  name="l3-7b",
  title="L3, figure 7 (b): training with lossless formats",
  paper="iterations per second of seven networks, to those with PNG. L3 reaches 1.71 "
  "times PNG (geometric mean), lossless WebP 1.32 and LZ4 1.23 times; BMP waits for "
  "the disk. Ideal is training that never waits.",
  parts=_parts,
  about=_about,
  table=_table,
  why=_why,
  draw=_draw,
  why_not=trainings.why_not,
)
