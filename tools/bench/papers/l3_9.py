"""L3, figure 9 and tables 1 and 3: accuracy and training speed of lossy formats."""

import functools
import math
import os
import pathlib
import shutil
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._convert.source import Source
from liquid_tf._store import manifest as manifests
from tools.bench import page, photographs
from tools.bench.papers import show, speeds
from tools.bench.papers.figure import Part, Setting, apart, emptied

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
_HOW = {"crop": [160, 240], "batch_size": 4, "epochs": 5, "turns": 6}
_QUICK_HOW = {"crop": [48, 64], "batch_size": 2, "epochs": 1, "turns": 1}
_PREPARING = "preparing"
# Folders of SegNet's CamVid: "train" has its masks in "trainannot".
_MASKS = "annot"


def frames(paths: Sequence[str]) -> list[tuple[str, str]]:
  """Images with their masks, which lie beside their folder, as CamVid's do.

  Args:
    paths: images.

  Returns:
    Images and masks; nothing unless every image has one.
  """
  pairs = []
  for path in map(pathlib.Path, paths):
    folder = path.parent.with_name(path.parent.name + _MASKS)
    mask = folder / f"{path.stem}.png"
    if not mask.exists():
      return []
    pairs.append((str(path), str(mask)))
  return pairs


def lay_out(
  pairs: Sequence[tuple[str, str]], fold: int, folds: int, folder: pathlib.Path
) -> tuple[pathlib.Path, pathlib.Path]:
  """Puts frames where `liquid_tf.convert` finds two splits of them.

  Args:
    pairs: images and masks.
    fold: number of the share of frames to test with, from 0.
    folds: how many there are.
    folder: gets `images` and `masks`, with `train` and `test` in each.

  Returns:
    The two folders.
  """
  for number, pair in enumerate(pairs):
    split = "test" if number % folds == fold else "train"
    for kind, path in zip(("images", "masks"), pair):
      place = folder / kind / split
      place.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(path, place / f"{number:04}{pathlib.Path(path).suffix}")
  return folder / "images", folder / "masks"


def _frames(setting: Setting) -> tuple[str, list[tuple[str, str]]]:
  """The first set whose images have masks: its name, images and masks."""
  for images in setting.sets:
    pairs = frames(images.paths)
    if len(pairs) >= len(_SEEDS):
      return images.name, pairs
  return "", []


def lacks(setting: Setting) -> str | None:
  """What --data does not name, or None."""
  _, pairs = _frames(setting)
  if pairs:
    return None
  return (
    "--data names no folder NAME of images whose masks, PNG files of the same names, "
    "are in the folder NAMEannot beside it, as CamVid's train and trainannot are"
  )


def _contestants(setting: Setting) -> dict[str, tuple[str, dict[str, dict[str, int]]]]:
  """By name, what is stored and with which options."""
  lossy = {
    f"{format} {quality}": (format, {format: {"quality": quality}})
    for format in _LOSSY
    for quality in (_QUICK_QUALITIES if setting.quick else _QUALITIES)
  }
  return {_LOSSLESS: (_LOSSLESS, {}), **lossy}


def parts(setting: Setting) -> Mapping[str, Part]:
  seeds = {
    f"seed {seed}": functools.partial(_train, setting, seed)
    for seed in setting.few(_SEEDS)
  }
  return {**seeds, _PREPARING: functools.partial(_prepare, setting)}


def _train(setting: Setting, seed: int) -> dict[str, Any]:
  """Every contestant with one seed, tested on one frame of three."""
  from liquid_tf._convert.convert import convert

  name, pairs = _frames(setting)
  how = _QUICK_HOW if setting.quick else _HOW
  paths, sizes = {}, {}
  with emptied(setting.folder / f"seed {seed}") as folder:
    images, masks = lay_out(pairs, seed, len(_SEEDS), folder)
    for contestant, (format, encoders) in _contestants(setting).items():
      path = paths[contestant] = os.fspath(folder / f"{contestant}.liquid")
      source = Source(images, masks=masks)
      convert(source, path, format, encoders=encoders, progress=False)
      stored = photographs.image_bytes(manifests.load(path), [format])
      sizes[contestant] = stored[format]
    found = apart("contests:segmentation", paths=paths, seed=seed, **how)
  tests = len(pairs[seed :: len(_SEEDS)])
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
  _, pairs = _frames(setting)
  batch_size = _HOW["batch_size"]
  cells = {}
  with emptied(setting.folder / _PREPARING) as folder:
    files = folder / "files"
    files.mkdir()
    for image, _ in pairs:
      shutil.copyfile(image, files / pathlib.Path(image).name)
    for name, (format, encoders) in _contestants(setting).items():
      made = speeds.dataset(files, [format], folder / name, encoders)
      cells[name] = speeds.cell(made, format)
    return speeds.in_turn(setting, cells, batch_size=batch_size, seconds=0.5, rounds=3)


