"""`tools.bench formats`: its rows, section and flags."""

import json
import pathlib
from unittest import mock

import benches
from absl.testing import absltest

from liquid_tf._measure import fresh, throttle
from tools.bench import formats

_FORMATS = ("png", "l3-compact")
_ADVISED = {"l3-compact": 0.25, "png": 0.75}


def _measured(rate: float) -> dict[str, float]:
  return {"images_per_s": rate, "disk_bytes_per_s": 1e6 * rate, "busy": 0.5}


def _row(name: str, weights: dict[str, float], rates: list[float]) -> dict:
  middle = sorted(rates)[len(rates) // 2]
  rounds = [_measured(rate) for rate in rates]
  return {
    "name": name,
    "mix": weights,
    "image_bytes": 2e5,
    **_measured(middle),
    "rounds": rounds,
  }


def _cell(rate: int, advised: dict[str, float]) -> dict:
  rows = [
    _row("png", {"png": 1}, [100.0, 90.0, 110.0]),
    _row("l3-compact", {"l3-compact": 1}, [200.0, 200.0, 200.0]),
  ]
  if len(advised) > 1:
    rows.append(_row("l3-compact:25,png:75", advised, [250.0, 249.0, 260.0]))
  return {"rate": rate, "advised": advised, "verdict": "", "rows": rows}


def _made_up(*cells: dict) -> dict:
  return {
    "images": 8,
    "side": 64,
    "epoch_images": 16,
    "batch_size": 4,
    "threads": 2,
    "rounds": 3,
    "cells": list(cells),
    "skipped": None,
    "evidence": {
      "command": "python -m tools.bench formats",
      "cpu": "a processor",
      "cpus": 2,
      "load_before": 0.1,
      "memory_bytes": 1 << 30,
      "disk": None,
      "versions": {"python": "3"},
      "revision": "abc",
    },
  }


class BenchFormatsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _fresh(self, request: dict, environment: None) -> dict:
    """Measures in this process; the advice, which may find it too noisy, is given."""
    arguments = dict(request)
    if arguments.pop("function") == "tools.bench.formats:measure":
      return formats.measure(**arguments)
    self.assertEqual(arguments["formats"], list(_FORMATS))
    self.assertTrue((pathlib.Path(arguments["source"]) / "00000.png").exists())
    return {"mix": _ADVISED, "verdict": "a sentence"}

  def test_measures_every_format_and_the_advised_mix(self):
    with mock.patch.object(fresh, "run", self._fresh):
      result = formats.bench(
        self.root,
        images=12,
        side=64,
        epoch_images=20,
        formats=_FORMATS,
        rates=[0, 500_000_000],
        batch_size=4,
        threads=2,
        seconds=0.1,
        rounds=2,
      )
    throttled = throttle.why_not() is None
    rates = [cell["rate"] for cell in result["cells"]]
    self.assertEqual(rates, [0, 500_000_000][: 1 + throttled])
    self.assertEqual(result["skipped"], throttle.why_not())
    self.assertEqual(result["epoch_images"], 24)
    png, compact = (result["image_bytes"][name] for name in _FORMATS)
    self.assertLess(compact, png)
    for cell in result["cells"]:
      self.assertEqual(
        [row["mix"] for row in cell["rows"]], [{"png": 1}, {"l3-compact": 1}, _ADVISED]
      )
      self.assertAlmostEqual(
        cell["rows"][2]["image_bytes"], 0.75 * png + 0.25 * compact
      )
      for row in cell["rows"]:
        self.assertLen(row["rounds"], 2)
        self.assertGreater(row["images_per_s"], 0)
    self.assertIn("whole disk", formats.text(result))

  def test_the_advice_is_of_the_throttled_disk(self):
    held = []

    def profile(source, names, **options):
      held.append((source, names, options["cache"], options["threads"]))
      return mock.Mock(mix=_ADVISED, verdict="a sentence")

    with (
      mock.patch.object(formats, "profile", profile),
      mock.patch.object(formats.machine.throttle, "Throttle") as throttled,
    ):
      throttled.return_value.__enter__ = lambda group: held.append("throttled")
      throttled.return_value.__exit__ = lambda *error: None
      found = formats.advise(
        "photos",
        "disk",
        formats=_FORMATS,
        batch_size=4,
        threads=2,
        read_bytes_per_s=100,
        seconds=1.0,
      )
    throttled.assert_called_once_with("disk", 100)
    self.assertEqual(held, ["throttled", ("photos", _FORMATS, 0, 2)])
    self.assertEqual(found, {"mix": _ADVISED, "verdict": "a sentence"})

  def test_section(self):
    result = _made_up(
      _cell(300_000_000, {"l3-compact": 1.0}), _cell(100_000_000, _ADVISED)
    )
    text = formats.section(result).body
    self.assertIn("| 100 MB/s | png | 200 | 100 (90 to 110) | 0.50 | 100 | 50% |", text)
    self.assertIn("| l3-compact:25,png:75 (advised) | 200 | 250 (249 to 260) |", text)
    self.assertIn("| 300 MB/s | l3-compact (advised) | 200 |", text)
    self.assertIn("| 100 MB/s | l3-compact | 200 |", text)
    self.assertLess(text.index("| 100 MB/s"), text.index("| 300 MB/s"))
    self.assertEqual(json.loads(json.dumps(result)), result)

  def test_wrong_flags(self):
    for arguments, message in (
      (["--rates=-1"], "--rates (-1) must be numbers from 0"),
      (["--formats=png,gif"], 'format ("gif") must be one of'),
      (["--formats=png,pcr"], "pcr is not compared here"),
    ):
      done = benches.run("formats", *arguments)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(message, done.stderr)


if __name__ == "__main__":
  absltest.main()
