"""Training on lossy formats: its frames, its training and its numbers."""

import json
import math
import os
import pathlib

import benches
import numpy as np
import tensorflow as tf
from absl.testing import absltest
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from tools.bench import codec_sets
from tools.bench.papers import (
  contests,
  figure,
  l3_9,
  networks,
  runner,
)

_FIGURE = figure.FIGURES["l3-9"]


def _frames(folder: pathlib.Path, count: int) -> None:
  """Frames like CamVid's: two classes, and at the bottom pixels without a label."""
  (folder / "train").mkdir(parents=True)
  (folder / "trainannot").mkdir()
  random = np.random.default_rng(0)
  for i in range(count):
    pixels = random.integers(0, 90, (64, 96, 3), np.uint8)
    mask = np.zeros((64, 96), np.uint8)
    mask[:, 30 + 5 * i :] = 3
    pixels[mask == 3] += 120
    mask[-4:] = contests.CLASSES
    Image.fromarray(pixels).save(folder / "train" / f"{i}.png")
    Image.fromarray(mask).save(folder / "trainannot" / f"{i}.png")


class FramesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    _frames(self.root, 6)
    self.paths = [os.fspath(self.root / "train" / f"{i}.png") for i in range(6)]

  def test_masks_lie_beside_the_images(self):
    pairs = l3_9.frames(self.paths)
    self.assertEqual([image for image, _ in pairs], self.paths)
    self.assertEqual(pairs[2][1], os.fspath(self.root / "trainannot" / "2.png"))
    (self.root / "trainannot" / "2.png").unlink()
    self.assertEqual(l3_9.frames(self.paths), [])

  def test_every_frame_tests_once(self):
    pairs = l3_9.frames(self.paths)
    tested = []
    for fold in range(3):
      images, masks = l3_9.lay_out(pairs, fold, 3, self.root / f"{fold}")
      names = {split: os.listdir(images / split) for split in ("train", "test")}
      self.assertEqual([len(names["train"]), len(names["test"])], [4, 2])
      self.assertCountEqual(os.listdir(masks / "test"), names["test"])
      tested += names["test"]
    self.assertLen(set(tested), 6)

  def test_images_without_masks_are_left_out(self):
    sets = (codec_sets.ImageSet("masks", "photographs", tuple(self.paths[:2])),)
    said = []
    setting = figure.Setting(sets, True, self.root / "work", said.append)
    self.assertIsNone(runner.run(_FIGURE, setting, self.root / "evidence"))
    self.assertIn("l3-9 is left out: --data names no folder", said[0])
    self.assertFalse((self.root / "evidence").exists())


class TrainTest(tf.test.TestCase):
  def test_equal_pixels_train_to_equal_numbers(self):
    tf.config.experimental.enable_op_determinism()
    root = pathlib.Path(self.create_tempdir())
    _frames(root, 6)
    pairs = l3_9.frames([os.fspath(root / "train" / f"{i}.png") for i in range(6)])
    images, masks = l3_9.lay_out(pairs, 0, 3, root / "fold")
    paths = {}
    for name, format, encoders in (
      ("l3", "l3", {}),
      ("png", "png", {}),
      ("jpeg", "jpeg", {"jpeg": {"quality": 5}}),
    ):
      paths[name] = os.fspath(root / name)
      source = Source(images, masks=masks)
      convert(source, paths[name], format, encoders=encoders, progress=False)
    found = contests.segmentation(
      paths, crop=[48, 64], batch_size=2, epochs=2, turns=3, seed=1
    )
    self.assertEqual(found["l3"]["loss"], found["png"]["loss"])
    self.assertEqual(found["l3"]["iou"], found["png"]["iou"])
    self.assertNotEqual(found["l3"]["loss"], found["jpeg"]["loss"])
    # It learns, from one turn to the next.
    self.assertLess(found["l3"]["loss"][2], 0.8 * found["l3"]["loss"][0])
    self.assertLen(found["l3"]["iou"], contests.CLASSES)
    for entry in found.values():
      self.assertLen(entry["images_per_s"], 3)
      self.assertGreater(min(entry["images_per_s"]), 0)


class ScoresTest(absltest.TestCase):
  def test_intersection_over_union(self):
    labels = np.array([[0, 0, 0, 1], [1, 5, 11, 11]])
    found = np.array([[0, 0, 1, 1], [1, 1, 0, 5]])
    counts = contests.confusion(labels, found)
    self.assertEqual(counts.sum(), 6)
    ious = contests.over_union(counts)
    self.assertEqual(ious[0], 2 / 3)
    self.assertEqual(ious[1], 2 / 4)
    self.assertEqual(ious[5], 0)
    self.assertIsNone(ious[2])
    self.assertAlmostEqual(l3_9.miou(ious), (2 / 3 + 1 / 2) / 3)
    always = contests.over_union(contests.constant(counts))
    self.assertEqual(always[:2], [3 / 6, 0])
    self.assertEqual(always[5], 0)
    self.assertAlmostEqual(l3_9.miou(always), 1 / 6)

  def test_the_network_gives_a_logit_a_pixel(self):
    model = networks.deeplab(5)
    self.assertEqual(model(np.zeros((2, 40, 64, 3), np.float32)).shape, (2, 40, 64, 5))


