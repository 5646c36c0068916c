"""Damage gives one clear error that names file and record."""

import os
import pathlib
import shutil
import tempfile

import damaged
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._store import manifest

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
    self.assertIn('; on_error="skip" leaves out what is damaged', message)
    self._check_batches_before(sample)

  def test_a_png_that_lies_about_its_size(self):
    sample = damaged.samples(self.path, "png")[7]
    damaged.repack(self.path, sample, damaged.lie_about_size)
    message = self._error()
    self.assertRegex(message, damaged.where(self.path, sample))
    self.assertRegex(message, "48 x 24")
    self.assertRegex(message, "expected 24 x 24")
    self._check_batches_before(sample)

  @parameterized.parameters("png", "webp")
  def test_an_image_that_cannot_be_decoded(self, name):
    sample = damaged.samples(self.path, name)[7]
    damaged.repack(self.path, sample, lambda image: image[:20] + bytes(len(image) - 20))
    self.assertRegex(self._error(), damaged.where(self.path, sample))
    # Whoever wants the stored bytes alone gets them.
    dataset = liquid_tf.dataset(self.path, 8, features=["id", "bytes"])
    self.assertCountEqual(runs.flat(runs.ids(dataset)), range(100))

  def test_a_truncated_shard(self):
    sample = damaged.samples(self.path, "raw")[-1]
    shard = damaged.shard_of(self.path, sample)
    where = damaged.where(self.path, sample)
    dataset = liquid_tf.dataset(self.path, 8, **_OPTIONS)
    os.truncate(shard, os.path.getsize(shard) - 1)
    with self.assertRaisesRegex(
      liquid_tf.errors.ManifestError,
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
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, f"{name} is missing"):
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
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, "index.npy is damaged"):
      liquid_tf.dataset(self.path)
    index.write_bytes(data[:-1])
    with self.assertRaisesRegex(
      liquid_tf.errors.ManifestError, "index.npy has [0-9]+ bytes"
    ):
      liquid_tf.dataset(self.path)

  @parameterized.named_parameters(
    ("key", lambda data: data.pop("formats"), "dataset.json.*formats"),
    (
      "count",
      lambda data: data["shards"][0].update(records=-1),
      "dataset.json.*shards",
    ),
    ("path", lambda data: data["shards"][0].update(path="../x"), "dataset.json.*path"),
    ("rows", lambda data: data["index"].update(rows=99), "index.npy has|index.rows"),
    ("shards", lambda data: data["shards"].pop(), "dataset.json"),
    ("schema", lambda data: data.update(schema=99), "dataset.json.*schema.*99"),
  )
  def test_a_wrong_manifest(self, edit, message):
    damaged.edit_manifest(self.path, edit)
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, message):
      liquid_tf.dataset(self.path)

  def test_what_is_no_dataset(self):
    with self.assertRaisesRegex(
      liquid_tf.errors.ManifestError, "is not a Liquid dataset"
    ):
      liquid_tf.dataset(self.root)
    pathlib.Path(self.path, manifest.MANIFEST).write_text("{")
    with self.assertRaisesRegex(
      liquid_tf.errors.ManifestError, "dataset.json is not JSON"
    ):
      liquid_tf.dataset(self.path)

  def _tell_sizes(self, side: int, one: int | None = None) -> None:
    """Has the index say a height and width, of one sample or all; CRCs are right."""
    rows = np.array(manifest.load_index(manifest.load(self.path)))
    chosen = rows["sample"] == one if one is not None else slice(None)
    rows["height"][chosen] = rows["width"][chosen] = side
    index = manifest.encode_index(rows)
    pathlib.Path(self.path, manifest.INDEX).write_bytes(index)
    crc = manifest.crc32c(index)

    def edit(data):
      data["index"]["crc32c"] = crc
      data["features"]["image"]["shape"] = [None, None, 3]

    damaged.edit_manifest(self.path, edit)

  @parameterized.parameters(1 << 31, (1 << 32) - 1)
  def test_sizes_of_the_index_that_no_tensor_can_have(self, side):
    self._tell_sizes(side, one=7)
    message = self._error(transforms=[transforms.Ragged()])
    self.assertRegex(message, damaged.where(self.path, 7))
    self.assertRegex(message, f"{side}x{side} pixels, which must be 1 to the limit")
    ragged = {**_OPTIONS, "transforms": [transforms.Ragged()], "on_error": "skip"}
    ids = runs.flat(runs.ids(liquid_tf.dataset(self.path, 8, **ragged)))
    self.assertCountEqual(ids, set(range(100)) - {7})

  @parameterized.parameters(1 << 31, (1 << 32) - 1)
  def test_a_batch_that_no_tensor_can_have(self, side):
    self._tell_sizes(side)
    with self.assertRaisesRegex(ValueError, "memory .* at least [0-9]{20,} bytes"):
      liquid_tf.dataset(self.path, 8, **_OPTIONS)

  @parameterized.parameters(False, True)
  def test_a_checkpoint_behind_an_error_stands_before_its_batch(self, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    # No map of tf.data's above, which takes batches ahead.
    features = {**_OPTIONS, "features": ["id", "image"]}

    def make(path):
      return iter(liquid_tf.dataset(path, 8, **features).with_options(options))

    sample = damaged.samples(self.path, "png")[7]
    damaged.flip(self.path, sample)
    batches, found = make(self.path), []
    with self.assertRaises(tf.errors.OpError):
      for batch in batches:
        found.append(batch["id"].numpy().tolist())
    prefix = os.path.join(self.create_tempdir().full_path, "checkpoint")
    saved = tf.train.Checkpoint(batches=batches).save(prefix)
    damaged.flip(self.path, sample)  # back
    restored = make(self.path)
    tf.train.Checkpoint(batches=restored).restore(saved)
    found += [batch["id"].numpy().tolist() for batch in restored]
    self.assertEqual(found, runs.ids(liquid_tf.dataset(self.sound, 8, **_OPTIONS)))

  def test_an_image_over_the_limit_of_pixels(self):
    message = self._error(limits=liquid_tf.codecs.Limits(pixels=500))
    self.assertRegex(message, r", record [0-9]+ \(sample [0-9]+, offset")
    self.assertRegex(message, "500")


if __name__ == "__main__":
  tf.test.main()
