"""Weights of views and mixtures of them, before anything is read."""

import os
import pickle
import shutil
import tempfile
from fractions import Fraction

import numpy as np
import photos
import runs
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf._pipeline import weighing


class WeightsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:2,raw:1", per_class=5)
    cls.view = liquid_tf.open(cls.path)

  def test_equal_weights_are_none(self):
    self.assertIsNone(self.view.weighted(np.full(20, 0.3)).weights)
    self.assertIsNone(self.view.balanced().weights)
    self.assertIsNone(self.view.weighted({}).weights)
    self.assertIsNotNone(self.view.weighted(np.full(20, 0.3), 50).weights)

  def test_weights_are_the_decimals_that_were_given(self):
    weights = self.view.weighted([0.1, 0.3] * 10).weights
    self.assertEqual(weights.palette, (Fraction(1, 10), Fraction(3, 10)))
    self.assertEqual(weights.samples_per_epoch, 20)
    of_ints = self.view.weighted(np.array([1, 3] * 10, np.uint8)).weights
    self.assertEqual(of_ints.palette, (1, 3))
    shares = weighing.of(self.view.weighted([0.1, 0.3] * 10), (0, 1), "pad").shares
    self.assertEqual(shares.tolist(), [1, 3])

  def test_weight_0_leaves_out(self):
    view = self.view.weighted([0, 1, 2, 1] * 5)
    self.assertEqual(view.numbers.tolist(), [i for i in range(20) if i % 4])
    self.assertEqual(view.weights.samples_per_epoch, 15)
    self.assertIn("15 samples of train, 15 an epoch by weight", repr(view))

  def test_classes_by_name_and_number(self):
    names = self.view.manifest.classes
    by_name = self.view.weighted({names[1]: 3, names[2]: 0}, 40)
    by_number = self.view.weighted({1: 3, np.int64(2): 0}, 40)
    self.assertLen(by_name, 15)
    self.assertEqual(by_name.weights.palette, (1, 3, 1))
    self.assertEqual(by_name.fingerprint, by_number.fingerprint)

  def test_more_weights_than_places(self):
    values = np.geomspace(1, 1e6, 70_000)
    numbers = np.arange(70_000)
    _, weights = liquid_tf._view.weights.of_samples(70_000, numbers, values, None)
    self.assertLessEqual(len(weights.palette), 1 << 16)
    found = np.array([float(w) for w in weights.palette])[weights.places]
    np.testing.assert_allclose(found, values, rtol=2e-4)

  def test_shares_beyond_whole_parts_are_rounded(self):
    primes = [Fraction(1, p) for p in (2**61 - 1, 2**31 - 1, 1_000_003, 999_983)]
    shares = [p / sum(primes) for p in primes]
    parts = weighing._whole_parts(shares)
    self.assertEqual(sum(parts), 1 << 62)
    for part, share in zip(parts, shares):
      self.assertLess(abs(part - share * (1 << 62)), 1)

  def test_single_samples_have_no_weights(self):
    view = self.view.weighted([1, 3] * 10)
    again = pickle.loads(pickle.dumps(view))
    for read in (lambda: view[0], lambda: again[3], lambda: next(iter(view))):
      with self.assertRaisesRegex(ValueError, "of the weights .*WeightedRandomSampler"):
        read()
    self.assertEqual(self.view[0]["id"], self.view.numbers[0])

  def test_pickles(self):
    view = self.view.weighted([0, 1, 2, 1] * 5, 33)
    again = pickle.loads(pickle.dumps(view))
    self.assertEqual(again.fingerprint, view.fingerprint)
    self.assertEqual(again.weights.palette, view.weights.palette)
    both = liquid_tf.mixture([(view, 1), (self.view, 0.5)])
    again = pickle.loads(pickle.dumps(both))
    self.assertEqual(again.fingerprint, both.fingerprint)
    self.assertEqual(repr(again), repr(both))

  def test_fingerprints_differ(self):
    values = [1, 2] * 10
    prints = {
      view.fingerprint
      for view in (
        self.view,
        self.view.weighted(values),
        self.view.weighted(values[::-1]),
        self.view.weighted(values, 21),
        self.view.weighted([1, 3] * 10),
        liquid_tf.mixture([(self.view, 1), (self.view, 1)]),
        liquid_tf.mixture([(self.view, 1), (self.view, 2)]),
        liquid_tf.mixture([(self.view, 1), (self.view, 2)], 61),
      )
    }
    self.assertLen(prints, 8)

  @parameterized.parameters(
    (
      lambda v: v.weighted([1] * 19),
      r"weights \(int64, shape \[19\]\) must be numbers",
    ),
    (lambda v: v.weighted([-1] + [1] * 19), r"weights \(-1\) must be finite and at"),
    (lambda v: v.weighted([np.nan] * 20), r"weights \(nan\) must be finite"),
    (lambda v: v.weighted([0] * 20), "must be above 0 for some sample"),
    (lambda v: v.weighted(["a"] * 20), "must be numbers of shape"),
    (lambda v: v.weighted({"dog": 1}), r'class \("dog"\) must be a class of'),
    (lambda v: v.weighted({9: 1}), r"class \(9\) must be a class of"),
    (lambda v: v.weighted({0: -1}), r"that of 0 \(-1\) must be at least 0"),
    (lambda v: v.weighted(dict.fromkeys(range(4), 0)), "the class of some sample"),
    (lambda v: v.weighted([1, 2] * 10, 0), r"samples_per_epoch \(0\) must be"),
    (lambda v: v.balanced(1 << 40), r"samples_per_epoch \(1099511627776\) must be at"),
    (lambda v: v.weighted([1, 2] * 10).take([1]), r"take\(\) must come before weights"),
    (lambda v: v.weighted([1, 2] * 10).balanced(), r"balanced\(\) must come before"),
    (lambda v: liquid_tf.mixture([]), r"members \(\[\]\) must be at least one"),
    (lambda v: liquid_tf.mixture([v]), r"members\[0\] .* must be \(view, weight\)"),
    (lambda v: liquid_tf.mixture([(v, 0)]), r"members\[0\] .* must be \(view, weight"),
    (lambda v: liquid_tf.mixture([("x", 1)]), r"members\[0\] .* must be \(view, wei"),
    (lambda v: liquid_tf.mixture([(v, 1)], -3), r"samples_per_epoch \(-3\) must be"),
  )
  def test_wrong_arguments(self, call, message):
    with self.assertRaisesRegex(ValueError, message):
      call(self.view)

  def test_members_must_be_alike(self):
    root = self.create_tempdir().full_path
    for name in ("x", "y"):
      gray = photos.photo("camera")[:24, :24]
      photos.save(os.path.join(root, "source", name, "1.png"), gray)
    output = os.path.join(root, "gray")
    liquid_tf.convert(os.path.join(root, "source"), output, "png", progress=False)
    with self.assertRaisesRegex(ValueError, r"members\[1\] .*image has channels 1, n"):
      liquid_tf.mixture([(self.view, 1), (liquid_tf.open(output), 1)])

  def test_the_default_length_gives_each_member_its_epoch(self):
    short = self.view.take(range(5))
    both = liquid_tf.mixture([(self.view, 1), (short, 3)])
    self.assertEqual(both.samples_per_epoch, 80)
    weighted = short.weighted([1, 2, 3, 4, 5], 100)
    both = liquid_tf.mixture([(self.view, 1), (weighted, 1)])
    self.assertEqual(both.samples_per_epoch, 200)
    self.assertIn("0.5 of dataset-1, 0.5 of dataset-2", repr(both))


if __name__ == "__main__":
  absltest.main()
