"""Which sample goes where is exact, stratified, and pinned."""

from fractions import Fraction

import hypothesis
import numpy as np
from absl.testing import absltest, parameterized
from hypothesis import strategies as st

from liquid_tf._convert import plan
from liquid_tf._store import mix
from liquid_tf._store.mix import apportion

_WEIGHTS = st.lists(st.integers(1, 50), min_size=1, max_size=6)


class ApportionTest(parameterized.TestCase):
  @hypothesis.given(total=st.integers(0, 10_000), weights=_WEIGHTS)
  def test_each_gets_floor_or_ceiling(self, total, weights):
    fractions = [Fraction(weight) for weight in weights]
    counts = apportion(total, fractions)
    self.assertEqual(sum(counts), total)
    for count, weight in zip(counts, fractions):
      self.assertLess(abs(count - weight * total / sum(fractions)), 1)

  @hypothesis.given(weights=_WEIGHTS, scale=st.integers(1, 20))
  def test_dealt_prefixes_stay_close_to_the_share(self, weights, scale):
    counts = [weight * scale for weight in weights]
    dealt = plan.deal(counts)
    self.assertEqual(np.bincount(dealt, minlength=len(counts)).tolist(), counts)
    for k, count in enumerate(counts):
      share = np.arange(1, len(dealt) + 1) * count / len(dealt)
      drift = np.abs(np.cumsum(dealt == k) - share).max()
      self.assertLess(drift, len(counts))
      if len(counts) <= 2:
        self.assertLess(drift, 1)

  def test_deal_spreads(self):
    self.assertEqual(plan.deal([3, 2]).tolist(), [0, 1, 0, 1, 0])
    self.assertEqual(plan.deal([]).tolist(), [])


