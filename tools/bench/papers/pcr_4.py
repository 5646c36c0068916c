"""PCR, figures 4 and 6: accuracy against time, by scan group, of two networks."""

import functools
import os
import pathlib
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from PIL import Image

from liquid_tf._store import manifest as manifests
from tools.bench import codec_sets, page
from tools.bench.papers import show
from tools.bench.papers.figure import Part, Setting, apart

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
_QUALITY = 90
_NETWORKS = {
  "resnet18": "ResNet-18 with 16 filters in its first stage and not 64",
  "shufflenet_v2": (
    "ShuffleNetV2 x0.5 with 256 filters in its last convolution and not 1,024"
  ),
}


def parts(setting: Setting, network: str) -> Mapping[str, Part]:
  return {
    f"seed {seed}": functools.partial(_measure, network, setting, seed)
    for seed in setting.few(_SEEDS)
  }


def _measure(network: str, setting: Setting, seed: int) -> dict[str, Any]:
  from liquid_tf._convert.convert import convert

  places = crops(
    setting.folder,
    [pixels for images in setting.sets for pixels in codec_sets.load(images)],
    each=_QUICK_EACH if setting.quick else _EACH,
    side=_SIDE,
  )
  paths = []
  for place, name in zip(places, ("pcr", "raw")):
    path = place.with_suffix(f".{name}.liquid")
    if not (path / manifests.MANIFEST).exists():
      convert(place, path, {name: 1}, existing="resume", progress=False)
    paths.append(os.fspath(path))
  manifest, tests = map(manifests.load, paths)
  rate = _QUICK_RATE if setting.quick else _RATE
  found = apart(
    "contests:scan_groups",
    path=paths[0],
    test=paths[1],
    network=network,
    groups=_GROUPS,
    epochs=_QUICK_EPOCHS if setting.quick else _EPOCHS,
    seed=seed,
    read_bytes_per_s=rate or None,
  )
  return {
    **found,
    "images": manifest["samples"],
    "classes": len(manifest.classes),
    "test_images": tests["samples"],
    "rate": rate,
    "mssim": [entry["mssim"] for entry in manifest["pcr"]["fidelity"]],
  }


def crops(
  folder: pathlib.Path, photographs: Iterable[np.ndarray], *, each: int, side: int
) -> tuple[pathlib.Path, pathlib.Path]:
  """Cuts photographs into JPEG files whose class is the photograph.

  The left half of each gives images to train on, the right half those to test with, so
  that no pixel is in both.

  Args:
    folder: gets `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, unless they are there.
    photographs: [height, width, 3] uint8 each. Those that are too small for two halves
      of a file's size are left out.
    each: files of each, a third of them in `test`.
    side: of the files, in pixels.

  Returns:
    The two folders.
  """
  places = (folder / "train", folder / "test")
  tests = each // 3
  large = [p for p in photographs if min(p.shape[0], p.shape[1] // 2) >= side]
  for number, pixels in enumerate(large):
    width = pixels.shape[1]
    random = np.random.default_rng(number)
    halves = (pixels[:, : width // 2], pixels[:, width // 2 :])
    for place, half, count in zip(places, halves, (each - tests, tests)):
      target = place / f"{number:03}"
      target.mkdir(parents=True, exist_ok=True)
      for i in range(count):
        y = random.integers(0, half.shape[0] - side + 1)
        x = random.integers(0, half.shape[1] - side + 1)
        path = target / f"{i:03}.jpg"
        if not path.exists():
          crop = Image.fromarray(half[y : y + side, x : x + side])
          temporary = path.with_suffix(".tmp")
          crop.save(temporary, format="jpeg", quality=_QUALITY)
          temporary.rename(path)
  return places


def _values(found: Mapping[str, Any], group: int, key: str) -> list[list[float]]:
  """By seed, a number of each epoch of a scan group."""
  runs = (result["groups"][f"{group}"] for result in found.values())
  return [[epoch[key] for epoch in run] for run in runs]


def median(found: Mapping[str, Any], group: int, key: str = "seconds") -> float:
  """A number of the median epoch of a scan group, over all seeds."""
  return statistics.median(sum(_values(found, group, key), []))


def _final(found: Mapping[str, Any], group: int) -> list[float]:
  return [run[-1] for run in _values(found, group, "accuracy")]


def difference(found: Mapping[str, Any], group: int) -> tuple[float, float]:
  """Final accuracy of a scan group less that of full fidelity, with its interval."""
  return show.difference(_final(found, group), _final(found, _FULL))


def _percent(values: tuple[float, float]) -> str:
  mean, half = values
  return f"{mean:.1%}{show.plus_minus(half, '.1%')}".replace("%", " %")


def table(found: Mapping[str, Any]) -> str:
  full = median(found, _FULL)
  mssim = next(iter(found.values()))["mssim"]
  cells = [
    ("scan group", lambda group: group),
    ("MSSIM", lambda group: f"{mssim[group - 1]:.3f}"),
    ("MB an epoch", lambda group: f"{median(found, group, 'disk_bytes') / 1e6:.2f}"),
    (
      "seconds an epoch",
      lambda group: page.span(sum(_values(found, group, "seconds"), []), ".2f"),
    ),
    ("times group 10's", lambda group: f"{full / median(found, group):.2f}"),
    ("test accuracy", lambda group: _percent(show.interval(_final(found, group)))),
    (
      "less group 10's",
      lambda group: "" if group == _FULL else _percent(difference(found, group)),
    ),
  ]
  return page.columns(_GROUPS, cells)


def words(found: Mapping[str, Any], network: str) -> dict[str, Any]:
  first = next(iter(found.values()))
  mean, half = difference(found, _HALF)
  sign = "plus" if mean >= 0 else "less"
  return {
    "network": _NETWORKS[network],
    "epochs": len(first["groups"][f"{_FULL}"]),
    "side": _SIDE,
    "disk": f"{first['rate'] / 1e6:g} MB/s" if first["rate"] else "all it gives",
    "half": _HALF,
    "ratio": median(found, _FULL) / median(found, _HALF),
    "accuracy": f"{sign} {_percent((abs(mean), half))}",
    "seeds": len(found),
    "beside_reads": _beside_reads(found),
  }


def _beside_reads(found: Mapping[str, Any]) -> str:
  """What an epoch takes beside its reads, where a disk was held to a rate."""
  rate = next(iter(found.values()))["rate"]
  if not rate:
    return ""
  rest = (
    median(found, group) - median(found, group, "disk_bytes") / rate
    for group in _GROUPS
  )
  return (
    "Groups 1 and 2 gain less than their bytes: beside its reads, at the rate that the "
    f"disk is held to, an epoch takes {', '.join(f'{one:.1f}' for one in rest)} s "
    "(groups 1, 2, 5, 10). "
  )


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  axes = canvas.subplots()
  for group in _GROUPS:
    spent = np.cumsum(_values(found, group, "seconds"), axis=1)
    times = spent.mean(axis=0) / median(found, _FULL)
    accuracies = zip(*_values(found, group, "accuracy"))
    means, halves = np.transpose([show.interval(each) for each in accuracies])
    halves[np.isinf(halves)] = 0
    [line] = axes.plot(times, means, marker=".", label=f"group {group}")
    low, high = means - halves, means + halves
    axes.fill_between(times, low, high, color=line.get_color(), alpha=0.15)
  accuracy = "test accuracy, with the 95 % interval"
  show.style(
    axes, legend=10, xlabel="time, in epochs of full fidelity", ylabel=accuracy
  )
