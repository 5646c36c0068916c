"""`dataset(epoch=, steps=)` and `epochs`: what a part of an epoch gives and reads."""

import tempfile

import runs
import tensorflow as tf
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments

_BATCH = 8
_OPTIONS = {
  "features": ["id", "image"],
  "transforms": [transforms.RandomCrop(16)],
  "seed": 5,
}


class EpochsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    # 252 samples: 32 batches, of which the last is short; more than the first fill.
    cls.path = runs.make(
      folder.name, "png:5,raw:3", per_class=63, sides=(24, 24), shard_size=65536
    )
    cls.epoch = [runs.digests(cls._dataset(epoch=epoch, cache=0)) for epoch in range(3)]

  @classmethod
  def _dataset(cls, **options) -> tf.data.Dataset:
    return build(Arguments(cls.path, _BATCH, **_OPTIONS, **options))

  @parameterized.parameters(
    (0, 31), (0, 1), (7, 5), (20, 100), (30, 1), (31, 4), (5, 0)
  )
  def test_a_part_is_a_part_of_the_epoch(self, first, count):
    part = self._dataset(epoch=1, steps=(first, count))
    wanted = self.epoch[1][first : first + count]
    self.assertEqual(part.cardinality().numpy(), len(wanted))
    self.assertEqual(runs.digests(part), wanted)

  def test_the_remainder_is_dropped_of_the_last_part(self):
    part = self._dataset(epoch=1, steps=(28, 10), last_batch="drop")
    self.assertEqual(part.cardinality().numpy(), 3)
    self.assertEqual(runs.digests(part), self.epoch[1][28:31])

  def test_parts_read_what_they_draw(self):
    """Each record is read in one part, by the count of bytes that was read for it."""
    read = []
    for first in range(0, 32, 4):
      part = self._dataset(epoch=1, steps=(first, 4))
      runs.digests(part)
      read.append(liquid_tf.stats(part).summary()["disk_bytes"])
    whole = self._dataset(epoch=1, cache=0)
    runs.digests(whole)
    once = liquid_tf.stats(whole).summary()["disk_bytes"]
    # Reads are of aligned blocks, and each part has its own.
    self.assertLess(sum(read), once + 252 * 2 * 4096)
    self.assertGreater(min(read), 0)

  @parameterized.parameters(1, 3, 32)
  def test_epochs_are_the_epochs(self, parts):
    dataset = liquid_tf.graph.epochs(
      self.path, 2, first=1, parts=parts, batch_size=_BATCH, **_OPTIONS
    )
    self.assertEqual(runs.digests(dataset), self.epoch[1] + self.epoch[2])

  def test_a_flat_map_of_ones_own(self):
    dataset = tf.data.Dataset.range(3).flat_map(
      lambda epoch: build(Arguments(self.path, _BATCH, epoch=epoch, **_OPTIONS))
    )
    self.assertEqual(runs.digests(dataset), sum(self.epoch, []))

  def test_a_checkpoint_inside_a_part(self):
    def make() -> tf.data.Iterator:
      return iter(
        liquid_tf.graph.epochs(self.path, 3, parts=4, batch_size=_BATCH, **_OPTIONS)
      )

    wanted = sum(self.epoch, [])
    iterator = make()
    for _ in range(45):
      next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(
      f"{self.create_tempdir().full_path}/checkpoint"
    )
    restored = make()
    tf.train.Checkpoint(iterator=restored).restore(path).assert_consumed()
    self.assertEqual(runs.digests(restored), wanted[45:])

  @parameterized.parameters(
    ({"steps": (0, 1)}, "steps .*give epoch"),
    ({"epoch": 0, "steps": 3}, "steps .3. must be"),
    ({"epoch": 0, "steps": (0, -1)}, "steps .*must be"),
    ({"epoch": -1}, "epoch .-1. must be"),
    ({"epoch": 0.5}, "epoch .0.5. must be"),
    ({"epoch": 0, "steps": (0, 1), "cache": "30%"}, 'cache ."30%". must be 0'),
  )
  def test_wrong_arguments(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._dataset(**options)

  @parameterized.parameters(
    ({"parts": 0}, "parts .0. must be"),
    ({"first": -1}, "first .-1. must be"),
    ({"epoch": 2}, "epoch .2. is no option"),
  )
  def test_wrong_arguments_of_epochs(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.graph.epochs(self.path, 1, **options)


if __name__ == "__main__":
  absltest.main()
