"""PCR, figures 4 and 6: accuracy against time, by scan group, of two networks."""

import functools
import math
import os
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import page
from tools.bench.papers.figure import (
  Figure,
  Part,
  Setting,
  first_result,
  results,
  style,
)

_GROUPS = (1, 2, 5, 10)
_FULL = 10
# Of this group the paper has twice the speed at the same accuracy.
_HALF = 5
_SEEDS = (0, 1, 2)
_SIDE = 96
_EACH, _EPOCHS = 36, 10
_QUICK_EACH, _QUICK_EPOCHS = 6, 1
# Bytes per second. A quick run has the whole disk.
_RATE, _QUICK_RATE = 300_000, 0
# Of Student's distribution, for the 95 % of an interval, by values.
_STUDENT = {2: 12.71, 3: 4.30}


def _why_not() -> str | None:
  from liquid_tf._measure import throttle

  return throttle.why_not()


def _parts(network: str, setting: Setting) -> Mapping[str, Part]:
  rate = _QUICK_RATE if setting.quick else _RATE
  seeds = _SEEDS[:1] if setting.quick else _SEEDS
  return {
    f"seed {seed}": functools.partial(_measure, network, setting, seed, rate)
    for seed in seeds
  }


def _measure(network: str, setting: Setting, seed: int, rate: int) -> dict[str, Any]:
  from liquid_tf._convert.convert import convert
  from liquid_tf._measure import fresh
  from liquid_tf._store import manifest as manifests
  from tools.bench.papers import scan_training

  places = scan_training.crops(
    setting.folder,
    _large(setting),
    each=_QUICK_EACH if setting.quick else _EACH,
    side=_SIDE,
  )
  paths = []
  for place, name in zip(places, ("pcr", "raw")):
    path = place.with_suffix(f".{name}.liquid")
    if not (path / manifests.MANIFEST).exists():
      convert(place, path, {name: 1}, existing="resume", progress=False)
    paths.append(path)
  manifest = manifests.load(str(paths[0]))
  found = fresh.run(
    {
      "function": "tools.bench.papers.scan_training:train",
      "path": os.fspath(paths[0]),
      "test": os.fspath(paths[1]),
      "network": network,
      "groups": list(_GROUPS),
      "epochs": _QUICK_EPOCHS if setting.quick else _EPOCHS,
      "seed": seed,
      "read_bytes_per_s": rate or None,
    }
  )
  return {
    **found,
    "images": manifest["samples"],
    "classes": len(manifest.classes),
    "test_images": manifests.load(str(paths[1]))["samples"],
    "rate": rate,
    "mssim": [entry["mssim"] for entry in manifest["pcr"]["fidelity"]],
  }


