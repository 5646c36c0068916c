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
import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._convert.convert import convert

_OPTIONS = {"seed": 5, "memory": "16MiB", "features": ["id"]}

# Of epoch 1, what was delivered before each checkpoint was written, and what came then.
_BEFORE = {
  "formats": [
    [18, 3, 27, 0, 40, 36, 32, 33],
    [41, 42, 28, 30, 22, 43, 12, 20],
    [54, 8, 5, 24, 59, 52, 56, 57],
  ],
  "records": [
    [34, 24, 31, 32, 25, 15, 11, 43],
    [8, 14, 40, 21, 23, 36, 2, 38],
    [17, 19, 27, 6, 44, 55, 18, 13],
  ],
  "weights": [
    [53, 56, 33, 29, 7, 38, 57, 58],
    [48, 42, 39, 2, 11, 46, 28, 9],
    [31, 34, 43, 51, 17, 54, 41, 24],
  ],
}
_AFTER = {
  "formats": [
    [51, 47, 17, 29, 10, 15, 37, 16],
    [50, 25, 9, 38, 44, 39, 26, 55],
    [11, 19, 58, 49, 4, 48, 6, 53],
    [2, 46, 35, 14, 23, 45, 7, 13],
    [34, 21, 31, 1],
  ],
  "records": [
    [46, 56, 30, 41, 39, 20, 53, 1],
    [37, 4, 3, 45, 33, 58, 57, 59],
    [12, 10, 16, 50, 35, 22, 54, 42],
    [47, 49, 9, 26, 29, 51, 7, 5],
    [48, 28, 0, 52],
  ],
  "weights": [
    [18, 4, 15, 59, 37, 19, 16, 3],
    [29, 34, 20, 47, 49, 39, 33, 10],
    [44, 50, 23, 22, 14, 27, 52, 26],
    [8, 13, 19, 18, 4, 32, 12, 38],
    [54, 59, 9, 28],
  ],
}

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

_POSITION = """{
  "version": 1,
  "epoch": 1,
  "step": 3,
  "cuts": [],
  "cached": [10, 7],
  "mixes": [],
  "run": {
    "dataset": "index 0xcddb253f",
    "split": "train",
    "samples": "60 samples, fingerprint fdcf5cde0f59ea88",
    "shard_policy": "pad",
    "batch_size": 8,
    "shuffle": true,
    "seed": 5,
    "scan groups": null,
    "transforms": [],
    "worker": [0, 1],
    "batches": 8,
    "samples of scan groups": null
  }
}"""


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
    random = np.random.default_rng(7)
    source = os.path.join(cls.root, "source")
    for i in range(60):
      pixels = random.integers(0, 256, (8, 8, 3), np.uint8)
      photos.save(os.path.join(source, "all", f"{i:02}.bmp"), pixels)
    paths = {name: os.path.join(cls.root, name) for name in ("formats", "records")}
    convert(source, paths["formats"], "raw:3,bmp:2", shard_size=4096, progress=False)
    convert(
      source,
      paths["records"],
      "pcr:2,raw:1",
      encoders={"pcr": {"images": 7}},
      progress=False,
    )
    weighted = liquid_tf.open(paths["formats"]).weighted(np.arange(60) % 5 + 1)
    cls.arguments = {
      "formats": {"path": paths["formats"], "cache": "30%"},
      "records": {"path": paths["records"], "cache": "30%"},
      "weights": {"path": weighted, "cache": 0},
    }

  def _dataset(self, name: str, **options) -> tf.data.Dataset:
    arguments = {**self.arguments[name], **_OPTIONS, **options}
    return liquid_tf.dataset(arguments.pop("path"), 8, **arguments)

  @parameterized.parameters(*_BEFORE)
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
    self.assertEqual(runs.ids(iterator), _AFTER[name])

  @parameterized.parameters(*_BEFORE)
  def test_a_checkpoint_is_like_the_earlier_one(self, name):
    dataset = self._dataset(name)
    for _ in dataset:
      pass
    iterator = iter(dataset)
    found = [next(iterator)["id"].numpy().tolist() for _ in range(3)]
    self.assertEqual(found, _BEFORE[name])
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
    self.assertEqual(json.loads(json.dumps(found)), json.loads(_POSITION))

  def test_an_earlier_position_goes_on(self):
    position = json.loads(_POSITION)
    dataset = self._dataset("formats", start=position)
    self.assertEqual(runs.ids(dataset), _AFTER["formats"])


if __name__ == "__main__":
  tf.test.main()