def _trainings(found: Mapping[str, Any]) -> list[dict[str, Any]]:
  """What each seed found."""
  return [result for name, result in found.items() if name != _PREPARING]


def miou(ious: Sequence[float | None]) -> float:
  """The mean of the classes that there are."""
  return statistics.mean(iou for iou in ious if iou is not None)


def _accuracies(found: Mapping[str, Any], name: str) -> list[float]:
  return [miou(run["trained"][name]["iou"]) for run in _trainings(found)]


def difference(found: Mapping[str, Any], name: str) -> tuple[float, float]:
  """Mean intersection over union less that without loss, and half its 95 % interval."""
  return show.difference(_accuracies(found, name), _accuracies(found, _LOSSLESS))


def _lossy(found: Mapping[str, Any]) -> dict[tuple[str, int], tuple[float, float]]:
  """The `difference` of each format and quality."""
  names = [name.split() for name in _trainings(found)[0]["trained"]]
  return {
    (format, int(quality)): difference(found, f"{format} {quality}")
    for format, quality in names[1:]
  }


def least_quality(found: Mapping[str, Any], format: str) -> int | None:
  """The least quality whose mean accuracy is within table 3's bound; None without."""
  within = (
    quality
    for (name, quality), (mean, _) in _lossy(found).items()
    if name == format and mean >= -_WITHIN
  )
  return min(within, default=None)


def _training_rate(found: Mapping[str, Any], name: str) -> float:
  """The median of all turns of all seeds, in images per second."""
  return statistics.median(
    rate for run in _trainings(found) for rate in run["trained"][name]["images_per_s"]
  )


def _preparing_rate(found: Mapping[str, Any], name: str) -> float:
  cells = found[_PREPARING]["cells"]
  return statistics.median(cells[name]["images_per_s"])


def times(found: Mapping[str, Any], format: str, preparing: bool) -> float:
  """L3's speed over that of a lossy format of the paper's default quality."""
  rate = _preparing_rate if preparing else _training_rate
  return rate(found, _LOSSLESS) / rate(found, f"{format} {_PAPER_QUALITY}")


def _points(mean: float, half: float = math.inf) -> str:
  # No "-0.0".
  points = f"{round(100 * mean, 1) + 0.0:+.1f}{show.plus_minus(100 * half)}"
  return points.replace("-", "−")


def _paper_less(format: str) -> list[float]:
  """Table 1's accuracies less those without loss."""
  return [a - b for a, b in zip(_PAPER_LOSSY[format], _PAPER_LOSSLESS)]


def table(found: Mapping[str, Any]) -> str:
  sizes = _trainings(found)[0]["image_bytes"]
  lossy = _lossy(found)
  rows = []
  for name in (_LOSSLESS, *(f"{format} {quality}" for format, quality in lossy)):
    mean, half = show.interval(_accuracies(found, name))
    format, _, quality = name.partition(" ")
    less = _points(*lossy[format, int(quality)]) if quality else ""
    deeplab = every = ""
    if quality == f"{_PAPER_QUALITY}":
      paper = _paper_less(format)
      deeplab = _points(paper[_DEEPLAB])
      every = f"{_points(min(paper))} to {_points(max(paper))}"
    rates = f"{_training_rate(found, name):.1f}", f"{_preparing_rate(found, name):.0f}"
    accuracy = f"{100 * mean:.1f}{show.plus_minus(100 * half)}"
    size = f"{sizes[name] / 1e3:.0f}"
    rows.append([name, size, accuracy, less, deeplab, every, *rates])
  head = [
    "format, quality", "KB an image", "mIoU, %", "less that of L3, points",
    "paper: DeepLabv3+", "paper: all seven", "trained images/s", "prepared images/s",
  ]  # fmt: skip
  return f"{page.table(head, rows)}\n\n{_comparison(found)}"