def _large(setting: Setting) -> list[str]:
  """The photographs that have two halves of a crop."""
  from PIL import Image

  from liquid_tf.cli import wheel_images

  paths = [pathlib.Path(path) for images in setting.sets for path in images.paths]
  if not paths:
    folder = setting.folder / "photographs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, pixels in wheel_images.wheel_photographs().items():
      if not (folder / f"{name}.png").exists():
        Image.fromarray(pixels).save(folder / f"{name}.png")
    paths = wheel_images.image_files(folder)
  large = []
  for path in paths:
    with Image.open(path) as image:
      if min(image.width // 2, image.height) >= _SIDE:
        large.append(os.fspath(path))
  return large


def interval(values: Sequence[float]) -> tuple[float, float]:
  """Mean, and half of the 95 % interval by Student's distribution; NaN of one value."""
  mean = statistics.mean(values)
  if len(values) not in _STUDENT:
    return mean, math.nan
  return mean, _STUDENT[len(values)] * statistics.stdev(values) / math.sqrt(len(values))


def _runs(evidence: Mapping[str, Any], group: int) -> list[list[dict[str, float]]]:
  """By seed, the epochs of a scan group."""
  return [result["groups"][str(group)] for result in results(evidence).values()]


def seconds(evidence: Mapping[str, Any], group: int) -> float:
  """The median epoch of a scan group, over all seeds."""
  return statistics.median(e["seconds"] for run in _runs(evidence, group) for e in run)


def _read(evidence: Mapping[str, Any], group: int) -> float:
  """Bytes that the median epoch of a scan group reads, over all seeds."""
  return statistics.median(
    e["disk_bytes"] for run in _runs(evidence, group) for e in run
  )


def _final(evidence: Mapping[str, Any], group: int) -> list[float]:
  return [run[-1]["accuracy"] for run in _runs(evidence, group)]


def _percent(values: tuple[float, float]) -> str:
  mean, half = values
  spread = "" if math.isnan(half) else f" ± {half:.1%}"
  return f"{mean:.1%}{spread}".replace("%", " %")


def difference(evidence: Mapping[str, Any], group: int) -> tuple[float, float]:
  """Final accuracy of a scan group less that of full fidelity, with its interval."""
  pairs = zip(_final(evidence, group), _final(evidence, _FULL))
  return interval([ours - full for ours, full in pairs])


def _table(evidence: Mapping[str, Any]) -> str:
  full = seconds(evidence, _FULL)
  mssim = first_result(evidence)["mssim"]
  rows = []
  for group in _GROUPS:
    runs = _runs(evidence, group)
    every = [epoch["seconds"] for run in runs for epoch in run]
    rows.append(
      [
        f"{group}",
        f"{mssim[group - 1]:.3f}",
        f"{_read(evidence, group) / 1e6:.2f}",
        page.span(every, ".2f"),
        f"{full / statistics.median(every):.2f}",
        _percent(interval(_final(evidence, group))),
        "" if group == _FULL else _percent(difference(evidence, group)),
      ]
    )
  head = ["scan group", "MSSIM", "MB an epoch", "seconds an epoch", "times group 10's"]
  head += ["test accuracy", "less group 10's"]
  return page.table(head, rows)


def _words(network: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
  found = first_result(evidence)
  mean, half = difference(evidence, _HALF)
  sign = "plus" if mean >= 0 else "less"
  return {
    "network": network,
    "epochs": len(found["groups"][str(_FULL)]),
    "side": _SIDE,
    "disk": f"{found['rate'] / 1e6:g} MB/s" if found["rate"] else "all it gives",
    "half": _HALF,
    "ratio": seconds(evidence, _FULL) / seconds(evidence, _HALF),
    "accuracy": f"{sign} {_percent((abs(mean), half))}",
    "seeds": len(_runs(evidence, _HALF)),
    "beside_reads": _beside_reads(evidence),
  }


def _beside_reads(evidence: Mapping[str, Any]) -> str:
  """What an epoch takes beside its reads, where a disk was held to a rate."""
  rate = first_result(evidence)["rate"]
  if not rate:
    return ""
  rest = {g: seconds(evidence, g) - _read(evidence, g) / rate for g in _GROUPS}
  words = ", ".join(f"{rest[group]:.1f}" for group in _GROUPS)
  return (
    "Groups 1 and 2 gain less than their bytes: beside its reads, at the rate that the "
    f"disk is held to, an epoch takes {words} s (groups 1, 2, 5, 10). "
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  unit = seconds(evidence, _FULL)
  for group in _GROUPS:
    runs = _runs(evidence, group)
    times, means, halves = [], [], []
    for epoch in range(len(runs[0])):
      spent = [sum(e["seconds"] for e in run[: epoch + 1]) for run in runs]
      mean, half = interval([run[epoch]["accuracy"] for run in runs])
      times.append(statistics.mean(spent) / unit)
      means.append(mean)
      halves.append(0 if math.isnan(half) else half)
    [line] = axes.plot(times, means, marker=".", label=f"group {group}")
    low = [mean - half for mean, half in zip(means, halves)]
    high = [mean + half for mean, half in zip(means, halves)]
    axes.fill_between(times, low, high, color=line.get_color(), alpha=0.15)
  accuracy = "test accuracy, with the 95 % interval"
  style(axes, legend=10, xlabel="time, in epochs of full fidelity", ylabel=accuracy)


def figure(name: str, title: str, network: str, words: str) -> Figure:
  """Figure 4 or 6.

  Args:
    name: of the figure.
    title: of its section.
    network: of `networks.NETWORKS`.
    words: the network, for the page.
  """
  return Figure(
    name,
    title,
    functools.partial(_parts, network),
    functools.partial(_words, words),
    _table,
    _draw,
    why_not=_why_not,
    text="pcr-4",
  )


RESNET = figure(
  "pcr-4",
  "PCR, figure 4: ResNet-18, accuracy against time",
  "resnet18",
  "ResNet-18 with 16 filters in its first stage and not 64",
)
SHUFFLENET = figure(
  "pcr-6",
  "PCR, figure 6: ShuffleNetV2, accuracy against time",
  "shufflenet_v2",
  "ShuffleNetV2 x0.5 with 256 filters in its last convolution and not 1,024",
)
