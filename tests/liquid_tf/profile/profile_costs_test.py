"""What rounds say of formats' costs and of mixes, on machines that are made up."""

import itertools
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._cost import model, planner
from liquid_tf._profile import costs, noise, probe, run, sample, stake
from liquid_tf.errors import TooNoisyError

# Milliseconds of the disk, and of one processor to decode an image.
_FORMATS = {"png": (4.0, 12.0), "raw": (8.0, 1.0), "l3": (4.4, 3.0)}
_THREADS = 2
# Seconds of one processor, to load an image of any of them.
_LOAD_CPU = 1e-4


def _rounds(names, spell=lambda number: 1.0, processors=lambda number: 2.0):
  """Rounds of runs that take `spell` times as long, on so many processors.

  Args:
    names: of formats.
    spell: by the number of the run.
    processors: that decoding gets, by the number of the run.
  """
  count = itertools.count()

  def pipeline(setting, mix, stage):
    del setting
    (name,) = mix
    load, decode = (milliseconds / 1000 for milliseconds in _FORMATS[name])

    def one():
      number = next(count)
      if stage == "load":
        # With a copy that the whole pipeline does not make.
        return probe.Run(1 / (load * spell(number)), 9e-3, None)
      taken = decode * spell(number) / processors(number)
      if stage == "both":
        both = max(load * spell(number), taken)
        return probe.Run(1 / both, decode + _LOAD_CPU, None)
      return probe.Run(1 / taken, decode, None)

    return mock.Mock(run=one)

  encoded = sample.Encoded(1, [8], dict.fromkeys(names, [4]), dict.fromkeys(names, 1.0))
  setting = probe.Setting("", "", 1, _THREADS, 0, 1.0, ())
  with mock.patch.object(probe, "Pipeline", pipeline):
    return costs.Rounds(setting, encoded, dict.fromkeys(names, True), 3)


def _noise(seed, spread):
  """How many times as long runs take, in normal logarithms."""
  random = np.random.default_rng(seed)
  return lambda number: np.exp(random.normal(0, spread))


def _measurement(options):
  """A measurement whose samples are never read."""
  nothing = dict.fromkeys(("encoded", "manifest", "kept", "files", "setting"))
  return run.Measurement(
    samples=1, own_format=None, options=options, say=lambda text: None, **nothing
  )


def _machine(_):
  return model.Machine(1000, 8.0)


def _choice(found):
  return planner.best_mix(found, _machine(found))


class RoundsTest(parameterized.TestCase):
  @parameterized.parameters(range(27))
  def test_a_slow_spell_of_the_machine_is_no_formats_cost(self, begin):
    # As long as all stages of a format take in all of their three runs.
    rounds = _rounds(_FORMATS, lambda n: 2.0 if begin <= n < begin + 9 else 1.0)
    for _ in range(3):
      rounds.measure()
    for name, cost in rounds.costs().items():
      load, decode = _FORMATS[name]
      self.assertAlmostEqual(1e3 * cost.load_seconds, load)
      self.assertAlmostEqual(1e3 * cost.decode_seconds, decode / _THREADS)
      self.assertAlmostEqual(cost.load_cpu_seconds, _LOAD_CPU / _THREADS)
      self.assertLen(rounds.runs[name]["load"], 3)

  def test_a_neighbour_leaves_proportions_of_decoding_and_takes_processors(self):
    alone = _rounds(_FORMATS)
    random = np.random.default_rng(0)
    beside = _rounds(_FORMATS, processors=lambda n: random.choice([1.2, 1.3, 1.4]))
    for rounds in (alone, beside):
      for _ in range(9):
        rounds.measure()
    found = {name: cost.decode_seconds for name, cost in beside.costs().items()}
    for name, cost in alone.costs().items():
      self.assertAlmostEqual(
        found[name] / found["png"], cost.decode_seconds / (0.012 / _THREADS)
      )
    self.assertAlmostEqual(found["png"], 0.012 / 1.3, delta=0.012 / 1.3 / 10)

  def test_a_machine_at_rest_has_nothing_at_stake(self):
    rounds = _rounds(_FORMATS)
    for _ in range(2):
      rounds.measure()
    choice = _choice(rounds.costs())
    self.assertEqual(stake.of(choice, rounds.resampled(), _machine).best, 0)

  def test_a_choice_loses_no_more_than_is_at_stake(self):
    exact = _rounds(("png", "raw"))
    exact.measure()
    exact.measure()
    true = exact.costs()
    best = planner.best_mix(true, _machine(true)).prediction.throughput
    held, stakes = [], []
    for seed in range(80):
      rounds = _rounds(("png", "raw"), _noise(seed, 0.15))
      for _ in range(5):
        rounds.measure()
      choice = _choice(rounds.costs())
      found = stake.of(choice, itertools.islice(rounds.resampled(), 60), _machine)
      rate = model.predict(true, _machine(true), choice.mix).throughput
      held.append(1 - rate / best <= found.best)
      stakes.append(found.best)
    self.assertGreaterEqual(np.mean(held), 0.93)
    # It is no bound that says nothing.
    self.assertLess(np.median(stakes), 0.4)


