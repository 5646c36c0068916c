"""Liquid, figure 6: preparing PNG and JPEG files beside other loaders."""

import functools
import os
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import show, trainings
from tools.bench.papers.figure import Part, Setting

# Photographs by MB/s, so that an epoch takes half a second at least: of shorter ones
# the beginning and the end are a large part.
_RATES = {100: 1024, 300: 1024, 750: 4096}
_QUICK_RATES = {100: 24}
# Of the files, as in the paper.
_SHARE = 0.3
_SIZES = {"side": 512, "batch_size": 32, "epochs": 3, "rounds": 2}
_QUICK_SIZES = {"side": 64, "batch_size": 4, "epochs": 2, "rounds": 1}
_SECONDS, _QUICK_SECONDS = 1.0, 0.05
# Rows of the table: what the paper has, then what else is there.
_PEERS = {
  "dali": "DALI",
  "tf.data": "stock tf.data",
  "minio": "MinIO's policy (CoorDL)",
}
# Sides that are mixes, and where their advice is.
_MIX, _WITHOUT = "mix", "mix without l3"
_MIXES = {_MIX: "advised", _WITHOUT: "advised_without_l3"}
# Over DALI, in the paper: T4, V100, RTX3090.
_PAPER = {"png": "3.05, 3.05 and 2.25", "jpeg": "1.54, 1.52 and nearly 1"}


def parts(setting: Setting, extension: str) -> Mapping[str, Part]:
  rates = _QUICK_RATES if setting.quick else _RATES
  return {
    f"{extension}, {rate} MB/s": functools.partial(
      _measure, setting, extension, rate, images
    )
    for rate, images in rates.items()
  }


def _measure(
  setting: Setting, extension: str, rate: int, images: int
) -> dict[str, Any]:
  from tools.bench import preparation

  return preparation.bench(
    setting.folder,
    extension=extension,
    images=images,
    share=_SHARE,
    rate=rate * 10**6,
    threads=len(os.sched_getaffinity(0)),
    seconds=_QUICK_SECONDS if setting.quick else _SECONDS,
    dali_python=setting.dali_python,
    data=setting.photographs(),
    say=setting.say,
    **(_QUICK_SIZES if setting.quick else _SIZES),
  )


def _rate(result: Mapping[str, Any], side: str) -> float:
  return result["sides"][side]["median"]


def _singles(result: Mapping[str, Any]) -> list[str]:
  return [name for name in result["sides"] if name not in {*_PEERS, *_MIXES}]


def _best(result: Mapping[str, Any]) -> str:
  """The fastest single format."""
  return max(_singles(result), key=lambda name: _rate(result, name))


def _peers(result: Mapping[str, Any]) -> dict[str, str]:
  return {name: title for name, title in _PEERS.items() if name in result["sides"]}


def _advised(result: Mapping[str, Any], mix: str) -> str:
  """The side that a mix of _MIXES is; the advice may be a single format."""
  weights = result[_MIXES[mix]]
  return mix if len(weights) > 1 else next(iter(weights))


def table(found: Mapping[str, Any]) -> str:
  rows = []
  for part, result in found.items():
    best = _best(result)
    advised, without = (trainings.mix_words(result[key]) for key in _MIXES.values())
    lines = [
      (f"**advised: {advised}**", _advised(result, _MIX), ""),
      (f"best mix without L3: {without}", _advised(result, _WITHOUT), ""),
    ]
    singles = {
      name: f"{name} alone" + (", the best" if name == best else "")
      for name in _singles(result)
    }
    for name, title in (singles | _peers(result)).items():
      side = result["sides"][name]
      lines.append((title, name, f"{side['min']:.0f} to {side['max']:.0f}"))
    for title, name, spread in lines:
      rate = _rate(result, name)
      ratios = [
        f"{rate / _rate(result, other):.2f}" if other in result["sides"] else ""
        for other in ("tf.data", "dali", best)
      ]
      rows.append([part, title, f"{rate:.0f}", spread, *ratios])
      part = ""
  head = ["stored, disk", "what ran", "images/s", "least to most"]
  head += ["to tf.data", "to DALI", "to the best single"]
  return page.table(head, rows, words=(0, 1))


def words(found: Mapping[str, Any], extension: str) -> dict[str, Any]:
  quick = len(found) == len(_QUICK_RATES)
  sizes, rates = (_QUICK_SIZES, _QUICK_RATES) if quick else (_SIZES, _RATES)
  with_dali = "DALI was left out: no interpreter with it was given."
  first = next(iter(found.values()))
  if dali := first["dali"]:
    with_dali = f"DALI {dali['versions']['nvidia-dali']}: {dali['settings']}."
  reached = []
  for part, result in found.items():
    best, rate = _best(result), _rate(result, _advised(result, _MIX))
    ratios = " and ".join(
      f"{rate / _rate(result, name):.2f} times {title}"
      for name, title in (("tf.data", "tf.data"), ("dali", "DALI"))
      if name in result["sides"]
    )
    reached.append(
      f"{part}: {ratios}, {rate / _rate(result, best):.2f} of {best} alone"
    )
  return {
    **sizes,
    "files": extension.upper(),
    "over_dali": _PAPER[extension],
    "counts": ", ".join(f"{count} at {rate} MB/s" for rate, count in rates.items()),
    "kb": first["file_bytes"] / 1e3,
    "share": _SHARE,
    "with_dali": with_dali,
    "reached": "; ".join(reached),
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  every = canvas.subplots(1, len(found), squeeze=False)[0]
  for axes, (part, result) in zip(every, found.items()):
    unit = _rate(result, "dali" if "dali" in result["sides"] else "tf.data")
    best, peers = _best(result), _peers(result)
    bars = peers | {best: f"{best} alone"}
    heights = [_rate(result, side) / unit for side in bars]
    heights += [_rate(result, _advised(result, mix)) / unit for mix in (_WITHOUT, _MIX)]
    colors = ["tab:gray"] * len(peers) + ["tab:blue", "tab:orange", "tab:red"]
    axes.bar(range(len(heights)), heights, color=colors)
    labels = [*bars.values(), "mix without L3", "advised"]
    axes.set_xticks(range(len(heights)), labels, rotation=90, fontsize=7)
    axes.set_title(part, fontsize=9)
    show.style(axes, "y")
  with_dali = all("dali" in result["sides"] for result in found.values())
  every[0].set_ylabel(f"images/s, to {'DALI' if with_dali else 'tf.data'}")
