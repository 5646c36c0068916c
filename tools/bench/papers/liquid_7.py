"""Liquid, figure 7: training throughput of light and heavy networks, and accuracy."""

import functools
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import page
from tools.bench.papers import trainings
from tools.bench.papers.figure import Figure, Part, Setting, results
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
  sides = {_OURS: trainings.ours(made, mix), trainings.STOCK: trainings.stock(made)}
  found = trainings.run(
    setting,
    network,
    sides,
    seconds=_SECONDS,
    cache_bytes=cache,
    warm_up=made["images"],
  )
  kept = {key: made[key] for key in ("images", "side", "image_bytes")}
  return kept | {"encoded": encoded, "mix": mix} | found


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


def _gain(result: Mapping[str, Any]) -> float:
  ours, theirs = (trainings.median(result, side) for side in (_OURS, trainings.STOCK))
  return ours / theirs


def geomean(evidence: Mapping[str, Any], encoded: str) -> float:
  """Of the networks that train on such files: advised mix by stock tf.data."""
  trained = _trained(evidence).values()
  return statistics.geometric_mean(
    _gain(result) for result in trained if result["encoded"] == encoded
  )


def _table(evidence: Mapping[str, Any]) -> str:
  rows = []
  for part, result in _trained(evidence).items():
    stock = trainings.median(result, trainings.STOCK)
    lines = {
      f"**advised: {trainings.words(result['mix'])}**": _OURS,
      "stock tf.data": trainings.STOCK,
    }
    for title, side in lines.items():
      by = f"{trainings.median(result, side) / stock:.2f}"
      rows.append([part, title, by, *trainings.row(result, side)])
      part = ""
    by = f"{trainings.ideal(result) / stock:.2f}"
    rows.append(["", "ideal", by, *trainings.ideal_row(result)])
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


def _about(evidence: Mapping[str, Any]) -> str:
  trained = list(_trained(evidence).values())
  result = trained[0]
  return (
    f"{result['images']} photographs of {result['side']}x{result['side']}, as PNG for "
    "the U-Nets, and as JPEG for ShuffleNetV2 x0.5 and ResNet-18 (16 filters in its "
    f"first stage). {trainings.about(trained)} All may cache "
    f"{_SHARE:.0%} of the files: ours in its cache, stock tf.data in the page cache, "
    "which a cgroup limits. The mix is what `profile` advised of formats that lose "
    "nothing of the files, for what each network takes, without its time. For *losses* "
    "a network trains twice from the same weights, with deterministic ops: on a mix of "
    "all these formats, and by stock tf.data on the files in the same order. There it "
    "decodes JPEG by `INTEGER_ACCURATE`, as we do. The speeds are those of its "
    "default, a faster transform, whose pixels are a few levels off."
  )


def _why(evidence: Mapping[str, Any]) -> str:
  trained = _trained(evidence)
  said = []
  for part, result in trained.items():
    most = trainings.ideal(result) / trainings.median(result, trainings.STOCK)
    waits = trainings.median(result, trainings.STOCK, "idle")
    said.append(
      f"{part}: {_gain(result):.2f} times tf.data, where the network waits {waits:.0%} "
      f"of the time, and the ideal is {most:.2f} times"
    )
  return (
    f"{'; '.join(said)}. Only what a network waits for stock tf.data can be gained: "
    "little with a heavy one, whose steps are long. The paper compares with DALI, "
    "which decodes JPEG in part on the GPU; here one core decodes for stock tf.data "
    f"and for ours. {_accuracy(evidence)}"
  )


def _accuracy(evidence: Mapping[str, Any]) -> str:
  found = _losses(evidence).values()
  every = [one for result in found for one in result["lossless"].values()]
  same = sum(map(equal, every))
  lossy = [run for result in found for run in result["lossy"]]
  # The second half: the first steps learn the mean alone.
  differences = [
    statistics.mean(run["mix"][len(run["mix"]) // 2 :])
    - statistics.mean(run["files"][len(run["files"]) // 2 :])
    for run in lossy
  ]
  mean, half = interval(differences)
  spread = "" if math.isnan(half) else f" ± {half:.4f} (95 %)"
  return (
    f"With formats that lose nothing {same} of {len(every)} trainings are equal bit "
    f"for bit. With half of the PNG files as JPEG the loss of {_STUDIED.words} differs "
    f"by {mean:+.4f}{spread} over the second half of the steps, of {len(lossy)} seeds."
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  trained = _trained(evidence)
  for i, side in enumerate((trainings.STOCK, _OURS, "ideal")):
    heights = []
    for result in trained.values():
      stock = trainings.median(result, trainings.STOCK)
      rate = (
        trainings.ideal(result) if side == "ideal" else trainings.median(result, side)
      )
      heights.append(rate / stock)
    places = [x + 0.27 * (i - 1) for x in range(len(trained))]
    label = {_OURS: "advised mix", trainings.STOCK: "stock tf.data"}.get(side, side)
    axes.bar(places, heights, 0.25, label=label)
  axes.set_xticks(
    range(len(trained)), [n.replace(" (", "\n(") for n in trained], fontsize=8
  )
  axes.set_ylabel("training, images/s, to stock tf.data")
  axes.grid(True, axis="y", alpha=0.3)
  axes.legend(frameon=False)


FIGURE = Figure(
  name="liquid-7",
  title="Liquid, figure 7: training light and heavy networks",
  paper="training throughput of seven networks with Liquid's mix over DALI. The "
  "geometric mean is 1.58, 2.02 and 1.07 with PNG on three machines, 1.14, 1.25 and "
  "about 1 with JPEG; light networks gain most, up to 3.24. Accuracy does not drop.",
  parts=_parts,
  about=_about,
  table=_table,
  why=_why,
  draw=_draw,
  size=(8.0, 4.0),
  why_not=trainings.why_not,
)