_NAMES = ("l3", "jpeg 10", "jpeg 75", "jpeg 95", "webp-lossy 10", "webp-lossy 75")


def _evidence(accuracies: dict[str, tuple[float, ...]]) -> dict[str, object]:
  """By name the accuracy of each seed; others have those of L3."""
  parts = {}
  for seed, _ in enumerate(accuracies["l3"]):
    trained = {
      name: {
        "images_per_s": [10.0 if name == "l3" else 8.0],
        "iou": [accuracies.get(name, accuracies["l3"])[seed], None],
        "constant_iou": [0.06, 0.0, None],
      }
      for name in _NAMES
    }
    parts[f"seed {seed}"] = {
      "result": {
        "set": "driving", "images": 20, "test_images": 10, "crop": [240, 320],
        "batch_size": 4, "epochs": 4, "turns": 6, "trained": trained,
        "image_bytes": dict.fromkeys(_NAMES, 2000.0),
      }
    }  # fmt: skip
  cells = {name: {"images_per_s": [len(name) * 10.0]} for name in _NAMES}
  parts["preparing"] = {"result": {"cells": cells}}
  return {"parts": parts, "settings": {"quick": False, "sets": {"driving": 30}}}


class NumbersTest(absltest.TestCase):
  def test_differences_have_their_intervals(self):
    evidence = _evidence(
      {
        "l3": (0.50, 0.52, 0.54),
        "jpeg 10": (0.40, 0.42, 0.44),
        "jpeg 75": (0.47, 0.52, 0.57),
      }
    )
    found = figure.results(evidence)
    mean, half = l3_9.difference(found, "jpeg 75")
    self.assertAlmostEqual(mean, 0)
    self.assertAlmostEqual(half, 4.303 * 0.03 / math.sqrt(3), places=3)
    table = _FIGURE.table(evidence)
    self.assertIn(
      "| jpeg 75 | 2 | 52.0 ± 12.4 | +0.0 ± 7.4 | +0.0 | −3.6 to +0.0 |", table
    )
    self.assertIn("| jpeg 10 | 2 | 42.0 ± 5.0 | −10.0 ± 0.0 |  |  |", table)
    # The lowest quality is ten points off, the next is not, but nobody can tell.
    self.assertEqual(l3_9.least_quality(found, "jpeg"), 75)
    self.assertIn("| 75 by the mean; the interval does not tell |", table)
    self.assertEqual(l3_9.least_quality(found, "webp-lossy"), 10)
    about = _FIGURE.said(evidence).here
    self.assertIn("always answering with the largest class has 3.0 %", about)
    why = _FIGURE.said(evidence).why
    self.assertIn("intervals of ± 0.0 to 7.4 points", why)
    self.assertIn("Intervals that exclude 0: jpeg 10.", why)

  def test_speeds_are_put_over_those_of_the_default_quality(self):
    evidence = _evidence({"l3": (0.5, 0.5, 0.5)})
    found = figure.results(evidence)
    self.assertAlmostEqual(l3_9.times(found, "jpeg", preparing=False), 1.25)
    self.assertAlmostEqual(l3_9.times(found, "jpeg", preparing=True), 2 / 7)
    table = _FIGURE.table(evidence)
    self.assertIn("| L3 over JPEG, training | 1.25 (up to 1.77) | 1.25 |", table)
    self.assertIn("Intervals that exclude 0: none.", _FIGURE.said(evidence).why)

  def test_one_seed_says_nothing(self):
    evidence = _evidence({"l3": (0.5,)})
    self.assertIn("one seed has no interval", _FIGURE.said(evidence).why)
    self.assertIn("| jpeg 75 | 2 | 50.0 | +0.0 |", _FIGURE.table(evidence))


class CommandTest(absltest.TestCase):
  def test_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _frames(root / "camvid", 6)
    done = benches.papers(root, "l3-9", f"--data=driving={root}/camvid/train")
    self.assertEqual(done.returncode, 0, done.stderr)
    found = figure.results(json.loads(done.stdout)["l3-9"])
    self.assertEqual(list(found), ["seed 0", "preparing"])
    seed = found["seed 0"]
    self.assertEqual((seed["images"], seed["test_images"]), (4, 2))
    names = ["l3", "jpeg 10", "jpeg 75", "webp-lossy 10", "webp-lossy 75"]
    self.assertEqual(list(seed["trained"]), names)
    self.assertLess(seed["image_bytes"]["jpeg 10"], seed["image_bytes"]["jpeg 75"])
    self.assertEqual(list(found["preparing"]["cells"]), names)
    page = (root / "papers.md").read_text()
    self.assertIn("| L3 over lossy WebP, training | 1.93 (up to 2.87) | ", page)
    self.assertTrue((root / "papers" / "l3-9.png").exists())


if __name__ == "__main__":
  absltest.main()
