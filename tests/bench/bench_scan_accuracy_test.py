"""Accuracy against time by scan group: its images, its training and its numbers."""

import math
import pathlib
import time

import numpy as np
import tensorflow as tf
from absl.testing import absltest
from PIL import Image

from liquid_tf._convert.convert import convert
from tools.bench.papers import contests, figure, networks, pcr_4, show


class CropsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _photograph(self, width: int, height: int) -> np.ndarray:
    # Dark to the left, bright to the right.
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, width // 2 :] = 255
    return pixels

  def test_no_pixel_is_trained_on_and_tested_with(self):
    photograph = self._photograph(64, 40)
    places = pcr_4.crops(self.root / "cut", [photograph], each=6, side=32)
    means = []
    for place, count in zip(places, (4, 2)):
      images = [np.asarray(Image.open(path)) for path in place.glob("*/*.jpg")]
      self.assertLen(images, count)
      means += [image.mean() for image in images]
      self.assertEqual({image.shape for image in images}, {(32, 32, 3)})
    np.testing.assert_allclose(means, [0] * 4 + [255] * 2, atol=2)

  def test_too_small_photographs_are_left_out(self):
    photographs = [self._photograph(60, 40), self._photograph(64, 32)]
    places = pcr_4.crops(self.root / "cut", photographs, each=6, side=32)
    for place in places:
      self.assertEqual([path.name for path in place.iterdir()], ["000"])


class TrainTest(absltest.TestCase):
  def test_an_epoch_is_timed_to_its_last_batch(self):
    def batches():
      for _ in range(3):
        time.sleep(0.2)
        yield np.ones((2, 1)), np.ones(2)
      time.sleep(3)

    signature = (tf.TensorSpec((2, 1)), tf.TensorSpec(2))
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", "mse")
    contests.fit(model, data.take(1))  # Traces it.
    model.set_weights([np.zeros((1, 1)), np.zeros(1)])
    loss, seconds = contests.fit(model, data)
    self.assertBetween(seconds, 0.6, 3)
    self.assertBetween(loss, 0.5, 1)

  def test_equal_groups_train_to_equal_numbers(self):
    tf.config.experimental.enable_op_determinism()
    root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(0)
    for name in "ab":
      (root / "images" / name).mkdir(parents=True)
      for i in range(20):
        pixels = random.integers(0, 256, (48, 48, 3), np.uint8)
        Image.fromarray(pixels).save(root / "images" / name / f"{i}.jpg")
    for name in ("pcr", "raw"):
      convert(root / "images", root / f"{name}.liquid", {name: 1}, progress=False)
    found = contests.scan_groups(
      str(root / "pcr.liquid"),
      str(root / "raw.liquid"),
      network="resnet18",
      groups=[10, 11, 1],
      epochs=2,
      seed=3,
      read_bytes_per_s=None,
    )["groups"]
    losses = {group: [e["loss"] for e in runs] for group, runs in found.items()}
    # Both are all that there is, from the same weights in the same order.
    self.assertEqual(losses["10"], losses["11"])
    self.assertGreater(abs(losses["1"][0] / losses["10"][0] - 1), 1e-3)
    read = {group: runs[1]["disk_bytes"] for group, runs in found.items()}
    self.assertLess(read["1"], read["10"])


class NetworksTest(absltest.TestCase):
  def test_they_are_the_papers_but_for_their_width(self):
    # Of the originals, 11.7 million and 1.4 million: a fraction by the square of width.
    self.assertAlmostEqual(
      networks.resnet18(96, 1000, width=64).count_params(), 11.7e6, delta=0.02e6
    )
    self.assertLess(networks.shufflenet_v2(96, 1000).count_params(), 1.4e6)


def _evidence(**groups: list[list[tuple[float, float]]]) -> dict[str, object]:
  """By scan group and seed, (seconds, accuracy) of each epoch."""
  parts = {}
  for seed in range(len(next(iter(groups.values())))):
    found = {
      name.lstrip("g"): [
        {"seconds": s, "accuracy": a, "loss": 1.0, "disk_bytes": 1e6}
        for s, a in runs[seed]
      ]
      for name, runs in groups.items()
    }
    made = {"images": 96, "classes": 4, "test_images": 48, "rate": 300_000}
    parts[f"seed {seed}"] = {
      "result": made | {"groups": found, "mssim": [0.5] * 9 + [1.0]}
    }
  return {"parts": parts, "settings": {"quick": False, "sets": {}}}


class NumbersTest(absltest.TestCase):
  def test_interval(self):
    mean, half = show.interval([0.5, 0.6, 0.7])
    self.assertAlmostEqual(mean, 0.6)
    # t(.975, 2) s / sqrt(3)
    self.assertAlmostEqual(half, 4.303 * 0.1 / math.sqrt(3), places=3)
    self.assertTrue(math.isinf(show.interval([0.5])[1]))

  def test_speed_and_accuracy_are_those_of_the_evidence(self):
    slow = [[(8.0, 0.1), (8.0, 0.5)], [(8.0, 0.1), (8.0, 0.7)]]
    fast = [[(2.0, 0.1), (4.0, 0.4)], [(4.0, 0.1), (5.0, 0.6)]]
    evidence = _evidence(g1=fast, g2=fast, g5=fast, g10=slow)
    found = figure.results(evidence)
    self.assertEqual(pcr_4.median(found, 5), 4.0)
    mean, half = pcr_4.difference(found, 5)
    self.assertAlmostEqual(mean, -0.1)
    self.assertAlmostEqual(half, 0)
    resnet = figure.FIGURES["pcr-4"]
    row = next(line for line in resnet.table(evidence).splitlines() if "| 5 |" in line)
    self.assertIn("| 4.00 (2.00 to 5.00) | 2.00 | 50.0 % ± 127.1 % | -10.0 % ±", row)
    self.assertIn("2.00 times as fast", resnet.said(evidence).why)
    self.assertIn("less 10.0 %", resnet.said(evidence).why)
    # A megabyte at 300,000 bytes per second is 3.33 s.
    self.assertIn("takes 0.7, 0.7, 0.7, 4.7 s (groups", resnet.said(evidence).why)


if __name__ == "__main__":
  absltest.main()
