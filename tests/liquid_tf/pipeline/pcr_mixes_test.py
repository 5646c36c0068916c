"""Mixes that change between epochs where a format's records hold many images."""

import collections
import os
import shutil
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

_BATCH = 10
_IMAGES = 7  # a record of pcr: of 100 images 14, and one of 2

_MIXES = [
  {"pcr": 6, "jpeg": 4},
  {"jpeg": 0.3, "pcr": 0.2, "l3-compact": 0.5},
  "l3-compact",
  "pcr",
  {"pcr": 0.33, "jpeg": 0.34, "l3-compact": 0.33},
]
# Of pcr whole records, the number that is nearest; of the others what is left.
_COUNTS = [
  {"pcr": 63, "jpeg": 37, "l3-compact": 0},
  {"pcr": 21, "jpeg": 30, "l3-compact": 49},
  {"pcr": 0, "jpeg": 0, "l3-compact": 100},
  {"pcr": 100, "jpeg": 0, "l3-compact": 0},
  {"pcr": 35, "jpeg": 33, "l3-compact": 32},
]

# Five epochs of 10 batches.
_STEPS = 50


def _dataset(path: str, **options) -> tf.data.Dataset:
  options = {
    "cache": "40%",
    "seed": 5,
    "features": ["id", "format", "image"],
    "mix": _MIXES,
    **options,
  }
  return build(Arguments(path, _BATCH, **options))


def _repeated(path: str, symbolic: bool = False) -> tf.data.Dataset:
  options = tf.data.Options()
  options.experimental_symbolic_checkpoint = symbolic
  return _dataset(path).repeat(5).with_options(options)


def _killed(path: str, prefix: str, after: int) -> None:
  runs.save_and_die(_repeated(path), prefix, after)


def _rest(path: str, prefix: str) -> list[str]:
  return runs.restored_digests(_repeated(path), prefix)


class _Scripted:
  """Stands for the controller: moves the mix as it is told, whatever was measured."""

  def __init__(self, *arguments):
    self.arguments = arguments
    self.epochs = []
    made.append(self)

  def next_mix(self, epoch):
    self.epochs.append(epoch)
    shares = [{"pcr": 0.5, "jpeg": 0.5}, {"l3-compact": 1.0}, {"pcr": 0.9, "jpeg": 0.1}]
    return shares[(len(self.epochs) - 1) % 3]


# The controllers that were made.
made: list[_Scripted] = []


def _scripted():
  return mock.patch.object(mix_control, "Controller", _Scripted)


class PcrMixesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(
      root,
      "jpeg:1,pcr:2,l3-compact:1",
      extension="jpg",
      sides=(40, 40),
      encoders={"pcr": {"images": _IMAGES}},
      replicate=True,
    )
    cls.whole, cls.low = (
      {s: p for s, _, p in runs.draws(_dataset(cls.path, mix="pcr", fidelity=fidelity))}
      for fidelity in (None, 2)
    )

  def _check_epoch(self, draws, counts, of_pcr=None):
    """Every sample once, so many of each format, with their pixels."""
    of_pcr = of_pcr or self.whole
    self.assertEqual(sorted(sample for sample, _, _ in draws), list(range(100)))
    found = collections.Counter(name for _, name, _ in draws)
    self.assertEqual(dict(found), {n: c for n, c in counts.items() if c})
    for sample, name, pixels in draws:
      right = of_pcr if name == "pcr" else self.whole
      self.assertEqual(pixels, right[sample], f"{sample} in {name}")

  @parameterized.parameters(0, "40%", "100%", "60KiB")
  def test_each_sample_once_in_every_epoch_of_a_list(self, cache):
    dataset = _dataset(self.path, cache=cache)
    for counts in [*_COUNTS, _COUNTS[-1]]:
      self._check_epoch(runs.draws(dataset), counts)
    stats = liquid_tf.stats(dataset)
    self.assertEqual(stats.mixes, [*_COUNTS, _COUNTS[-1]])
    if cache == "100%":
      # What has not changed its format is not read again.
      hits = [epoch["memory_hits"] for epoch in stats.epochs]
      self.assertEqual(hits[1]["pcr"], 21)
      self.assertEqual(hits[3], dict.fromkeys(hits[3], 0))
      self.assertEqual(hits[4], {"pcr": 35, "jpeg": 0, "l3-compact": 0})
      self.assertEqual(hits[5], _COUNTS[-1])
      self.assertEqual(stats.epochs[5]["disk_bytes"], 0)

  @parameterized.parameters(0, "40%", "100%")
  def test_every_batch_has_the_composition_and_costs_the_same(self, cache):
    dataset = _dataset(self.path, cache=cache)
    for _ in _MIXES:
      runs.ids(dataset)
    batches = liquid_tf.stats(dataset).batches
    for number, counts in enumerate(_COUNTS):
      of_epoch = [batch for batch in batches if batch["epoch"] == number]
      self.assertLen(of_epoch, 10)
      for name, count in counts.items():
        for key in ("samples", "hits", "loads"):
          found = [batch[key][name] for batch in of_epoch]
          self.assertLessEqual(max(found) - min(found), 1, f"{key} of {name}")
        self.assertEqual(sum(batch["samples"][name] for batch in of_epoch), count)

  def test_an_epoch_depends_on_the_mixes_and_its_number_alone(self):
    whole = _dataset(self.path)
    epochs = [runs.draws(whole) for _ in _MIXES]
    small = _dataset(
      self.path, memory="120KB", tuning=liquid_tf.graph.Tuning(threads=1)
    )
    self.assertEqual([runs.draws(small) for _ in _MIXES], epochs)
    self.assertEqual(runs.draws(_dataset(self.path, epoch=4)), epochs[4])
    later = _dataset(self.path, start=(1, 3))
    self.assertEqual(runs.draws(later), epochs[1][3 * _BATCH :])
    self.assertEqual(runs.draws(later), epochs[2])
    abandoned = _dataset(self.path)
    runs.draws(abandoned)
    next(iter(abandoned))
    self.assertEqual(runs.draws(abandoned), epochs[1])
    self.assertNotEqual(runs.draws(_dataset(self.path, seed=6)), epochs[0])

  def test_a_list_of_pcr_alone_is_that_format(self):
    one, changing = (_dataset(self.path, mix=mix) for mix in ("pcr", ["pcr"]))
    for _ in range(3):
      self.assertEqual(runs.draws(one), runs.draws(changing))

  @parameterized.product(symbolic=(False, True))
  def test_checkpoints_at_any_batch(self, symbolic):
    iterator = iter(_repeated(self.path, symbolic))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, wanted = [], []
    for at in range(_STEPS + 1):
      saved.append(checkpoint.write(os.path.join(folder, str(at))))
      element = next(iterator, None)
      if element is not None:
        wanted.append(runs.digest(element))
    self.assertLen(wanted, _STEPS)
    for at in (0, 4, 10, 17, 25, 33, 40, 46, 50):
      restored = iter(_repeated(self.path, symbolic))
      tf.train.Checkpoint(iterator=restored).restore(saved[at])
      self.assertEqual(runs.digests(restored), wanted[at:], f"saved after {at}")

  def test_a_killed_run_goes_on(self):
    wanted = runs.digests(_repeated(self.path))
    prefix = os.path.join(self.create_tempdir().full_path, "saved")
    runs.in_new_process(_killed, exit_code=-9, path=self.path, prefix=prefix, after=13)
    found, _ = runs.in_new_process(_rest, path=self.path, prefix=prefix)
    self.assertEqual(found, wanted[13:])

  @parameterized.parameters("pad", "drop", "uneven")
  def test_workers_that_choose_for_themselves_share_the_samples(self, policy):
    workers = [
      _dataset(self.path, mix=mix, shard=(i, 3), shard_policy=policy)
      for i, mix in enumerate([_MIXES, _MIXES[::-1], ["pcr", "jpeg"]])
    ]
    for _ in range(3):
      parts = [[s for s, _, _ in runs.draws(worker)] for worker in workers]
      ids = [sample for part in parts for sample in part]
      if policy != "uneven":
        self.assertLen({len(part) for part in parts}, 1)
      if policy != "drop":
        self.assertEqual(set(ids), set(range(100)))
      self.assertLessEqual(len(ids) - len(set(ids)), 2 if policy == "pad" else 0)
    for worker in workers:
      for batch in liquid_tf.stats(worker).batches:
        if not batch["full"]:
          continue
        mix = liquid_tf.stats(worker).mixes[batch["epoch"]]
        for name, count in mix.items():
          share = _BATCH * count / sum(mix.values())
          self.assertLess(abs(batch["samples"][name] - share), 1)

  def test_a_small_share_has_a_record_and_leaves_one(self):
    # Shards of some 14 images have parts of three records.
    for mix in ({"pcr": 0.02, "jpeg": 0.98}, {"pcr": 0.98, "jpeg": 0.02}):
      for i in range(7):
        dataset = _dataset(self.path, mix=[mix], shard=(i, 7), features=["id"])
        runs.ids(dataset)
        (counts,) = liquid_tf.stats(dataset).mixes
        self.assertBetween(counts["pcr"], 1, sum(counts.values()) - 1)

  def test_epochs_as_data(self):
    expected = runs.digests(_dataset(self.path, cache=0).repeat(5))
    found = liquid_tf.graph.epochs(
      self.path,
      5,
      parts=2,
      batch_size=_BATCH,
      seed=5,
      cache=0,
      features=["id", "format", "image"],
      mix=_MIXES,
    )
    self.assertEqual(runs.digests(found), expected)

  def test_a_fidelity_is_that_of_pcr_alone(self):
    self.assertEmpty(set(self.low.values()) & set(self.whole.values()))
    whole, lower = _dataset(self.path), _dataset(self.path, fidelity=2)
    for number, counts in enumerate(_COUNTS):
      draws = runs.draws(lower)
      self._check_epoch(draws, counts, self.low)
      self.assertEqual([d[:2] for d in draws], [d[:2] for d in runs.draws(whole)])
      read = [liquid_tf.stats(d).epochs[number]["disk_bytes"] for d in (lower, whole)]
      if counts["pcr"]:
        self.assertLess(*read)

  def test_a_fidelity_that_changes_goes_with_a_list(self):
    group = tf.Variable(2, dtype=tf.int64)
    dataset = _dataset(self.path, fidelity=group)
    self._check_epoch(runs.draws(dataset), _COUNTS[0], self.low)
    group.assign(10)
    self._check_epoch(runs.draws(dataset), _COUNTS[1])
    scheduled = _dataset(self.path, fidelity=lambda epoch, _: 10 if epoch else 2)
    self._check_epoch(runs.draws(scheduled), _COUNTS[0], self.low)
    self._check_epoch(runs.draws(scheduled), _COUNTS[1])

  def test_auto_begins_with_the_mix_of_the_conversion_and_can_be_replayed(self):
    with _scripted():
      dataset = _dataset(self.path, mix="auto")
      epochs = [runs.draws(dataset) for _ in range(5)]
    mixes = liquid_tf.stats(dataset).mixes
    self.assertEqual(
      [list(mix.values()) for mix in mixes[:4]],
      [[49, 26, 25], [49, 51, 0], [0, 0, 100], [91, 9, 0]],
    )
    for draws, counts in zip(epochs, mixes):
      self._check_epoch(draws, counts)
    self.assertAllClose(
      made[-1].epochs[1].mix, {"pcr": 0.49, "jpeg": 0.51, "l3-compact": 0}
    )
    again = _dataset(self.path, mix=mixes)
    self.assertEqual([runs.draws(again) for _ in range(5)], epochs)

  @parameterized.parameters((None, "40%"), (2, "40%"), (2, "40KiB"))
  def test_auto_weighs_what_an_image_takes_of_its_record(self, fidelity, cache):
    with _scripted():
      dataset = _dataset(self.path, mix="auto", fidelity=fidelity, cache=cache)
      for _ in range(2):
        runs.ids(dataset)
    stored, machine, _ = made[-1].arguments
    entries = manifest.load_pcr_index(manifest.load(self.path)).values()
    read = sum(entry.prefix_bytes(fidelity or entry.groups) for entry in entries) / 100
    self.assertEqual(list(stored), ["pcr", "jpeg", "l3-compact"])
    self.assertAlmostEqual(stored["pcr"], read)
    self.assertEqual(machine.samples, 100)
    if cache == "40%":
      # Of 7 records 2, and of 26 and 25 images 10.
      self.assertAlmostEqual(machine.cache_share, 2 / 15 + 0.1 + 0.1)
    else:
      # Less by what is left beside whole records.
      self.assertBetween(machine.cache_bytes, 28 << 10, 42 << 10)

  def test_auto_refuses_a_fidelity_that_changes(self):
    for fidelity in (tf.Variable(2), lambda epoch, batch: 2):
      with self.assertRaisesRegex(
        ValueError, r'^fidelity .* must be a scan group or None where mix is "auto"'
      ):
        _dataset(self.path, mix="auto", fidelity=fidelity)
    with self.assertRaisesRegex(ValueError, 'form ."pixels". must be "encoded"'):
      _dataset(self.path, cache=liquid_tf.Cache("40%", form="pixels"))


if __name__ == "__main__":
  tf.test.main()
