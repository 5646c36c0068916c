"""Mixed samples: the documented formula in NumPy, by what batches tell of it."""

import collections
import hashlib
import itertools
import os
import shutil
import tempfile

import damaged
import mix_golden
import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf.graph import Tuning
from liquid_tf.transforms import (
  Cast,
  ChannelsFirst,
  Mirror,
  Mix,
  Normalize,
  Ragged,
  RandomCrop,
  RandomErasing,
  Views,
)

_STEPS = [RandomCrop((10, 14)), Mirror(), Normalize(100, 50), RandomErasing(0.5)]
_NAMES = ["id", "image", "label", "partner", "lam"]
_MODES = ("batch", "pair", "elem")
_CLASSES = 3


def _digest(batch):
  return hashlib.sha256(b"".join(batch[name].tobytes() for name in batch)).hexdigest()


class MixTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    random = np.random.default_rng(3)
    for i in range(45):
      pixels = random.integers(0, 256, (16, 20, 3), np.uint8)
      photos.save(os.path.join(root, "images", f"{i % _CLASSES}", f"{i}.png"), pixels)
    cls.path = os.path.join(root, "dataset")
    liquid_tf.convert(
      os.path.join(root, "images"), cls.path, "png:1,raw:1", progress=False
    )
    cls.root = root

  def _loader(self, mix, *steps, path=None, before=None, **options):
    before = _STEPS if before is None else before
    given = [*before, *([] if mix is None else [mix]), *steps]
    names = _NAMES if mix is not None else ["id", "image", "label"]
    options = {"seed": 5, "features": names, "cache": 0, **options}
    return liquid_tf.loader(path or self.path, 8, transforms=given, **options)

  def _whole(self, **options):
    """Images and labels of an epoch that is not mixed, by number of the sample."""
    found = {}
    with self._loader(None, **options) as batches:
      for batch in batches:
        for sample, image, label in zip(*batch.values()):
          found[int(sample)] = image, int(label)
    return found

  def _check(self, batch, whole, smoothing=0.1, pairs=None):
    """Checks a batch by the numbers that it has; counts mixed and cut images.

    Args:
      batch: that was mixed.
      whole: images and labels before, by number of the sample, or by place.
      smoothing: of the labels.
      pairs: the partners; None for those of one dataset.
    """
    counts = collections.Counter()
    n = len(batch["id"])
    if isinstance(whole, dict):
      whole = [whole[int(sample)] for sample in batch["id"]]
    partners = np.arange(n)[::-1] if pairs is None else pairs
    np.testing.assert_array_equal(batch["partner"], partners)
    for i in range(n):
      lam = batch["lam"][i]
      rest = np.float32(1) - lam
      own, label = whole[i]
      other, its_label = whole[partners[i]]
      if partners[i] == i:
        self.assertEqual(lam, 1)
      image = batch["image"][i]
      if np.array_equal(image, own):
        counts["own"] += 1
        if own is not other:
          self.assertAlmostEqual(lam, 1)
      elif np.array_equal(image, own * lam + other * rest):
        counts["mixed"] += 1
      else:
        # Pixels are noise: every side of the window differs, but where both images
        # are erased.
        counts["cut"] += 1
        theirs = (image != own).any(-1)
        y, x = (np.flatnonzero(theirs.any(axis)) for axis in (1, 0))
        window = np.s_[y[0] : y[-1] + 1, x[0] : x[-1] + 1]
        wanted = own.copy()
        wanted[window] = other[window]
        np.testing.assert_array_equal(image, wanted)
        area = own[window].size // 3
        self.assertLessEqual(area, round(float(1 - lam) * 140))
        counts["exact"] += area == round(float(1 - lam) * 140)
      off = smoothing / _CLASSES
      values = np.full((2, _CLASSES), off, np.float32)
      values[0, label] = values[1, its_label] = 1 - smoothing + off
      # In batch mode of CutMix lam has more digits than a float32.
      np.testing.assert_allclose(
        batch["label"][i], values[0] * lam + values[1] * rest, rtol=0, atol=6e-8
      )
    return counts

  @parameterized.parameters(*_MODES)
  def test_the_formula(self, mode):
    whole = self._whole()
    counts, lams = collections.Counter(), []
    with self._loader(Mix(mode=mode)) as batches:
      self.assertEqual(batches._decoding.columns.specs(None)[2], ("float32", [None, 3]))
      for batch in batches:
        self.assertEqual(batch["label"].dtype, np.float32)
        counts += self._check(batch, whole)
        lam = batch["lam"]
        lams.append(lam)
        if mode != "elem":
          np.testing.assert_array_equal(lam, lam[::-1])
        if mode == "batch" and len(lam) == 8:
          self.assertLen(set(lam.tolist()), 1)
      self.assertLen(batch["id"], 5)  # an odd number
    self.assertGreater(counts["mixed"], 4)
    self.assertGreater(counts["cut"], 4)
    self.assertGreaterEqual(counts["exact"], counts["cut"] - 4)
    self.assertEqual(sum(counts[one] for one in ("own", "mixed", "cut")), 45)

  def test_types_and_layouts_are_rounded_once(self):
    for mode in _MODES:
      mix = Mix(mode=mode)
      with self._loader(mix) as batches:
        exact = list(batches)
      for steps in (
        [ChannelsFirst()],
        [Cast("bfloat16")],
        [Cast("float16"), ChannelsFirst()],
      ):
        with self._loader(mix, *steps) as batches:
          for batch, wanted in zip(batches, exact, strict=True):
            image = batch["image"]
            if ChannelsFirst() in steps:
              image = image.transpose(0, 2, 3, 1)
            np.testing.assert_array_equal(image, wanted["image"].astype(image.dtype))
            np.testing.assert_array_equal(batch["label"], wanted["label"])

  def test_runs_repeat_and_go_on(self):
    mix = Mix(mode="elem")
    with self._loader(mix) as batches:
      first = [_digest(batch) for batch in batches]
      second = [_digest(batch) for batch in batches]
    self.assertLen({*first, *second}, 12)
    for threads in (1, 4):
      with self._loader(mix, tuning=Tuning(parallelism=threads)) as batches:
        self.assertEqual([_digest(batch) for batch in batches], first)
        for _ in itertools.islice(batches, 2):
          pass
        state = batches.state_dict()
      with self._loader(mix, start=state) as batches:
        self.assertEqual([_digest(batch) for batch in batches], second[2:])
    with self.assertRaisesRegex(ValueError, "Mix"):
      self._loader(Mix(), start=state)

  def test_a_checkpoint_of_tensorflow_goes_on(self):
    dataset = liquid_tf.dataset(
      self.path, 8, transforms=[*_STEPS, Mix()], features=_NAMES, seed=5, cache=0
    )
    spec = dataset.element_spec
    self.assertEqual(spec["label"], tf.TensorSpec([None, 3], tf.float32))
    self.assertEqual(spec["partner"], tf.TensorSpec([None], tf.int32))
    self.assertEqual(spec["lam"], tf.TensorSpec([None], tf.float32))
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(it=iterator).save(
      os.path.join(self.create_tempdir().full_path, "c")
    )
    wanted = [next(iterator) for _ in range(5)]
    again = iter(dataset)
    tf.train.Checkpoint(it=again).restore(path)
    with self._loader(Mix()) as batches:
      of_loader = list(batches)[1:]
    for one, other, third in zip(wanted, again, of_loader, strict=True):
      for name in _NAMES:
        self.assertAllEqual(one[name], other[name])
        self.assertAllEqual(one[name], third[name])

  def test_partners_are_of_one_member_of_a_mixture(self):
    view = liquid_tf.open(self.path)
    members = [(view.take(view.numbers[:20]), 1), (view.take(view.numbers[20:]), 2)]
    source = {"path": liquid_tf.mixture(members)}
    with self._loader(None, **source) as batches:
      plain = list(batches)
    with self._loader(Mix(), **source) as batches:
      for batch, before in zip(batches, plain, strict=True):
        np.testing.assert_array_equal(batch["id"], before["id"])
        whole = list(zip(before["image"], before["label"]))
        member = np.isin(batch["id"], members[1][0].numbers)
        pairs = np.empty(len(member), int)
        for one in range(2):
          (places,) = np.nonzero(member == one)
          pairs[places] = places[::-1]
        self.assertLen(set(member), 2)
        self._check(batch, whole, pairs=pairs)

  def test_gaps_are_filled_before(self):
    path = os.path.join(self.root, "damaged")
    shutil.copytree(self.path, path)
    for sample in damaged.samples(path, "png")[3::7]:
      damaged.wipe(path, sample, "png")
    options = {"path": path, "on_error": "skip"}
    found = []
    # A sample that moved forward has the window of its own draw.
    whole = self._whole(**options)
    for threads in (1, 3):
      tuning = Tuning(parallelism=threads)
      with self._loader(Mix(mode="pair"), **options, tuning=tuning) as batches:
        found.append([])
        for batch in batches:
          self._check(batch, whole)
          found[-1].append(_digest(batch))
    self.assertEqual(*found)
    self.assertBetween(len(whole), 38, 44)

  def test_a_repeated_batch_is_mixed_as_a_whole(self):
    whole = self._whole()
    with self._loader(Mix(), last_batch="repeat") as batches:
      for batch in batches:
        self._check(batch, whole)
    self.assertEqual(batch["id"].tolist(), np.resize(batch["id"][:5], 8).tolist())

  @parameterized.parameters(*_MODES)
  def test_repeated_augmentation_is_mixed_as_a_batch(self, mode):
    """Partners are counted among all views of the images of a batch."""
    view = liquid_tf.open(self.path)
    halves = [view.take(view.numbers[:20]), view.take(view.numbers[20:])]
    path = (
      liquid_tf.mixture([(half, 1) for half in halves]) if mode == "pair" else self.path
    )

    def options(*steps, names=("id", "image", "label")):
      views = Views([[*_STEPS, *steps]] * 3, as_samples=True)
      return {"transforms": views, "features": names, "seed": 5, "cache": 0}

    with liquid_tf.loader(path, 8, **options()) as batches:
      plain = list(batches)
    given = options(Mix(mode=mode), ChannelsFirst(), names=_NAMES)
    mixed = list(liquid_tf.dataset(path, 8, **given).as_numpy_iterator())
    spec = liquid_tf.dataset(path, 8, **given, last_batch="drop").element_spec
    self.assertEqual(spec["label"], tf.TensorSpec([24, 3], tf.float32))
    self.assertEqual(spec["lam"], tf.TensorSpec([24], tf.float32))
    counts, lams = collections.Counter(), set()
    for batch, before in zip(mixed, plain, strict=True):
      np.testing.assert_array_equal(batch["id"], before["id"])
      pairs = np.arange(len(batch["id"]))[::-1]
      if mode == "pair":
        member = np.isin(batch["id"], halves[1].numbers)
        for one in range(2):
          (places,) = np.nonzero(member == one)
          pairs[places] = places[::-1]
      whole = list(zip(before["image"], before["label"]))
      planar = {**batch, "image": batch["image"].transpose(0, 2, 3, 1)}
      counts += self._check(planar, whole, pairs=pairs)
      lams.update(batch["lam"].tolist())
    self.assertGreater(counts["mixed"], 9)
    self.assertGreater(counts["cut"], 9)
    # Each view draws for itself.
    self.assertGreater(len(lams), {"batch": 4, "pair": 45, "elem": 90}[mode])
    with liquid_tf.loader(path, 8, **given) as batches:
      for _ in itertools.islice(batches, 2):
        pass
      state = batches.state_dict()
    with liquid_tf.loader(path, 8, **given, start=state) as batches:
      wanted = [_digest(batch) for batch in mixed[2:]]
      self.assertEqual([_digest(batch) for batch in batches], wanted)

  def test_repeated_labels_are_smoothed(self):
    smooth = Mix(mixup=0, cutmix=0, label_smoothing=0.3)
    options = {"features": ["label", "partner", "lam"], "seed": 5, "cache": 0}
    plain = list(liquid_tf.loader(self.path, 8, transforms=[smooth], **options))
    views = Views([[smooth]] * 2, as_samples=True)
    found = list(liquid_tf.loader(self.path, 8, transforms=views, **options))
    for batch, before in zip(found, plain, strict=True):
      np.testing.assert_array_equal(batch["label"], before["label"].repeat(2, axis=0))
      np.testing.assert_array_equal(batch["partner"], range(2 * len(before["lam"])))
      np.testing.assert_array_equal(batch["lam"], 1)

  def test_mixed_views_are_alike(self):
    for other in ([Normalize(100, 50)], [Normalize(99, 50), Mix()]):
      views = Views([[Normalize(100, 50), Mix()], other], as_samples=True)
      with self.assertRaisesRegex(ValueError, "all of Views must have the same Mix"):
        liquid_tf.loader(self.path, 8, transforms=views)

  def test_smoothing_alone(self):
    smooth = Mix(mixup=0, cutmix=0, label_smoothing=0.3)
    whole = self._whole(before=[], shuffle=False)
    for batch_size in (8, None):
      batches = liquid_tf.loader(
        self.path,
        batch_size,
        transforms=[smooth],
        features=["id", "image", "label"],
        shuffle=False,
        cache=0,
      )
      count = 0
      with batches:
        for batch in batches:
          one = batch_size is None
          samples = [batch.values()] if one else zip(*batch.values())
          for sample, image, label in samples:
            self.assertEqual(image.dtype, np.uint8)
            np.testing.assert_array_equal(image, whole[int(sample)][0])
            wanted = np.full(3, 0.3 / 3, np.float32)
            wanted[whole[int(sample)][1]] = 1 - 0.3 + 0.3 / 3
            np.testing.assert_array_equal(label, wanted)
            count += 1
      self.assertEqual(count, 45)

  @parameterized.parameters(*_MODES)
  def test_pixels_and_labels_are_those_of_timm(self, mode):
    """The digests are of what timm made: see mix_golden.py."""
    batches = mix_golden.batches(self.create_tempdir().full_path, mode)
    self.assertEqual(mix_golden.digest(batches), mix_golden.DIGESTS[mode])

  @parameterized.parameters(
    ({"mix": Mix(), "before": []}, r"Mix\(\) needs images of floating-point numbers"),
    ({"mix": Mix(), "steps": [Ragged()]}, r"Mix\(\) must not go with Ragged\(\)"),
    ({"mix": Mix(), "features": ["image", "bytes"]}, r'\("bytes"\) must not be given'),
    ({"mix": Mix(), "features": ["label"]}, r'must have "image" with Mix\(\)'),
    ({"mix": Mix(), "shuffle": False}, "draws by chance"),
    ({"mix": None, "features": ["lam"]}, r'features \("lam"\) must be of'),
  )
  def test_what_does_not_go_together(self, given, message):
    steps = given.pop("steps", [])
    with self.assertRaisesRegex(ValueError, message):
      self._loader(given.pop("mix"), *steps, **given)

  def test_batches_are_needed(self):
    with self.assertRaisesRegex(ValueError, r"Mix\(\) needs batches .*mixup=0"):
      liquid_tf.loader(self.path, None, transforms=[*_STEPS, Mix()])

  def test_labels_must_be_classes_of_a_known_number(self):
    path = os.path.join(self.root, "numbers")
    shutil.copytree(self.path, path)

    def forget(data):
      label = data["features"]["label"]
      del label["classes"], label["class_counts"]

    damaged.edit_manifest(path, forget)
    with self.assertRaisesRegex(ValueError, r'classes with names.*without "label"'):
      self._loader(Mix(), path=path)
    names = ["id", "image", "partner", "lam"]
    with self._loader(Mix(), path=path, features=names) as batches:
      self.assertLen(list(batches), 6)

  def test_wrong_values(self):
    for values, message in (
      ({"mixup": 0.001}, r"Mix: mixup \(0.001\) must be 0, or from 0.01 to 100"),
      ({"cutmix": True}, r"Mix: cutmix \(True\)"),
      ({"p": 2}, r"Mix: p \(2\) must be from 0 to 1"),
      ({"mode": "half"}, r'Mix: mode \("half"\) must be one of batch, pair, elem'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        Mix(**values)
    with self.assertRaisesRegex(ValueError, "must come before"):
      transforms.by_slot([Mix(), Normalize(9)], [Mix, Normalize], "a dataset")


if __name__ == "__main__":
  tf.test.main()
