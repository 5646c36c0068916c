"""The paper's search on curves that are known, and what noise does to advice."""

import itertools
import math
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._cost import model, planner
from liquid_tf._profile import noise, probe, search, stake, stock, verify
from liquid_tf.errors import TooNoisyError


def _curve(disk, processors):
  """Rates of PNG and raw on a disk and processors that are so many times as fast."""

  def rates(tenths):
    share = tenths / search.STEPS
    load = disk / (share * 1.0 + (1 - share) * 2.0)
    decode = processors / (share * 1.0 + (1 - share) * 0.05)
    return search.Rates(load, decode, min(load, decode))

  return rates


class SearchTest(parameterized.TestCase):
  @parameterized.product(disk=(0.2, 0.5, 1, 2, 3, 5, 10, 40), processors=(1, 2))
  def test_finds_the_best_of_all_eleven(self, disk, processors):
    rates = _curve(disk, processors)
    best, measured = search.search(rates)
    most = max(rates(tenths).throughput for tenths in range(11))
    self.assertEqual(rates(best).throughput, most)
    self.assertLessEqual(len(measured), 7)

  def test_ends_beside_the_best_in_noise(self):
    random = np.random.default_rng(0)
    missed = []
    for disk in np.geomspace(0.5, 20, 40):
      exact = _curve(disk, 1)

      def noisy(tenths, exact=exact):
        return search.Rates(*(r * random.uniform(0.95, 1.05) for r in exact(tenths)))

      best, _ = search.search(noisy)
      right = max(range(11), key=lambda tenths: exact(tenths).throughput)
      missed.append(abs(best - right))
    self.assertLessEqual(max(missed), 1)

  @parameterized.product(disk=(0.5, 2, 3, 5, 20), wrong=(0, 2, 4, 5, 6, 8, 10))
  def test_one_wrong_rate_does_not_end_it_elsewhere(self, disk, wrong):
    exact = _curve(disk, 1)

    def spoilt(tenths):
      rates = exact(tenths)
      # While that was decoded alone, the machine was twice as fast, or half as.
      twice = rates.load > rates.decode
      decode = rates.decode * (2 if twice else 0.5)
      return rates._replace(decode=decode) if tenths == wrong else rates

    best, _ = search.search(spoilt)
    most = max(exact(tenths).throughput for tenths in range(11))
    self.assertEqual(exact(best).throughput, most)

  def test_ends_of_the_range(self):
    self.assertEqual(search.search(_curve(1e3, 1))[0], 0)
    self.assertEqual(search.search(_curve(1e-3, 1))[0], 10)


class VerifyTest(parameterized.TestCase):
  @parameterized.parameters(
    # Images per second of the mix in each round, beside 100; rounds that are run.
    ((130, 128, 131), 3),
    ((70, 72, 71), 3),
    # Which is faster is not known, and no matter.
    ((100, 101, 102), 3),
    ((104, 98, 101, 100, 102, 99), 4),
    # Until the end.
    ((130, 60, 200), 8),
  )
  def test_goes_on_until_little_is_lost_by_the_wrong_choice(self, mix, rounds):
    found = self._verify({"png": map(float, itertools.cycle(mix))}, limit=8)
    self.assertLen(found.mix, rounds)
    self.assertLen(found.single, rounds)
    lost = noise.lost(found.mix, found.single)
    self.assertEqual(lost <= stake.LITTLE, rounds < 8)

  def test_a_single_format_runs_until_its_rate_is_known(self):
    for values, rounds in (((100, 101, 99), 3), ((50, 100, 200), 8)):
      raw = map(float, itertools.cycle(values))
      found = self._verify({"raw": raw}, limit=8, mixed=False)
      self.assertEmpty(found.mix)
      self.assertLen(found.single, rounds)

  def test_at_the_end_there_are_as_many_rounds_as_were_asked_for(self):
    found = self._verify({"png": itertools.cycle([50.0, 200.0])}, limit=0)
    self.assertLen(found.mix, 3)

  def test_the_interval_holds_the_gain_as_often_as_it_says(self):
    random = np.random.default_rng(0)

    def noisy(rate):
      while True:
        yield rate * math.exp(random.normal(0, 0.08))

    held = []
    for _ in range(400):
      found = self._verify({"png": noisy(120.0), "raw": noisy(100.0)}, limit=12)
      held.append(found.gain.low <= 1.2 <= found.gain.high)
    # Not exactly: rounds end sooner where they happen to agree.
    self.assertBetween(np.mean(held), 0.9, 0.98)

  def _verify(self, rates, limit, mixed=True):
    """Runs of png for the mix and raw for the single format, `limit` rounds at most."""
    rates = {"raw": itertools.repeat(100.0)} | rates
    rounds = []

    def pipeline(setting, mix, stage, hits):
      del setting, stage
      self.assertEqual(hits, 0.25)

      def run():
        if mix == {"raw": 1.0}:
          rounds.append(mix)
        return probe.Run(next(rates[min(mix)]), 0.0, None)

      return mock.Mock(run=run)

    prediction = model.Prediction(1, 1, {}, 1, 0.25, "load")
    mixes = {"png": 0.5, "raw": 0.5} if mixed else {"raw": 1.0}
    advised, single = (
      planner.Choice(m, "encoded", prediction) for m in (mixes, {"raw": 1.0})
    )
    clock = mock.Mock(monotonic=lambda: float(len(rounds)))
    with (
      mock.patch.object(verify, "Pipeline", pipeline),
      mock.patch.object(noise, "time", clock),
      mock.patch.object(stock, "why_not", return_value="no files"),
    ):
      return verify.verify(
        *(None, None, "", advised, single),
        held=frozenset(),
        trials=3,
        end=float(limit),
        say=lambda text: None,
      )


