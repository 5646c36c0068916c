"""Trainings on a core set aside: their queue, their clock, losses, and figures."""

import json
import os
import pathlib
import shutil
import tempfile
import threading
import time

import benches
import numpy as np
from absl.testing import absltest, parameterized
from matplotlib.figure import Figure as Canvas
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf.cli import wheel_images
from tools.bench.papers import (
  core_aside,
  equal_losses,
  figure,
  liquid_7,
  networks,
  shared_queue,
  trainings,
)

_FIGURES = figure.FIGURES
_SHAPE = (2, 3, 3, 3)


class QueueTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.queue = self.enter_context(shared_queue.Receiver(_SHAPE))
    self.given = []

  def _send(self, batches: int) -> threading.Thread:
    def send():
      with shared_queue.Sender(self.queue.folder, _SHAPE) as sender:
        for i in range(batches):
          self.given.append(sender.give(np.full(_SHAPE, i, np.uint8)))

    thread = threading.Thread(target=send)
    thread.start()
    self.assertTrue(self.queue.connect(lambda: False))
    return thread

  def test_batches_come_in_order_and_then_the_end(self):
    thread = self._send(20)
    found = [self.queue.take() for _ in range(20)]
    for i, (batch, _) in enumerate(found):
      np.testing.assert_array_equal(batch, np.full(_SHAPE, i, np.uint8))
    spent = [counters.cpu_seconds for _, counters in found]
    self.assertEqual(spent, sorted(spent))
    self.assertIsNone(self.queue.take())
    self.queue.close()
    thread.join(10)
    self.assertEqual(self.given, [True] * 20)

  def test_a_sender_waits_for_a_free_slot_and_hears_of_the_end(self):
    thread = self._send(20)
    kept, _ = self.queue.take()
    time.sleep(0.2)
    # Those in the slots, and the one that took the place of the first.
    self.assertLen(self.given, 5)
    # It is a copy, whose slot has another batch by now.
    np.testing.assert_array_equal(kept, np.zeros(_SHAPE, np.uint8))
    self.queue.close()
    thread.join(10)
    self.assertFalse(thread.is_alive())
    self.assertFalse(self.given[-1])

  def test_nobody_is_waited_for_who_will_not_come(self):
    self.assertFalse(self.queue.connect(lambda: True))

  def test_another_shape_is_refused(self):
    with shared_queue.Sender(self.queue.folder, _SHAPE) as sender:
      with self.assertRaisesRegex(ValueError, r"has shape \(1, 3, 3, 3\), not"):
        sender.give(np.zeros((1, 3, 3, 3), np.uint8))
      self.assertTrue(self.queue.connect(lambda: False))
      self.queue.close()


class WatchTest(absltest.TestCase):
  def test_waiting_and_speed_are_those_of_the_clock(self):
    now = [100.0]
    taken = [0]

    def take():
      # Waits long at first, while the loader starts.
      now[0] += 0.3 if taken[0] >= 4 else 2.0
      taken[0] += 1
      counters = shared_queue.Counters(now[0], 0.5 * now[0], int(1000 * now[0]))
      return np.zeros((8, 1), np.uint8), counters

    def learn(batch):
      now[0] += 0.7

    with absltest.mock.patch.object(time, "perf_counter", lambda: now[0]):
      found = core_aside.watch(take, learn, 10.0, 16)
    # Warm: after 3 s and two batches, that is with the third one.
    steps = (2.7, 2.7, *[1.0] * 5)
    self.assertAlmostEqual(found["images_per_s"], 8 * len(steps) / sum(steps))
    self.assertAlmostEqual(found["idle"], (4.0 + 5 * 0.3) / sum(steps))
    self.assertAlmostEqual(found["cpu_seconds_per_s"], 0.5)
    self.assertAlmostEqual(found["disk_bytes_per_s"], 1000, delta=1)

  def test_an_early_end_has_no_result(self):
    batches = [(np.zeros((8, 1), np.uint8), None)] * 3
    learned = []
    taken = iter([*batches, None]).__next__
    self.assertIsNone(core_aside.watch(taken, learned.append, 60.0, 0))
    self.assertLen(learned, 3)


