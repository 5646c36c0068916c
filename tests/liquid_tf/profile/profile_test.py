"""Profiles of few, small images from beginning to end."""

import contextlib
import io
import os
import pathlib
import signal
import statistics
from unittest import mock

import examples
import numpy as np
import photos
import runs
import steady
import tensorflow as tf
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import recordio, transforms
from liquid_tf._convert.source import Source
from liquid_tf._profile import processors, run, scratch, stake
from liquid_tf._profile.profile import profile
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError, TooNoisyError

_FAST = {"runs": (2, 0.02), "batch_size": 8, "threads": 2}


def _leave(folder: str) -> None:
  """Kills the process while there is something in its folder."""
  with scratch.folder(folder) as path:
    pathlib.Path(path, "short").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)


class ProfileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _profile(self, formats, sides=(96, 96), machine=None, **options):
    """Profiles 24 photographs on a machine whose speed is known."""
    folder = photos.class_folders(self.root / "photos", per_class=8, sides=sides)
    with (machine or steady.Machine()).timed():
      return profile(folder, formats, **_FAST, **options).data

  def test_masks_are_refused(self):
    with self.assertRaisesRegex(ValueError, "masks .* are not profiled"):
      profile(Source(self.root, masks=self.root))

  def test_search(self):
    written = []
    found = self._profile(["png", "raw"], strategy="search", say=written.append)
    # A search is of mixes without a cache.
    self.assertEqual(found["cache"], {"bytes": 0, "share": None})
    self.assertEqual(os.listdir(self.root), ["photos"])
    self.assertEqual(found["directory"], os.fspath(self.root))
    self.assertTrue(any(f"{self.root}/.liquid_profile_" in line for line in written))
    self.assertEqual(found["samples"], 24)
    self.assertEqual(found["sampled"], 24)
    self.assertEqual(found["pixel_bytes"], 96 * 96 * 3)
    # A record's magic and header, labels' and image's headers, and their padding.
    overhead = found["formats"]["raw"]["bytes"] - found["pixel_bytes"]
    self.assertBetween(overhead, 16, 64)
    self.assertEqual(
      [row["mix"]["raw"] for row in found["measured"]], [0.5, 0.8, 0.7, 0.6]
    )
    for row in found["measured"]:
      self.assertAlmostEqual(row["throughput"] / row["predicted"], 1, places=4)
    self.assertEqual(found["mix"], {"png": 0.4, "raw": 0.6})
    # 3 ms of raw alone to 2.2 of six tenths.
    self.assertStartsWith(
      found["verdict"],
      "Mix png:4,raw:6: measured at 1.36 times (1.36 to 1.36, 95%) the speed of raw",
    )
    self.assertEqual(found["limit"], "load")
    for entry in found["formats"].values():
      self.assertTrue(entry["lossless"])
      self.assertLen(entry["decode_runs"], 2)
    for name, milliseconds in (("png", 4), ("raw", 0.5)):
      # Of the two processors that decode.
      spent = found["formats"][name]["decode_cpu_seconds"]
      self.assertAlmostEqual(spent, 2 * milliseconds / 1000, delta=spent / 50)
    self.assertEqual(found["verified"]["stock_format"], "png")
    self.assertNotEmpty(found["verified"]["stock"])
    # Each image in both formats, and in one of them as a file.
    self.assertLess(found["written_bytes"], 3 * 24 * (96 * 96 * 3 + 64))
    self.assertLen(found["curve"]["points"], 11)

  def test_unequal_sizes_and_lossy_formats_by_name(self):
    found = self._profile(
      ["webp-lossy", "jpeg", "raw"],
      (40, 90),
      cache="50%",
      step=50,
      encoders={"jpeg": {"quality": 50}},
    )
    formats = found["formats"]
    self.assertFalse(formats["webp-lossy"]["lossless"])
    self.assertLess(formats["jpeg"]["bytes"], formats["raw"]["bytes"])
    self.assertEqual(found["setting"]["transforms"], ["Ragged()"])
    self.assertEqual(found["hit_ratio"], 0.5)
    self.assertEqual(found["training"]["images_per_s"], 160)
    self.assertLessEqual(set(found["mix"]), set(formats))

  def test_the_linear_programme_finds_the_mix_that_is_best(self):
    found = self._profile(["png", "raw"], cache=0, step=20)
    self.assertEqual(found["mix"], {"raw": 0.55, "png": 0.45})
    self.assertAlmostEqual(found["predicted"], 478.6, places=1)
    self.assertEqual(found["best_single"]["format"], "raw")
    # A batch of 8 in 20 ms.
    self.assertStartsWith(
      found["verdict"],
      "The mix matters: the training takes 400 images/s, raw alone gives 335 and would "
      "hold it up; the mix gives 479. Mix raw:55,png:45: measured at 1.43 times (1.43 "
      "to 1.43, 95%) the speed of raw",
    )

  def test_what_does_not_hang_on_the_mix_is_not_measured(self):
    said = []
    with mock.patch.object(processors, "factor") as factor:
      found = self._profile(["png", "raw"], cache=0, step=1000, say=said.append)
    factor.assert_not_called()
    self.assertEqual(found["verified"]["mix"], found["verified"]["single"])
    self.assertLen(found["verified"]["single"], 2)
    self.assertEqual(found["mix"], {"raw": 1.0})
    self.assertIn("nothing hangs on the mix", " ".join(said))
    self.assertEqual(found["verdict"], found["training"]["sentence"])

  def test_what_is_at_stake_is_of_the_mix_that_is_advised(self):
    with (
      mock.patch.object(processors, "factor", return_value=1.2),
      mock.patch.object(stake, "of", wraps=stake.of) as of,
    ):
      found = self._profile(["png", "raw"], cache=0)
    by_costs, choice = of.call_args_list[0].args[0], of.call_args_list[-1].args[0]
    self.assertEqual(choice.mix, found["mix"])
    self.assertGreater(choice.mix["png"], by_costs.mix["png"])
    self.assertLess(found["at_stake"], 0.05)

  def _profile_jpeg(self, formats, per_class=8, **options):
    folder = photos.class_folders(
      self.root / "photos", per_class=per_class, sides=(96, 96), extension="jpg"
    )
    with steady.Machine().timed():
      return profile(folder, formats, cache=0, **_FAST, **options)

  def test_pcr_is_measured_through_its_groups_and_advised_whole(self):
    found = self._profile_jpeg(["raw", "pcr"])
    self.assertEqual(
      list(found.data["formats"]), ["raw", "pcr", "pcr@5", "pcr@2", "pcr@1"]
    )
    sizes = [entry["scans"] for entry in found.data["formats"].values()]
    self.assertIsNone(sizes.pop(0))
    read = [scans["read_bytes"] for scans in sizes]
    self.assertEqual(read, sorted(read, reverse=True))
    self.assertLess(read[-1], read[0] / 2)
    self.assertIsNone(found.fidelity)
    self.assertNotIn("@", str([found.mix, found.data["what_if"], found.data["memory"]]))
    self.assertRegex(
      found.verdict,
      r"least_mssim=0\.\d+ or less, pcr read through scan group 5 is predicted to give",
    )
    self.assertFalse(found.data["formats"]["pcr@5"]["lossless"])
    self.assertTrue(found.data["formats"]["pcr"]["lossless"])
    self.assertEqual(os.listdir(self.root), ["photos"])

  def test_a_group_that_is_enough_is_advised_and_trained_from(self):
    found = self._profile_jpeg(["raw", "pcr"], least_mssim=0.1)
    # 0.45 ms of the disk and 1.0 of the processors, and of raw 3.0 and 0.5.
    self.assertEqual(found.fidelity, 1)
    self.assertEqual(found.mix, {"raw": 0.18, "pcr": 0.82})
    self.assertRegex(
      found.verdict,
      r"^Mix raw:18,pcr@1:82: measured at .*, which loses detail \(MSSIM 0\.",
    )
    self.assertEqual(found.encoders["pcr"], {"images": 64, "groups": None})
    output = os.fspath(self.root / "dataset")
    liquid_tf.convert(
      self.root / "photos", output, found.mix, encoders=found.encoders, progress=False
    )
    images = [
      liquid_tf.dataset(output, 4, fidelity=group, shuffle=False)
      for group in (found.fidelity, None)
    ]
    pairs = list(zip(*(data.as_numpy_iterator() for data in images)))
    self.assertTrue(any((one[0] != other[0]).any() for one, other in pairs))

  def test_groups_of_the_encoder_are_all_measured(self):
    found = self._profile_jpeg(
      ["pcr"], 2, encoders={"pcr": {"images": 4, "groups": [1, 3, 10]}}, least_mssim=0.1
    )
    self.assertEqual(list(found.data["formats"]), ["pcr", "pcr@2", "pcr@1"])
    self.assertEqual(found.fidelity, 1)
    self.assertEqual(found.mix, {"pcr": 1.0})
    self.assertEqual(found.encoders["pcr"], {"images": 4, "groups": [1, 3, 10]})
    self.assertIn("none of the formats", found.data["verified"]["stock_skipped"])

  def test_the_search_knows_groups(self):
    found = self._profile_jpeg(["raw", "pcr"], strategy="search", least_mssim=0.1)
    self.assertEqual(found.fidelity, 1)
    self.assertEqual(
      {name for row in found.data["measured"] for name in row["mix"]}, {"raw", "pcr@1"}
    )

  def test_a_mix_that_is_no_faster_is_not_advised(self):
    # The disk is never the limit, so raw is best by itself.
    machine = steady.Machine(load={"png": 0.1, "raw": 0.2})
    found = self._profile(["png", "raw"], cache=0, machine=machine)
    self.assertEqual(found["mix"], {"raw": 1.0})
    self.assertStartsWith(found["verdict"], "raw alone is best: 2000 (")

  @parameterized.parameters(
    ([transforms.RandomCrop(32)],),
    (
      [
        transforms.RandomResizedCrop(24),
        transforms.Mirror(),
        transforms.ColorJitter(0.2, 0.2, 0.2, 0.1),
        transforms.Normalize(127.5, 60),
        transforms.ChannelsFirst(),
      ],
    ),
    ([transforms.Resize(shorter=40), transforms.CenterCrop(32)],),
  )
  def test_the_trainings_steps(self, crop):
    folder = photos.class_folders(self.root / "source", per_class=4, sides=(64, 64))
    from liquid_tf._convert.convert import convert

    convert(folder, self.root / "dataset", "png:1,l3:1", progress=False)
    before = photos.files(self.root / "dataset")
    with steady.Machine().timed():
      found = profile(
        self.root / "dataset",
        ["l3"],
        transforms=crop,
        cache=10**9,
        **_FAST,
      ).data
    self.assertEqual(found["mix"], {"l3": 1.0})
    self.assertEqual(found["hit_ratio"], 1)
    self.assertIn("none of the formats", found["verified"]["stock_skipped"])
    self.assertEqual(photos.files(self.root / "dataset"), before)
    manifest.load(self.root / "dataset")

  def test_says_on_stderr_what_it_does_unless_told_to_be_silent(self):
    folder = photos.class_folders(self.root / "photos", per_class=8, sides=(96, 96))

    def written(**options) -> str:
      stderr = io.StringIO()
      with contextlib.redirect_stderr(stderr), steady.Machine().timed():
        profile(folder, ["png", "raw"], **_FAST, **options)
      return stderr.getvalue()

    self.assertIn("measuring each format: loading, decoding\n", written())
    self.assertNotIn("measuring", written(say=None))

  def test_what_a_killed_one_left_goes_with_the_next(self):
    runs.in_new_process(_leave, exit_code=-9, folder=os.fspath(self.root))
    [left] = os.listdir(self.root)
    self.assertStartsWith(left, ".liquid_profile_")
    with scratch.folder(os.fspath(self.root)) as living:
      self.assertNotIn(left, os.listdir(self.root))
      with scratch.folder(os.fspath(self.root)) as other:
        # The first one is in use.
        self.assertTrue(os.path.isdir(living))
        self.assertNotEqual(living, other)
    self.assertEmpty(os.listdir(self.root))

  def test_items_of_python(self):
    folder = photos.class_folders(self.root / "photos", per_class=8, sides=(96, 96))
    paths = sorted(pathlib.Path(folder).rglob("*.png"))

    def items():
      for path in paths:
        yield {"image": path.read_bytes(), "label": path.parent.name}

    output = self.root / "output"
    output.mkdir()
    written = []

    def say(line):
      kept = [name for name in os.listdir(output) if os.path.isdir(output / name)]
      written.append((line, len(kept)))

    for given in (items, list(items())):
      with steady.Machine().timed():
        source = Source.from_iterable(given)
        found = profile(source, ["png", "raw"], directory=output, say=say, **_FAST)
      self.assertEqual(found.data["samples"], 24)
      self.assertEqual(found.data["source"], "Source.from_iterable")
      self.assertEmpty(os.listdir(output))
    self.assertIn(f"are kept below {output}/.liquid_profile_", written[0][0])
    # The items' folder, and that of the measurement.
    self.assertEqual(max(count for _, count in written), 2)
    # As by Ctrl-C.
    with mock.patch.object(run, "run", side_effect=KeyboardInterrupt):
      with self.assertRaises(KeyboardInterrupt):
        profile(Source.from_iterable(items), ["png"], directory=output, say=None)
    self.assertEmpty(os.listdir(output))
    with self.assertRaisesRegex(ValueError, 'must be given for "Source.from_iterable"'):
      profile(Source.from_iterable(items))

  def test_lossy_formats_come_by_name_only(self):
    with mock.patch.object(run, "run", return_value={}) as profiled:
      for extension, formats in (
        ("png", "raw png l3 l3-compact"),
        ("jpg", "raw jpeg l3"),
      ):
        folder = photos.class_folders(
          self.root / extension, per_class=1, extension=extension
        )
        profile(folder)
        self.assertEqual(profiled.call_args.args[2].formats, formats.split())

  def test_first_bytes_say_what_is_lossy(self):
    folder = self.root / "photos"
    photos.class_folders(folder, per_class=7, classes=3, extension="jpg")
    images = sorted(folder.rglob("*.jpg"))
    with recordio.Writer(self.root / "a.rec") as writer:
      for path in images:
        writer.write(recordio.pack(recordio.Header(0), path.read_bytes()))
    examples.write(
      f"{self.root}/a.tfrecord",
      [{"image/encoded": p.read_bytes(), "image/class/label": 0} for p in images],
    )
    for mix, replicate in (("jpeg", False), ("pcr", False), ("raw:1,jpeg:1", True)):
      output = self.root / f"{mix[:3]}.liquid"
      liquid_tf.convert(folder, output, mix, replicate=replicate, progress=False)
    liquid_tf.convert(folder, self.root / "half", "png:1,jpeg:1", progress=False)
    # One of 21 is another, which its name does not say.
    photos.save(images[0].with_suffix(".png"), photos.photo("coffee")[:30, :30])
    os.replace(images[0].with_suffix(".png"), images[0])
    for path in images[1:]:
      path.rename(path.with_suffix(".x"))
    named = photos.class_folders(self.root / "png", per_class=1)
    for path in pathlib.Path(named).rglob("*.png"):
      path.rename(path.with_suffix(".jpg"))
    jpeg, lossless = ["raw", "jpeg", "l3"], ["raw", "png", "l3", "l3-compact"]
    with mock.patch.object(run, "run", return_value={}) as profiled:
      for name, wanted in (
        ("a.rec", jpeg),
        ("a.tfrecord", jpeg),
        ("jpe.liquid", jpeg),
        ("pcr.liquid", jpeg),
        ("raw.liquid", jpeg),
        ("photos", jpeg),
        ("half", lossless),
        ("png", lossless),
      ):
        profile(self.root / name)
        self.assertEqual(profiled.call_args.args[2].formats, wanted, name)

  def test_a_gpu_that_is_not_there_is_an_error(self):
    with self.assertRaisesRegex(
      ValueError,
      r'decode \("gpu"\) must be "cpu" here: TensorFlow has no GPU .* install',
    ):
      self._profile(None, decode="gpu")
    with self.assertRaisesRegex(ValueError, r'decode \("none"\) must be'):
      self._profile(None, decode="none")

  def test_the_disk_of_the_images_is_measured(self):
    folder = photos.class_folders(self.root / "photos", per_class=1, classes=1)
    (image,) = pathlib.Path(folder).rglob("*.png")
    value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.read_bytes()]))
    features = tf.train.Features(feature={"image/encoded": value})
    record = tf.train.Example(features=features).SerializeToString()
    for name in ("2/b", "1/a"):
      (self.root / name).parent.mkdir()
      with tf.io.TFRecordWriter(f"{self.root}/{name}.tfrecord") as writer:
        writer.write(record)
    with mock.patch.object(run, "run", return_value={}) as profiled:
      for source, beside in (
        (folder, self.root),
        (f"{self.root}/2/b.tfrecord", self.root / "2"),
        (f"{self.root}/[12]/*.tfrecord", self.root / "1"),
      ):
        profile(source)
        self.assertEqual(profiled.call_args.args[1], os.fspath(beside))

  def test_what_has_no_place_needs_a_directory(self):
    with self.assertRaisesRegex(
      ValueError, r'must be given for "tfds:mnist": a folder'
    ):
      profile("tfds:mnist")
    with self.assertRaisesRegex(
      ConvertError, r"must be an existing folder, .* cannot read .*/\*.rec: there is no"
    ):
      profile(f"{self.root}/*.rec")

  def test_a_model_is_timed_and_left_as_it_was(self):
    model = tf.keras.Sequential(
      [
        tf.keras.Input((8, 8, 3)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(2),
      ]
    )
    model.compile("adam", "mse")
    batch = np.ones((16, 8, 8, 3), np.float32), np.zeros((16, 2), np.float32)
    model.train_on_batch(*batch)
    variables = [*model.variables, *model.optimizer.variables]
    before = [variable.numpy() for variable in variables]
    found = self._profile(["raw"], (16, 16), cache=0, step=(model, batch))
    self.assertGreater(found["training"]["images_per_s"], 0)
    for variable, value in zip(variables, before):
      np.testing.assert_array_equal(variable.numpy(), value)

  @parameterized.parameters(4, 8, 20)
  def test_a_training_of_any_batch_takes_as_many_images_a_second(self, rows):
    folder = photos.class_folders(self.root / "photos", per_class=1)
    batch = {"image": np.zeros((rows, 4, 4, 3), np.float32)}, np.zeros(rows)
    with (
      mock.patch.object(run, "run", return_value={}) as profiled,
      mock.patch("liquid_tf._profile.training.step_ms", return_value=2.0 * rows),
    ):
      profile(folder, batch_size=8, step=(None, batch))
    options = profiled.call_args.args[2]
    self.assertAlmostEqual(options.batch_size * 1000 / options.step_ms, 500)

  def test_an_order_of_formats_that_is_open_is_no_advice(self):
    machine = steady.Machine(waves={"load": steady.RESTLESS})
    with (
      mock.patch.object(run, "MOST_SECONDS", 0.0),
      self.assertRaisesRegex(
        TooNoisyError,
        r"^no advice: after 2 rounds, \w+ alone may be \d+% faster than .*, which "
        "seems best: end what else runs on this machine, or measure longer, with runs=",
      ),
    ):
      self._profile(["png", "raw"], cache=0, machine=machine)
    self.assertEqual(os.listdir(self.root), ["photos"])

  def test_the_last_runs_have_the_cache(self):
    bare, kept = (self._profile(["png", "raw"], cache=c) for c in (0, "50%"))
    self.assertTrue(kept["gain"]["measured"])
    for found in (bare, kept):
      median = statistics.median(found["verified"]["mix"])
      self.assertAlmostEqual(median / found["verified"]["predicted"], 1, delta=0.02)
    # Half of the reads is time to read more of the raw images.
    self.assertGreater(kept["mix"]["raw"], bare["mix"]["raw"])
    self.assertGreater(kept["predicted"], 1.2 * bare["predicted"])

  def test_runs_that_disagree_in_the_end_give_advice_with_its_interval(self):
    machine = steady.Machine(waves={"both": steady.RESTLESS})
    with mock.patch.object(run, "MOST_SECONDS", 0.0):
      found = self._profile(["png", "raw"], cache=0, machine=machine)
    # Rounds differ, and what is in a round does not.
    self.assertAlmostEqual(found["gain"]["low"], found["gain"]["high"])
    low, high = found["predicted_interval"]
    self.assertLess(low, found["predicted"] / 2)
    self.assertGreater(high, found["predicted"] * 2)

  def test_runs_that_disagree_at_first_are_measured_more_often(self):
    # Two rounds say little, more of them agree but for one run in each format.
    waves = {"load": (1.0, 1.5, *(1.0,) * 20)}
    machine = steady.Machine(waves=waves)
    found = self._profile(["png", "raw"], cache=0, machine=machine)
    self.assertBetween(len(found["formats"]["raw"]["load_runs"]), 3, 20)
    self.assertAlmostEqual(found["formats"]["raw"]["load"], 1000 / 3)
    self.assertLessEqual(found["at_stake"], 0.05)

  def test_images_that_cannot_be_read_are_no_wrong_argument(self):
    folder = photos.class_folders(self.root / "photos", per_class=1)
    for path in pathlib.Path(folder).rglob("*.png"):
      path.write_bytes(b"no image")
    with self.assertRaisesRegex(
      ConvertError, r"none of 3 images can be stored; .*png: "
    ):
      profile(folder, ["png", "raw"])

  def test_images_of_two_kinds_are_told_without_a_list_that_is_gone(self):
    folder = photos.class_folders(self.root / "photos", per_class=1)
    first, *others = sorted(pathlib.Path(folder).rglob("*.png"))
    photos.save(first, photos.photo("camera")[:40, :40])
    with self.assertRaisesRegex(
      ConvertError,
      r"^source \(.*\): its samples are of 2 kinds \(1 of 1 channels and 8 bits, as "
      rf"{first.relative_to(folder)}; {len(others)} of 3 channels .*, as .*\.png\): "
      r"choose one with transforms=\[Channels\(N\)\]$",
    ):
      profile(folder, ["png", "raw"])

  def test_a_crop_that_is_too_large_is_told_before_encoding(self):
    folder = photos.class_folders(self.root / "photos", per_class=1, sides=(40, 50))
    said = []
    with self.assertRaisesRegex(ValueError, r"\(96, 96\)\) must fit .*coffee"):
      crop = [transforms.RandomCrop(96)]
      profile(folder, ["png", "raw"], transforms=crop, say=said.append)
    self.assertEmpty(said)

  def test_a_format_that_no_image_fits_is_a_wrong_argument(self):
    for i in range(2):
      photos.save(self.root / f"photos/{i}.png", np.full((8, 8), 999, np.uint16))
    with self.assertRaisesRegex(ValueError, "none of 2 images can be stored as webp; "):
      profile(self.root / "photos", ["webp", "raw"])

  @parameterized.parameters(
    ({"formats": ["png", "gif"]}, r'format \("gif"\) must be one of'),
    ({"least_mssim": 0.9}, r"least_mssim \(0.9\) needs pcr among formats; there are"),
    ({"formats": ["pcr"], "least_mssim": 2}, r"least_mssim \(2\) must be above 0 and"),
    ({"formats": ["pcr"], "least_mssim": "1"}, r'least_mssim \("1"\) must be above 0'),
    ({"formats": ["png", "png"]}, "must be different names"),
    ({"encoders": {"jpeg": {"quality": 0}}}, r'"quality"\] \(0\) must be'),
    ({"cache": "half"}, r'cache \("half"\) must be a share'),
    ({"cache": "101%"}, "must be at most 100%"),
    ({"strategy": "guess"}, r'strategy \("guess"\) must be one of lp, search'),
    ({"strategy": "search", "space": 9}, r"space \(9\) requires"),
    ({"strategy": "search", "cache": "50%"}, r'cache \("50%"\) requires strategy'),
    ({"strategy": "search", "cache": "half"}, r'cache \("half"\) must be a share'),
    ({"strategy": "search", "reserve": 0.5}, r"reserve \(0.5\)"),
    (
      {"strategy": "search", "resources": {"gpu": {}}},
      r'resources \(.*\) requires strategy="lp"',
    ),
    ({"runs": (1, 1.0)}, r"runs \(\(1, 1.0\)\) must be"),
    ({"step": float("nan")}, r"step \(nan\) must be milliseconds"),
    ({"step": (None, ())}, r"\(of shape \(\)\) must have a row an image"),
    (
      {"step": (None, (np.zeros((0, 4)),))},
      r"\(of shape \(0, 4\)\) must have a row",
    ),
    ({"transforms": [transforms.Bits("skip")]}, "a step of convert alone"),
    ({"transforms": [transforms.Ragged()]}, "must be a step of profile"),
    ({"transforms": [transforms.Mix()]}, "is not measured: leave it out"),
    ({"transforms": [transforms.TenCrop(9)]}, "is not measured: give CenterCrop"),
    ({"transforms": transforms.Views([[]])}, "Views. must be the steps of one view"),
    (
      {"transforms": [transforms.Mirror(), transforms.Bits(8)]},
      r"Bits\(depth=8\) must come before Mirror\(\)",
    ),
    ({"directory": "/nowhere"}, "must be a folder that can be written"),
    ({"threads": 0}, r"threads \(0\) must be"),
    ({"reserve": 1}, r"reserve \(1\) must be from 0"),
    ({"space": "much"}, r'space \("much"\) must be bytes'),
    ({"space": "auto"}, r'space \("auto"\) must be bytes, as'),
    ({"resources": 3}, r"resources \(3\) must give seconds"),
    ({"resources": {"net": 1}}, r'resources\["net"\] \(1\) must give seconds'),
    ({"resources": {"net": {"png": -1}}}, r'resources\["net"\] .* from 0'),
  )
  def test_wrong_arguments(self, arguments, message):
    folder = photos.class_folders(self.root / "photos", per_class=1)
    with self.assertRaisesRegex(ValueError, message):
      profile(folder, **arguments)


if __name__ == "__main__":
  absltest.main()
