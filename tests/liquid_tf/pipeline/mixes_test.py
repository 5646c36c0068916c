"""Mixes that change between epochs: order, cache, checkpoints, shards."""

import collections
import os
import tempfile
from unittest import mock

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._pipeline import mix_control
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest

_MIXES = [
  {"png": 6, "raw": 4},
  {"png": 2, "raw": 7, "webp": 1},
  "webp",
  {"png": 0.34, "raw": 0.33, "webp": 0.33},
]


def _options(**options):
  return {"features": ["id", "format", "image"], "cache": "30%", **options}


class Scripted:
  """Stands for the controller: moves the mix as it is told, whatever was measured."""

  def __init__(self, *_):
    self.epochs = []

  def next_mix(self, epoch):
    self.epochs.append(epoch)
    shares = [{"png": 0.2, "raw": 0.8}, {"raw": 0.1, "webp": 0.9}, {"png": 1.0}]
    return shares[(len(self.epochs) - 1) % 3]


def _scripted():
  return mock.patch.object(mix_control, "Controller", Scripted)


class MixesTest(tf.test.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.path = runs.make(folder.name, "png:6,raw:4,webp:2", replicate=True)
    cls.samples = manifest.load(cls.path)["samples"]
    plain = build(Arguments(cls.path, 8, mix="png", **_options()))
    cls.pixels = {sample: pixels for sample, _, pixels in runs.draws(plain)}

  def _check_epoch(self, draws, counts):
    self.assertEqual({s: p for s, _, p in draws}, self.pixels)
    self.assertLen(draws, self.samples)
    found = collections.Counter(name for _, name, _ in draws)
    self.assertEqual(dict(found), {n: c for n, c in counts.items() if c})

  @parameterized.parameters(0, "30%", "100%", "20KiB")
  def test_each_sample_once_in_every_epoch_of_a_list(self, cache):
    dataset = build(Arguments(self.path, 8, mix=_MIXES, **_options(cache=cache)))
    for counts in (
      {"png": 60, "raw": 40},
      {"png": 20, "raw": 70, "webp": 10},
      {"webp": 100},
      {"png": 34, "raw": 33, "webp": 33},
      {"png": 34, "raw": 33, "webp": 33},
    ):
      self._check_epoch(runs.draws(dataset), counts)
    stats = liquid_tf.stats(dataset)
    self.assertLen(stats.mixes, 5)
    self.assertEqual(stats.mixes[1], {"png": 20, "raw": 70, "webp": 10})
    if cache == "100%":
      # What has not changed its format is not read again.
      self.assertEqual(stats.epochs[4]["memory_hits"], stats.mixes[4])
      self.assertEqual(stats.epochs[1]["memory_hits"]["raw"], 40)
      self.assertEqual(stats.epochs[1]["memory_hits"]["png"], 20)
      self.assertEqual(sum(stats.epochs[2]["memory_hits"].values()), 10)

  def test_batches_are_fair_in_every_epoch(self):
    dataset = build(Arguments(self.path, 8, mix=_MIXES, **_options()))
    for _ in range(4):
      runs.ids(dataset)
    stats = liquid_tf.stats(dataset)
    full = [batch for batch in stats.batches if batch["full"]]
    self.assertLen(full, 4 * (100 // 8))
    for batch in full:
      for name, count in stats.mixes[batch["epoch"]].items():
        least, most = 8 * count // 100, -(-8 * count // 100)
        self.assertBetween(batch["samples"][name], least, most)

  def test_a_list_of_one_mix_is_that_mix(self):
    mix = {"png": 5, "raw": 3, "webp": 2}
    one, changing = (
      build(Arguments(self.path, 8, mix=mix, **_options())) for mix in (mix, [mix])
    )
    for _ in range(3):
      self.assertEqual(runs.draws(one), runs.draws(changing))

  def test_an_epoch_depends_on_the_mixes_and_its_number_alone(self):
    whole = build(Arguments(self.path, 8, mix=_MIXES, **_options()))
    epochs = [runs.draws(whole) for _ in range(4)]
    third = build(Arguments(self.path, 8, mix=_MIXES, epoch=3, **_options()))
    self.assertEqual(epochs[3], runs.draws(third))
    later = build(Arguments(self.path, 8, mix=_MIXES, start=(2, 3), **_options()))
    self.assertEqual(epochs[2][24:], runs.draws(later))
    self.assertEqual(epochs[3], runs.draws(later))
    abandoned = build(Arguments(self.path, 8, mix=_MIXES, **_options()))
    runs.draws(abandoned)
    next(iter(abandoned))
    self.assertEqual(epochs[1], runs.draws(abandoned))

  def test_auto_begins_with_the_mix_of_the_conversion_and_can_be_replayed(self):
    with _scripted():
      dataset = build(Arguments(self.path, 8, mix="auto", **_options()))
      epochs = [runs.draws(dataset) for _ in range(5)]
    mixes = liquid_tf.stats(dataset).mixes
    self.assertEqual(mixes[0], {"png": 50, "raw": 33, "webp": 17})
    self.assertEqual(mixes[1], {"png": 20, "raw": 80, "webp": 0})
    self.assertEqual(mixes[2], {"png": 0, "raw": 10, "webp": 90})
    for draws, counts in zip(epochs, mixes):
      self._check_epoch(draws, counts)
    again = build(Arguments(self.path, 8, mix=mixes, **_options()))
    self.assertEqual(epochs, [runs.draws(again) for _ in range(5)])

  def test_the_controller_is_shown_what_was_counted(self):
    made = []

    class Kept(Scripted):
      def __init__(self, *arguments):
        super().__init__()
        made.append((self, arguments))

    with mock.patch.object(mix_control, "Controller", Kept):
      dataset = build(
        Arguments(
          self.path,
          8,
          mix="auto",
          tuning=liquid_tf.graph.Tuning(parallelism=3),
          **_options(),
        )
      )
      for _ in range(3):
        runs.draws(dataset)
    ((controller, (stored, machine, threads)),) = made
    entry = liquid_tf.stats(dataset).epochs[1]
    seen = controller.epochs[1]
    self.assertLen(controller.epochs, 2)
    self.assertAllClose(seen.mix, {"png": 0.2, "raw": 0.8, "webp": 0.0})
    self.assertEqual(seen.batches, 13)
    self.assertEqual(seen.decodes, {"png": 20, "raw": 80, "webp": 0})
    self.assertEqual(seen.decode_seconds, entry["decode_seconds"])
    self.assertGreater(seen.decode_seconds["png"], 0)
    self.assertEqual(seen.disk_bytes, entry["disk_bytes"])
    self.assertGreater(seen.fill_bytes, 0)
    self.assertEqual(seen.fill_seconds, entry["fill"]["seconds"])
    self.assertEqual(seen.disk, entry["seconds"]["disk"])
    self.assertGreaterEqual(seen.disk, seen.fill_seconds)
    self.assertEqual(threads, 3)
    self.assertAlmostEqual(machine.cache_share, 0.3, delta=0.03)
    self.assertEqual(list(stored), ["raw", "png", "webp"])
    self.assertGreater(stored["raw"], 24 * 24 * 3)

  def test_two_iterators_of_one_epoch_have_one_mix(self):
    with _scripted():
      dataset = build(Arguments(self.path, 8, mix="auto", **_options()))
      runs.draws(dataset)
      one, other = iter(dataset), iter(dataset)
      first = next(one), next(other)
      self.assertEqual(*map(runs.digest, first))
      self.assertEqual(runs.digests(one), runs.digests(other))
    self.assertLen(liquid_tf.stats(dataset).mixes, 2)

  @parameterized.product(symbolic=(False, True), at=(0, 5, 13, 18, 29))
  def test_a_restored_iterator_goes_on_with_the_mixes_of_its_checkpoint(
    self, symbolic, at
  ):
    folder = self.create_tempdir().full_path

    def make(mix):
      options = tf.data.Options()
      options.experimental_symbolic_checkpoint = symbolic
      dataset = build(Arguments(self.path, 8, mix=mix, **_options()))
      return dataset, dataset.repeat(4).with_options(options)

    with _scripted():
      dataset, repeated = make("auto")
      iterator = iter(repeated)
      for _ in range(at):
        next(iterator)
      path = tf.train.Checkpoint(iterator=iterator).save(os.path.join(folder, "c"))
      rest = runs.digests(iterator)
      mixes = liquid_tf.stats(dataset).mixes
      # Another run would choose otherwise; it has to keep to what was chosen before.
      restored, repeated = make("auto")
      iterator = iter(repeated)
      tf.train.Checkpoint(iterator=iterator).restore(path).assert_consumed()
      found = runs.digests(iterator)
    here = max(0, (at - 1)) // 13
    in_epoch = min(len(rest), 13 * (here + 1) - at)
    self.assertEqual(found[:in_epoch], rest[:in_epoch])
    self.assertEqual(liquid_tf.stats(restored).mixes[: here + 1], mixes[: here + 1])
    replay = runs.digests(make(liquid_tf.stats(restored).mixes)[1])
    self.assertEqual(replay[at:], found)

  def test_a_list_goes_on_behind_a_checkpoint(self):
    path = os.path.join(self.create_tempdir().full_path, "c")
    whole = runs.digests(
      build(Arguments(self.path, 8, mix=_MIXES, **_options())).repeat(4)
    )
    iterator = iter(build(Arguments(self.path, 8, mix=_MIXES, **_options())).repeat(4))
    for _ in range(20):
      next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(path)
    iterator = iter(build(Arguments(self.path, 8, mix=_MIXES, **_options())).repeat(4))
    tf.train.Checkpoint(iterator=iterator).restore(path).assert_consumed()
    self.assertEqual(runs.digests(iterator), whole[20:])

  def test_a_checkpoint_of_one_kind_does_not_fit_the_other(self):
    path = os.path.join(self.create_tempdir().full_path, "c")
    iterator = iter(build(Arguments(self.path, 8, mix=_MIXES, **_options())))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(path)
    iterator = iter(build(Arguments(self.path, 8, mix=_MIXES[0], **_options())))
    with self.assertRaisesRegex(Exception, "saved by a dataset with other samples"):
      tf.train.Checkpoint(iterator=iterator).restore(path)

  @parameterized.parameters("pad", "drop", "uneven")
  def test_workers_that_choose_for_themselves_share_the_samples(self, policy):
    mixes = [_MIXES, _MIXES[::-1], ["raw"]]
    workers = [
      build(
        Arguments(
          self.path, 8, mix=mix, shard=(i, 3), shard_policy=policy, **_options()
        )
      )
      for i, mix in enumerate(mixes)
    ]
    for _ in range(3):
      parts = [[s for s, _, _ in runs.draws(worker)] for worker in workers]
      ids = [sample for part in parts for sample in part]
      if policy != "uneven":
        self.assertLen({len(part) for part in parts}, 1)
      if policy != "drop":
        self.assertEqual(set(ids), set(range(self.samples)))
      repeated = 2 if policy == "pad" else 0
      self.assertLessEqual(len(ids) - len(set(ids)), repeated)

  def test_epochs_as_data(self):
    whole = build(Arguments(self.path, 8, mix=_MIXES, **_options(cache=0)))
    expected = runs.digests(whole.repeat(4))
    found = liquid_tf.graph.epochs(
      self.path, 4, batch_size=8, mix=_MIXES, parts=2, **_options(cache=0)
    )
    self.assertEqual(runs.digests(found), expected)

  def test_dropped_batches_and_small_epochs_leave_the_mix(self):
    dataset = build(
      Arguments(self.path, 8, mix="auto", last_batch="drop", **_options())
    )
    for _ in range(3):
      self.assertLen(list(dataset), 12)
    # An epoch of some milliseconds says nothing.
    self.assertLen(set(map(str, liquid_tf.stats(dataset).mixes)), 1)

  def test_what_does_not_go_with_it_is_refused(self):
    with self.assertRaisesRegex(ValueError, r"shuffle \(False\) must be True"):
      build(Arguments(self.path, mix="auto", shuffle=False))
    with self.assertRaisesRegex(ValueError, r'cache_policy \("minio"\) must be'):
      build(Arguments(self.path, mix=_MIXES, cache_policy="minio"))
    with self.assertRaisesRegex(
      ValueError, r'epoch \(3\) must be None where mix is "a'
    ):
      build(Arguments(self.path, mix="auto", epoch=3))
    with self.assertRaisesRegex(ValueError, r"mix \(\[\]\) must have the mix of at"):
      build(Arguments(self.path, mix=[]))
    with self.assertRaisesRegex(ValueError, r'mix: format \("l3"\) must be one of raw'):
      build(Arguments(self.path, mix=["png", "l3"]))
    plain = runs.make(self.create_tempdir().full_path, "png:1,raw:1", per_class=4)
    with self.assertRaisesRegex(ValueError, r"has one encoding of each sample"):
      build(Arguments(plain, mix="auto"))


if __name__ == "__main__":
  tf.test.main()
