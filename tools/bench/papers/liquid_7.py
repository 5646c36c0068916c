"""Liquid, figure 7: training throughput of light and heavy networks, and accuracy."""

import functools
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import page
from tools.bench.papers import trainings
from tools.bench.papers.figure import Figure, Part, Setting, results, style
from tools.bench.papers.scan_accuracy import interval
from tools.bench.papers.trainings import Network

# As in the paper: segmentation of PNG, classification of JPEG; a light one first.
_NETWORKS = {
  "png": (
    Network("unet_4", "U-Net (width 4, 128 px)", 128, 8),
    Network("unet_8", "U-Net (width 8, 256 px)", 256, 8),
  ),
  "jpeg": (
    Network("shufflenet_v2", "ShuffleNetV2 (96 px)", 96, 32),
    Network("resnet18", "ResNet-18 (96 px)", 96, 32),
  ),
}
# None of these loses anything of the files.
_FORMATS = {
  "png": ("png", "raw", "l3", "l3-compact"),
  "jpeg": ("jpeg", "raw", "l3", "l3-compact"),
}
_LOSSY = "jpeg"  # Of PNG files.
_OURS = "mix"
# Of the files, as in figure 6.
_SHARE = 0.3
_SECONDS = 20.0
# Geometric means over DALI: T4, V100, RTX3090.
_PAPER = {"png": "1.58, 2.02, 1.07", "jpeg": "1.14, 1.25, about 1"}
_LOSSES = "losses, {}"
_STEPS, _QUICK_STEPS = 16, 4
_SEEDS = (0, 1, 2)
_STUDIED = _NETWORKS["jpeg"][1]  # The heavier one that classifies.


def _parts(setting: Setting) -> Mapping[str, Part]:
  parts: dict[str, Part] = {}
  encodings = list(_NETWORKS)[:1] if setting.quick else list(_NETWORKS)
  for encoded in encodings:
    networks = _NETWORKS[encoded]
    for network in networks[:1] if setting.quick else networks:
      parts[_part(encoded, network)] = functools.partial(
        _train, setting, encoded, network
      )
  for encoded in encodings:
    parts[_LOSSES.format(encoded)] = functools.partial(_lose, setting, encoded)
  return parts


def _part(encoded: str, network: Network) -> str:
  return f"{network.words}, {encoded}"


def _made(setting: Setting, encoded: str) -> dict[str, Any]:
  formats = _FORMATS[encoded]
  if _LOSSY not in formats:
    formats = (*formats, _LOSSY)
  return trainings.make(setting, encoded, formats)


def _train(setting: Setting, encoded: str, network: Network) -> dict[str, Any]:
  made = _made(setting, encoded)
  stored = sum(os.path.getsize(file) for file in made["files"])
  cache = int(_SHARE * stored)
  mix = trainings.advise(setting, made, _FORMATS[encoded], network, cache)
  found = trainings.run(
    setting,
    network,
    made,
    {_OURS: mix},
    seconds=_SECONDS,
    cache_bytes=cache,
    warm_up=made["images"],
  )
  return {"encoded": encoded, "mix": mix} | found


def _lose(setting: Setting, encoded: str) -> dict[str, Any]:
  """Losses on all formats that lose nothing, and where there is one on a lossy mix."""
  from liquid_tf._measure import fresh

  made = _made(setting, encoded)

  def losses(network: Network, formats: Sequence[str], seed: int) -> dict[str, Any]:
    setting.say(f"{network.words}: losses on {', '.join(formats)} and on the files")
    return fresh.run(
      {
        "function": "tools.bench.papers.equal_losses:measure",
        "path": made["short"],
        "source": made["source"],
        "mix": dict.fromkeys(formats, 1),
        "network": network.name,
        "size": network.size,
        "batch_size": 4 if setting.quick else network.batch_size,
        "steps": _QUICK_STEPS if setting.quick else _STEPS,
        "seed": seed,
      }
    )

  networks = _NETWORKS[encoded][:1] if setting.quick else _NETWORKS[encoded]
  lossless = {n.words: losses(n, _FORMATS[encoded], 0) for n in networks}
  lossy = []
  if _LOSSY not in _FORMATS[encoded]:
    for seed in _SEEDS[:1] if setting.quick else _SEEDS:
      lossy.append(losses(_STUDIED, (encoded, _LOSSY), seed)["losses"])
  return {"lossless": lossless, "lossy": lossy}


def equal(one: Mapping[str, Any]) -> bool:
  """Whether two trainings were equal, bit for bit, in every loss and every weight."""
  losses = one["losses"]
  return losses["mix"] == losses["files"] and one["equal_weights"]


