"""What an earlier process saved goes on in this one: golden checkpoints and positions.

A change of any of these files or numbers breaks trainings that are under way.
"""

import base64
import json
import os
import re
import shutil
import tempfile
import zlib

import golden_checkpoints
import golden_runs
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf

_DECODE = "Iterator::Root::LiquidDecodeBatch"
_KEYS = {
  _DECODE: {"borrowed", "skipped"},
  f"{_DECODE}::LiquidInterleave": {
    "begun",
    "cached",
    "epoch",
    "fidelity",
    "held0",
    "held1",
    "plan",
    "position",
    "step",
  },
  f"{_DECODE}::LiquidInterleave[0]::LiquidFormat": {"records", "samples"},
  f"{_DECODE}::LiquidInterleave[1]::LiquidFormat": {"records", "samples"},
}


def _keys(checkpoint: str) -> dict[str, set[str]]:
  """What each iterator of a checkpoint has saved, in whatever order."""
  with open(f"{checkpoint}.data-00000-of-00001", "rb") as file:
    found = re.findall(rb"Iterator::Root[\w:\[\]]*@@[\w@]+", file.read())
  parts = [one.decode().split("@@") for one in found]
  return {iterator: set(keys) for iterator, *keys in parts}


class GoldenTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.runs = golden_runs.make(cls.root)

  def _dataset(self, name: str, **options) -> tf.data.Dataset:
    run = self.runs[name]
    return liquid_tf.dataset(
      run.source, 8, **golden_runs.OPTIONS, **run.options, **options
    )

  @parameterized.parameters(*golden_runs.BEFORE)
  def test_an_earlier_checkpoint_goes_on(self, name):
    folder = os.path.join(self.root, "golden", name)
    os.makedirs(folder)
    for suffix, text in golden_checkpoints.FILES[name].items():
      with open(os.path.join(folder, f"a.{suffix}"), "wb") as file:
        file.write(zlib.decompress(base64.b64decode(text)))
    prefix = os.path.join(folder, "a")
    self.assertEqual(_keys(prefix), _KEYS)
    iterator = iter(self._dataset(name))
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    self.assertEqual(runs.ids(iterator), golden_runs.AFTER[name])

  @parameterized.parameters(*golden_runs.BEFORE)
  def test_a_checkpoint_is_like_the_earlier_one(self, name):
    dataset = self._dataset(name)
    for _ in dataset:
      pass
    iterator = iter(dataset)
    found = [next(iterator)["id"].numpy().tolist() for _ in range(3)]
    self.assertEqual(found, golden_runs.BEFORE[name])
    prefix = os.path.join(self.root, "written", name, "a")
    os.makedirs(os.path.dirname(prefix))
    tf.train.Checkpoint(iterator=iterator).write(prefix)
    self.assertEqual(_keys(prefix), _KEYS)

  def test_a_position_is_the_earlier_one(self):
    dataset = self._dataset("formats")
    for _ in dataset:
      pass
    batches = iter(dataset)
    for _ in range(3):
      next(batches)
    found = liquid_tf.position(dataset, 1, 3)
    self.assertEqual(json.loads(json.dumps(found)), golden_runs.POSITION)

  def test_an_earlier_position_goes_on(self):
    position = golden_runs.POSITION
    dataset = self._dataset("formats", start=position)
    self.assertEqual(runs.ids(dataset), golden_runs.AFTER["formats"])


if __name__ == "__main__":
  tf.test.main()
