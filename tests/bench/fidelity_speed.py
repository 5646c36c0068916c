"""Images a second at each PCR scan group from a slow disk, beside the bytes it reads.

  python tests/bench/fidelity_speed.py --data=FOLDER [--rate=40e6] [--groups=5,10]

FOLDER holds a folder of JPEG files per class; each file is taken several times. Runs as
root: a blkio cgroup holds the disk to `rate` bytes a second. Nothing is cached and
nothing decoded. Where the disk is the limit, the speeds of two groups have the inverse
ratio of their bytes; the exit code is 1 where they are more than 10 % off.
"""

import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from absl import app, flags

import liquid_tf
from liquid_tf._measure import throttle
from liquid_tf._store import manifest
from liquid_tf.transforms import Channels

_DATA = flags.DEFINE_string("data", None, "folder of class folders", required=True)
_RATE = flags.DEFINE_float("rate", 40e6, "bytes a second of the disk", 1e6)
_GROUPS = flags.DEFINE_list("groups", ["5", "10"], "scan groups, the last for 100 %")
_COPIES = flags.DEFINE_integer("copies", 20, "of each file", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 3, "epochs of each group, by turns", 1)

_TOLERANCE = 0.1


def _copy_files(source: pathlib.Path, target: pathlib.Path) -> None:
  for path in sorted(source.glob("*/*")):
    folder = target / path.parent.name
    folder.mkdir(exist_ok=True)
    for number in range(_COPIES.value):
      shutil.copyfile(path, folder / f"{number:03d}-{path.name}")


def _rate_of(dataset) -> float:
  begin = time.perf_counter()
  images = sum(int(labels.shape[0]) for _, labels in dataset)
  return images / (time.perf_counter() - begin)


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument: {argv[1]}")
  groups = [int(group) for group in _GROUPS.value]
  with tempfile.TemporaryDirectory() as folder:
    files = pathlib.Path(folder, "files")
    files.mkdir()
    _copy_files(pathlib.Path(_DATA.value), files)
    path = str(pathlib.Path(folder, "speed.liquid"))
    liquid_tf.convert(files, path, "pcr:1", transforms=[Channels(3)])
    entries = manifest.load_pcr_index(manifest.load(path)).values()
    size = {g: sum(entry.prefix_bytes(g) for entry in entries) for g in groups}
    datasets = {
      g: liquid_tf.dataset(
        path, 32, cache=0, memory="512MiB", features=["bytes"], fidelity=g
      )
      for g in groups
    }
    rates = {g: [] for g in groups}
    with throttle.Throttle(path, int(_RATE.value)):
      for _ in range(_ROUNDS.value):
        for group, dataset in datasets.items():
          rates[group].append(_rate_of(dataset))
  full = groups[-1]
  off = 0.0
  print("| group | bytes an epoch | images/s (least to most) | to full | by bytes |")
  print("| ---: | ---: | ---: | ---: | ---: |")
  for group in groups:
    median = statistics.median(rates[group])
    speed = median / statistics.median(rates[full])
    expected = size[full] / size[group]
    off = max(off, abs(speed / expected - 1))
    print(
      f"| {group} | {size[group]:,} | {median:.0f} ({min(rates[group]):.0f} to "
      f"{max(rates[group]):.0f}) | {speed:.2f} | {expected:.2f} |"
    )
  if off > _TOLERANCE:
    sys.exit(f"the speeds are {off:.0%} off the ratio of the bytes")


if __name__ == "__main__":
  app.run(main)