def _trained(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  found = results(evidence)
  return {name: result for name, result in found.items() if "sides" in result}


def _losses(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  """Of each format of the files."""
  found = results(evidence)
  parts = {encoded: _LOSSES.format(encoded) for encoded in _NETWORKS}
  # A quick run has one of them.
  return {encoded: found[part] for encoded, part in parts.items() if part in found}


def _to_stock(result: Mapping[str, Any], side: str) -> float:
  return trainings.median(result, side) / trainings.median(result, trainings.STOCK)


def geomean(evidence: Mapping[str, Any], encoded: str) -> float:
  """Of the networks that train on such files: advised mix by stock tf.data."""
  trained = _trained(evidence).values()
  return statistics.geometric_mean(
    _to_stock(result, _OURS) for result in trained if result["encoded"] == encoded
  )


def _table(evidence: Mapping[str, Any]) -> str:
  rows = []
  for part, result in _trained(evidence).items():
    lines = {
      _OURS: f"**advised: {trainings.mix_words(result['mix'])}**",
      trainings.STOCK: "stock tf.data",
      trainings.IDEAL: "ideal",
    }
    for side, title in lines.items():
      by = f"{_to_stock(result, side):.2f}"
      rows.append([part, title, by, *trainings.row(result, side)])
      part = ""
  speeds = page.table(
    ["network, files", "what loads", "to tf.data", *trainings.HEAD], rows, words=(0, 1)
  )
  means = page.table(
    ["geometric mean", "paper: to DALI, three machines", "here: to tf.data"],
    [[n, _PAPER[n], f"{geomean(evidence, n):.2f}"] for n in _losses(evidence)],
  )
  return f"{speeds}\n\n{means}\n\n{_losses_table(evidence)}"


def _losses_table(evidence: Mapping[str, Any]) -> str:
  rows = []
  for encoded, result in _losses(evidence).items():
    for network, one in result["lossless"].items():
      same = "all, bit for bit" if equal(one) else f"no: {_furthest(one):.2g} apart"
      rows.append(
        [network, ", ".join(_FORMATS[encoded]), len(one["losses"]["mix"]), same]
      )
  head = ["network", "formats, equal shares", "steps", "losses and weights equal"]
  return page.table(head, rows, words=(0, 1))


def _furthest(one: Mapping[str, Any]) -> float:
  pairs = zip(one["losses"]["mix"], one["losses"]["files"])
  return max(abs(ours - theirs) for ours, theirs in pairs)


def _words(evidence: Mapping[str, Any]) -> dict[str, Any]:
  trained = _trained(evidence)
  said = []
  for part, result in trained.items():
    most = _to_stock(result, trainings.IDEAL)
    waits = trainings.median(result, trainings.STOCK, "idle")
    said.append(
      f"{part}: {_to_stock(result, _OURS):.2f} times tf.data, where the network waits "
      f"{waits:.0%} of the time, and the ideal is {most:.2f} times"
    )
  found = _losses(evidence).values()
  every = [one for result in found for one in result["lossless"].values()]
  lossy = [run for result in found for run in result["lossy"]]
  # The second half: the first steps learn the mean alone.
  differences = [
    statistics.mean(run["mix"][len(run["mix"]) // 2 :])
    - statistics.mean(run["files"][len(run["files"]) // 2 :])
    for run in lossy
  ]
  mean, half = interval(differences)
  return {
    **trainings.words(_STUDIED, list(trained.values())),
    "share": _SHARE,
    "said": "; ".join(said),
    "same": sum(map(equal, every)),
    "every": len(every),
    "studied": _STUDIED.words,
    "differs": f"{mean:+.4f}" + ("" if math.isnan(half) else f" ± {half:.4f} (95 %)"),
    "seeds": len(lossy),
  }


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  trained = _trained(evidence)
  sides = {trainings.STOCK: "stock tf.data", _OURS: "advised mix"}
  for i, (side, label) in enumerate((sides | {trainings.IDEAL: "ideal"}).items()):
    heights = [_to_stock(result, side) for result in trained.values()]
    places = [x + 0.27 * (i - 1) for x in range(len(trained))]
    axes.bar(places, heights, 0.25, label=label)
  axes.set_xticks(
    range(len(trained)), [n.replace(" (", "\n(") for n in trained], fontsize=8
  )
  style(axes, "y", 10, ylabel="training, images/s, to stock tf.data")


FIGURE = Figure(
  "liquid-7",
  "Liquid, figure 7: training light and heavy networks",
  _parts,
  _words,
  _table,
  _draw,
  size=(8.0, 4.0),
  why_not=trainings.why_not,
)
