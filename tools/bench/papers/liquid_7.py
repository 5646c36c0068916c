"""Liquid, figure 7: training throughput of light and heavy networks, and accuracy."""

import functools
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.bench import page
from tools.bench.papers import show, trainings
from tools.bench.papers.figure import Part, Setting, apart
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


def parts(setting: Setting) -> Mapping[str, Part]:
  encodings = setting.few(list(_NETWORKS))
  trained = {
    f"{network.words}, {encoded}": functools.partial(_train, setting, encoded, network)
    for encoded in encodings
    for network in setting.few(_NETWORKS[encoded])
  }
  losses = {
    _LOSSES.format(encoded): functools.partial(_lose, setting, encoded)
    for encoded in encodings
  }
  return trained | losses


def _made(setting: Setting, encoded: str) -> dict[str, Any]:
  # Of JPEG files it is one of the formats already.
  formats = dict.fromkeys((*_FORMATS[encoded], _LOSSY))
  return trainings.make(setting, encoded, list(formats))


def _train(setting: Setting, encoded: str, network: Network) -> dict[str, Any]:
  made = _made(setting, encoded)
  cache = int(_SHARE * sum(map(os.path.getsize, made["files"])))
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
  made = _made(setting, encoded)

  def losses(network: Network, formats: Sequence[str], seed: int) -> dict[str, Any]:
    setting.say(f"{network.words}: losses on {', '.join(formats)} and on the files")
    return apart(
      "equal_losses:measure",
      path=made["short"],
      source=made["source"],
      mix=dict.fromkeys(formats, 1),
      network=network.name,
      size=network.size,
      batch_size=4 if setting.quick else network.batch_size,
      steps=_QUICK_STEPS if setting.quick else _STEPS,
      seed=seed,
    )

  formats = _FORMATS[encoded]
  networks = setting.few(_NETWORKS[encoded])
  seeds = setting.few(_SEEDS) if _LOSSY not in formats else ()
  return {
    "lossless": {n.words: losses(n, formats, 0) for n in networks},
    "lossy": [losses(_STUDIED, (encoded, _LOSSY), s)["losses"] for s in seeds],
  }


def equal(one: Mapping[str, Any]) -> bool:
  """Whether two trainings were equal, bit for bit, in every loss and every weight."""
  losses = one["losses"]
  return losses["mix"] == losses["files"] and one["equal_weights"]


def _trained(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  return {name: result for name, result in found.items() if "sides" in result}


def _losses(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  """Of each format of the files."""
  parts = {encoded: _LOSSES.format(encoded) for encoded in _NETWORKS}
  # A quick run has one of them.
  return {encoded: found[part] for encoded, part in parts.items() if part in found}


def _to_stock(result: Mapping[str, Any], side: str) -> float:
  return trainings.median(result, side) / trainings.median(result, trainings.STOCK)


def geomean(found: Mapping[str, Any], encoded: str) -> float:
  """Of the networks that train on such files: advised mix by stock tf.data."""
  trained = _trained(found).values()
  return statistics.geometric_mean(
    _to_stock(result, _OURS) for result in trained if result["encoded"] == encoded
  )


def table(found: Mapping[str, Any]) -> str:
  rows = []
  for part, result in _trained(found).items():
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
    [[n, _PAPER[n], f"{geomean(found, n):.2f}"] for n in _losses(found)],
  )
  return f"{speeds}\n\n{means}\n\n{_losses_table(found)}"


def _losses_table(found: Mapping[str, Any]) -> str:
  rows = [
    [network, ", ".join(_FORMATS[encoded]), len(one["losses"]["mix"]), _same(one)]
    for encoded, result in _losses(found).items()
    for network, one in result["lossless"].items()
  ]
  head = ["network", "formats, equal shares", "steps", "losses and weights equal"]
  return page.table(head, rows, words=(0, 1))


def _same(one: Mapping[str, Any]) -> str:
  if equal(one):
    return "all, bit for bit"
  apart = np.subtract(one["losses"]["mix"], one["losses"]["files"])
  return f"no: {np.abs(apart).max():.2g} apart"


def _late(losses: Sequence[float]) -> float:
  """The mean of the second half: the first steps learn the mean alone."""
  return statistics.mean(losses[len(losses) // 2 :])


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  trained = _trained(found)
  said = []
  for part, result in trained.items():
    most = _to_stock(result, trainings.IDEAL)
    waits = trainings.median(result, trainings.STOCK, "idle")
    said.append(
      f"{part}: {_to_stock(result, _OURS):.2f} times tf.data, where the network waits "
      f"{waits:.0%} of the time, and the ideal is {most:.2f} times"
    )
  losses = _losses(found).values()
  every = [one for result in losses for one in result["lossless"].values()]
  lossy = [run for result in losses for run in result["lossy"]]
  mean, half = show.interval([_late(run["mix"]) - _late(run["files"]) for run in lossy])
  differs = show.plus_minus(half, ".4f")
  return {
    **trainings.words(_STUDIED, list(trained.values())),
    "share": _SHARE,
    "said": "; ".join(said),
    "same": sum(map(equal, every)),
    "every": len(every),
    "studied": _STUDIED.words,
    "differs": f"{mean:+.4f}{differs and f'{differs} (95 %)'}",
    "seeds": len(lossy),
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  trained = _trained(found)
  sides = {
    "stock tf.data": trainings.STOCK,
    "advised mix": _OURS,
    "ideal": trainings.IDEAL,
  }
  series = {
    label: [_to_stock(result, side) for result in trained.values()]
    for label, side in sides.items()
  }
  show.bars(axes, [name.replace(" (", "\n(") for name in trained], series)
  axes.tick_params(axis="x", labelsize=8)
  show.style(axes, "y", 10, ylabel="training, images/s, to stock tf.data")
