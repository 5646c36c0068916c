"""The paper's search on curves that are known, and what noise does to advice."""

import itertools
import math
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._cost import model, planner
from liquid_tf._profile import choose, measure, noise, probe, sample, search, stock
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


class CostsTest(parameterized.TestCase):
  @parameterized.parameters(range(18))
  def test_a_slow_spell_of_the_machine_is_no_formats_cost(self, begin):
    rates = {
      (name, stage): 100.0 * (1 + i)
      for i, (name, stage) in enumerate(
        itertools.product(("png", "raw", "l3"), ("load", "decode"))
      )
    }
    count = itertools.count()

    def pipeline(setting, mix, stage):
      del setting
      (name,) = mix

      def run():
        # As long as both stages of a format take in all of their three runs.
        slow = begin <= next(count) < begin + 6
        return probe.Run(rates[name, stage] * (0.5 if slow else 1), 0.001, None)

      return mock.Mock(run=run)

    names = ("png", "raw", "l3")
    encoded = sample.Encoded(
      1, [8], dict.fromkeys(names, [4]), dict.fromkeys(names, 1.0)
    )
    setting = probe.Setting("", "", 1, 2, 0, 1.0, ())
    lossless = dict.fromkeys(names, True)
    with (
      mock.patch.object(measure, "Pipeline", pipeline),
      mock.patch.object(noise, "MOST_DOUBT", math.inf),
    ):
      found, runs = measure.costs(setting, encoded, lossless, 3, lambda text: None)
    for name in names:
      self.assertAlmostEqual(1 / found[name].load_seconds, rates[name, "load"])
      self.assertAlmostEqual(1 / found[name].decode_seconds, rates[name, "decode"])
      self.assertLen(runs[name]["load"], 3)


class VerifyTest(parameterized.TestCase):
  @parameterized.parameters(
    # Images per second of the mix in each round, beside 100; rounds that are run.
    ((130, 128, 131), 3),
    ((70, 72, 71), 3),
    ((130, 90, 115), 9),  # which of both is faster?
    ((100, 250, 60), 9),  # how fast is it at all?
    ((130, 100, 131, 129, 131, 130), 6),
  )
  def test_goes_on_until_it_is_known_which_is_faster(self, mix, rounds):
    rates = {"raw": itertools.repeat(100.0), "png": itertools.cycle(map(float, mix))}

    def pipeline(setting, mix, stage):
      del setting, stage
      values = rates[min(mix)]
      return mock.Mock(run=lambda: probe.Run(next(values), 0.0, None))

    prediction = model.Prediction(1, 1, {}, 1, 0, "load")
    choices = [
      planner.Choice(m, "encoded", prediction)
      for m in ({"png": 0.5, "raw": 0.5}, {"raw": 1.0})
    ]
    with (
      mock.patch.object(choose, "Pipeline", pipeline),
      mock.patch.object(stock, "why_not", return_value="no files"),
      mock.patch.object(noise, "check"),
    ):
      found = choose.verify(None, None, "", *choices, 3, lambda text: None)
    self.assertLen(found.mix, rounds)
    self.assertLen(found.single, rounds)


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

  def test_more_runs_leave_less_doubt(self):
    self.assertLess(noise.doubt([9.0, 10, 11] * 16), noise.doubt([9.0, 10, 11]))
    self.assertEqual(noise.doubt([3.0]), math.inf)

  def test_runs_that_disagree_are_no_advice(self):
    noise.check("quiet", [100.0, 101.0, 99.0])
    with self.assertRaisesRegex(TooNoisyError, "no advice: runs of loud gave 30"):
      noise.check("loud", [30.0, 100.0, 200.0])


if __name__ == "__main__":
  absltest.main()