def _comparison(found: Mapping[str, Any]) -> str:
  """Table 3 and figure 9."""
  qualities, speeds = [], []
  for format, label in _LOSSY.items():
    paper = _PAPER_QUALITIES[format]
    theirs = f"{paper[_DEEPLAB]} (all: {min(paper)} to {max(paper)})"
    least = f"{label}: least quality within 1 %"
    qualities.append([least, theirs, _decided(found, format)])
    mean, most = _PAPER_TIMES[format]
    trained, prepared = (f"{times(found, format, p):.2f}" for p in (False, True))
    speeds += [
      [f"L3 over {label}, training", f"{mean} (up to {most})", trained],
      [f"L3 over {label}, preparing alone", "", prepared],
    ]
  return page.table(["", "paper", "here"], qualities + speeds)


def _decided(found: Mapping[str, Any], format: str) -> str:
  """The least quality, and whether its interval is narrow enough to tell."""
  least = least_quality(found, format)
  if least is None:
    return "none"
  _, half = difference(found, f"{format} {least}")
  doubt = "" if half <= _WITHIN else " by the mean; the interval does not tell"
  return f"{least}{doubt}"


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  runs = _trainings(found)
  first = runs[0]
  constants = (miou(run["trained"][_LOSSLESS]["constant_iou"]) for run in runs)
  rates = [_training_rate(found, name) for name in first["trained"]]
  return {
    "frames": first["images"] + first["test_images"],
    "seeds": len(runs),
    "every_epoch": first["epochs"] * first["turns"],
    "constant": 100 * statistics.mean(constants),
    "quality": _PAPER_QUALITY,
    "accuracy": _accuracy(found),
    "faster": _preparing_rate(found, _LOSSLESS) / rates[0],
    "apart": max(rates) / min(rates),
  }


def _accuracy(found: Mapping[str, Any]) -> str:
  """How far the seeds can tell formats apart, in a sentence or two."""
  lossy = _lossy(found)
  halves = [100 * half for _, half in lossy.values()]
  if any(map(math.isinf, halves)):
    return "one seed has no interval, and says nothing of accuracy"
  telling = [f"{f} {q}" for (f, q), (mean, half) in lossy.items() if abs(mean) > half]
  return (
    f"with {_trainings(found)[0]['test_images']} test frames a seed, differences "
    f"have intervals of ± {min(halves):.1f} to {max(halves):.1f} points, where the "
    "paper's differences are 0 to 4. Intervals that exclude 0: "
    f"{', '.join(telling) or 'none'}. Nothing is claimed of the others, least of all "
    "that they are equal"
  )


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  left, right = canvas.subplots(1, 2)
  lossy = _lossy(found)
  for beside, (format, label) in enumerate(_LOSSY.items()):
    here = {quality: one for (name, quality), one in lossy.items() if name == format}
    left.errorbar(
      [quality + beside for quality in here],
      [100 * mean for mean, _ in here.values()],
      [0 if math.isinf(half) else 100 * half for _, half in here.values()],
      marker="o",
      capsize=4,
      label=label,
    )
    for less in _paper_less(format):
      left.plot(_PAPER_QUALITY, 100 * less, "x", color="tab:gray")
  left.plot([], [], "x", color="tab:gray", label="paper, seven networks")
  left.axhline(0, color="black", linestyle=":", label="L3")
  accuracy = "accuracy less that of L3, points"
  show.style(left, legend=8, xlabel="quality", ylabel=accuracy)
  names = [*(f"{format} {_PAPER_QUALITY}" for format in _LOSSY), _LOSSLESS]
  # As in the paper, relative to JPEG.
  series = {
    label: [rate(found, name) / rate(found, names[0]) for name in names]
    for label, rate in {
      "training": _training_rate,
      "preparing alone": _preparing_rate,
    }.items()
  }
  to_jpeg, to_webp = (mean for mean, _ in _PAPER_TIMES.values())
  series["paper, geometric mean"] = [1, to_jpeg / to_webp, to_jpeg]
  show.bars(right, [*_LOSSY.values(), "L3"], series)
  show.style(right, "y", 8, ylabel="images/s, relative to JPEG")
