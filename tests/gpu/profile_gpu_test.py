"""Profiles with decode="gpu", with the host in the place of a GPU."""

import pathlib
from unittest import mock

import fake_gpu
import numpy as np
import photos
import steady
import tensorflow as tf
from absl.testing import absltest, parameterized

from liquid_tf._graph import gpu
from liquid_tf._profile import devices, probe
from liquid_tf._profile.profile import Profile, profile
from liquid_tf.transforms import CenterCrop, ChannelsFirst, Normalize, Resize

_DRIVER = fake_gpu.install()

_FAST = {
  "runs": (2, 0.02),
  "batch_size": 8,
  "threads": 2,
  "decode": "gpu",
}


class ProfileGpuTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _profile(self, formats=None, sides=(96, 96), **options):
    folder = photos.class_folders(self.root / "photos", per_class=8, sides=sides)
    with steady.Machine().timed():
      return profile(folder, formats, **{**_FAST, **options})

  @parameterized.parameters((None,), ((64, 48),))
  def test_the_gpu_and_the_bus_are_measured(self, crop):
    sides = (96, 96) if crop is None else (80, 130)
    before, lines = gpu.totals(), []
    with _DRIVER.setting("kernel_milliseconds", 80):
      steps = [] if crop is None else [CenterCrop(crop)]
      found = self._profile(sides=sides, transforms=steps, cache=0, say=lines.append)
    self.assertEqual(sorted(found.data["formats"]), ["l3", "l3-compact", "raw"])
    self.assertEqual(found.data["setting"]["decode"], "gpu")
    for name, entry in found.data["formats"].items():
      self.assertContainsSubset({"gpu", "bus"}, entry["devices"])
      self.assertAlmostEqual(entry["devices"]["gpu"], 0.01, places=3)
      self.assertAlmostEqual(entry["devices"]["bus"], 0.001, places=4)
      taken = max(entry["devices"].values())
      self.assertAlmostEqual(entry["predicted"] * taken, 1)
      words = f"{name}: loads .* takes .* gpu .* ms, bus .* ms"
      self.assertRegex("\n".join(lines), words)
    self.assertEqual(found.data["limit"], "gpu")
    changes = [row["change"] for row in found.data["what_if"]]
    self.assertIn("twice the GPU and its bus", changes)
    after = gpu.totals()
    images = after.images - before.images
    self.assertGreater(images, 2 * 24)
    # The driver's own clock has 80 ms for each batch, of 8 at most.
    taken = after.decode_seconds - before.decode_seconds
    self.assertGreaterEqual(taken, images / 8 * 0.08)
    page = self.root / "report.html"
    found.report(page)
    self.assertIn("bus ms an image", page.read_text())
    found.to_json(self.root / "profile.json")
    self.assertEqual(Profile.from_json(self.root / "profile.json").mix, found.mix)

  def test_jpeg_files_are_measured_too(self):
    folder = photos.class_folders(
      self.root / "photos", per_class=8, sides=(80, 130), extension="jpg"
    )
    with steady.Machine().timed():
      steps = [CenterCrop((64, 48))]
      found = profile(folder, None, cache=0, transforms=steps, **_FAST)
    self.assertEqual(sorted(found.data["formats"]), ["jpeg", "l3", "raw"])
    with self.assertRaisesRegex(ValueError, "draft=True must not be given with"):
      profile(folder, None, transforms=[Resize((8, 8), draft=True)], **_FAST)

  def test_what_is_measured_is_what_the_kernels_took(self):
    setting = probe.Setting("short", "long", 2, 1, 1 << 30, 0.0, (), "gpu")
    totals = [gpu.Totals(0, 0, 0.0, 0.0)]

    def start(files, *unused, **options):
      del unused, options
      images, copied, copy, decode = totals[-1]
      n = len(files)
      more = (images + n, copied + 10 * n, copy + 0.25 * n, decode + 0.5 * n)
      totals.append(gpu.Totals(*more))

    batches = [(["a"] * n, None, None) for n in (2, 2, 1)]
    with (
      mock.patch.object(devices, "_batches", return_value=batches),
      mock.patch.object(devices, "image_spec"),
      mock.patch.object(gpu, "start_views", start),
      mock.patch.object(gpu, "totals", lambda: totals[-1]),
    ):
      self.assertEqual(devices.seconds(setting, "l3", 3), {"gpu": 0.5, "bus": 0.25})
    self.assertLen(totals, 1 + 4 * 3)

  def test_the_training_has_its_gpu_seconds_too(self):
    alone = self._profile(["raw"], cache=0).data
    # A tenth of a second for an image, and 10 ms to decode it.
    found = self._profile(["raw"], cache=0, step=800.0).data
    self.assertAlmostEqual(alone["predicted"], 100, delta=1)
    self.assertEqual(found["limit"], "gpu")
    self.assertAlmostEqual(found["predicted"], 1 / 0.11, delta=0.1)
    self.assertIn("held up in any case", found["training"]["sentence"])

  def test_a_mean_image_is_one_tensor(self):
    mean = self.root / "mean.npy"
    np.save(mean, np.full([64, 48, 3], 100, np.float32))
    steps = [CenterCrop((64, 48)), Normalize(mean_image=mean), ChannelsFirst()]
    taken, make = [], gpu.start_views

    def start(*args, **options):
      taken.append(options["mean_image"])
      return make(*args, **options)

    with mock.patch.object(gpu, "start_views", start):
      self._profile(["raw"], sides=(80, 130), cache=0, transforms=steps)
    # Datasets give arrays, when they are traced. A noisy profile begins again.
    means = [id(image) for image in taken if isinstance(image, tf.Tensor)]
    self.assertNotEmpty(means)
    self.assertLessEqual(len(set(means)), 1 + len(means) // 9)

  def test_a_gpu_that_cannot_decode_is_an_error_at_once(self):
    with (
      _DRIVER.setting("launch", 719),
      self.assertRaisesRegex(
        ValueError, r'decode \("gpu"\) must be "cpu" here: .*LAUNCH'
      ),
    ):
      self._profile()
    self.assertEqual([path.name for path in self.root.iterdir()], ["photos"])

  @parameterized.parameters(
    (
      {"formats": ["l3", "png"]},
      r'formats \("png"\) must be of l3, l3-compact, raw, jpeg with',
    ),
    ({"strategy": "search"}, r'strategy \("search"\) must be "lp" with'),
    (
      {"sides": (60, 90)},
      "transforms must have a CenterCrop with .*: the images differ",
    ),
  )
  def test_what_a_gpu_cannot_do_is_refused(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._profile(**options)


if __name__ == "__main__":
  absltest.main()
