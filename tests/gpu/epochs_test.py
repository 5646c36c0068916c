"""The command that times epochs on a GPU, with the host in its place."""

import json
import pathlib
from unittest import mock

import epochs
import fake_gpu
import tensorflow as tf
from absl import flags
from absl.testing import absltest, flagsaver
from patches import make_image
from PIL import Image

fake_gpu.install()


class EpochsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.output = self.folder / "epochs.json"
    steps = {
      "whole": [],
      "crop": [epochs.RandomCrop(40), epochs.Normalize(127.5, 127.5)],
    }
    for name, value in {"_SIDE": 64, "_BATCH": 4, "_STEPS": steps}.items():
      self.enter_context(mock.patch.object(epochs, name, value))
    # Too late for the device of this process.
    self.enter_context(mock.patch.object(tf.config.experimental, "set_memory_growth"))

  def _run(self, *sizes: int) -> None:
    for i, size in enumerate(sizes):
      Image.fromarray(make_image(i, size, size)).save(self.folder / f"{i}.png")
    given = {"data": str(self.folder), "output": str(self.output), "images": 12}
    with flagsaver.flagsaver(**given):
      epochs.main(["epochs"])

  def test_times_every_format(self):
    self._run(80, 70)
    found = json.loads(self.output.read_text())
    self.assertLen(found, len(epochs._FORMATS) * 2 * 2)
    for name, runs in found.items():
      self.assertLen(runs, 3)
      for run in runs:
        self.assertGreater(run["images_per_s"], 0)
        self.assertEqual(run["gpu_ms"] > 0, name.endswith(" gpu"), name)

  def test_small_photographs_are_refused(self):
    with self.assertRaisesRegex(Exception, "--data has no photograph of 64x64"):
      self._run(60)


if __name__ == "__main__":
  # Each test gives its own.
  for name in ("data", "output"):
    flags.FLAGS.set_default(name, "")
  absltest.main()
