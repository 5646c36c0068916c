"""Profiles with decode="gpu", with the host in the place of a GPU."""

import pathlib
from unittest import mock

import fake_gpu
import photos
from absl.testing import absltest, parameterized

from liquid_tf import _gpu_tf
from liquid_tf._profile import devices, noise, probe
from liquid_tf.profile import Profile, profile

_DRIVER = fake_gpu.install()

_FAST = {"trials": 2, "seconds": 0.02, "batch_size": 8, "threads": 2, "decode": "gpu"}


class ProfileGpuTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _profile(self, formats=None, sides=(96, 96), **options):
    folder = photos.class_folders(self.root / "photos", per_class=8, sides=sides)
    with mock.patch.object(noise, "MOST_DOUBT", 1e9):
      return profile(folder, formats, **{**_FAST, **options})

  @parameterized.parameters(("lp", None), ("search", (64, 48)))
  def test_the_gpu_and_the_bus_are_measured(self, strategy, crop):
    sides = (96, 96) if crop is None else (80, 130)
    before, lines = _gpu_tf.totals(), []
    # So slow that nothing else is the limit.
    with _DRIVER.setting("kernel_milliseconds", 80):
      found = self._profile(
        sides=sides, strategy=strategy, crop=crop, cache=0, say=lines.append
      )
    self.assertEqual(sorted(found.data["formats"]), ["l3", "raw"])
    self.assertEqual(found.data["setting"]["decode"], "gpu")
    for name, entry in found.data["formats"].items():
      self.assertEqual(set(entry["devices"]), {"gpu", "bus"})
      self.assertBetween(entry["devices"]["gpu"], 0.01, 0.1)  # of 8 in a batch
      self.assertGreater(entry["devices"]["gpu"], entry["devices"]["bus"])
      self.assertAlmostEqual(entry["predicted"] * entry["devices"]["gpu"], 1)
      self.assertRegex("\n".join(lines), f"{name}: loads .* takes gpu .* ms, bus .* ms")
    self.assertEqual(found.data["limit"], "gpu")
    self.assertGreater(_gpu_tf.totals().images, before.images + 2 * 24)
    page = self.root / "report.html"
    found.report(page)
    self.assertIn("bus ms an image", page.read_text())
    found.to_json(self.root / "profile.json")
    self.assertEqual(Profile.from_json(self.root / "profile.json").mix, found.mix)

  def test_what_is_measured_is_what_the_kernels_took(self):
    setting = probe.Setting("short", "long", 2, 1, 1 << 30, 0.0, {}, "gpu")
    totals = [_gpu_tf.Totals(0, 0, 0.0, 0.0)]

    def start(contents, *unused, **options):
      del unused, options
      images, copied, copy, decode = totals[-1]
      n = len(contents)
      more = (images + n, copied + 10 * n, copy + 0.25 * n, decode + 0.5 * n)
      totals.append(_gpu_tf.Totals(*more))

    batches = [{"bytes": ["a"] * n, "window": None, "id": None} for n in (2, 2, 1)]
    with (
      mock.patch.object(devices, "_batches", return_value=batches),
      mock.patch.object(devices, "image_spec"),
      mock.patch.object(_gpu_tf, "start", start),
      mock.patch.object(_gpu_tf, "totals", lambda: totals[-1]),
    ):
      self.assertEqual(devices.seconds(setting, "l3", 3), {"gpu": 0.5, "bus": 0.25})
    self.assertLen(totals, 1 + 4 * 3)

  @parameterized.parameters(
    ({"formats": ["l3", "png"]}, r'formats \("png"\) must be of l3, raw with'),
    ({"image_size": (8, 8)}, r"image_size \(\(8, 8\)\) must be None with"),
    ({"resources": {"bus": {"l3": 1}}}, r'resources \("bus"\) must go'),
    ({"sides": (60, 90)}, r"crop \(None\) must be given with .*: the images differ"),
  )
  def test_what_a_gpu_cannot_do_is_refused(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._profile(**options)


if __name__ == "__main__":
  absltest.main()
