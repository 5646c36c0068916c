"""A format's source by itself, without an interleave above it."""

import os
import shutil
import tempfile

import damaged
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf.transforms import Ragged

# A source gives blocks of 64 samples.
_BLOCK = 64


class BareSourceTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.sound = runs.make(cls.root, "raw:1", per_class=50, shard_size=100_000)

  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, "dataset")
    shutil.copytree(self.sound, self.path)
    self.stored = damaged.samples(self.path, "raw")

  def _batches(self, **options) -> tf.data.Dataset:
    source = liquid_tf.graph.format_dataset(self.path, "raw")
    return liquid_tf.graph.decode_and_batch(source, features=["id", "image"], **options)

  @parameterized.product(symbolic=[False, True], ragged=[False, True])
  def test_a_restored_iterator_goes_on_behind_the_last_sample(self, symbolic, ragged):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic
    dataset = self._batches(transforms=[Ragged()] * ragged).with_options(options)
    folder = self.create_tempdir().full_path
    iterator = iter(dataset)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    for position in range(5):
      prefix = checkpoint.write(os.path.join(folder, str(position)))
      again = iter(dataset)
      tf.train.Checkpoint(iterator=again).restore(prefix)
      left = runs.flat(runs.ids(again))
      self.assertEqual(left, self.stored[position * _BLOCK :], position)
      next(iterator, None)

  def test_a_checkpoint_of_more_records_is_refused(self):
    iterator = iter(self._batches())
    for _ in range(3):
      next(iterator)
    folder = self.create_tempdir().full_path
    prefix = tf.train.Checkpoint(iterator=iterator).write(os.path.join(folder, "x"))
    few = runs.make(os.path.join(folder, "few"), "raw:1", per_class=10)
    source = liquid_tf.graph.format_dataset(few, "raw")
    iterator = iter(liquid_tf.graph.decode_and_batch(source, features=["id", "image"]))
    with self.assertRaisesRegex(Exception, "saved by another dataset"):
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      next(iterator)

  @parameterized.parameters(
    (1 << 30, 64), (20 * 1776, 20), (19 * 1776 + 1, 20), (1, 1), (0, 1)
  )
  def test_blocks_do_not_depend_on_the_reads(self, lookahead, size):
    source = liquid_tf.graph.format_dataset(self.path, "raw", lookahead_bytes=lookahead)
    found = runs.ids(liquid_tf.graph.decode_and_batch(source, features=["id"]))
    self.assertEqual([len(block) for block in found[:-1]], [size] * (199 // size))
    self.assertEqual(runs.flat(found), self.stored)

  def test_every_good_sample_comes_once(self):
    # The gaps of a block take samples of two blocks behind it.
    bad = self.stored[:40] + self.stored[_BLOCK : _BLOCK + 30]
    for sample in bad:
      damaged.flip(self.path, sample)
    found = runs.flat(runs.ids(self._batches(on_error="skip")))
    self.assertCountEqual(found, set(self.stored) - set(bad))


if __name__ == "__main__":
  tf.test.main()
