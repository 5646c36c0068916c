"""Several fidelities in a batch: composition, pixels, turns, checkpoints, errors."""

import collections
import os
import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest

_BATCH = 10
_IMAGES = 7  # a record
_RECORDS = 15  # of 100 images
_LOW = 4  # of these, what a quarter comes to
_SHARES = {2: 0.25, 10: 0.75}

# Two epochs of 20 batches, restored in each of them.
_STEPS = 20


def _dataset(path: str, **options) -> tf.data.Dataset:
  options = {
    "cache": "40%",
    "seed": 5,
    "features": ["id", "image"],
    "fidelity": _SHARES,
    **options,
  }
  return build(Arguments(path, _BATCH, **options))


def _draws(dataset: tf.data.Dataset) -> list[tuple[int, str]]:
  """[(id, hash of the pixels)] of one run through a dataset."""
  draws = []
  for batch in dataset:
    pixels = [runs.digest(image) for image in batch["image"]]
    draws += zip(batch["id"].numpy().tolist(), pixels)
  return draws


def _repeated(path: str, symbolic: bool = False) -> tf.data.Dataset:
  options = tf.data.Options()
  options.experimental_symbolic_checkpoint = symbolic
  return _dataset(path).repeat(2).with_options(options)


def _killed(path: str, prefix: str, after: int) -> None:
  runs.save_and_die(_repeated(path), prefix, after)


def _rest(path: str, prefix: str) -> list[str]:
  return runs.restored_digests(_repeated(path), prefix)


class MixedFidelityTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = cls._make("only", "pcr:1")
    cls.pixels = {
      group: dict(_draws(_dataset(cls.path, fidelity=group, shuffle=False)))
      for group in (1, 2, 7, 10)
    }

  @classmethod
  def _make(cls, name: str, mix: str, **options) -> str:
    return runs.make(
      os.path.join(cls.root, name),
      mix,
      extension="jpg",
      sides=(40, 40),
      encoders={"pcr": {"images": _IMAGES}},
      **options,
    )

  def _groups(
    self, draws: list[tuple[int, str]], asked: tuple[int, ...] = (2, 10)
  ) -> dict[int, int]:
    """{id: scan group}: which of those asked for has each sample's pixels."""
    self.assertEqual(sorted(sample for sample, _ in draws), list(range(100)))
    of = {item: g for g in asked for item in self.pixels[g].items()}
    self.assertEqual(len(of), 100 * len(asked), "two fidelities have the same pixels")
    return {sample: of[sample, pixels] for sample, pixels in draws}

  @parameterized.parameters(0, "40%", "100%", "30KiB")
  def test_pixels_are_those_of_a_constant_fidelity(self, cache):
    dataset = _dataset(self.path, cache=cache)
    for epoch in range(3):
      groups = self._groups(_draws(dataset))
      counted = liquid_tf.stats(dataset).epochs[epoch]
      self.assertEqual(
        collections.Counter(groups.values()),
        {2: counted["samples"]["pcr@2"], 10: counted["samples"]["pcr@10"]},
      )
      # Records of 7 images, the last of a class of shards perhaps of fewer.
      self.assertBetween(counted["samples"]["pcr@2"], (_LOW - 1) * _IMAGES + 1, 28)

  @parameterized.parameters(0, "40%", "100%")
  def test_every_batch_has_the_composition_and_costs_the_same(self, cache):
    dataset = _dataset(self.path, cache=cache)
    for _ in range(4):
      runs.ids(dataset)
    stats = liquid_tf.stats(dataset)
    self.assertEqual(stats.mixes, [])
    self.assertLen(stats.epochs, 4)
    share = {0: 0, "40%": 0.4, "100%": 1}[cache]
    for epoch in stats.epochs:
      for name, records in (("pcr@2", _LOW), ("pcr@10", _RECORDS - _LOW)):
        kept = int(share * records)
        self.assertEqual(epoch["hits"][name], kept)
        self.assertEqual(epoch["loads"][name], records - kept)
        batches = [b for b in stats.batches if b["epoch"] == epoch["epoch"]]
        self.assertLen(batches, 10)
        for key in ("samples", "hits", "loads"):
          counts = [batch[key][name] for batch in batches]
          self.assertLessEqual(max(counts) - min(counts), 1, f"{key} of {name}")
      # What moves to another group is read again, and the lower one keeps nothing.
      hits = epoch["memory_hits"]
      self.assertEqual(hits["pcr@2"], 0)
      if cache == "100%" and epoch["epoch"] > 0:
        records = _RECORDS - 2 * _LOW
        self.assertBetween(hits["pcr@10"], (records - 1) * _IMAGES, records * _IMAGES)
      self.assertEqual(set(epoch["bytes_by_group"]), {"2", "10"})

  def test_bytes_lie_between_those_of_the_groups(self):
    read = []
    for fidelity in (2, _SHARES, 10):
      dataset = _dataset(self.path, fidelity=fidelity, cache=0)
      runs.ids(dataset)
      read.append(liquid_tf.stats(dataset).summary()["disk_bytes"])
    low, mixed, full = read
    self.assertBetween((full - mixed) / (full - low), 0.15, 0.35)

  def test_every_record_has_its_turn_equally_often(self):
    dataset = _dataset(self.path)
    low = collections.Counter()
    seen = set()
    for _ in range(_RECORDS):
      groups = self._groups(_draws(dataset))
      of_epoch = frozenset(sample for sample, group in groups.items() if group == 2)
      low.update(of_epoch)
      seen.add(of_epoch)
    self.assertEqual(set(low.values()), {_LOW})
    self.assertLen(seen, _RECORDS)

  def test_three_groups_and_ratios(self):
    # Of 15 records 3, 6 and 6.
    dataset = _dataset(self.path, fidelity={7: 2, 10: 2, 1: 1})
    again = _dataset(self.path, fidelity={1: 0.2, 7: 0.4, 10: 0.4})
    for epoch in range(2):
      draws = _draws(dataset)
      self.assertEqual(_draws(again), draws)
      counted = collections.Counter(self._groups(draws, (1, 7, 10)).values())
      for group, records in ((1, 3), (7, 6), (10, 6)):
        # One record, the last, has 2 images.
        self.assertIn(counted[group], (7 * records, 7 * records - 5))
      samples = liquid_tf.stats(dataset).epochs[epoch]["samples"]
      self.assertEqual(list(samples), ["pcr@1", "pcr@7", "pcr@10"])
      self.assertEqual(list(samples.values()), [counted[g] for g in (1, 7, 10)])
    for batch in liquid_tf.stats(dataset).batches:
      self.assertBetween(batch["samples"]["pcr@1"], 1, 3)
      self.assertBetween(batch["samples"]["pcr@7"], 3, 5)

  def test_one_group_and_one_above_those_of_the_records(self):
    groups = self._groups(_draws(_dataset(self.path, fidelity={99: 1})))
    self.assertEqual(set(groups.values()), {10})

  def test_the_order_depends_on_seed_and_epoch_alone(self):
    whole = _dataset(self.path)
    epochs = [_draws(whole) for _ in range(4)]
    self.assertLen(set(map(str, epochs)), 4)
    small = _dataset(self.path, memory="80KB", tuning=liquid_tf.graph.Tuning(threads=1))
    self.assertEqual([_draws(small) for _ in range(4)], epochs)
    self.assertEqual(_draws(_dataset(self.path, epoch=3)), epochs[3])
    later = _dataset(self.path, start=(2, 4))
    self.assertEqual(_draws(later), epochs[2][4 * _BATCH :])
    self.assertEqual(_draws(later), epochs[3])
    abandoned = _dataset(self.path)
    _draws(abandoned)
    next(iter(abandoned))
    self.assertEqual(_draws(abandoned), epochs[1])
    self.assertNotEqual(_draws(_dataset(self.path, seed=6)), epochs[0])

  def test_golden_order(self):
    # A change of any of these is a change of what users train on.
    dataset = _dataset(self.path)
    found = []
    for _ in range(2):
      draws = _draws(dataset)
      groups = self._groups(draws)
      first = [sample for sample, _ in draws[:_BATCH]]
      found.append((first, [groups[sample] for sample in first]))
    self.assertEqual(found, _GOLDEN)

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
    for at, prefix in enumerate(saved):
      restored = iter(_repeated(self.path, symbolic))
      tf.train.Checkpoint(iterator=restored).restore(prefix)
      self.assertEqual(runs.digests(restored), wanted[at:], f"saved after {at}")

  def test_a_killed_run_goes_on(self):
    wanted = runs.digests(_repeated(self.path))
    prefix = os.path.join(self.create_tempdir().full_path, "saved")
    runs.in_new_process(_killed, exit_code=-9, path=self.path, prefix=prefix, after=13)
    found, _ = runs.in_new_process(_rest, path=self.path, prefix=prefix)
    self.assertEqual(found, wanted[13:])

  @parameterized.parameters(
    ({2: 0.5, 10: 0.5},), ({3: 0.25, 10: 0.75},), ({2: 1, 5: 1, 10: 6},), (2,), (None,)
  )
  def test_a_checkpoint_of_other_shares_is_refused(self, other):
    prefix = os.path.join(self.create_tempdir().full_path, "saved")
    iterator = iter(_dataset(self.path))
    next(iterator)
    prefix = tf.train.Checkpoint(iterator=iterator).write(prefix)
    iterator = iter(_dataset(self.path, fidelity=other))
    with self.assertRaisesRegex(Exception, "shares of scan groups"):
      tf.train.Checkpoint(iterator=iterator).restore(prefix)

  def test_shares_are_part_of_the_graph(self):
    dataset = _dataset(self.path, epoch=1)
    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor)
    again = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    self.assertEqual(_draws(again), _draws(dataset))

  def test_epochs_as_data(self):
    expected = runs.digests(_dataset(self.path, cache=0).repeat(3))
    found = liquid_tf.graph.epochs(
      self.path,
      3,
      parts=2,
      batch_size=_BATCH,
      seed=5,
      cache=0,
      features=["id", "image"],
      fidelity=_SHARES,
    )
    self.assertEqual(runs.digests(found), expected)

  @parameterized.parameters(2, 3)
  def test_shards_have_every_image_and_the_composition(self, count):
    seen = set()
    for i in range(count):
      dataset = _dataset(self.path, shard=(i, count))
      for _ in range(2):
        draws = _draws(dataset)
      seen.update(sample for sample, _ in draws)
      for name in ("pcr@2", "pcr@10"):
        batches = [b for b in liquid_tf.stats(dataset).batches if b["full"]]
        for epoch in (0, 1):
          counts = [b["samples"][name] for b in batches if b["epoch"] == epoch]
          self.assertLessEqual(max(counts) - min(counts), 1)
          self.assertGreater(min(counts), 0)
    self.assertEqual(seen, set(range(100)))

  def test_a_replicated_dataset_read_in_pcr(self):
    path = self._make("replicated", "pcr:1,raw:1", replicate=True)
    draws = _draws(_dataset(path, mix="pcr"))
    self.assertEqual(sorted(sample for sample, _ in draws), list(range(100)))
    with self.assertRaisesRegex(
      ValueError, r"^fidelity .*read in pcr alone; there are .*raw"
    ):
      _dataset(path)

  def _fit(self, folder: str, fidelity, epochs: int) -> list[str]:
    """Trains from where `folder` says, and gives hashes of the images of batches."""
    seen = []

    def note(image):
      seen.append(runs.digest(image))
      return image

    def noted(image, label):
      return tf.ensure_shape(
        tf.numpy_function(note, [image], tf.uint8), image.shape
      ), label

    dataset = _dataset(self.path, fidelity=fidelity, features=None)
    model = tf.keras.Sequential(
      [
        tf.keras.Input((40, 40, 3)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(4),
      ]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(
      dataset.map(noted),
      epochs=epochs,
      verbose=0,
      callbacks=[liquid_tf.keras.Resume(dataset, folder)],
    )
    return seen

  def test_resume_goes_on_and_refuses_other_shares(self):
    whole, broken = (self.create_tempdir().full_path for _ in range(2))
    wanted = self._fit(whole, _SHARES, 3)
    self.assertLen(set(wanted), 30)
    self.assertEqual(self._fit(broken, _SHARES, 1), wanted[:10])
    for other in ({2: 0.5, 10: 0.5}, 2):
      with self.assertRaisesRegex(
        ValueError, r"holds a run with (samples of )?scan groups"
      ):
        self._fit(broken, other, 3)
    self.assertEqual(self._fit(broken, _SHARES, 3), wanted[10:])

  def test_damage_counts_at_the_groups_that_read_it(self):
    path = shutil.copytree(
      self.path, os.path.join(self.create_tempdir().full_path, "damaged")
    )
    loaded = manifest.load(path)
    at = manifest.load_pcr_index(loaded)[1].prefix_bytes(3) - 1
    with open(loaded.path(loaded.shards[1].path), "r+b") as file:
      file.seek(at)
      byte = file.read(1)
      file.seek(at)
      file.write(bytes([byte[0] ^ 1]))
    dataset = _dataset(path, on_error="skip")
    sound = _dataset(self.path)
    index = manifest.load_index(loaded)
    bad = set(index["sample"][index["shard"] == 1].tolist())
    self.assertLen(bad, _IMAGES)
    skipped = 0
    for epoch in range(_RECORDS):
      groups = self._groups(_draws(sound))
      at_full = {groups[sample] for sample in bad} == {10}
      drawn = [sample for sample, _ in _draws(dataset)]
      expected = set(groups) - (bad if at_full else set())
      self.assertEqual(sorted(drawn), sorted(expected))
      counted = liquid_tf.stats(dataset).epochs[epoch]["skipped"]
      self.assertEqual(counted, {"pcr@2": 0, "pcr@10": _IMAGES * at_full})
      skipped += at_full
    self.assertEqual(skipped, _RECORDS - _LOW)

  @parameterized.parameters(
    ({}, "fidelity must name at least one"),
    ({0: 0.5, 10: 0.5}, "must have scan groups of at least 1 .*not 0"),
    ({"2": 0.5, 10: 0.5}, "must have scan groups of at least 1 .*not '2'"),
    ({True: 0.5, 10: 0.5}, "must have scan groups of at least 1 .*not True"),
    ({2.0: 0.5, 10: 0.5}, "must have scan groups of at least 1 .*not 2.0"),
    ({2: 0, 10: 1}, 'fidelity: "2" .0. must be a number > 0'),
    ({2: -1, 10: 1}, 'fidelity: "2" .-1. must be a number > 0'),
    ({2: float("nan"), 10: 1}, 'fidelity: "2" .nan. must be a number > 0'),
    ({2: 0.01, 10: 0.99}, "at least one of the 15 pcr records .*group 2 has none"),
  )
  def test_bad_shares(self, fidelity, message):
    with self.assertRaisesRegex(ValueError, message):
      _dataset(self.path, fidelity=fidelity)

  def test_what_does_not_go_with_shares_is_refused(self):
    with self.assertRaisesRegex(ValueError, r"^shuffle \(False\) must be True where f"):
      _dataset(self.path, shuffle=False)
    for mix in ("auto", ["pcr"]):
      with self.assertRaisesRegex(
        ValueError, r"^mix .* must be one mix where fidelity"
      ):
        _dataset(self.path, mix=mix)
    weighted = liquid_tf.open(self.path).weighted({0: 2})
    with self.assertRaisesRegex(ValueError, "must have no shares with weights"):
      _dataset(weighted)
    with self.assertRaisesRegex(ValueError, 'form ."pixels". must be "encoded"'):
      _dataset(self.path, cache=liquid_tf.Cache("40%", form="pixels"))
    with self.assertRaisesRegex(ValueError, 'policy ."minio". must be "liquid"'):
      _dataset(self.path, cache_policy="minio")
    raw = self._make("raw", "raw:1")
    with self.assertRaisesRegex(ValueError, "read in pcr alone; there are raw"):
      _dataset(raw)
    source = liquid_tf.graph.format_dataset(self.path, "pcr")
    with self.assertRaisesRegex(ValueError, "fidelity .* must be a scan group"):
      liquid_tf.graph.interleave([source], fidelity=_SHARES)


# Ids of the first batch of two epochs, and the scan groups of its images.
_GOLDEN = [
  ([83, 67, 69, 14, 27, 33, 17, 7, 6, 58], [10, 10, 2, 10, 10, 10, 2, 10, 10, 2]),
  ([98, 3, 82, 53, 87, 74, 89, 54, 90, 56], [10, 10, 10, 2, 10, 10, 10, 2, 10, 2]),
]


if __name__ == "__main__":
  tf.test.main()