class NetworksTest(parameterized.TestCase):
  @parameterized.parameters(("unet_4", 4), ("unet_8", 8))
  def test_a_unet_has_a_class_for_each_pixel(self, name, width):
    model = networks.NETWORKS[name](32, 10)
    self.assertEqual(model.output_shape, (None, 32, 32, 10))
    # Of the original, 31 million: a fraction by the square of its width.
    self.assertAlmostEqual(
      model.count_params() / (31e6 * (width / 64) ** 2), 1, delta=0.1
    )

  def test_mobilenet_is_the_small_one(self):
    model = networks.NETWORKS["mobilenet_v3_small"](96, 1000)
    self.assertAlmostEqual(model.count_params(), 2.5e6, delta=0.1e6)


class LossesTest(parameterized.TestCase):
  """Whether a training on a mix is the training on the files that it is made of."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    root = pathlib.Path(cls.root)
    photographs = list(wheel_images.wheel_photographs().values())
    cls.paths = {}
    for encoded, others in (
      ("png", ["raw", "l3", "l3-compact", "jpeg"]),
      ("jpeg", ["raw", "l3", "l3-compact"]),
    ):
      folder = root / encoded
      folder.mkdir()
      for i in range(24):
        pixels = photographs[i % 4][10 * i : 10 * i + 48, 20 : 20 + 40 + i]
        Image.fromarray(pixels).save(folder / f"{i}.{encoded}")
      mix = dict.fromkeys([encoded, *others], 1)
      path = root / f"{encoded}.liquid"
      convert(folder, path, mix, replicate=True, progress=False)
      cls.paths[encoded] = {"path": os.fspath(path), "source": os.fspath(folder)}

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.root)
    super().tearDownClass()

  def _measure(self, encoded, formats, network):
    return equal_losses.measure(
      **self.paths[encoded],
      mix=dict.fromkeys(formats, 1),
      network=network,
      size=32,
      batch_size=4,
      steps=8,  # An epoch has six.
      seed=1,
    )

  @parameterized.parameters(("png", "unet_4"), ("jpeg", "resnet18"))
  def test_formats_without_loss_teach_the_same_bit_for_bit(self, encoded, network):
    formats = [encoded, "raw", "l3", "l3-compact"]
    found = self._measure(encoded, formats, network)
    self.assertEqual(found["losses"]["mix"], found["losses"]["files"])
    self.assertTrue(found["equal_weights"])
    self.assertTrue(liquid_7.equal(found))
    self.assertLen(set(found["losses"]["mix"]), 8)

  def test_a_lossy_format_does_not(self):
    found = self._measure("png", ["png", "jpeg"], "unet_4")
    self.assertFalse(found["equal_weights"])
    self.assertFalse(liquid_7.equal(found))
    np.testing.assert_allclose(
      found["losses"]["mix"], found["losses"]["files"], rtol=0.1
    )


def _run(speed: float, idle: float) -> dict[str, float]:
  return {
    "images_per_s": speed,
    "idle": idle,
    "cpu_seconds_per_s": 0.9,
    "disk_bytes_per_s": 45e6,
  }


def _training(**sides: list[tuple[float, float]]) -> dict[str, object]:
  """A result whose ideal was 100 images/s, then 200, then 300."""
  runs = {n.replace("_", " "): [_run(*one) for one in s] for n, s in sides.items()}
  if "tf data" in runs:
    runs["tf.data"] = runs.pop("tf data")
  return {
    "ideal": [100.0, 200.0, 300.0],
    "sides": runs,
    "cores": 1,
    "size": 96,
    "batch_size": 32,
    "read_bytes_per_s": 225_000_000,
    "seconds": 30.0,
    "rounds": 2,
    "images": 512,
    "side": 1024,
    "image_bytes": {"png": 1e6, "raw": 3e6},
  }


def _evidence(**parts: object) -> dict[str, object]:
  return {
    "settings": {"sets": {}, "quick": False},
    "parts": {name: {"result": result} for name, result in parts.items()},
  }


def _rows(table: str) -> list[list[str]]:
  lines = [line for line in table.splitlines() if line.startswith("|")]
  return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


class NumbersTest(absltest.TestCase):
  def test_goodput_is_by_the_ideals_around(self):
    result = _training(png=[(75.0, 0.5), (50.0, 0.75)])
    self.assertEqual(trainings.goodputs(result, "png"), [0.5, 0.2])
    self.assertEqual(trainings.median(result, trainings.IDEAL), 200)
    # Of 1/75 s an image half is waited for, and the ideal takes 1/150 s; likewise.
    self.assertAlmostEqual(
      trainings.slower(result, "png"), (0.5 / 0.5 - 1 + 0.25 / 0.2 - 1) / 2
    )
    self.assertAlmostEqual(trainings.cpu(result, "png"), 0.9)
    self.assertAlmostEqual(trainings.disk(result, "png"), 0.2)


class FiguresTest(absltest.TestCase):
  def _draw(self, one: figure.Figure, evidence: dict[str, object]) -> Canvas:
    canvas = Canvas(figsize=one.size, layout="constrained")
    one.draw(evidence, canvas)
    canvas.savefig(pathlib.Path(self.create_tempdir().full_path, "x.png"))
    return canvas

  def test_liquid_2(self):
    png, raw = [(30.0, 0.8), (50.0, 0.8)], [(15.0, 0.8), (25.0, 0.8)]
    best = [(120.0, 0.2), (200.0, 0.2)]
    for mix, sides in (
      ({"png": 0.75, "raw": 0.25}, {"png": png, "raw": raw, "mix": best}),
      ({"png": 1.0}, {"png": best, "raw": raw}),
    ):
      result = _training(**sides, jpeg=best, tf_data=raw) | {"mix": mix}
      evidence = _evidence(training=result)
      rows = _rows(_FIGURES["liquid-2"].table(evidence))
      advised = f"**advised: {trainings.mix_words(mix)}**"
      self.assertIn(advised, [row[0] for row in rows])
      by_title = {row[0]: row[1:] for row in rows}
      self.assertEqual(
        by_title["raw"],
        ["0.274", "20 (15 to 25)", "0.10 (0.10 to 0.10)", "80%", "+100%", "90%", "20%"],
      )
      self.assertEqual(by_title["png, stock tf.data"][0], "0.245")
      _, here, said = _FIGURES["liquid-2"].said(evidence)
      self.assertIn("raw uses 90% of its CPU", said)
      gain = "4.00 times the speed" if len(mix) > 1 else "1.00 times the speed"
      self.assertIn(gain, said)
      self.assertIn("MobileNetV3-small at 96", here)
      self.assertLen(
        self._draw(_FIGURES["liquid-2"], evidence).axes, len(result["sides"])
      )

  def test_l3_7b(self):
    sides = {"png": [(50.0, 0.6), (50.0, 0.6)], "raw": [(25.0, 0.8), (25.0, 0.8)]}
    sides["l3"] = [(90.0, 0.1), (90.0, 0.1)]
    sides["l3-compact"] = [(80.0, 0.2), (80.0, 0.2)]
    evidence = _evidence(training=_training(**sides, tf_data=sides["raw"]))
    rows = {row[0]: row[1:] for row in _rows(_FIGURES["l3-7b"].table(evidence))}
    self.assertEqual(rows["l3"][:3], ["1.71", "1.80", "3.60"])
    self.assertEqual(rows["ideal"][:3], ["", "4.00", "8.00"])
    said = _FIGURES["l3-7b"].said(evidence).why
    self.assertIn("the ideal is 4.00 times PNG here", said)
    self.assertIn("l3 comes to 1.80 times PNG", said)
    self.assertIn("waits for 10% of the time", said)
    self._draw(_FIGURES["l3-7b"], evidence)

  def test_liquid_7(self):
    def losses(other: float) -> dict[str, object]:
      found = {"mix": [2.0, 1.0, other, 0.5], "files": [2.0, 1.0, 0.75, 0.5]}
      return {"losses": found, "equal_weights": True}

    png = {"encoded": "png", "mix": {"l3": 0.5, "png": 0.5}}
    jpeg = {"encoded": "jpeg", "mix": {"jpeg": 1.0}}
    twice = _training(mix=[(80.0, 0.1)] * 2, tf_data=[(40.0, 0.5)] * 2)
    eight = _training(mix=[(80.0, 0.1)] * 2, tf_data=[(10.0, 0.5)] * 2)
    lossy = [losses(0.75 + i)["losses"] for i in (0.2, 0.3, 0.4)]
    parts = {"U-Net (light), png": twice | png, "U-Net (heavy), png": eight | png}
    parts["ResNet, jpeg"] = twice | jpeg
    parts["losses, png"] = {"lossless": {"U-Net": losses(0.75)}, "lossy": lossy}
    parts["losses, jpeg"] = {"lossless": {"ResNet": losses(0.76)}, "lossy": []}
    evidence = _evidence(**parts)
    rows = _rows(_FIGURES["liquid-7"].table(evidence))
    advised = "**advised: l3 50%, png 50%**"
    self.assertIn(["U-Net (heavy), png", advised, "8.00"], [row[:3] for row in rows])
    self.assertIn(["png", "1.58, 2.02, 1.07", "4.00"], rows)
    self.assertIn(["jpeg", "1.14, 1.25, about 1", "2.00"], rows)
    by_network = {row[0]: row[-1] for row in rows}
    self.assertEqual(by_network["U-Net"], "all, bit for bit")
    self.assertEqual(by_network["ResNet"], "no: 0.01 apart")
    self.assertIn("batches of 32 pass", _FIGURES["liquid-7"].said(evidence).here)
    said = _FIGURES["liquid-7"].said(evidence).why
    self.assertIn("1 of 2 trainings are equal bit for bit", said)
    # Half of .2, .3 and .4; t(.975, 2) .05 / sqrt(3).
    self.assertIn("+0.1500 ± 0.1241 (95 %) over", said)
    self._draw(_FIGURES["liquid-7"], evidence)


class CommandTest(absltest.TestCase):
  def test_trainings_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "photos").mkdir()
    found = wheel_images.wheel_photographs()
    for name in ("astronaut", "coffee"):
      Image.fromarray(found[name][:100, :120]).save(root / "photos" / f"{name}.png")
    done = benches.papers(root, "liquid-7", f"--data=photos={root}/photos")
    self.assertEqual(done.returncode, 0, done.stderr)
    page = (root / "papers.md").read_text()
    if _FIGURES["liquid-7"].why_not():
      self.assertIn("liquid-7 is left out: ", done.stderr)
      self.assertIn("Not run here yet: `python -m tools.bench papers liquid-7`", page)
      return
    parts = figure.results(json.loads(done.stdout)["liquid-7"])
    (trained,) = (one for one in parts.values() if "sides" in one)
    self.assertLen(trained["ideal"], 2)
    self.assertGreater(min(trained["ideal"]), 0)
    self.assertEqual(list(trained["sides"]), ["mix", "tf.data"])
    for (run,) in trained["sides"].values():
      self.assertGreater(run["images_per_s"], 0)
      self.assertBetween(run["idle"], 0, 1)
    self.assertTrue(all(map(liquid_7.equal, parts["losses, png"]["lossless"].values())))
    self.assertIn("all, bit for bit", page)
    self.assertNotIn(os.fspath(root), page)
    self.assertTrue((root / "papers" / "liquid-7.png").exists())


if __name__ == "__main__":
  absltest.main()
