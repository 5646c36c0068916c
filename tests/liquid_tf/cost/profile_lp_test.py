"""The linear programme beside SciPy's, and the mixes that it finds beside all pairs."""

import dataclasses
import itertools

import numpy as np
from absl.testing import absltest, parameterized
from scipy import optimize

from liquid_tf._cost import budget, lp, model, planner


def _cost(stored, load, decode, load_cpu=0.0):
  return model.FormatCost(stored, load, load_cpu, decode, 0.1, True)


# Photographs of a megapixel on two processors and a disk of 200 MB/s.
_COSTS = {
  "raw": _cost(3.1e6, 3.1e6 / 2e8, 0.6e-3, 0.7e-3),
  "png": _cost(1.6e6, 1.6e6 / 2e8, 8e-3, 0.5e-3),
  "webp": _cost(1.1e6, 1.1e6 / 2e8, 14e-3, 0.4e-3),
  "jpeg": _cost(0.4e6, 0.4e6 / 2e8, 6e-3, 0.2e-3),
}
_MACHINE = model.Machine(samples=1000, pixel_bytes=3.1e6)


def _best_of_pairs(costs, machine):
  """Images per second of the fastest mix of one or two formats, in hundredths."""
  best = 0
  for one, other in itertools.combinations_with_replacement(costs, 2):
    for part in range(101):
      mix = model.shares({one: 100 - part, other: part} if one != other else {one: 1})
      if planner.fits(costs, machine, mix):
        best = max(best, model.predict(costs, machine, mix).throughput)
  return best


def _random_costs(random, count):
  """Formats on one disk, which is not as fast with all of them."""
  costs = {}
  disk = 10 ** random.uniform(7.5, 9.5)
  for i in range(count):
    stored = random.uniform(1e5, 4e6)
    load = stored / disk * random.uniform(1, 1.3)
    costs[f"f{i}"] = _cost(stored, load, 10 ** random.uniform(-4, -1.5), load * 0.05)
  return costs


def _groups(**enough):
  """Pcr that is read whole, or through lower scan groups that are enough or not."""
  read = {"pcr": 4e5, "pcr@5": 2e5, "pcr@1": 5e4}
  return {
    name: dataclasses.replace(
      _cost(4e5, size / 2e8, 5e-3),
      scans=model.ScanGroup(
        10 if name == "pcr" else int(name[4:]),
        10,
        size,
        0.9,
        name == "pcr" or enough.get(name.replace("@", ""), False),
      ),
    )
    for name, size in read.items()
  }