class AssignTest(parameterized.TestCase):
  def _assign(self, count=1000, classes=7, splits=2, mix_of=None, seed=0):
    random = np.random.default_rng(1)
    labels = random.integers(0, classes, count)
    split_of = random.integers(0, splits, count)
    pixels = random.integers(100, 10_000, count)
    formats = plan.assign_formats(
      split_of, labels, pixels, pixels * 2, mix_of or {"a": 6, "b": 4}, seed
    )
    return labels, split_of, pixels, formats

  @parameterized.parameters(1, 2, 17, 1000)
  def test_every_split_is_exact_to_one_sample(self, count):
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    _, splits, _, formats = self._assign(count=count, mix_of=shares)
    for split in np.unique(splits):
      mine = formats[splits == split]
      for k, share in enumerate(shares.values()):
        self.assertLess(abs((mine == k).sum() - share * len(mine)), 1)

  def test_classes_and_sizes_are_shared_alike(self):
    labels, splits, pixels, formats = self._assign()
    for label in range(7):
      for split in range(2):
        chosen = (labels == label) & (splits == split)
        share = (formats[chosen] == 0).mean()
        self.assertAlmostEqual(share, 0.6, delta=1.5 / chosen.sum())
    # A random draw would be off by a few hundred here.
    means = [pixels[formats == k].mean() for k in range(2)]
    self.assertLess(abs(means[0] - means[1]), 60)

  def test_the_seed_decides(self):
    first, again, other = (self._assign(seed=seed)[3] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    self.assertGreater((first != other).mean(), 0.2)

  def test_golden(self):
    labels = np.repeat([0, 1], 10)
    pixels = np.arange(20) * 100 + 100
    formats = plan.assign_formats(
      np.zeros(20, int), labels, pixels, pixels, {"png": 6, "raw": 4}, 42
    )
    self.assertEqual("".join(map(str, formats)), "00010011010010111000")
    self.assertEqual(
      plan.words(42, 2, 3).tolist(),
      [7875269822477881160, 15546435826145130755, 11709662319912048341],
    )

  def test_splits_are_stratified_and_exact(self):
    labels = np.repeat(np.arange(10), 37)
    splits = plan.draw_splits(labels, {"train": 0.9, "val": 0.1}, 3)
    self.assertEqual(np.bincount(splits).tolist(), [333, 37])
    for label in range(10):
      self.assertBetween((splits[labels == label] == 1).sum(), 3, 4)
    other = plan.draw_splits(labels, {"train": 0.9, "val": 0.1}, 4)
    self.assertGreater((splits != other).sum(), 0)

  def test_splits_of_later_samples_go_on_by_their_numbers(self):
    shares = {"train": 0.7, "val": 0.2, "test": 0.1}

    def counts(first, count):
      found = plan.draw_splits(np.zeros(count, int), shares, 3, first)
      return np.bincount(found, minlength=3).tolist()

    self.assertEqual(counts(0, 100), [70, 20, 10])
    self.assertEqual(counts(1_000_000_007, 100), [70, 20, 10])
    one_by_one = [counts(first, 1) for first in range(40)]
    for end in range(1, 41):
      for share, got in zip(shares.values(), np.sum(one_by_one[:end], axis=0)):
        self.assertLess(abs(got - share * end), 1)
    self.assertEqual(counts(13, 20), np.sum(one_by_one[13:33], axis=0).tolist())


class ShardsTest(absltest.TestCase):
  def test_shards_hold_every_sample_once_in_the_seeds_order(self):
    count = 100
    splits = np.arange(count) % 3 == 0
    formats = np.arange(count) % 2
    estimates = {"png": np.full(count, 10), "raw": np.full(count, 40)}
    shards = plan.plan_shards(
      splits.astype(int), formats, estimates, ["train", "val"], 500, 7, 64
    )
    self.assertEqual(
      sorted(np.concatenate([shard.samples for shard in shards])), list(range(count))
    )
    self.assertEqual(
      [(shard.name, len(shard.samples)) for shard in shards],
      [
        ("train-png-00000-of-00001.rec", 33),
        ("train-raw-00000-of-00003.rec", 11),
        ("train-raw-00001-of-00003.rec", 11),
        ("train-raw-00002-of-00003.rec", 11),
        ("val-png-00000-of-00001.rec", 17),
        ("val-raw-00000-of-00002.rec", 9),
        ("val-raw-00001-of-00002.rec", 8),
      ],
    )
    self.assertNotEqual(list(shards[0].samples), sorted(shards[0].samples))

  def test_replicated_formats_have_one_order(self):
    estimates = {"png": np.full(50, 10), "raw": np.full(50, 40)}
    shards = plan.plan_shards(
      np.zeros(50, int), None, estimates, ["train"], 2000, 7, 64
    )
    self.assertEqual(
      [shard.name for shard in shards],
      ["png-00000-of-00001.rec", "raw-00000-of-00001.rec"],
    )
    np.testing.assert_array_equal(shards[0].samples, shards[1].samples)
    self.assertEqual(sorted(shards[0].samples), list(range(50)))


class MixTest(parameterized.TestCase):
  def test_spellings_of_one_mix_are_equal(self):
    wanted = [("raw", 4), ("png", 6)]
    self.assertEqual(list(mix.parse_mix("png:6,raw:4").items()), wanted)
    self.assertEqual(list(mix.parse_mix(" raw:4.0 , png:6").items()), wanted)
    self.assertEqual(list(mix.parse_mix({"png": 6.0, "raw": 4}).items()), wanted)
    self.assertEqual(list(mix.parse_mix("png").items()), [("png", 1)])

  @parameterized.parameters(
    ("", 'mix .* must look like "png:6,raw:4"'),
    ("png,raw:1", "must look like"),
    (["png"], "must be weights by name"),
    (None, "must be weights by name"),
    ("png:6;raw:4", "png.*must be a number > 0"),
    ("png:0", r'"png" \(0\) must be a number > 0'),
    ("png:-1", "must be a number > 0"),
    ("png:nan", "must be a number > 0"),
    ("png:inf", "must be a number > 0"),
    ("png:1,png:2", 'names "png" twice'),
    (
      "gif:1",
      r'format \("gif"\) must be one of png, jpeg, webp, webp-lossy, raw, bmp, l3',
    ),
    ("jpg:1", r'format \("jpg"\) must be .*; did you mean jpeg\?'),
    ("webp:1,webp-lossy:1", "one or the other"),
    ({}, "at least one"),
  )
  def test_wrong_mixes_are_refused(self, value, message):
    with self.assertRaisesRegex(ValueError, message):
      mix.parse_mix(value)

  def test_split_names_must_fit_file_names(self):
    self.assertEqual(mix.parse_splits("b:1,a:3"), {"b": 1, "a": 3})
    with self.assertRaisesRegex(ValueError, r'name \("a/b"\)'):
      mix.parse_splits("a/b:1")

  @parameterized.parameters(0.1, "train,val")
  def test_wrong_splits_are_told_by_splits(self, value):
    with self.assertRaisesRegex(ValueError, r"^splits .*train:\.9,val:\.1"):
      mix.parse_splits(value)

  def test_a_pcr_is_cut_by_images_and_the_last_one_has_the_rest(self):
    splits = np.arange(50) >= 30
    shards = plan.plan_shards(
      splits.astype(int), None, {"pcr": np.full(50, 10)}, ["train", "val"], 1, 7, 8
    )
    self.assertEqual(
      [(shard.name, len(shard.samples)) for shard in shards],
      [(f"train-pcr-0000{i}-of-00004.pcr", size) for i, size in enumerate((8, 8, 8, 6))]
      + [(f"val-pcr-0000{i}-of-00003.pcr", size) for i, size in enumerate((8, 8, 4))],
    )


if __name__ == "__main__":
  absltest.main()
