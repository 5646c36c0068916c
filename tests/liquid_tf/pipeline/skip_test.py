"""With on_error="skip", bad records are left out, counted, and change nothing else."""

import collections
import os
import shutil
import tempfile

import damaged
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments

_BATCH = 8
_OPTIONS = {
  "seed": 3,
  "cache": "30%",
  "features": ["id", "format", "image", "label"],
  "on_error": "skip",
}


class SkipTest(parameterized.TestCase, tf.test.TestCase):
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

  def _damage(self, **counts) -> list[int]:
    """Damages some samples of each format; returns them."""
    bad = []
    for name, count in counts.items():
      chosen = damaged.samples(self.path, name)
      chosen = chosen[:: len(chosen) // count][:count]
      for i, sample in enumerate(chosen):
        if name == "png" and i == 0:
          damaged.repack(self.path, sample, damaged.lie_about_size)
        else:
          damaged.flip(self.path, sample)
      bad += chosen
    return bad

  def _dataset(self, path=None, **options):
    return build(Arguments(path or self.path, _BATCH, **{**_OPTIONS, **options}))

  def test_sound_data_is_not_touched(self):
    dataset = self._dataset()
    self.assertEqual(
      runs.digests(dataset), runs.digests(self._dataset(on_error="raise"))
    )
    skipped = liquid_tf.stats(dataset).summary()["skipped"]
    self.assertEqual(skipped, {"count": 0, "first": []})

  def test_some_bad_records(self):
    bad = self._damage(png=2, raw=1)
    dataset = self._dataset()
    images = self._images()
    for epoch in range(3):
      batches = list(dataset.as_numpy_iterator())
      sizes = [len(batch["id"]) for batch in batches]
      # 97 samples: every batch but the last is whole.
      self.assertEqual(sizes, [8] * 12 + [1])
      ids = runs.flat(batch["id"].tolist() for batch in batches)
      self.assertCountEqual(ids, set(range(100)) - set(bad))
      for batch in batches:
        for sample, image, label in zip(batch["id"], batch["image"], batch["label"]):
          self.assertAllEqual(image, images[sample][0])
          self.assertEqual(label, images[sample][1])
      formats = [collections.Counter(batch["format"].tolist()) for batch in batches]
      for name in (b"png", b"raw", b"webp"):
        counts = [found[name] for found in formats[:-1]]
        self.assertLessEqual(max(counts) - min(counts), 1, f"{name}: {counts}")
      self._check_stats(dataset, bad, epoch + 1)

  def test_counters_are_shown_in_a_line(self):
    dataset = self._dataset()
    self.assertRegex(
      str(liquid_tf.stats(dataset)), r"^<Stats: epochs 0, .*; 0 left out as damaged>$"
    )
    [bad] = self._damage(raw=1)
    runs.ids(dataset)
    self.assertRegex(
      repr(liquid_tf.stats(dataset)),
      r"^<Stats: epochs 1, batches 13, samples 99, [\d.]+ [KMG]B read from the disk; "
      rf"1 left out as damaged, the first: .*{damaged.where(self.path, bad)}.*>$",
    )

  def _images(self) -> dict:
    return {
      int(sample): (image, label)
      for batch in build(
        Arguments(self.sound, 50, features=["id", "image", "label"])
      ).as_numpy_iterator()
      for sample, image, label in zip(batch["id"], batch["image"], batch["label"])
    }

  def _check_stats(self, dataset, bad, epochs):
    summary = liquid_tf.stats(dataset).summary()
    self.assertEqual(summary["skipped"]["count"], len(bad) * epochs)
    first = summary["skipped"]["first"]
    self.assertCountEqual([entry["sample"] for entry in first], bad * epochs)
    for entry in first:
      self.assertRegex(entry["reason"], damaged.where(self.path, entry["sample"]))
    self.assertEqual(summary["by_format"]["png"]["skipped"], 2 * epochs)
    self.assertEqual(summary["by_format"]["raw"]["skipped"], epochs)
    self.assertEqual(summary["by_format"]["webp"]["skipped"], 0)
    self.assertEqual(summary["samples"], (100 - len(bad)) * epochs)
    for batch in liquid_tf.stats(dataset).batches:
      self.assertEqual(batch["full"], sum(batch["samples"].values()) == _BATCH)

  def test_the_order_is_that_of_sound_data_without_the_bad_ones(self):
    bad = self._damage(png=3, webp=1)
    sound = build(Arguments(self.sound, _BATCH, **{**_OPTIONS, "on_error": "raise"}))
    skipping = self._dataset(tuning=liquid_tf.graph.Tuning(parallelism=1, threads=1))
    other = self._dataset(tuning=liquid_tf.graph.Tuning(parallelism=4, threads=8))
    for _ in range(3):
      found = runs.ids(skipping)
      self.assertEqual(runs.ids(other), found)
      # Each batch has the next good samples of each format.
      wanted = runs.flat(runs.ids(sound))
      for name in ("png", "raw", "webp"):
        members = set(damaged.samples(self.path, name)) - set(bad)
        left = [sample for sample in wanted if sample in members]
        for batch in found:
          ours = [sample for sample in batch if sample in members]
          self.assertCountEqual(ours, left[: len(ours)])
          left = left[len(ours) :]
        self.assertEmpty(left)

  def test_all_records_of_a_format(self):
    raw = damaged.samples(self.path, "raw")
    for sample in raw:
      damaged.flip(self.path, sample)
    dataset = self._dataset()
    for _ in range(2):
      self.assertCountEqual(runs.flat(runs.ids(dataset)), set(range(100)) - set(raw))
    self.assertEqual(liquid_tf.stats(dataset).next_epoch, 2)

  def _first_of(self, **options) -> str:
    """A pattern of where the first sample of epoch 0 lies."""
    sound = runs.ids(build(Arguments(self.sound, _BATCH, **_OPTIONS | options)))
    return damaged.where(self.path, sound[0][0])

  @parameterized.parameters(
    {}, {"batch_size": None}, {"shuffle": False}, {"shard": (1, 2)},
    {"shard": (1, 2), "shard_policy": "uneven"}, {"last_batch": "drop"},
  )  # fmt: skip
  def test_every_record(self, **options):
    for sample in range(100):
      damaged.flip(self.path, sample)
    dataset = build(
      Arguments(self.path, **{**_OPTIONS, "batch_size": _BATCH, **options})
    )
    options.pop("batch_size", None)
    where = self._first_of(**options)
    for _ in range(2):
      with self.assertRaisesRegex(tf.errors.DataLossError, f"{where}.*CRC-32C"):
        runs.ids(dataset)
    self.assertEqual(liquid_tf.stats(dataset).next_epoch, 0)

  def test_of_every_record_it_is_told_once(self):
    for sample in range(100):
      damaged.flip(self.path, sample)
    dataset = self._dataset()
    iterator = iter(dataset)
    with self.assertRaisesRegex(
      tf.errors.DataLossError,
      f"none of the 100 samples of the epoch can be used.*{self._first_of()}",
    ):
      next(iterator)
    # As for tf.data's ignore_errors.
    self.assertIsNone(next(iterator, None))

  def test_every_record_of_a_source_by_itself(self):
    samples = damaged.samples(self.path, "raw")
    for sample in samples:
      damaged.flip(self.path, sample)
    blocks = liquid_tf.graph.format_dataset(self.path, "raw")
    dataset = liquid_tf.graph.decode_and_batch(blocks, on_error="skip")
    with self.assertRaisesRegex(
      tf.errors.DataLossError, damaged.where(self.path, samples[0])
    ):
      list(dataset)

  def test_an_epoch_of_which_the_rest_is_bad(self):
    order = runs.ids(self._dataset(self.sound))
    for sample in range(100):
      if sample not in order[0]:
        damaged.flip(self.path, sample)
    dataset = self._dataset()
    iterator = iter(dataset)
    self.assertCountEqual(next(iterator)["id"].numpy().tolist(), order[0])
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    prefix = checkpoint.write(self.create_tempdir().full_path + "/x")
    self.assertIsNone(next(iterator, None))
    self.assertEqual(liquid_tf.stats(dataset).next_epoch, 1)
    # So it is where others have delivered what came before.
    iterator = iter(self._dataset())
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    self.assertEqual(runs.ids(iterator), [])
    self.assertEqual(runs.ids(self._dataset(start=(0, 1))), [])

  def test_a_part_of_an_epoch_of_which_others_are_sound(self):
    order = runs.ids(self._dataset(self.sound, cache=0))
    for sample in order[0] + order[1]:
      damaged.flip(self.path, sample)
    part = self._dataset(cache=0, epoch=0, steps=(0, 2))
    self.assertEqual(runs.ids(part), [])
    rest = self._dataset(cache=0, epoch=0, steps=(2, 99))
    self.assertCountEqual(runs.flat(runs.ids(rest)), runs.flat(order[2:]))

  @parameterized.parameters((1, 0, 0), (3, 1, 0), (20, 0, 5))
  def test_shards_have_equal_numbers_of_batches(self, png, raw, webp):
    counts = {"png": png, "raw": raw, "webp": webp}
    bad = self._damage(**{name: count for name, count in counts.items() if count})
    seen = []
    for shard in range(2):
      dataset = self._dataset(shard=(shard, 2))
      for _ in range(2):
        batches = runs.ids(dataset)
        # A step that one worker makes with fewer samples is weighed otherwise.
        self.assertEqual([len(batch) for batch in batches], [8] * 6 + [2])
      seen += batches
    self.assertEqual(set(runs.flat(seen)), set(range(100)) - set(bad))

  @parameterized.parameters(False, True)
  def test_a_restored_part_repeats_the_same_samples(self, symbolic):
    options = _OPTIONS | {"shard": (0, 2), "shuffle": False, "features": ["id"]}
    order = runs.flat(runs.ids(build(Arguments(self.path, 1, **options))))
    # The first of the epoch, one, two in a row, and the last.
    for position in (0, 7, 20, 21, 49):
      damaged.flip(self.path, order[position])
    tf_options = tf.data.Options()
    tf_options.experimental_symbolic_checkpoint = symbolic

    def make():
      return build(
        Arguments(self.path, 1, **options | {"features": ["id", "image"]})
      ).with_options(tf_options)

    iterator = iter(make())
    folder = self.create_tempdir().full_path
    prefixes = []
    for position in range(48):
      checkpoint = tf.train.Checkpoint(iterator=iterator)
      prefixes.append(checkpoint.write(os.path.join(folder, str(position))))
      next(iterator)
    wanted = runs.flat(runs.ids(make()))
    self.assertLen(wanted, 50)
    self.assertEqual(wanted[:2] + wanted[20:23], order[1:2] * 2 + order[22:23] * 3)
    self.assertEqual(wanted[48:], order[48:49] * 2)
    for position, prefix in enumerate(prefixes):
      iterator = iter(make())
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      self.assertEqual(runs.flat(runs.ids(iterator)), wanted[position:], position)

  def test_few_batches_are_decoded_to_find_another_sample(self):
    path = runs.make(
      os.path.join(self.root, "large"), "raw:1", per_class=50, sides=(256, 256)
    )
    options = _OPTIONS | {"shard": (0, 2), "cache": 0, "shuffle": False}
    order = runs.flat(runs.ids(build(Arguments(path, 1, **options))))
    damaged.flip(path, order[1])
    dataset = build(Arguments(path, 1, **options))
    # Batches of one sample have none to give: the next one is repeated.
    self.assertEqual(
      runs.flat(runs.ids(dataset)), [order[0], order[2]] + order[2:], order
    )
    batches, used = iter(dataset), []
    for _ in range(3):
      next(batches)
      used.append(liquid_tf.stats(dataset).summary()["pool"]["used"])
    # Of images, of which the epoch has a hundred.
    self.assertLess((used[2] - used[0]) / (256 * 256 * 3), 40)

  @parameterized.parameters(False, True)
  def test_checkpoints(self, symbolic):
    self._damage(png=4, raw=2, webp=1)
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def make():
      return (
        self._dataset(transforms=[transforms.RandomCrop(16)])
        .repeat(2)
        .with_options(options)
      )

    iterator = iter(make())
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    prefixes, wanted = [], []
    while True:
      prefixes.append(checkpoint.write(os.path.join(folder, str(len(wanted)))))
      element = next(iterator, None)
      if element is None:
        break
      wanted.append(runs.digest(element))
    self.assertGreater(len(wanted), 22)
    for position, prefix in enumerate(prefixes):
      iterator = iter(make())
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      self.assertEqual(runs.digests(iterator), wanted[position:], position)

  @parameterized.parameters(
    {"batch_size": None}, {"batch_size": 200}, {"shuffle": False}
  )
  def test_other_pipelines(self, **options):
    bad = self._damage(png=2, raw=1)
    dataset = build(Arguments(self.path, **{**_OPTIONS, **options}))
    for _ in range(2):
      self.assertCountEqual(runs.flat(runs.ids(dataset)), set(range(100)) - set(bad))

  def test_ragged_batches(self):
    bad = self._damage(png=2, webp=1)
    dataset = self._dataset(transforms=[transforms.Ragged()])
    images = self._images()
    seen = []
    for batch in dataset:
      for sample, image in zip(batch["id"].numpy(), batch["image"]):
        self.assertAllEqual(image.to_tensor(), images[sample][0])
        seen.append(sample)
    self.assertCountEqual(seen, set(range(100)) - set(bad))

  def test_a_wrong_argument(self):
    with self.assertRaisesRegex(ValueError, 'on_error .*"raise" or "skip"'):
      self._dataset(on_error="ignore")


if __name__ == "__main__":
  tf.test.main()
