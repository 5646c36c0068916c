"""The bench tool: its JSON, its limits, and the comparison with stock tf.data."""

import json
import os
import pathlib
import sys
import time
import unittest
from unittest import mock

import benches
import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._measure import epochs, evidence, stock
from liquid_tf.cli import wheel_images
from tools.bench import crops, machine, photographs

_DALI = os.environ.get("LIQUID_DALI_PYTHON")


class BenchCompareTest(absltest.TestCase):
  def test_wrong_flags_end_with_2(self):
    for arguments, message in (
      (["everything"], "python -m tools.bench compare"),
      (["compar"], "did you mean `python -m tools.bench compare`?"),
      (["compare", "--formats=bmp"], 'formats ("bmp") must be of png, raw, jpeg'),
      (["efficiency", "--mixes=2"], "--mixes (2) must be numbers from 0 to 1"),
      (["efficiency", "--rates="], "--rates () must be numbers"),
      (["disk"], "--dataset must be given"),
      (["disk", "--dataset=x", "--block=5000"], "block (5000) must be a multiple"),
    ):
      with self.subTest(message):
        done = benches.run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

  def test_compares_with_stock(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    done = benches.run(
      "compare",
      "--images=6",
      "--side=64",
      "--batch_size=4",
      "--epochs=2",
      "--rounds=1",
      f"--workdir={root}",
      f"--report={root}/page.md",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(
      [(pair["format"], pair["peer"]) for pair in result["pairs"]],
      [("png", "stock"), ("raw", "stock"), ("jpeg", "stock")],
    )
    for pair in result["pairs"]:
      ours, theirs = pair["ours"], pair["theirs"]
      for key, of in (("ratio", "median"), ("ratio_best", "max"), ("ratio_cpu", "cpu")):
        self.assertAlmostEqual(pair[key], ours[of] / theirs[of])
      self.assertEqual(pair["reached"], pair["ratio"] >= pair["wanted"])
      # The processors that others kept busy are a figure of the run, not a guess.
      self.assertBetween(result["others"][pair["format"]], 0, os.cpu_count())
    self.assertEqual(result["left_out"], ["dali", "ffcv"])
    made = root / "6x64"
    for extension in ("raw", "jpeg", "png"):
      self.assertLen(list((made / extension).glob(f"*.{extension}")), 6)
    self.assertEqual((made / "raw" / "00000.raw").stat().st_size, 64 * 64 * 3)
    # Peers whose interpreter is not there leave no files behind either.
    self.assertFalse((made / "npy").exists())
    page = (root / "page.md").read_text()
    self.assertIn("| raw |", page)
    self.assertIn("--images=6", page)
    self.assertIn("*ffcv* was left out", page)

  def test_runs_a_peer_in_its_own_python(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    answer = {
      "epochs": [
        {"images": 8, "seconds": 8 / rate, "cpu_seconds": 2.0}
        for rate in (1.0, 2.0, 4.0, 5.0)
      ],
      "versions": {"nvidia-dali": "0"},
      "settings": "as told",
    }
    python = root / "python"
    python.write_text(f"#!/bin/sh\ncat > {root}/request\necho '{json.dumps(answer)}'\n")
    python.chmod(0o755)
    done = benches.run(
      "compare",
      "--formats=jpeg",
      "--images=5",
      "--side=32",
      "--batch_size=2",
      "--threads=2",
      "--epochs=2",
      "--rounds=1",
      f"--workdir={root}",
      f"--dali_python={python}",
      f"--report={root}/page.md",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual([pair["peer"] for pair in result["pairs"]], ["stock", "dali"])
    self.assertEqual(result["left_out"], ["ffcv"])
    theirs = {"median": 4.0, "min": 2.0, "max": 5.0, "cpu": 4.0}
    self.assertEqual(result["pairs"][1]["theirs"], theirs)
    self.assertIn("* *nvidia-dali 0*: `as told`.", (root / "page.md").read_text())
    request = json.loads((root / "request").read_text())
    self.assertLen(request.pop("files"), 5)
    common = {"batch_size": 2, "threads": 2, "epochs": 2}
    self.assertEqual(request, {**common, "extension": "jpeg"})

  @unittest.skipUnless(_DALI, "LIQUID_DALI_PYTHON names no Python with NVIDIA DALI")
  def test_dali_reads_files_of_pixels(self):
    done = benches.run(
      "compare",
      "--formats=raw",
      "--images=5",
      "--side=32",
      "--batch_size=2",
      "--epochs=2",
      "--rounds=1",
      f"--dali_python={_DALI}",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual([pair["peer"] for pair in result["pairs"]], ["stock", "dali"])
    (settings,) = result["peers"]["dali"]["settings"]
    self.assertStartsWith(settings, "readers.numpy(")

  def test_says_what_a_peer_lacks(self):
    done = benches.run(
      "compare",
      "--formats=jpeg",
      "--images=2",
      "--side=16",
      "--epochs=2",
      "--rounds=1",
      f"--dali_python={sys.executable}",
    )
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("No module named", done.stderr)
    self.assertNotIn("Traceback", done.stderr)


class BenchPartsTest(parameterized.TestCase):
  def test_ranges_leave_out_the_first_epoch_and_short_batches(self):
    def batch(epoch, full, png, raw):
      return {
        "epoch": epoch,
        "full": full,
        "samples": {"png": png, "raw": raw},
        "hits": {"png": png - 1, "raw": 0},
        "loads": {"png": 1, "raw": raw},
      }

    found = epochs.batch_ranges(
      [
        batch(4, True, 1, 9),
        batch(5, True, 6, 4),
        batch(5, False, 2, 2),
        batch(6, True, 7, 3),
      ]
    )
    self.assertEqual(
      found["composition"],
      {"png": {"min": 6, "max": 7}, "raw": {"min": 3, "max": 4}},
    )
    self.assertEqual(found["hits"], {"min": 5, "max": 6})
    self.assertEqual(found["loads"], {"min": 4, "max": 5})
    self.assertEqual(epochs.batch_ranges([batch(4, True, 1, 9)]), {})
    self.assertEqual(epochs.batch_ranges([]), {})

  @parameterized.parameters(3, 5, 40)
  def test_large_crops_continue_by_mirroring(self, side):
    rows = np.arange(5, dtype=np.uint8)
    photograph = np.stack(np.broadcast_arrays(rows[:, None], rows[None, :], 7), -1)
    for window in crops.large_crops([photograph.astype(np.uint8)], 20, side):
      self.assertEqual(window.shape, (side, side, 3))
      for axis in (0, 1):
        steps = np.diff(window[..., axis].astype(int), axis=axis)
        self.assertLessEqual(np.abs(steps).max(), 1)
      if side >= 10:
        self.assertEqual(set(window[..., 0].ravel()), set(range(5)))

  def test_crops_follow_the_seed(self):
    photographs = [wheel_images.wheel_photographs()["coffee"]]
    first, again, other = (
      list(crops.large_crops(photographs, 2, 32, seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    self.assertFalse(np.array_equal(first, other))

  @parameterized.parameters("raw", "png")
  def test_the_stock_peer_gives_the_pixels(self, extension):
    folder = pathlib.Path(self.create_tempdir().full_path)
    made = photographs.make(folder, 3, 8, None, 1, [extension, "npy"])
    names = [os.fspath(file) for file in made[extension]]
    dataset = stock.stock_dataset(names, extension, 4, [8, 8, 3], threads=1)
    (batch,) = dataset.as_numpy_iterator()
    self.assertEqual(
      sorted(image.tobytes() for image in batch),
      sorted(np.load(file).tobytes() for file in made["npy"]),
    )

  def test_others_are_neither_this_process_nor_its_children(self):
    # In hundredths of a second, as the kernel gives them; waiting is not being busy.
    stat = "cpu  {} 200 300 99999 99999 0 100 0 0 0\n"
    reads = [mock.mock_open(read_data=stat.format(user))() for user in (1000, 2000)]
    times = [(1.0, 1.0, 0.0, 0.0, 9.0), (2.0, 1.0, 2.0, 1.0, 14.0)]
    with (
      mock.patch.object(machine, "open", side_effect=reads, create=True),
      mock.patch.object(os, "times", side_effect=times),
      mock.patch.object(os, "sysconf", return_value=100),
      mock.patch.object(time, "monotonic", side_effect=[50.0, 55.0]),
    ):
      others = machine.Others()
      # Of 10 s that the machine worked for 5 s, 4 were ours.
      self.assertAlmostEqual(others.busy(), 6 / 5)

  def test_evidence(self):
    found = evidence.evidence(self.create_tempdir().full_path)
    self.assertIn("liquid_tf", found["versions"])
    self.assertGreaterEqual(found["cpus"], 1)
    self.assertIsNotNone(found["disk"])


if __name__ == "__main__":
  absltest.main()
