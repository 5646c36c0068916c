"""L3, figure 9 and tables 1 and 3: accuracy and training speed of lossy formats."""

import functools
import math
import os
import pathlib
import shutil
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import page, photographs
from tools.bench.papers import scan_accuracy, speeds
from tools.bench.papers.figure import Figure, Part, Setting, emptied, results, style

_LOSSLESS = "l3"
_LOSSY = {"jpeg": "JPEG", "webp-lossy": "lossy WebP"}
# The paper's is 75 in table 1, and 75 to 95 in table 3; 10 shows what the set can tell.
_QUALITIES = (10, 75, 95)
_QUICK_QUALITIES = (10, 75)
# Table 1: seven networks, DDRNet23-slim, DeepLabv3+, .. YOLOv5.
_PAPER_LOSSLESS = (0.729, 0.801, 0.685, 0.725, 0.323, 0.611, 0.633)
_PAPER_LOSSY = {
  "jpeg": (0.693, 0.801, 0.669, 0.711, 0.300, 0.593, 0.605),
  "webp-lossy": (0.689, 0.808, 0.651, 0.712, 0.305, 0.582, 0.614),
}
_PAPER_QUALITY = 75
_DEEPLAB = 1
# Table 3: of the same networks.
_PAPER_QUALITIES = {
  "jpeg": (95, 75, 90, 85, 80, 85, 85),
  "webp-lossy": (95, 75, 95, 85, 80, 95, 85),
}
# Of the accuracy without loss, in table 3.
_WITHIN = 0.01
# Figure 9: L3 over each, geometric mean and most.
_PAPER_TIMES = {"jpeg": (1.25, 1.77), "webp-lossy": (1.93, 2.87)}
_SEEDS = (0, 1, 2)
_CROP, _QUICK_CROP = (160, 240), (48, 64)
_BATCH, _QUICK_BATCH = 4, 2
_EPOCHS, _TURNS = 5, 6
_PREPARING = "preparing"


def _frames(setting: Setting) -> tuple[str, list[tuple[str, str]]] | None:
  """The first set whose images have masks: its name, images and masks."""
  from tools.bench.papers import segmentation_training

  for images in setting.sets:
    pairs = segmentation_training.frames(images.paths)
    if len(pairs) >= len(_SEEDS):
      return images.name, pairs
  return None


def _lacks(setting: Setting) -> str | None:
  if _frames(setting):
    return None
  return (
    "--data names no folder NAME of images whose masks, PNG files of the same names, "
    "are in the folder NAMEannot beside it, as CamVid's train and trainannot are"
  )


def _contestants(quick: bool) -> dict[str, tuple[str, dict[str, dict[str, int]]]]:
  """By name, what is stored and with which options."""
  found: dict[str, tuple[str, dict[str, dict[str, int]]]] = {_LOSSLESS: (_LOSSLESS, {})}
  for format in _LOSSY:
    for quality in _QUICK_QUALITIES if quick else _QUALITIES:
      found[f"{format} {quality}"] = (format, {format: {"quality": quality}})
  return found


def _parts(setting: Setting) -> Mapping[str, Part]:
  seeds = _SEEDS[:1] if setting.quick else _SEEDS
  parts: dict[str, Part] = {
    f"seed {seed}": functools.partial(_train, setting, seed) for seed in seeds
  }
  parts[_PREPARING] = functools.partial(_prepare, setting)
  return parts


def _train(setting: Setting, seed: int) -> dict[str, Any]:
  """Every contestant with one seed, tested on one frame of three."""
  from liquid_tf._convert.convert import convert
  from liquid_tf._convert.source import Source
  from liquid_tf._measure import fresh
  from liquid_tf._store import manifest as manifests
  from tools.bench.papers import segmentation_training

  name, pairs = _frames(setting) or ("", [])
  how: dict[str, Any] = {
    "crop": list(_QUICK_CROP if setting.quick else _CROP),
    "batch_size": _QUICK_BATCH if setting.quick else _BATCH,
    "epochs": 1 if setting.quick else _EPOCHS,
    "turns": 1 if setting.quick else _TURNS,
  }
  paths, sizes = {}, {}
  with emptied(setting.folder / f"seed {seed}") as folder:
    images, masks = segmentation_training.lay_out(pairs, seed, len(_SEEDS), folder)
    for contestant, (format, encoders) in _contestants(setting.quick).items():
      path = folder / f"{contestant}.liquid"
      source = Source(images, masks=masks)
      convert(source, path, format, encoders=encoders, progress=False)
      paths[contestant] = os.fspath(path)
      stored = photographs.image_bytes(manifests.load(str(path)), [format])
      sizes[contestant] = stored[format]
    function = "tools.bench.papers.segmentation_training:train"
    found = fresh.run({"function": function, "paths": paths, "seed": seed, **how})
  tests = sum(i % len(_SEEDS) == seed for i in range(len(pairs)))
  return {
    "set": name,
    "images": len(pairs) - tests,
    "test_images": tests,
    **how,
    "image_bytes": sizes,
    "trained": found,
  }