class MeasureFormatsTest(absltest.TestCase):
  def _measure(self, rounds, seconds, consumer=None):
    """Rounds of a second each; returns what is at stake."""
    clock = mock.Mock(monotonic=lambda: float(len(rounds)))
    options = mock.Mock(trials=3, consumer=consumer)
    with (
      mock.patch.object(noise, "time", clock),
      mock.patch.object(run.Measurement, "machine", lambda _, costs: _machine(costs)),
    ):
      return _measurement(options)._measure_formats(rounds, seconds)

  def test_ends_after_trials_where_rounds_agree(self):
    rounds = _rounds(_FORMATS)
    self.assertLessEqual(self._measure(rounds, 100), stake.LITTLE)
    self.assertLen(rounds, 3)

  def test_goes_on_until_little_is_at_stake(self):
    rounds = _rounds(("png", "raw"), _noise(1, 0.15))
    self.assertLessEqual(self._measure(rounds, 1000), stake.LITTLE)
    self.assertBetween(len(rounds), 4, 200)

  def test_ends_where_one_format_is_faster_than_the_training(self):
    rounds = _rounds(("png", "raw"), _noise(1, 0.15))
    self.assertGreater(self._measure(rounds, 1000, consumer=1), stake.LITTLE)
    self.assertLen(rounds, 3)
    # Of one that is about as fast, that is not known.
    rounds = _rounds(("png", "raw"), _noise(1, 0.15))
    for _ in range(3):
      rounds.measure()
    best = planner.best_single(rounds.costs(), _machine(None)).prediction.throughput
    rounds = _rounds(("png", "raw"), _noise(1, 0.15))
    self._measure(rounds, 1000, consumer=best)
    self.assertGreater(len(rounds), 3)

  def test_advises_at_the_end_where_only_the_mix_is_open(self):
    rounds = _rounds(("png", "raw"), _noise(1, 0.15))
    found = self._measure(rounds, 8)
    self.assertGreater(found, stake.LITTLE)
    self.assertLen(rounds, 8)

  def test_refuses_where_the_order_of_formats_is_open(self):
    rounds = _rounds(("png", "raw"), _noise(1, 1.5))
    with self.assertRaisesRegex(
      TooNoisyError,
      r"^no advice: after 8 rounds, (png|raw) alone may be \d+% faster than .* runs=",
    ):
      self._measure(rounds, 8)

  def test_one_format_needs_no_order(self):
    rounds = _rounds(("raw",), _noise(0, 1.5))
    self.assertEqual(self._measure(rounds, 8), 0)
    self.assertLen(rounds, 3)

  def test_doubt_of_a_single_round_has_no_end(self):
    self.assertEqual(noise.expand(1), float("inf"))


def _found(measured, predicted):
  """What a pass finds of a mix."""
  runs = {"advised": {"raw": 1.0}, "predicted": predicted, "mix": [measured] * 3}
  return {"verified": runs, "training": None}


class MeasureTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("as_predicted", 195, 200, 100, 1),
    ("other_than_predicted", 160, 200, 100, 2),
    ("no_time_is_left", 160, 200, 170, 1),
  )
  def test_a_machine_that_has_changed_is_measured_again(
    self, measured, predicted, seconds, passes
  ):
    found = [_found(measured, predicted) | {"pass": number} for number in range(2)]
    last, count = self._measure(found, seconds)
    self.assertEqual(count, passes)
    self.assertEqual(last["pass"], passes - 1)

  def test_what_does_not_matter_is_not_measured_again(self):
    found = _found(160, 200) | {"training": {"mix_matters": False}}
    self.assertEqual(self._measure([found], 100), (found, 1))

  def test_advice_is_not_lost_where_the_second_time_is_too_noisy(self):
    found = _found(160, 200)
    last, count = self._measure([found, TooNoisyError("no advice")], 100)
    self.assertEqual(count, 2)
    self.assertIs(last, found)

  def _measure(self, passes, seconds):
    """Passes of so many seconds, in 290; returns what is found, and how many ran."""
    clock = mock.Mock(monotonic=mock.Mock(side_effect=[1000.0, 1000.0 + seconds]))
    once = mock.Mock(side_effect=passes)
    with (
      mock.patch.object(run, "time", clock),
      mock.patch.object(run.Measurement, "_measure_once", once),
    ):
      return _measurement(None).measure(1290.0), once.call_count


if __name__ == "__main__":
  absltest.main()
