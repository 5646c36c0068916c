"""Loaders under one memory limit, and the figure that is made of them."""

import json
import pathlib
import subprocess
import sys

from absl.testing import absltest

from liquid_tf._measure import throttle
from tools.bench import preparation
from tools.bench.papers import figure

_FILES = 48
_FILE_BYTES = 1 << 20
# Reads all files twice, once the limit follows it closely; says what the disk gave.
_READ_TWICE = """
import json, sys, time
def disk_bytes():
  fields = dict(line.split(": ") for line in open("/proc/self/io"))
  return int(fields["read_bytes"])
time.sleep(2)
found = []
for _ in range(2):
  before = disk_bytes()
  for path in sys.argv[1:]:
    with open(path, "rb") as file:
      file.read()
  found.append(disk_bytes() - before)
print(json.dumps(found))
"""


def _side(median: float) -> dict[str, float]:
  return {"median": median, "min": median - 1, "max": median + 1, "cpu": median}


def _cell(advised: dict[str, float], **sides: float) -> dict[str, object]:
  return {
    "cache_bytes": 1000,
    "file_bytes": 5000.0,
    "advised": advised,
    "advised_without_l3": {"png": 0.4, "raw": 0.6},
    "sides": {name.replace("_", " "): _side(rate) for name, rate in sides.items()},
    "dali": {"versions": {"nvidia-dali": "9"}, "settings": "as advised"},
  }


class LimitTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    if problem := preparation.why_not():
      self.skipTest(problem)

  def _read_twice(self, cache_bytes: int) -> list[int]:
    folder = pathlib.Path(self.create_tempdir().full_path)
    paths = [folder / f"{i}" for i in range(_FILES)]
    for path in paths:
      path.write_bytes(bytes(_FILE_BYTES))

    def run() -> list[int]:
      words = [sys.executable, "-c", _READ_TWICE, *map(str, paths)]
      return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)

    return preparation.theirs(run, folder, cache_bytes, None)

  def test_the_page_cache_keeps_what_it_may(self):
    total = _FILES * _FILE_BYTES
    first, second = self._read_twice(4 * total)
    if not first:
      self.skipTest("these files are in memory")
    self.assertGreaterEqual(first, total)
    # No file, though a page of Python's own may come from the disk.
    self.assertLess(second, _FILE_BYTES)
    first, second = self._read_twice(0)
    self.assertGreaterEqual(first, total)
    # All but the little that is left to spare; files that were read first went first.
    self.assertGreater(second, total // 2)


class OursTest(absltest.TestCase):
  def test_cached_bytes_are_not_read_again(self):
    root = self.create_tempdir().full_path
    files, dataset = preparation.make(
      root, "png", images=24, side=64, threads=1, data=None
    )
    self.assertLen({file.stat().st_ino for file in files}, 24)
    stored = sum(file.stat().st_size for file in files)
    for policy in ("liquid", "minio"):
      found = preparation.ours(
        str(dataset),
        {"png": 1},
        policy=policy,
        cache_bytes=2 * stored,
        batch_size=8,
        threads=1,
        epochs=2,
        read_bytes_per_s=None,
      )
      images = [epoch["images"] for epoch in found["epochs"]]
      self.assertEqual(images, [24, 24])
      self.assertEqual(found["epochs"][1]["disk_bytes"], 0)


class FigureTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.figure = figure.FIGURES["liquid-6-png"]
    sides = {"png": 50.0, "l3": 100.0, "raw": 40.0, "mix_without_l3": 90.0}
    peers = {"minio": 45.0, "tf.data": 25.0, "dali": 20.0}
    parts = {
      "png, 100 MB/s": _cell({"l3": 1.0}, **sides, **peers),
      "png, 300 MB/s": _cell({"l3": 0.5, "png": 0.5}, mix=110.0, **sides, **peers),
    }
    self.evidence = {
      "settings": {"sets": {}, "quick": True},
      "parts": {name: {"result": result} for name, result in parts.items()},
    }

  def test_the_table_has_every_ratio(self):
    lines = self.figure.table(self.evidence).splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    # A single format was advised, so that its row is the advice.
    advice = ["**advised: l3 100%**", "100", "", "4.00", "5.00", "1.00"]
    self.assertEqual(rows[0], ["png, 100 MB/s", *advice])
    without = [
      "best mix without L3: png 40%, raw 60%",
      "90",
      "",
      "3.60",
      "4.50",
      "0.90",
    ]
    self.assertEqual(rows[1], ["", *without])
    self.assertIn(["", "l3 alone, the best", "100", "99 to 101", *advice[3:]], rows)
    mix = ["**advised: l3 50%, png 50%**", "110", "", "4.40", "5.50", "1.10"]
    self.assertIn(["png, 300 MB/s", *mix], rows)

  def test_the_sentence_has_the_ratios_of_the_advice(self):
    said = self.figure.said(self.evidence).why
    wanted = "png, 300 MB/s: 4.40 times tf.data and 5.50 times DALI, 1.10 of l3 alone"
    self.assertIn(wanted, said)

  def test_what_cannot_be_held_back_is_said(self):
    with absltest.mock.patch.object(throttle, "why_not", lambda: "no cgroup"):
      self.assertEqual(self.figure.why_not(), "no cgroup")


if __name__ == "__main__":
  absltest.main()