class NoiseTest(parameterized.TestCase):
  def test_interval_is_students(self):
    found = noise.interval([9.0, 10.0, 11.0])
    self.assertAlmostEqual(found.mean, 10)
    self.assertAlmostEqual(found.high - found.low, 2 * 4.30 / math.sqrt(3))
    self.assertAlmostEqual(found.relative, 4.30 / math.sqrt(3) / 10)

  def test_interval_holds_the_mean_as_often_as_it_says(self):
    random = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
      found = noise.interval(random.normal(5, 1, 5).tolist())
      held += found.low <= 5 <= found.high
    self.assertBetween(held, 930, 970)

  def test_one_value_says_nothing(self):
    self.assertEqual(noise.interval([3.0]).high, math.inf)

  def test_ratio_of_rounds_does_not_mind_what_both_rounds_share(self):
    under = np.array([50.0, 100.0, 200.0, 80.0])
    found = noise.ratio((1.5 * under).tolist(), under.tolist())
    self.assertAlmostEqual(found.mean, 1.5)
    self.assertAlmostEqual(found.low, 1.5)

  @parameterized.parameters((2, 0.58), (3, 0.74), (9, 0.85), (15, 0.90), (99, 0.94))
  def test_doubt_of_few_runs_holds_less_often_than_of_many(self, count, expected):
    random = np.random.default_rng(0)
    held = []
    for _ in range(4000):
      values = random.normal(100, 5, count).tolist()
      held.append(abs(np.median(values) - 100) / 100 <= noise.doubt(values))
    self.assertAlmostEqual(np.mean(held), expected, delta=0.03)

  def test_in_turn_is_right_where_rounds_are_slow(self):
    exact = np.array([1.0, 4.0, 0.5])
    slow = np.array([1.0, 1.0, 3.0, 1.0, 0.5])
    found = noise.in_turn(exact * slow[:, np.newaxis])
    np.testing.assert_allclose(found, exact)

  def test_proportions_in_turn_do_not_mind_what_a_round_has_in_common(self):
    random = np.random.default_rng(0)
    common, own = random.normal(0, 0.5, (31, 1)), random.normal(0, 0.02, (31, 3))
    found = noise.in_turn(np.exp(common + own) * [1.0, 4.0, 0.5])
    np.testing.assert_allclose(found / found[0], [1, 4, 0.5], rtol=0.02)

  @parameterized.parameters((2, 0.92), (3, 0.9), (5, 0.95), (9, 0.95), (15, 0.95))
  def test_expanded_resamples_hold_what_is_true(self, rounds, expected):
    random = np.random.default_rng(0)
    held = []
    for i in range(400):
      values = random.normal(0, 1, rounds)
      centre = np.median(values)
      drawn = np.median(values[noise.resamples(rounds, 200, i)], axis=1)
      ends = centre + noise.expand(rounds) * (
        np.percentile(drawn, [2.5, 97.5]) - centre
      )
      held.append(ends[0] <= 0 <= ends[1])
    self.assertGreaterEqual(np.mean(held), expected - 0.02)

  def test_more_runs_leave_less_doubt(self):
    self.assertLess(noise.doubt([9.0, 10, 11] * 16), noise.doubt([9.0, 10, 11]))
    self.assertEqual(noise.doubt([3.0]), math.inf)

  def test_runs_that_disagree_are_no_advice(self):
    noise.check("quiet", [100.0, 101.0, 99.0])
    with self.assertRaisesRegex(TooNoisyError, "no advice: runs of loud gave 30"):
      noise.check("loud", [30.0, 100.0, 200.0])


if __name__ == "__main__":
  absltest.main()
