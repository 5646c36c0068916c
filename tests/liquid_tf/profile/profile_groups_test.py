"""Scan groups of pcr as formats of a profile: which, what they cost, what is said."""

import dataclasses
import shutil
import tempfile

import runs
from absl.testing import absltest, parameterized

from liquid_tf._cost import model, planner
from liquid_tf._measure import repeated
from liquid_tf._profile import groups, names, probe, sample
from liquid_tf._store import manifest as manifests

_IMAGES = 7  # a record


def _cost(group, read, mssim, enough):
  scans = model.ScanGroup(group, 10, read, mssim, enough)
  return model.FormatCost(4e4, read / 1e7, 0.0, 1e-4, 0.1, False, scans=scans)


def _costs(enough=False):
  return {
    "pcr": _cost(10, 4e4, 1.0, True),
    "pcr@5": _cost(5, 2e4, 0.97, enough),
    "pcr@2": _cost(2, 1e4, 0.9, False),
  }


class NamesTest(absltest.TestCase):
  def test_a_mix_goes_there_and_back(self):
    mix = {"webp-lossy": 0.25, "pcr@5": 0.75}
    self.assertEqual(names.convertible(mix), {"webp-lossy": 0.25, "pcr": 0.75})
    self.assertEqual(names.fidelity(mix), 5)
    self.assertEqual(names.profiled(names.convertible(mix), 5), mix)
    self.assertEqual([names.stored(name) for name in mix], ["webp", "pcr"])

  def test_whole_images_have_no_group(self):
    mix = {"png": 0.25, "pcr": 0.75}
    self.assertIsNone(names.fidelity(mix))
    self.assertEqual(names.profiled(mix, None), mix)


class SplitTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(
      root,
      "jpeg:1,pcr:1",
      per_class=9,
      sides=(64, 64),
      extension="jpg",
      replicate=True,
      encoders={"pcr": {"images": _IMAGES}},
    )
    cls.manifest = manifests.load(cls.path)

  def _split(self, least_mssim=None, chosen=None):
    stored = {"jpeg": [5000, 6000], "pcr": [4000, 5000]}
    encoded = sample.Encoded(2, [64 * 64 * 3] * 2, stored, {"jpeg": 1.0, "pcr": 2.0})
    options = {"images": _IMAGES, "groups": chosen}
    return groups.split(encoded, self.manifest, options, least_mssim)

  def test_some_are_compared_and_none_is_enough(self):
    found = self._split()
    self.assertEqual(list(found.scans), ["pcr", "pcr@5", "pcr@2", "pcr@1"])
    self.assertEqual(
      [(s.group, s.of, s.enough) for s in found.scans.values()],
      [(10, 10, True), (5, 10, False), (2, 10, False), (1, 10, False)],
    )
    self.assertEqual(list(found.stored_bytes), ["jpeg", *found.scans])
    self.assertEqual(found.stored_bytes["pcr@1"], [4000, 5000])
    self.assertEqual(found.seconds["pcr@1"], 2.0)

  def test_bytes_are_those_of_prefixes(self):
    measured = self.manifest["pcr"]["fidelity"]
    for scans in self._split().scans.values():
      share = measured[scans.group - 1]["bytes"] / measured[-1]["bytes"]
      self.assertAlmostEqual(scans.read_bytes, 4500 * share)
    # In a dataset, with all that is in its records.
    for name, group in (("pcr", 10), ("pcr@2", 2)):
      size = groups.read_bytes(name, self.manifest)
      self.assertEqual(size, measured[group - 1]["bytes"] / 36)

  def test_similarity_rises_to_that_of_whole_images(self):
    values = [scans.mssim for scans in self._split().scans.values()]
    self.assertEqual(values[0], 1)
    self.assertEqual(values, sorted(values, reverse=True))
    self.assertLess(values[-1], values[0])

  def test_a_bound_takes_the_lowest_group_that_has_it_and_those_above(self):
    every = self._split(chosen=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)).scans
    self.assertLen(every, 10)
    for group in (1, 3, 5, 7):
      bound = every[f"pcr@{group}"].mssim
      found = self._split(bound).scans
      lowest = min(s.group for s in every.values() if s.mssim >= bound)
      wanted = {10, lowest, *(g for g in (1, 2, 5) if g > lowest)}
      self.assertEqual({scans.group for scans in found.values()}, wanted)
      for scans in found.values():
        self.assertEqual(scans.enough, scans.mssim >= bound)

  def test_without_loss_there_is_one(self):
    self.assertEqual(list(self._split(1.0, (1, 2)).scans)[0], "pcr")
    for scans in self._split(1.0).scans.values():
      self.assertEqual(scans.mssim, 1)

  def test_only_whole_images_are_lossless(self):
    found = groups.lossless(self._split(), self.manifest)
    self.assertTrue(found["pcr"])
    self.assertFalse(any(found[f"pcr@{group}"] for group in (1, 2, 5)))

  def test_without_pcr_nothing_changes(self):
    encoded = sample.Encoded(1, [8], {"png": [4]}, {"png": 1.0})
    self.assertIs(groups.split(encoded, self.manifest, None, None), encoded)

  def test_images_that_are_too_small_have_no_similarity(self):
    path = runs.make(
      self.create_tempdir().full_path, "pcr", per_class=1, sides=(8, 8), extension="jpg"
    )
    encoded = sample.Encoded(1, [192], {"pcr": [400]}, {"pcr": 1.0})
    options = {"images": 64, "groups": None}
    found = groups.split(encoded, manifests.load(path), options, None)
    self.assertIsNone(found.scans["pcr@1"].mssim)
    with self.assertRaisesRegex(ValueError, r"least_mssim \(0.9\) needs images of"):
      groups.split(encoded, manifests.load(path), options, 0.9)

  def test_runs_read_the_bytes_of_their_group(self):
    long = self.create_tempdir().full_path
    repeated.repeat(self.manifest, 3, long)
    setting = probe.Setting(self.path, long, 4, 1, 64 << 20, 0.01, ())
    for stage in ("load", "decode", "both"):
      for mix in ({"pcr": 1}, {"pcr@2": 1}, {"pcr@2": 0.5, "jpeg": 0.5}):
        with self.subTest(stage=stage, mix=mix):
          run = probe.Pipeline(setting, mix, stage).run()
          self.assertGreater(run.images_per_s, 0)
    sizes = []
    for name in ("pcr", "pcr@2"):
      batches = probe.Pipeline(setting, {name: 1}, "load")._dataset.take(27)
      sizes.append(sum(len(one) for batch in batches for one in batch["bytes"].numpy()))
    shares = [entry["bytes"] for entry in self.manifest["pcr"]["fidelity"]]
    self.assertAlmostEqual(sizes[1] / sizes[0], shares[1] / shares[9], delta=0.05)

  def test_fewer_bytes_are_more_images_ahead(self):
    setting = probe.Setting(self.path, self.path, 4, 1, 64 << 20, 0.01, ())
    found = [
      probe._settled(setting, {"jpeg": 0.01, name: 0.99}) for name in ("pcr", "pcr@1")
    ]
    # Jpeg of little share is what settles last, and what it reads ahead is the same.
    self.assertEqual(found[0], found[1])
    found = [
      probe._settled(setting, {"jpeg": 0.99, name: 0.01}) for name in ("pcr", "pcr@1")
    ]
    read = [groups.read_bytes(name, self.manifest) for name in ("pcr", "pcr@1")]
    self.assertAlmostEqual(found[1] / found[0], read[0] / read[1], delta=0.01)


class AdviceTest(absltest.TestCase):
  _MACHINE = model.Machine(1000, 1e5)

  def test_what_is_lost_is_said(self):
    self.assertEqual(
      groups.described(_costs(enough=True), {"pcr@5": 1.0}),
      "pcr@5 is pcr read through scan group 5 of 10, by dataset(fidelity=5): 20.0 of "
      "40.0 KB an image, which loses detail (MSSIM 0.9700).",
    )
    self.assertIsNone(groups.described(_costs(), {"pcr": 1.0}))

  def test_what_nobody_asked_for_is_said_and_not_advised(self):
    costs = _costs()
    choice = planner.best_mix(costs, self._MACHINE)
    self.assertEqual(choice.mix, {"pcr": 1.0})
    self.assertEqual(
      groups.not_advised(costs, self._MACHINE, choice),
      "With least_mssim=0.97 or less, pcr read through scan group 5 is predicted to "
      "give 2.00 times as many images/s; it loses detail.",
    )

  def test_nothing_is_said_where_nothing_is_gained(self):
    fast = dataclasses.replace(self._MACHINE, disk=1e3)
    choice = planner.best_mix(_costs(), fast)
    self.assertIsNone(groups.not_advised(_costs(), fast, choice))

  def test_other_resources_are_those_of_pcr(self):
    given = {"net": model.Resource({"pcr": 4e-3, "png": 2e-3})}
    found = groups.resources(given, _costs())["net"]
    self.assertEqual(
      found.seconds, {"pcr": 4e-3, "pcr@5": 4e-3, "pcr@2": 4e-3, "png": 2e-3}
    )


if __name__ == "__main__":
  absltest.main()
