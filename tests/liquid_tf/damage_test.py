"""Damage gives one clear error that names file and record."""

import os
import pathlib
import shutil
import tempfile

import damaged
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import manifest

_OPTIONS = {"seed": 3, "cache": "30%", "features": ["id", "format", "image"]}


class DamageTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.sound = runs.make(cls.root, shard_size=40_000)

  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, "dataset")
    shutil.copytree(self.sound, self.path)

  def _error(self, **options) -> str:
    """Runs two epochs; returns the message of the one error they must end in."""
    dataset = liquid_tf.dataset(self.path, 8, **{**_OPTIONS, **options})
    with self.assertRaises(tf.errors.OpError) as caught:
      for _ in range(2):
        runs.ids(dataset)
    return caught.exception.message

  def _check_batches_before(self, sample: int) -> None:
    """What comes before the bad record's batch is as ever."""
    sound = runs.ids(liquid_tf.dataset(self.sound, 8, **_OPTIONS))
    bad = next(i for i, batch in enumerate(sound) if sample in batch)
    found = []
    with self.assertRaises(tf.errors.OpError):
      for batch in liquid_tf.dataset(self.path, 8, **_OPTIONS):
        found.append(batch["id"].numpy().tolist())
    self.assertEqual(found, sound[:bad])

  @parameterized.parameters("png", "raw", "webp")
  def test_a_flipped_byte(self, name):
    sample = damaged.samples(self.path, name)[7]
    damaged.flip(self.path, sample)
    message = self._error()
    self.assertRegex(message, damaged.where(self.path, sample))
    self.assertRegex(message, "CRC-32C")
    self._check_batches_before(sample)

  def test_a_png_that_lies_about_its_size(self):
    sample = damaged.samples(self.path, "png")[7]
    damaged.repack(self.path, sample, damaged.lie_about_size)
    message = self._error()
    self.assertRegex(message, damaged.where(self.path, sample))
    self.assertRegex(message, "48x24")
    self.assertRegex(message, "24x24")
    self._check_batches_before(sample)

  @parameterized.parameters("png", "webp")
  def test_an_image_that_cannot_be_decoded(self, name):
    sample = damaged.samples(self.path, name)[7]
    damaged.repack(self.path, sample, lambda image: image[:20] + bytes(len(image) - 20))
    self.assertRegex(self._error(), damaged.where(self.path, sample))
    # Whoever wants the stored bytes alone gets them.
    dataset = liquid_tf.dataset(self.path, 8, decode="none", features=["id", "bytes"])
    self.assertCountEqual(runs.flat(runs.ids(dataset)), range(100))

  def test_a_truncated_shard(self):
    sample = damaged.samples(self.path, "raw")[-1]
    shard = damaged.shard_of(self.path, sample)
    where = damaged.where(self.path, sample)
    dataset = liquid_tf.dataset(self.path, 8, **_OPTIONS)
    os.truncate(shard, os.path.getsize(shard) - 1)
    with self.assertRaisesRegex(
      liquid_tf.ManifestError,
      f"{os.path.basename(shard)} has [0-9]+ bytes, but shards",
    ):
      liquid_tf.dataset(self.path)
    # While it is in use.
    with self.assertRaisesRegex(tf.errors.DataLossError, f"{where}.*truncated"):
      runs.ids(dataset)

  def test_a_missing_shard(self):
    sample = damaged.samples(self.path, "raw")[-1]
    shard = damaged.shard_of(self.path, sample)
    name = os.path.basename(shard)
    dataset = liquid_tf.dataset(self.path, 8, **_OPTIONS)
    os.remove(shard)
    with self.assertRaisesRegex(liquid_tf.ManifestError, f"{name} is missing"):
      liquid_tf.dataset(self.path)
    with self.assertRaisesRegex(
      tf.errors.NotFoundError, rf"{name}, record [0-9]+ .*cannot open: No such file"
    ):
      runs.ids(dataset)

  def test_an_index_that_does_not_fit(self):
    index = pathlib.Path(self.path, manifest.INDEX)
    data = bytearray(index.read_bytes())
    data[-1] ^= 1
    index.write_bytes(data)
    with self.assertRaisesRegex(liquid_tf.ManifestError, "index.npy is damaged"):
      liquid_tf.dataset(self.path)
    index.write_bytes(data[:-1])
    with self.assertRaisesRegex(liquid_tf.ManifestError, "index.npy has [0-9]+ bytes"):
      liquid_tf.dataset(self.path)

  @parameterized.parameters(
    (lambda data: data.pop("formats"), "dataset.json.*formats"),
    (lambda data: data["shards"][0].update(records=-1), "dataset.json.*shards"),
    (lambda data: data["shards"][0].update(path="../x"), "dataset.json.*path"),
    (lambda data: data["index"].update(rows=99), "index.npy has|index.rows"),
    (lambda data: data["shards"].pop(), "dataset.json"),
    (lambda data: data.update(version=99), "dataset.json.*version"),
  )
  def test_a_wrong_manifest(self, edit, message):
    damaged.edit_manifest(self.path, edit)
    with self.assertRaisesRegex(liquid_tf.ManifestError, message):
      liquid_tf.dataset(self.path)

  def test_what_is_no_dataset(self):
    with self.assertRaisesRegex(liquid_tf.ManifestError, "is not a Liquid dataset"):
      liquid_tf.dataset(self.root)
    pathlib.Path(self.path, manifest.MANIFEST).write_text("{")
    with self.assertRaisesRegex(liquid_tf.ManifestError, "dataset.json is not JSON"):
      liquid_tf.dataset(self.path)

  def test_an_image_over_the_limit_of_pixels(self):
    message = self._error(max_pixels=500)
    self.assertRegex(message, r", record [0-9]+ \(sample [0-9]+, offset")
    self.assertRegex(message, "500")


if __name__ == "__main__":
  tf.test.main()
