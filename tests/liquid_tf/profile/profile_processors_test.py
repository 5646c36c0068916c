"""How many processors decoding gets in mixes, on machines that are made up."""

import math
import time
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._cost import model, planner
from liquid_tf._profile import names, probe, processors

_THREADS = 2
# Seconds of the disk, and of one processor to decode an image.
_LOAD = {"png": 1 / 255, "raw": 1 / 127}
_DECODE = {"png": 8.2e-3, "raw": 0.35e-3}
_MACHINE = model.Machine(1000, 8.0)


def _costs(got):
  """Of the formats, where decoding got so many processors by itself."""
  return {
    name: model.FormatCost(1, _LOAD[name], 0, _DECODE[name] / got, 1, True)
    for name in _LOAD
  }


def _rate(mix, got):
  """Images per second of a mix whose decoding gets so many processors."""
  load = sum(share * _LOAD[name] for name, share in mix.items())
  decode = sum(share * _DECODE[name] for name, share in mix.items())
  return 1 / max(load, decode / got)


class FactorTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._ran = []

  def _factor(self, got, in_mixes, seconds=60.0, spread=0.0):
    random = np.random.default_rng(1)

    def pipeline(setting, mix, stage):
      del setting
      self.assertEqual(stage, "both")

      def one():
        self._ran.append(names.describe(mix))
        noise = math.exp(random.normal(0, spread)) if spread else 1.0
        return probe.Run(_rate(mix, in_mixes) * noise, 1.0, None)

      return mock.Mock(run=one)

    setting = probe.Setting("", "", 1, _THREADS, 0, 1.0, ())
    with mock.patch.object(probe, "Pipeline", pipeline):
      return processors.factor(
        setting,
        _costs(got),
        _MACHINE,
        got,
        trials=3,
        end=time.monotonic() + seconds,
        say=lambda text: None,
      )

  @parameterized.parameters(1.3, 1.45, 1.6)
  def test_the_mix_is_the_best_for_what_decoding_gets_in_it(self, in_mixes):
    times = self._factor(1.3, in_mixes)
    costs = processors.apply(_costs(1.3), times)
    mix = planner.best_mix(costs, _MACHINE).mix
    best = max(
      _rate({"png": 1 - n / 100, "raw": n / 100}, in_mixes) for n in range(101)
    )
    self.assertGreater(_rate(mix, in_mixes), 0.97 * best)
    by_itself = planner.best_mix(_costs(1.3), _MACHINE).mix
    self.assertGreaterEqual(_rate(mix, in_mixes), _rate(by_itself, in_mixes))

  def test_nothing_runs_where_nobody_else_does(self):
    self.assertEqual(self._factor(1.95, 2.0), 1)
    self.assertEmpty(self._ran)

  def test_no_mix_is_made_for_more_processors_than_there_are(self):
    self._factor(1.75, 1.75)
    self.assertLen(set(self._ran), 2)

  def test_runs_that_agree_end_soon(self):
    self._factor(1.3, 1.45)
    self.assertLen(self._ran, 27)

  def test_noisy_runs_go_on_until_the_time_is_over(self):
    self._factor(1.3, 1.45, spread=0.2, seconds=0)
    self.assertLen(self._ran, 27)
    self._ran.clear()
    self._factor(1.3, 1.45, spread=0.2)
    self.assertGreater(len(self._ran), 60)


if __name__ == "__main__":
  absltest.main()