class ScanGroupsTest(absltest.TestCase):
  # A tenth of the disk, so that bytes decide.
  _SLOW = dataclasses.replace(_MACHINE, disk=0.1)

  def test_less_than_was_asked_for_is_in_no_mix(self):
    costs = {"raw": _COSTS["raw"], **_groups(pcr5=True)}
    self.assertEqual(planner.best_single(costs, self._SLOW).mix, {"pcr@5": 1})
    self.assertEqual(planner.best_mix(costs, self._SLOW).mix, {"pcr@5": 1})
    whole = {"raw": _COSTS["raw"], **_groups()}
    self.assertEqual(planner.best_mix(whole, self._SLOW).mix, {"pcr": 1})

  def test_a_mix_has_one_of_them(self):
    random = np.random.default_rng(0)
    several = 0
    for _ in range(50):
      machine = dataclasses.replace(_MACHINE, disk=10 ** random.uniform(-2, 2))
      costs = _COSTS | _groups(pcr5=True, pcr1=True)
      mix = planner.best_mix(costs, machine).mix
      self.assertLessEqual(sum(name.startswith("pcr") for name in mix), 1, mix)
      several += len(mix) > 1 and any(name.startswith("pcr") for name in mix)
    self.assertGreater(several, 0)

  def test_the_most_of_an_image_where_all_are_as_fast(self):
    # The disk is no limit, and each takes as long to decode.
    machine = dataclasses.replace(_MACHINE, disk=1e3)
    costs = dict(reversed(_groups(pcr5=True, pcr1=True).items()))
    self.assertEqual(planner.best_mix(costs, machine).mix, {"pcr": 1})

  def test_less_of_an_image_has_to_be_worth_it(self):
    for faster, wanted in ((1.04, "pcr"), (1.06, "pcr@5")):
      costs = _groups(pcr5=True)
      costs["pcr@5"] = dataclasses.replace(costs["pcr@5"], decode_seconds=5e-3 / faster)
      # The disk is no limit.
      machine = dataclasses.replace(_MACHINE, disk=1e3)
      for choice in (planner.best_mix, planner.best_single):
        self.assertEqual(choice(costs, machine).mix, {wanted: 1}, faster)

  def test_memory_holds_what_is_read_and_the_disk_all(self):
    machine = dataclasses.replace(_MACHINE, cache_bytes=1e8)
    costs = _groups(pcr5=True)
    hits = [model.hit_ratio(costs, machine, {name: 1}) for name in ("pcr", "pcr@5")]
    self.assertAlmostEqual(hits[1] / hits[0], 2, delta=0.01)
    for name in costs:
      self.assertEqual(model.mean_bytes(costs, {name: 1}), 4e5)
    little = dataclasses.replace(machine, space_bytes=3e5 * machine.samples)
    self.assertIsNone(planner.best_mix(costs, little))

  def test_memory_holds_no_pixels_of_them(self):
    machine = dataclasses.replace(self._SLOW, cache_form="pixels", cache_bytes=1e8)
    costs = {"raw": _COSTS["raw"], **_groups(pcr5=True)}
    self.assertEqual(planner.best_mix(costs, machine).mix, {"raw": 1})
    self.assertIsNone(planner.best_mix(_groups(), machine))

  def test_a_pair_has_one_of_them(self):
    costs = {"raw": _COSTS["raw"], **_groups(pcr5=True)}
    name, _ = planner.best_pair(costs, self._SLOW, "raw")
    self.assertEqual(name, "pcr@5")
    self.assertIsNone(planner.best_pair(_groups(pcr5=True), self._SLOW, "pcr"))


class DevicesTest(absltest.TestCase):
  def test_a_gpu_and_a_bus_are_shared_out(self):
    cost = _cost(1e6, 1e-6, 1e-6)
    costs = {
      # Three of this keep the GPU busy for as long as two of the other the bus.
      "l3": dataclasses.replace(cost, devices={"gpu": 2e-3, "bus": 0.0}),
      "raw": dataclasses.replace(cost, devices={"gpu": 0.0, "bus": 3e-3}),
    }
    choice = planner.best_mix(costs, _MACHINE)
    self.assertEqual(choice.mix, {"l3": 0.6, "raw": 0.4})
    self.assertAlmostEqual(choice.prediction.throughput, 1 / 1.2e-3)
    self.assertAlmostEqual(choice.prediction.others["bus"], 1 / 1.2e-3)
    # Twice of both is twice as fast.
    twice = planner.best_mix(costs, dataclasses.replace(_MACHINE, gpu=2))
    self.assertEqual(twice.mix, choice.mix)
    self.assertAlmostEqual(twice.prediction.throughput, 2 / 1.2e-3)
    # A training's step takes the GPU too.
    busy = {"gpu": model.Resource({"l3": 1e-3, "raw": 1e-3})}
    busy = planner.best_mix(costs, dataclasses.replace(_MACHINE, resources=busy))
    self.assertEqual(busy.mix, {"l3": 0.4, "raw": 0.6})
    self.assertAlmostEqual(busy.prediction.throughput, 1 / 1.8e-3)
    # Runs have them too; what is only given, they have not.
    given = dataclasses.replace(
      _MACHINE, resources={"net": model.Resource({"l3": 1.0})}
    )
    found = model.predict(costs, given, {"l3": 1})
    self.assertEqual(set(found.others), {"gpu", "bus", "net"})
    self.assertEqual((found.throughput, found.limit), (1, "net"))
    self.assertEqual(model.predict(costs, given.of_runs, {"l3": 1}).throughput, 500)