def _prepare(setting: Setting) -> dict[str, Any]:
  """Loading and decoding of the same files without a network, in turn."""
  _, pairs = _frames(setting) or ("", [])
  cells = {}
  with emptied(setting.folder / _PREPARING) as folder:
    files = folder / "files"
    files.mkdir()
    for image, _ in pairs:
      shutil.copyfile(image, files / pathlib.Path(image).name)
    for name, (format, encoders) in _contestants(setting.quick).items():
      made = speeds.dataset(files, [format], folder / name, encoders)
      cells[name] = speeds.cell(made, format)
    return speeds.in_turn(setting, cells, batch_size=_BATCH, seconds=0.5, rounds=3)


def _trainings(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
  """What each seed found."""
  return [r for name, r in results(evidence).items() if name != _PREPARING]


def miou(ious: Sequence[float | None]) -> float:
  """The mean of the classes that there are."""
  return statistics.mean(iou for iou in ious if iou is not None)


def _accuracies(evidence: Mapping[str, Any], name: str) -> list[float]:
  return [miou(run["trained"][name]["iou"]) for run in _trainings(evidence)]


def difference(evidence: Mapping[str, Any], name: str) -> tuple[float, float]:
  """Mean intersection over union less that without loss, and half its 95 % interval."""
  pairs = zip(_accuracies(evidence, name), _accuracies(evidence, _LOSSLESS))
  return scan_accuracy.interval([lossy - lossless for lossy, lossless in pairs])


def _names(evidence: Mapping[str, Any]) -> list[str]:
  return list(_trainings(evidence)[0]["trained"])


def _qualities(evidence: Mapping[str, Any], format: str) -> list[int]:
  prefix = f"{format} "
  return [int(n.removeprefix(prefix)) for n in _names(evidence) if n.startswith(prefix)]


def least_quality(evidence: Mapping[str, Any], format: str) -> int | None:
  """The least quality whose mean accuracy is within table 3's bound; None without."""
  return next(
    (
      quality
      for quality in sorted(_qualities(evidence, format))
      if difference(evidence, f"{format} {quality}")[0] >= -_WITHIN
    ),
    None,
  )


def _training_rate(evidence: Mapping[str, Any], name: str) -> float:
  """The median of all turns of all seeds, in images per second."""
  return statistics.median(
    rate
    for run in _trainings(evidence)
    for rate in run["trained"][name]["images_per_s"]
  )


def _preparing_rate(evidence: Mapping[str, Any], name: str) -> float:
  cells = results(evidence)[_PREPARING]["cells"]
  return statistics.median(cells[name]["images_per_s"])


def times(evidence: Mapping[str, Any], format: str, preparing: bool) -> float:
  """L3's speed over that of a lossy format of the paper's default quality."""
  rate = _preparing_rate if preparing else _training_rate
  return rate(evidence, _LOSSLESS) / rate(evidence, f"{format} {_PAPER_QUALITY}")


def _points(values: tuple[float, float]) -> str:
  mean, half = values
  spread = "" if math.isnan(half) else f" ± {100 * half:.1f}"
  # No "-0.0".
  return f"{round(100 * mean, 1) + 0.0:+.1f}{spread}".replace("-", "−")


def _of_paper(format: str, quality: int) -> list[str]:
  """Table 1's differences: DeepLabv3+, and the least and the most of all networks."""
  if quality != _PAPER_QUALITY:
    return ["", ""]
  less = [a - b for a, b in zip(_PAPER_LOSSY[format], _PAPER_LOSSLESS)]
  ends = (min(less), max(less))
  return [
    _points((less[_DEEPLAB], math.nan)),
    " to ".join(_points((end, math.nan)) for end in ends),
  ]


def _table(evidence: Mapping[str, Any]) -> str:
  sizes = _trainings(evidence)[0]["image_bytes"]
  rows = []
  for name in _names(evidence):
    format, _, quality = name.partition(" ")
    mean, half = scan_accuracy.interval(_accuracies(evidence, name))
    spread = "" if math.isnan(half) else f" ± {100 * half:.1f}"
    rows.append(
      [
        name,
        f"{sizes[name] / 1e3:.0f}",
        f"{100 * mean:.1f}{spread}",
        "" if name == _LOSSLESS else _points(difference(evidence, name)),
        *(_of_paper(format, int(quality)) if quality else ["", ""]),
        f"{_training_rate(evidence, name):.1f}",
        f"{_preparing_rate(evidence, name):.0f}",
      ]
    )
  head = [
    "format, quality", "KB an image", "mIoU, %", "less that of L3, points",
    "paper: DeepLabv3+", "paper: all seven", "trained images/s", "prepared images/s",
  ]  # fmt: skip
  return f"{page.table(head, rows)}\n\n{_comparison(evidence)}"


def _comparison(evidence: Mapping[str, Any]) -> str:
  """Table 3 and figure 9."""
  rows = []
  for format, label in _LOSSY.items():
    paper = _PAPER_QUALITIES[format]
    least = least_quality(evidence, format)
    rows.append(
      [
        f"{label}: least quality within 1 %",
        f"{paper[_DEEPLAB]} (all: {min(paper)} to {max(paper)})",
        "none" if least is None else _decided(evidence, format, least),
      ]
    )
  for format, label in _LOSSY.items():
    mean, most = _PAPER_TIMES[format]
    rows.append(
      [
        f"L3 over {label}, training",
        f"{mean} (up to {most})",
        f"{times(evidence, format, False):.2f}",
      ]
    )
    prepared = f"{times(evidence, format, True):.2f}"
    rows.append([f"L3 over {label}, preparing alone", "", prepared])
  return page.table(["", "paper", "here"], rows)


def _decided(evidence: Mapping[str, Any], format: str, quality: int) -> str:
  """A quality, and whether its interval is narrow enough to tell."""
  _, half = difference(evidence, f"{format} {quality}")
  if half <= _WITHIN:
    return f"{quality}"
  return f"{quality} by the mean; the interval does not tell"


def _words(evidence: Mapping[str, Any]) -> dict[str, Any]:
  runs = _trainings(evidence)
  first = runs[0]
  constants = (miou(run["trained"][_LOSSLESS]["constant_iou"]) for run in runs)
  rates = [_training_rate(evidence, name) for name in _names(evidence)]
  return {
    "frames": first["images"] + first["test_images"],
    "seeds": len(runs),
    "every_epoch": first["epochs"] * first["turns"],
    "constant": 100 * statistics.mean(constants),
    "quality": _PAPER_QUALITY,
    "accuracy": _accuracy(evidence),
    "faster": _preparing_rate(evidence, _LOSSLESS) / rates[0],
    "apart": max(rates) / min(rates),
  }


def _accuracy(evidence: Mapping[str, Any]) -> str:
  """How far the seeds can tell formats apart, in a sentence or two."""
  found = {n: difference(evidence, n) for n in _names(evidence) if n != _LOSSLESS}
  halves = [100 * half for _, half in found.values()]
  if any(map(math.isnan, halves)):
    return "one seed has no interval, and says nothing of accuracy"
  telling = [name for name, (mean, half) in found.items() if abs(mean) > half]
  return (
    f"with {_trainings(evidence)[0]['test_images']} test frames a seed, differences "
    f"have intervals of ± {min(halves):.1f} to {max(halves):.1f} points, where the "
    "paper's differences are 0 to 4. Intervals that exclude 0: "
    f"{', '.join(telling) or 'none'}. Nothing is claimed of the others, least of all "
    "that they are equal"
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  left, right = canvas.subplots(1, 2)
  for number, (format, label) in enumerate(_LOSSY.items()):
    qualities = _qualities(evidence, format)
    found = [difference(evidence, f"{format} {quality}") for quality in qualities]
    left.errorbar(
      [quality + number for quality in qualities],  # beside each other
      [100 * mean for mean, _ in found],
      [0 if math.isnan(half) else 100 * half for _, half in found],
      marker="o",
      capsize=4,
      label=label,
    )
    less = [a - b for a, b in zip(_PAPER_LOSSY[format], _PAPER_LOSSLESS)]
    left.plot(
      [_PAPER_QUALITY] * len(less), [100 * d for d in less], "x", color="tab:gray"
    )
  left.plot([], [], "x", color="tab:gray", label="paper, seven networks")
  left.axhline(0, color="black", linestyle=":", label="L3")
  accuracy = "accuracy less that of L3, points"
  style(left, legend=8, xlabel="quality", ylabel=accuracy)
  names = {f"{format} {_PAPER_QUALITY}": label for format, label in _LOSSY.items()}
  names[_LOSSLESS] = "L3"
  # As in the paper, relative to JPEG.
  unit = f"jpeg {_PAPER_QUALITY}"
  means = {label: _PAPER_TIMES["jpeg"][0] for label in names.values()}
  means["JPEG"] = 1.0
  means["lossy WebP"] = _PAPER_TIMES["jpeg"][0] / _PAPER_TIMES["webp-lossy"][0]
  for shift, label, rate in (
    (-0.27, "training", _training_rate),
    (0.0, "preparing alone", _preparing_rate),
  ):
    heights = [rate(evidence, name) / rate(evidence, unit) for name in names]
    right.bar([i + shift for i in range(len(names))], heights, 0.27, label=label)
  right.bar(
    [i + 0.27 for i in range(len(names))],
    list(means.values()),
    0.27,
    color="tab:gray",
    label="paper, geometric mean",
  )
  right.set_xticks(range(len(names)), list(names.values()))
  style(right, "y", 8, ylabel="images/s, relative to JPEG")


FIGURE = Figure(
  "l3-9",
  "L3, figure 9 and tables 1 and 3: training on lossy formats",
  _parts,
  _words,
  _table,
  _draw,
  size=(9.0, 3.6),
  lacks=_lacks,
)
