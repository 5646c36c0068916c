"""Which epoch an iterator runs, and datasets of odd sizes."""

import gc
import shutil
import tempfile
from unittest import mock

import numpy as np
import runs
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph import epochs as epochs_lib
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments

_OPTIONS = {"seed": 3, "cache": "30%", "features": ["id", "image"]}
_BATCH = 8
_STEPS = 13


class EpochsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root)
    dataset = cls._dataset()
    cls.wanted = [runs.ids(dataset) for _ in range(4)]

  @classmethod
  def _dataset(cls, **options):
    return liquid_tf.dataset(cls.path, _BATCH, **{**_OPTIONS, **options})

  def test_epochs_differ_and_can_be_run_again(self):
    orders = {tuple(runs.flat(epoch)) for epoch in self.wanted}
    self.assertLen(orders, 4)
    again = self._dataset()
    self.assertEqual([runs.ids(again) for _ in range(4)], self.wanted)

  def test_cardinality_is_known(self):
    samples = sum(map(len, self.wanted[0]))
    single = liquid_tf.dataset(self.path, None, **_OPTIONS)
    self.assertEqual(single.cardinality(), samples)
    self.assertLen(list(single), samples)
    batched = single.map(lambda sample: sample["id"]).batch(10)
    self.assertEqual(batched.cardinality(), -(-samples // 10))
    skipping = liquid_tf.dataset(self.path, None, on_error="skip", **_OPTIONS)
    self.assertEqual(skipping.cardinality(), tf.data.UNKNOWN_CARDINALITY)
    options = _OPTIONS | {"cache": 0}
    epochs = liquid_tf.graph.epochs(self.path, 3, parts=2, batch_size=_BATCH, **options)
    self.assertEqual(epochs.cardinality(), 3 * _STEPS)
    self.assertLen(list(epochs), 3 * _STEPS)

  def test_a_known_cardinality_is_not_enforced(self):
    single = liquid_tf.dataset(self.path, None, **_OPTIONS)
    with tempfile.TemporaryDirectory() as folder:
      iterator = iter(single)
      for _ in range(5):
        next(iterator)
      path = tf.train.Checkpoint(iterator=iterator).save(f"{folder}/checkpoint")
      wanted = [int(sample["id"]) for sample in iterator]
      restored = iter(single)
      tf.train.Checkpoint(iterator=restored).restore(path)
      self.assertEqual([int(sample["id"]) for sample in restored], wanted)
    # The iterator of a later start has fewer elements, and this is no error.
    later = liquid_tf.dataset(self.path, None, start=(0, 1), **_OPTIONS)
    self.assertLess(len(list(later)), int(later.cardinality()))

  def test_memory_counts_what_other_datasets_will_take(self):
    free = 1 << 30
    options = _OPTIONS | {"cache": "auto"}
    gc.collect()
    with mock.patch("liquid_tf._native.free_memory.free_memory", return_value=free):
      small = liquid_tf.dataset(self.path, _BATCH, **options)
      small_memory = liquid_tf.stats(small).summary()["memory"]
      other = liquid_tf.dataset(self.path, _BATCH, **options)
      other_memory = liquid_tf.stats(other).summary()["memory"]
    # As much less as the first may take, which is its data and what is decoded ahead.
    self.assertLess(other_memory, small_memory)
    summary = liquid_tf.stats(small).summary()
    taken = liquid_tf.stats(small)._blocks.snapshot.most_bytes
    self.assertLess(taken, small_memory)
    free_of_it = taken - summary["pool"]["used"] - summary["pool"]["kept"]
    self.assertAlmostEqual(small_memory - other_memory, 0.75 * free_of_it, delta=1000)

  def test_epochs_have_one_budget(self):
    with mock.patch("liquid_tf._native.free_memory.free_memory", return_value=1 << 30):
      gc.collect()
      options = _OPTIONS | {"cache": 0}
      dataset = liquid_tf.dataset(self.path, _BATCH, **options)
      budget = liquid_tf.stats(dataset).summary()["memory"]
      del dataset
      gc.collect()
      with mock.patch.object(epochs_lib, "build", side_effect=build) as built:
        liquid_tf.graph.epochs(self.path, 2, batch_size=_BATCH, **options)
    memories = [call.args[0].memory for call in built.call_args_list]
    self.assertEqual(memories[0], "auto")
    self.assertAlmostEqual(memories[1], budget, delta=64 << 20)

  def test_repeat(self):
    dataset = self._dataset().repeat(3)
    self.assertEqual(dataset.cardinality(), 3 * _STEPS)
    self.assertEqual(runs.ids(dataset), runs.flat(self.wanted[:3]))

  def test_a_look_does_not_use_up_an_epoch(self):
    dataset = self._dataset()
    for _ in range(2):
      self.assertEqual(runs.ids(dataset.take(1)), self.wanted[0][:1])
    next(iter(dataset))
    iter(dataset)
    self.assertEqual(runs.ids(dataset), self.wanted[0])
    self.assertEqual(runs.ids(dataset.take(5)), self.wanted[1][:5])
    self.assertEqual(runs.ids(dataset), self.wanted[1])

  def test_an_abandoned_epoch_leaves_the_cache_and_the_order(self):
    dataset = self._dataset()
    for epoch in range(4):
      for steps in (3, 9):
        self.assertEqual(runs.ids(dataset.take(steps)), self.wanted[epoch][:steps])
      self.assertEqual(runs.ids(dataset), self.wanted[epoch])

  def test_the_last_batch_ends_the_epoch(self):
    # Nobody asks for the end of the sequence, as in fit.
    dataset = self._dataset()
    for epoch in self.wanted:
      iterator = iter(dataset)
      self.assertEqual(runs.ids(next(iterator) for _ in range(_STEPS)), epoch)

  def test_two_iterators_at_once_run_the_same_epoch(self):
    dataset = self._dataset()
    for epoch in self.wanted[:3]:
      first, second = iter(dataset), iter(dataset)
      found = [runs.ids(pair) for pair in zip(first, second)]
      self.assertEqual(found, [[batch, batch] for batch in epoch])

  def test_memory_has_one_cache_when_an_iterator_is_dropped_in_its_middle(self):
    dataset = self._dataset(tuning=liquid_tf.graph.Tuning(lookahead=1))
    runs.ids(dataset)
    self.assertGreater(liquid_tf.stats(dataset).summary()["cached"]["records"], 0)
    one = iter(dataset)
    next(one)
    other = iter(dataset)
    next(other)
    del one
    gc.collect()
    # It takes memory over, and fills it with what it keeps itself.
    for _ in range(_STEPS // 2):
      next(other)
    self.assertEqual(liquid_tf.stats(dataset).summary()["cached"]["records"], 0)

  def test_an_iterator_takes_its_epoch_when_it_is_asked(self):
    dataset = self._dataset()
    early, late = iter(dataset), iter(dataset)
    self.assertEqual(runs.ids(early), self.wanted[0])
    self.assertEqual(runs.ids(late), self.wanted[1])

  def test_a_given_epoch(self):
    dataset = build(Arguments(self.path, _BATCH, epoch=2, **_OPTIONS))
    for _ in range(2):
      self.assertEqual(runs.ids(dataset), self.wanted[2])

  @parameterized.parameters((0, 0), (2, 0), (1, 5), (2, _STEPS - 1))
  def test_a_later_beginning(self, epoch, step):
    dataset = self._dataset(start=(epoch, step))
    self.assertEqual(runs.ids(dataset), self.wanted[epoch][step:])
    self.assertEqual(runs.ids(dataset), self.wanted[epoch + 1])

  def test_a_beginning_at_the_end_is_that_of_the_next_epoch(self):
    for options in ({}, {"last_batch": "drop"}):
      batches = _STEPS - len(options)
      last = self._dataset(start=(0, batches - 1), **options)
      end = self._dataset(start=(0, batches), **options)
      self.assertEqual(runs.ids(last), self.wanted[0][batches - 1 : batches])
      order = runs.ids(end)
      self.assertEqual(order, self.wanted[1][:batches])
      self.assertEqual(order, runs.ids(last))
      with self.assertRaisesRegex(
        ValueError,
        rf"start \(\(0, {batches + 1}\)\) must have a step of at most {batches}, the",
      ):
        self._dataset(start=(0, batches + 1), **options)

  def test_cardinality_is_that_of_a_whole_epoch(self):
    self.assertLen(self._dataset(start=(1, 5)), _STEPS)

  def test_stored_order(self):
    dataset = self._dataset(shuffle=False)
    first = runs.ids(dataset)
    self.assertCountEqual(runs.flat(first), range(100))
    for _ in range(2):
      self.assertEqual(runs.ids(dataset), first)
    records = stored.records(self.path)
    for name in ("png", "raw", "webp"):
      members = [r["id"] for r in records if r["shard"].format == name]
      found = [sample for sample in runs.flat(first) if sample in set(members)]
      self.assertEqual(found, members)

  @parameterized.parameters("0", "100%", "50KB", "auto", 60_000, 0)
  def test_caches_of_every_kind(self, cache):
    dataset = self._dataset(cache=cache)
    for _ in range(3):
      self.assertCountEqual(runs.flat(runs.ids(dataset)), range(100))
    hits = sum(liquid_tf.stats(dataset).epochs[1]["memory_hits"].values())
    if cache in ("100%", "auto"):
      self.assertEqual(hits, 100)
    elif cache in ("0", 0):
      self.assertEqual(hits, 0)
    else:
      self.assertBetween(hits, 1, 99)

  def test_datasets_do_not_disturb_each_other(self):
    first, second = self._dataset(), self._dataset()
    self.assertEqual(runs.ids(first), self.wanted[0])
    self.assertEqual(runs.ids(second), self.wanted[0])
    self.assertEqual(runs.ids(first), self.wanted[1])
    self.assertEqual(liquid_tf.stats(second).next_epoch, 1)

  def test_a_dataset_shows_what_any_dataset_does(self):
    known = set(dir(tf.data.Dataset))
    for batch_size in (_BATCH, None):
      shown = set(dir(liquid_tf.dataset(self.path, batch_size)))
      self.assertEmpty([n for n in shown - known if not n.startswith("_")])

  def test_stats_of_what_is_none_of_ours(self):
    with self.assertRaisesRegex(ValueError, "must come from liquid_tf.dataset"):
      liquid_tf.stats(tf.data.Dataset.range(3))

  def test_wrong_numbers_of_threads(self):
    for name, value in (
      ("threads", 0),
      ("threads", 1000),
      ("parallelism", 0),
      ("lookahead", 0),
      ("patience", 0),
    ):
      error = tf.errors.InvalidArgumentError if value == 1000 else ValueError
      with self.assertRaisesRegex(error, rf"{name} \({value}\) must be"):
        self._dataset(tuning=liquid_tf.graph.Tuning(**{name: value}))
    self.assertLen(
      runs.ids(self._dataset(tuning=liquid_tf.graph.Tuning(threads=np.int64(3)))),
      _STEPS,
    )

  def test_in_a_function(self):
    dataset = self._dataset()

    @tf.function
    def total():
      result = tf.constant(0, tf.int64)
      for batch in dataset:
        result += tf.reduce_sum(batch["id"])
      return result

    for _ in range(2):
      self.assertEqual(total(), 99 * 50)
    self.assertEqual(runs.ids(dataset), self.wanted[2])


class SizesTest(parameterized.TestCase, tf.test.TestCase):
  def _run(self, path, batch_size, epochs=3, **options):
    dataset = liquid_tf.dataset(path, batch_size, **{**_OPTIONS, **options})
    found = [runs.ids(dataset) for _ in range(epochs)]
    for epoch in found:
      if batch_size is not None:
        self.assertLen(epoch, int(dataset.cardinality()))
    return found

  @parameterized.parameters("0%", "30%", "100%")
  def test_one_sample(self, cache):
    root = self.create_tempdir().full_path
    path = runs.make(root, "png", per_class=1, splits="train:1,val:3", seed=1)
    self.assertEqual(liquid_tf.inspect(path)["samples"], 4)
    for batch_size in (1, 8):
      (sample,) = {
        sample
        for epoch in self._run(path, batch_size, split="train", cache=cache)
        for (batch,) in [epoch]
        for sample in [batch[0]]
        if len(batch) == 1
      }
      rest = runs.flat(self._run(path, batch_size, 1, split="val", cache=cache)[0])
      self.assertCountEqual([sample, *rest], range(4))

  def test_a_part_without_a_format(self):
    path = runs.make(self.create_tempdir().full_path, "png:99,raw:1")
    shards = [
      runs.flat(self._run(path, 8, 1, shard=(i, 3), shard_policy="uneven")[0])
      for i in range(3)
    ]
    self.assertCountEqual(sum(shards, []), range(100))

  def test_odd_sizes(self):
    path = runs.make(self.create_tempdir().full_path, "png:3,raw:1", per_class=3)
    for epoch in self._run(path, 100):
      self.assertLen(epoch, 1)
      self.assertCountEqual(epoch[0], range(12))
    for epoch in self._run(path, 5):
      self.assertEqual([len(batch) for batch in epoch], [5, 5, 2])
    for epoch in self._run(path, 1):
      self.assertEqual([len(batch) for batch in epoch], [1] * 12)
    for epoch in self._run(path, 5, last_batch="drop"):
      self.assertEqual([len(batch) for batch in epoch], [5, 5])
      self.assertLen(set(runs.flat(epoch)), 10)
    for epoch in self._run(path, None):
      self.assertEqual([len(batch) for batch in epoch], [1] * 12)
      self.assertCountEqual(runs.flat(epoch), range(12))

  def test_what_is_dropped_changes(self):
    path = runs.make(self.create_tempdir().full_path, "png:3,raw:1", per_class=3)
    left = {
      frozenset(range(12)) - frozenset(runs.flat(epoch))
      for epoch in self._run(path, 5, epochs=6, last_batch="drop")
    }
    self.assertGreater(len(left), 2)

  def test_shapes_and_pixels(self):
    path = runs.make(self.create_tempdir().full_path, "png:1,raw:1", per_class=3)
    records = {record["id"]: record for record in stored.records(path)}
    dataset = liquid_tf.dataset(path, 5)
    image, label = dataset.element_spec
    self.assertEqual(image.shape.as_list(), [None, 24, 24, 3])
    self.assertEqual((image.dtype, label.dtype), (tf.uint8, tf.int64))
    fixed = liquid_tf.dataset(
      path, 5, features=["label", "id", "image", "format"], last_batch="drop"
    )
    for batch in fixed.as_numpy_iterator():
      self.assertEqual(list(batch), ["label", "id", "image", "format"])
      for i, sample in enumerate(batch["id"]):
        record = records[sample]
        np.testing.assert_array_equal(batch["image"][i], record["image"])
        self.assertEqual([batch["label"][i]], record["labels"])
        self.assertEqual(batch["format"][i].decode(), record["shard"].format)


if __name__ == "__main__":
  tf.test.main()