class MaximiseTest(parameterized.TestCase):
  def test_agrees_with_highs(self):
    random = np.random.default_rng(1)
    infeasible = 0
    for case in range(250):
      variables, constraints = random.integers(1, 7), random.integers(1, 6)
      rows = random.uniform(0, 1, (constraints, variables))
      rows *= 10 ** random.uniform(-4, 4, (constraints, 1))
      limits = random.uniform(0.1, 10, constraints)
      # Some that have both signs, as memory and space have.
      for row in range(1, constraints):
        if random.random() < 0.4:
          rows[row] -= rows[row].mean()
          limits[row] = random.choice([0.0, random.uniform(-1, 1)])
      ours = lp.maximise(rows, limits)
      theirs = optimize.linprog(-np.ones(variables), A_ub=rows, b_ub=limits)
      with self.subTest(case=case):
        if theirs.status == 2:
          self.assertIsNone(ours)
          infeasible += 1
          continue
        self.assertEqual(theirs.status, 0, theirs.message)
        np.testing.assert_allclose(ours.sum(), -theirs.fun, rtol=1e-5, atol=1e-9)
        self.assertGreaterEqual(ours.min(), 0)
        scale = np.abs(rows).max(axis=1) * max(1, ours.max())
        self.assertTrue((rows @ ours <= limits + 1e-6 * scale).all())
    self.assertGreater(infeasible, 3)

  def test_of_equal_vertices_the_one_with_fewest_formats(self):
    found = lp.maximise(np.array([[1.0, 1.0, 1.0]]), np.array([2.0]))
    self.assertEqual(np.count_nonzero(found), 1)
    self.assertEqual(found.sum(), 2)

  def test_unbounded_and_too_large_ones_are_refused(self):
    with self.assertRaisesRegex(ValueError, "no constraint holds every format back"):
      lp.maximise(np.array([[1.0, 0.0]]), np.array([1.0]))
    with self.assertRaisesRegex(ValueError, "profile fewer formats"):
      lp.maximise(np.ones((12, 20)), np.ones(12))


class BestMixTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("no_cache", {}),
    ("some_cache", {"cache_bytes": 8e8}),
    ("most_cached", {"cache_bytes": 2.5e9}),
    ("all_cached", {"cache_bytes": 1e12}),
    ("share", {"cache_share": 0.3}),
    ("pixels", {"cache_bytes": 8e8, "cache_form": "pixels", "copy_seconds": 1e-4}),
    ("little_space", {"space_bytes": 1.3e9}),
    ("reserve", {"reserve": 0.5}),
    ("fast_disk", {"disk": 20}),
    ("slow_disk", {"disk": 0.1}),
    ("gpu", {"resources": {"gpu": model.Resource({"jpeg": 1 / 100})}}),
  )
  def test_as_good_as_all_pairs_at_steps_of_a_hundredth(self, changes):
    machine = dataclasses.replace(_MACHINE, **changes)
    found = planner.best_mix(_COSTS, machine)
    best = _best_of_pairs(_COSTS, machine)
    self.assertGreaterEqual(found.prediction.throughput, 0.99 * best)
    self.assertAlmostEqual(sum(found.mix.values()), 1)

  @parameterized.parameters(2e5, 1e6, 2e6, 5e6)
  def test_so_it_is_of_records_that_take_far_more_in_memory(self, cache_bytes):
    costs = {
      name: _cost(c.stored_bytes / 1000, c.load_seconds / 1000, c.decode_seconds / 1000)
      for name, c in _COSTS.items()
    }
    machine = dataclasses.replace(_MACHINE, cache_bytes=cache_bytes)
    found = planner.best_mix(costs, machine).prediction.throughput
    self.assertGreaterEqual(found, 0.99 * _best_of_pairs(costs, machine))

  @parameterized.parameters("encoded", "pixels")
  def test_memory_holds_as_many_images_as_the_pipeline_keeps(self, cache_form):
    samples, stored, pixels = 10_000, 2400, 12_288
    size = pixels if cache_form == "pixels" else stored
    machine = model.Machine(samples, pixels, samples * size, cache_form=cache_form)
    hits = model.hit_ratio({"png": _cost(stored, 1e-4, 1e-4)}, machine, {"png": 1})
    resident = budget.resident_bytes(samples * size, samples)
    (kept,) = budget.cached_samples(samples * size, [samples], [resident], 0)
    self.assertAlmostEqual(hits, kept / samples, delta=1e-3)
    self.assertLess(hits, 0.95)

  def test_random_machines(self):
    random = np.random.default_rng(2)
    for case in range(60):
      costs = _random_costs(random, int(random.integers(2, 6)))
      machine = dataclasses.replace(
        _MACHINE,
        cache_bytes=random.choice([0, random.uniform(0, 4e9)]),
        processors=random.uniform(0.5, 4),
      )
      found = planner.best_mix(costs, machine).prediction.throughput
      names = list(costs)
      for _ in range(100):
        weights = random.dirichlet(np.full(len(names), 0.5))
        other = model.predict(costs, machine, dict(zip(names, weights))).throughput
        with self.subTest(case=case):
          self.assertGreaterEqual(found, 0.985 * other)

  def test_the_optimum_moves_to_raw_as_the_disk_gets_faster(self):
    costs = {name: _COSTS[name] for name in ("png", "raw")}
    shares = [
      planner.best_mix(costs, dataclasses.replace(_MACHINE, disk=disk)).mix.get(
        "raw", 0
      )
      for disk in (0.3, 1, 2, 4, 16)
    ]
    self.assertEqual(shares, sorted(shares))
    self.assertEqual(shares[0], 0)
    self.assertEqual(shares[-1], 1)

  @parameterized.named_parameters(
    # MB/s of the disk; the share of l3 that is advised before and after.
    ("slow", 100, 0, 0),
    ("middle", 500, 0.31, 0),
    ("fast", 750, 0.5, 0.16),
  )
  def test_jpeg_that_decodes_faster_takes_the_mix_from_l3(self, disk, before, after):
    # By a training recipe on two processors, seconds of one: JPEG by libjpeg-turbo
    # alone and by its index, and l3.
    for jpeg, wanted in ((0.887e-3, before), (0.40e-3, after)):
      measured = {"jpeg": (110e3, jpeg), "l3": (290e3, 0.10e-3)}
      costs = {
        name: _cost(stored, stored / (1e6 * disk), seconds / 2, 0.01e-3)
        for name, (stored, seconds) in measured.items()
      }
      choice = planner.worthwhile(costs, _MACHINE)
      self.assertAlmostEqual(choice.mix.get("l3", 0), wanted, delta=0.02)
      alone = model.predict(costs, _MACHINE, {"jpeg": 1}).throughput
      self.assertGreaterEqual(choice.prediction.throughput, alone)

  def test_a_mix_that_gains_little_is_not_worth_it(self):
    costs = {name: _COSTS[name] for name in ("png", "raw")}
    best = planner.best_mix(costs, _MACHINE)
    self.assertLen(best.mix, 2)
    self.assertEqual(planner.worthwhile(costs, _MACHINE).mix, {"png": 1.0})
    slow = costs | {"png": dataclasses.replace(_COSTS["png"], decode_seconds=16e-3)}
    self.assertLen(planner.worthwhile(slow, _MACHINE).mix, 2)

  def test_no_mix_has_the_space(self):
    machine = dataclasses.replace(_MACHINE, space_bytes=1e6)
    self.assertIsNone(planner.best_mix(_COSTS, machine))
    self.assertIsNone(planner.best_single(_COSTS, machine))

  def test_a_mix_balances_what_it_is_limited_by(self):
    slow = dataclasses.replace(_COSTS["png"], decode_seconds=16e-3)
    costs = {"png": slow, "raw": _COSTS["raw"]}
    found = planner.best_mix(costs, _MACHINE)
    self.assertLen(found.mix, 2)
    prediction = found.prediction
    self.assertAlmostEqual(prediction.load / prediction.decode, 1, delta=0.03)
    self.assertGreater(
      prediction.throughput,
      1.15 * planner.best_single(costs, _MACHINE).prediction.throughput,
    )


if __name__ == "__main__":
  absltest.main()
