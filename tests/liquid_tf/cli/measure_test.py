"""`liquid-tf measure`: its JSON, its limits, and what is chosen."""

import json
import os
import pathlib
import sys
from unittest import mock

import commands
import numpy as np
import photos
from absl.testing import absltest

from liquid_tf._convert.convert import convert
from liquid_tf._measure import fresh
from liquid_tf.cli.demo import images


class MeasureTest(absltest.TestCase):
  @commands.measuring_in_children()
  def test_measures_a_dataset(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    images.make(root / "source", side=40, count=150)
    dataset = f"{root}/dataset"
    report = convert(root / "source", dataset, "png:6,raw:4", progress=False)
    stored = sum(entry["bytes"] for entry in report.formats.values())
    words = [
      "measure",
      f"--dataset={dataset}",
      "--batch_size=16",
      "--epochs=3",
      "--rounds=1",
      "--cache=30%",
      "--threads=2",
      "--cold",
      "--json",
    ]
    with mock.patch.object(sys, "argv", ["liquid-tf", *words]):
      done = commands.run(*words)
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertLen(result["epochs"], 3)
    for number, epoch in enumerate(result["epochs"]):
      self.assertEqual(epoch["images"], 150)
      self.assertAlmostEqual(epoch["images_per_s"], 150 / epoch["seconds"])
      self.assertEqual(epoch["hits"], 45)
      self.assertEqual(epoch["memory_hits"], 45 if number else 0)
      counts = {name: f["samples"] for name, f in epoch["by_format"].items()}
      self.assertEqual(counts, {"png": 90, "raw": 60})
      share = epoch["stats_disk_bytes"] / stored
      # Reads cover whole blocks of 4 KiB, more than these small records have.
      self.assertBetween(share, *((0.6, 0.99) if number else (0.99, 1.05)))
      self.assertIn("disk_bytes", epoch)
    batches = result["batches"]
    self.assertEqual(set(batches["composition"]), {"png", "raw"})
    for mean, found in (
      (9.6, batches["composition"]["png"]),
      (6.4, batches["composition"]["raw"]),
    ):
      self.assertEqual(found, {"min": int(mean), "max": int(mean) + 1})
    for key, mean in (("hits", 4.8), ("loads", 11.2)):
      self.assertLessEqual(batches[key]["min"], mean)
      self.assertGreaterEqual(batches[key]["max"], mean)
      self.assertLessEqual(batches[key]["max"] - batches[key]["min"], 2)
    rates = sorted(epoch["images_per_s"] for epoch in result["epochs"][1:])
    self.assertBetween(result["images_per_s"], *rates)
    limit = min(result["limits"]["load"], result["limits"]["decode"])
    self.assertAlmostEqual(result["efficiency"], result["images_per_s"] / limit)
    self.assertGreater(result["max_rss_bytes"], 50 << 20)
    self.assertEqual(result["evidence"]["versions"]["numpy"], np.__version__)
    command = result["evidence"]["command"]
    self.assertStartsWith(command, "liquid-tf measure ")
    self.assertIn("--cache=30%", command)
    self.assertIn("of the lower of load", done.stderr)
    self.assertIn("is the limit", result["verdict"])
    self.assertIn(result["verdict"], done.stderr)

  def test_measures_what_is_chosen_and_mixed(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    images.make(root / "source", side=8, count=80)
    for name in ("one", "two"):
      convert(root / "source", root / name, "raw", progress=False)
    first = sorted(os.listdir(root / "source"))[0]
    chosen = len(os.listdir(root / "source" / first))
    request = {
      "function": fresh.OURS,
      "path": f"{root}/one",
      "where": f'label == "{first}"',
      "mixed": {f"{root}/two": 0.25},
    }
    found = fresh.run(request | {"epochs": 2, "threads": 1, "batch_size": 10})
    # A fifth of an epoch is all that is chosen of the other one.
    images_of = [epoch["images"] for epoch in found["epochs"]]
    self.assertEqual(images_of, [5 * chosen, 5 * chosen])
    both = {"one/raw": {"min": 8, "max": 8}, "two/raw": {"min": 2, "max": 2}}
    self.assertEqual(found["batches"]["composition"], both)

  def test_wrong_flags_end_with_2(self):
    for arguments, message in (
      ([], "dataset"),
      (["--dataset=x", "--input=png"], "is a flag of"),
      (["--dataset=x", "--epochs=1"], "epochs"),
      (["--dataset=x", "--crop=3"], "HEIGHT,WIDTH"),
      (["--dataset=x", "--mixed=y"], "must be DATASET:WEIGHT"),
      (["--dataset=x", "y"], '"y" is no flag'),
    ):
      with self.subTest(message):
        done = commands.run("measure", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

  @commands.measuring_in_children()
  def test_unequal_images_need_a_flag(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    photos.class_folders(root / "source", per_class=1)
    convert(root / "source", root / "dataset", "raw", progress=False)
    done = commands.run("measure", f"--dataset={root}/dataset", "--nolimits")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("give --crop=HEIGHT,WIDTH or --image_size=", done.stderr)

  @commands.measuring_in_children()
  def test_no_dataset_ends_with_1(self):
    done = commands.run("measure", f"--dataset={self.create_tempdir().full_path}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("is not a Liquid dataset", done.stderr)
    self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
  absltest.main()
