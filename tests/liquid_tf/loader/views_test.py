"""Several views of each image: against each recipe alone, and against the draws."""

import itertools
import json
import os
import shutil
import tempfile
from typing import Any

import damaged
import draws
import faces
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf.transforms import (
  Boxes,
  Cast,
  CenterCrop,
  ChannelsFirst,
  ColorJitter,
  FiveCrop,
  Mirror,
  Mix,
  Normalize,
  Orient,
  Pad,
  Ragged,
  RandomCrop,
  RandomResizedCrop,
  Resize,
  Seed,
  TenCrop,
  Views,
)

_LARGE = [RandomResizedCrop(20), Mirror(), ColorJitter(0.4, 0.4), Normalize(127.5, 60)]
_SMALL = [RandomResizedCrop((9, 12), scale=(0.05, 0.4)), Mirror(), ChannelsFirst()]
_CROP = [RandomCrop((17, 15)), Mirror()]
_OTHER = [Resize(shorter=30), RandomCrop(13), Cast("bfloat16")]
_VIEWS = Views([_LARGE] * 2 + [_SMALL, _CROP, _OTHER])
_MIXES = {
  "png": {"mix": "png:1,raw:1,l3:1"},
  "jpeg": {"mix": "jpeg:1,raw:1", "extension": "jpg"},
  "pcr": {"mix": "pcr:1", "extension": "jpg", "encoders": {"pcr": {"images": 7}}},
}


def _views(face: Any, epochs: int = 1) -> list[list[np.ndarray]]:
  """Each view's images of some epochs, and the samples' numbers."""
  batches = [batch for _ in range(epochs) for batch in face]
  count = len(batches[0]["image"])
  found = [[np.asarray(b["image"][v]) for b in batches] for v in range(count)]
  return [*map(np.concatenate, found), np.concatenate([b["id"] for b in batches])]


def _save_and_leave(path: str, state: str, batches: int) -> None:
  """Takes batches of a loader, writes where it stands, and is killed.

  For `runs.in_new_process`.
  """
  loader = liquid_tf.loader(path, 8, cache="50%", transforms=_VIEWS)
  for _ in itertools.islice(loader, batches):
    with open(state, "w") as file:
      json.dump(loader.state_dict(), file)
  os._exit(9)


class ViewsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}

  def _path(self, kind: str = "png") -> str:
    if kind not in self.paths:
      folder = os.path.join(self.root, kind)
      made = runs.make(folder, sides=(30, 60), per_class=6, **_MIXES[kind])
      self.paths[kind] = made
    return self.paths[kind]

  def _dataset(self, transforms, kind="png", batch_size=8, **options):
    options = {"features": ["id", "image"], "seed": 5, **options}
    path = self._path(kind)
    return liquid_tf.dataset(path, batch_size, transforms=transforms, **options)

  def test_specs(self):
    dataset = self._dataset(_VIEWS, features=None, last_batch="drop")
    images, labels = dataset.element_spec
    self.assertEqual(
      images,
      (
        tf.TensorSpec([8, 20, 20, 3], tf.float32),
        tf.TensorSpec([8, 20, 20, 3], tf.float32),
        tf.TensorSpec([8, 3, 9, 12], tf.uint8),
        tf.TensorSpec([8, 17, 15, 3], tf.uint8),
        tf.TensorSpec([8, 13, 13, 3], tf.bfloat16),
      ),
    )
    self.assertEqual(labels, tf.TensorSpec([8], tf.int64))
    for got, spec in zip(next(iter(dataset))[0], images):
      self.assertEqual((got.shape, got.dtype), (spec.shape, spec.dtype))
    one = self._dataset(Views([_CROP]), features=["image"])
    self.assertLen(one.element_spec["image"], 1)
    self.assertEqual(self._dataset(_VIEWS, features=["id"]).element_spec.keys(), {"id"})

  @parameterized.parameters(*_MIXES)
  def test_the_first_view_is_what_its_recipe_gives_alone(self, kind):
    for recipe in (_LARGE, _OTHER) if kind == "png" else (_SMALL,):
      alone = self._dataset(recipe, kind)
      wanted = [batch for _ in range(2) for batch in alone]
      found = self._dataset(Views([recipe, _SMALL, _CROP]), kind)
      first, *_, ids = _views(found, 2)
      self.assertAllEqual(ids, np.concatenate([b["id"] for b in wanted]))
      self.assertAllEqual(first, np.concatenate([b["image"] for b in wanted]))

  @parameterized.parameters("png", "jpeg")
  def test_each_view_draws_for_itself(self, kind):
    """Windows and mirroring follow from the numbers that are drawn for the view."""
    whole = liquid_tf.dataset(
      self._path(kind), None, shuffle=False, features=["id", "image"]
    )
    images = {int(one["id"]): one["image"].numpy() for one in whole}
    dataset = self._dataset(Views([_SMALL, _CROP, [*_CROP, Seed(9)], _CROP]), kind)
    *views, ids = _views(dataset, 2)
    self.assertLen(ids, 2 * len(images))
    for number, sample in enumerate(ids.tolist()):
      image = images[sample]
      epoch, draw = divmod(number, len(images))
      for view, seed in ((1, 5), (2, 9), (3, 5)):
        word, other, *_ = draws.words(4, seed, epoch, draw, view=view)
        y = word * (image.shape[0] - 17 + 1) >> 32
        x = other * (image.shape[1] - 15 + 1) >> 32
        wanted = image[y : y + 17, x : x + 15]
        if draws.words(7, seed, epoch, draw, view=view)[0] >= 1 << 31:
          wanted = wanted[:, ::-1]
        np.testing.assert_array_equal(views[view][number], wanted)

  def test_a_view_does_not_depend_on_the_others(self):
    *some, _ = _views(self._dataset(_VIEWS))
    *others, _ = _views(self._dataset(Views([_OTHER, _LARGE, _SMALL, _CROP])))
    self.assertAllEqual(some[1], others[1])
    self.assertAllEqual(some[2], others[2])
    self.assertAllEqual(some[3], others[3])
    self.assertNotAllEqual(some[0], some[1])

  @parameterized.parameters("png", "pcr")
  def test_runs_repeat_to_the_pixel_in_both_faces(self, kind):
    wanted = self._dataset(_VIEWS, kind)
    wanted = [faces.batches(wanted), faces.batches(wanted)]
    self.assertNotEqual(*wanted)
    tuning = liquid_tf.graph.Tuning(threads=1, parallelism=1)
    again = self._dataset(_VIEWS, kind, tuning=tuning)
    self.assertEqual([faces.batches(again), faces.batches(again)], wanted)
    with liquid_tf.loader(
      self._path(kind), 8, transforms=_VIEWS, features=["id", "image"], seed=5
    ) as loader:
      self.assertEqual([faces.batches(loader), faces.batches(loader)], wanted)

  def test_kept_pixels_give_the_same(self):
    cache = liquid_tf.Cache("100%", form="pixels")
    *wanted, ids = _views(self._dataset(_VIEWS, cache="100%"), 3)
    dataset = self._dataset(_VIEWS, cache=cache)
    *found, same = _views(dataset, 3)
    self.assertAllEqual(ids, same)
    for one, other in zip(found, wanted):
      self.assertAllEqual(one, other)
    decodes = [epoch["decodes"] for epoch in liquid_tf.stats(dataset).epochs]
    self.assertEqual([sum(one.values()) for one in decodes], [24, 0, 0])

  def test_an_image_is_read_and_decoded_once(self):
    one, many = self._dataset(_CROP), self._dataset(_VIEWS)
    for dataset in (one, many):
      for _ in dataset:
        pass
    one, many = (liquid_tf.stats(d).epochs[0] for d in (one, many))
    self.assertEqual(sum(many["decodes"].values()), 24)
    for name in ("decodes", "bytes", "samples"):
      self.assertEqual(one[name], many[name])

  @parameterized.parameters(
    ("png", {"last_batch": "drop"}),
    ("jpeg", {"cache": liquid_tf.Cache("100%", form="pixels")}),
    ("png", {"features": ["label", "id", "format"]}),
  )
  def test_views_as_samples(self, kind, options):
    recipes = [_CROP, _CROP, [*_CROP, Seed(4)]]
    options = {"features": ["id", "image", "format"], **options}
    views = self._dataset(Views(recipes), kind, **options)
    dataset = self._dataset(Views(recipes, as_samples=True), kind, **options)
    loader = liquid_tf.loader(
      self._path(kind), 8, transforms=Views(recipes, as_samples=True), seed=5, **options
    )
    drops = "last_batch" in options
    for name, spec in dataset.element_spec.items():
      self.assertEqual(spec.shape[0], 24 if drops else None, name)
    with loader:
      for batch, other, wanted in zip(dataset, loader, views, strict=True):
        for name, value in wanted.items():
          if name == "image":
            stacked = np.stack(value, axis=1)
            value = stacked.reshape(-1, *stacked.shape[2:])
          else:
            value = np.repeat(value, 3, axis=0)
          self.assertAllEqual(batch[name], value)
          self.assertAllEqual(other[name], value)
    one = self._dataset(
      Views(recipes, as_samples=True), kind, None, features=options["features"]
    )
    self.assertLen(one, 3 * 24)
    self.assertLen(list(one), 3 * 24)

  @parameterized.parameters(
    ([], FiveCrop((22, 19))),
    ([Orient(), Resize(shorter=30)], TenCrop((29, 22))),
  )
  def test_corners_and_centre(self, before, step):
    """They are the windows of the whole image, also of the mirrored one."""
    whole = self._dataset(before, batch_size=None)
    images = {int(one["id"]): one["image"].numpy() for one in whole}
    after = [Normalize(100, 50), ChannelsFirst()]
    *views, ids = _views(self._dataset([*before, step, *after], shuffle=False))
    self.assertLen(views, 5 if type(step) is FiveCrop else 10)
    rests = set()
    for number, sample in enumerate(ids.tolist()):
      wanted = []
      for flipped in (False, True):
        image = images[sample][:, ::-1] if flipped else images[sample]
        (h, w), (height, width) = step.size, image.shape[:2]
        rests.add((height - h) % 2 * 2 + (width - w) % 2)
        bottom, right = height - h, width - w
        middle = round(bottom / 2), round(right / 2)
        for y, x in ((0, 0), (0, right), (bottom, 0), (bottom, right), middle):
          wanted.append(image[y : y + h, x : x + w])
      for view, crop in zip(views, wanted):
        normalized = (np.float32(crop) - np.float32(100)) / np.float32(50)
        np.testing.assert_array_equal(view[number], normalized.transpose(2, 0, 1))
    self.assertGreater(len(rests), 1)

  def test_crops_as_samples(self):
    steps = [Resize(shorter=30), TenCrop(24)]
    *views, ids = _views(self._dataset(steps, shuffle=False))
    steps[1] = TenCrop(24, as_samples=True)
    path, options = self._path(), {"features": ["id", "image"], "shuffle": False}
    batches = list(liquid_tf.loader(path, 8, transforms=steps, **options))
    self.assertLen(batches[0]["image"], 80)
    images = np.concatenate([batch["image"] for batch in batches])
    self.assertAllEqual(images, np.stack(views, 1).reshape(-1, 24, 24, 3))
    self.assertAllEqual(np.concatenate([b["id"] for b in batches]), ids.repeat(10))

  def test_views_as_samples_are_alike(self):
    for other in (
      [RandomCrop(17)],
      [*_CROP, Cast("float32")],
      [*_CROP, ChannelsFirst()],
    ):
      with self.assertRaisesRegex(ValueError, "as_samples .True. must be False where"):
        self._dataset(Views([_CROP, other], as_samples=True))

  def test_ragged_features_are_repeated(self):
    path = faces.make(self.create_tempdir().full_path, "boxes")
    options = {"features": ["id", "name", "image"], "seed": 5}
    steps = [RandomCrop(20)]
    wanted = faces.batches(liquid_tf.loader(path, 4, transforms=steps, **options))
    for face in (liquid_tf.dataset, liquid_tf.loader):
      made = face(path, 4, transforms=Views([steps] * 2, as_samples=True), **options)
      for batch, one in zip(made, wanted, strict=True):
        got, one = batch["name"], {name: data for name, _, _, data in one}
        rows = np.diff(np.frombuffer(one[".name.splits"], np.int64)).repeat(2)
        self.assertAllEqual(np.diff(np.asarray(got.row_splits)), rows)
        texts = one[".name.values"].split(b"\0") if rows.any() else []
        ends = np.cumsum(rows[::2])
        again = [text for e, n in zip(ends, rows[::2]) for text in texts[e - n : e] * 2]
        self.assertEqual(np.asarray(got.values).tolist(), again)

  def test_samples_without_batches(self):
    *views, ids = _views(self._dataset(_VIEWS))
    samples = list(self._dataset(_VIEWS, batch_size=None, features=["id", "image"]))
    self.assertLen(samples, len(ids))
    with liquid_tf.loader(
      self._path(), None, transforms=_VIEWS, features=["image", "id"], seed=5
    ) as loader:
      for sample, same in zip(samples, loader, strict=True):
        self.assertLen(same["image"], 5)
        for view, other in zip(sample["image"], same["image"]):
          self.assertAllEqual(view, other)
        self.assertEqual(sample["id"], same["id"])
        self.assertEqual(sample["image"][2].shape, [3, 9, 12])

  @parameterized.parameters(False, True)
  def test_a_restored_iterator_goes_on_with_the_same_pixels(self, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def iterator():
      return iter(self._dataset(_VIEWS, features=None).repeat(2).with_options(options))

    wanted = runs.digests(iterator())
    first = iterator()
    self.assertEqual([runs.digest(next(first)) for _ in range(4)], wanted[:4])
    prefix = os.path.join(self.create_tempdir().full_path, "checkpoint")
    saved = tf.train.Checkpoint(iterator=first).write(prefix)
    second = iterator()
    tf.train.Checkpoint(iterator=second).read(saved)
    self.assertEqual(runs.digests(second), wanted[4:])

  def test_a_killed_run_goes_on_at_its_batch(self):
    state = os.path.join(self.create_tempdir().full_path, "state.json")
    runs.in_new_process(_save_and_leave, 9, path=self._path(), state=state, batches=2)
    with open(state) as file:
      start = json.load(file)
    options = {"cache": "50%", "transforms": _VIEWS}
    whole = faces.batches(liquid_tf.dataset(self._path(), 8, **options))
    for face in (liquid_tf.dataset, liquid_tf.loader):
      self.assertEqual(
        faces.batches(face(self._path(), 8, start=start, **options)), whole[2:]
      )
    for other in (_LARGE, Views([_LARGE] * 2)):
      with self.assertRaisesRegex(ValueError, "transforms"):
        liquid_tf.dataset(self._path(), 8, start=start, cache="50%", transforms=other)

  def test_gaps_of_damaged_samples_are_filled_in_all_views(self):
    path = os.path.join(self.create_tempdir().full_path, "damaged")
    shutil.copytree(self._path(), path)
    bad = damaged.samples(path, "png")[::4]
    for sample in bad:
      damaged.flip(path, sample, "png")
    steps = [CenterCrop(20)]
    dataset = liquid_tf.dataset(
      path,
      8,
      transforms=Views([steps, [*steps, Cast("float32")]]),
      features=["id", "image"],
      on_error="skip",
    )
    one, two, left = _views(dataset)
    self.assertLen(set(left.tolist()), 24 - len(bad))
    self.assertNoCommonElements(left.tolist(), bad)
    whole = liquid_tf.dataset(
      self._path(), None, transforms=steps, features=["id", "image"]
    )
    wanted = {int(sample["id"]): sample["image"] for sample in whole}
    for sample, image, other in zip(left.tolist(), one, two):
      self.assertAllEqual(image, wanted[sample])
      self.assertAllEqual(other, wanted[sample])

  def test_what_does_not_go_with_views(self):
    cases = [
      ({"features": ["image", "window"]}, 'features ."window". must not be given'),
      ({"features": ["image", "affine"]}, 'features ."affine".'),
      ({"features": ["mirrored"]}, "with Views"),
      ({"shuffle": False}, "draws by chance"),
    ]
    for options, message in cases:
      with self.assertRaisesRegex(ValueError, message, msg=options):
        self._dataset(_VIEWS, **options)
    masks = faces.make(self.create_tempdir().full_path, "masks")
    with self.assertRaisesRegex(ValueError, "mask.* must not be given with Views"):
      liquid_tf.dataset(masks, 4, transforms=_VIEWS)
    boxes = faces.make(self.create_tempdir().full_path, "boxes")
    with self.assertRaisesRegex(ValueError, "Boxes.* must not be given with Views"):
      liquid_tf.dataset(
        boxes, 4, transforms=Views([_CROP]), features=["image", Boxes(4)]
      )
    wrong = [
      ([[Ragged()]], "Ragged.* must not be given in Views"),
      (
        [[Mix(), Cast("float32")]],
        "Mix.* must not be given in Views without as_samples",
      ),
      ([_CROP, [Orient()]], "each of Views must have a crop"),
      ([_CROP, [Resize(shorter=12)]], r"unlike \[Resize\(shorter=12\)\]"),
      ([[Normalize(mean_image="x.npy")]], "must have a mean, not an image, in Views"),
      ([_CROP, [Mirror(), Orient(), Normalize(100), Pad(9)]], "must come before"),
      ([_CROP, [CenterCrop(90)]], "must fit every image"),
    ]
    for recipes, message in wrong:
      with self.assertRaisesRegex(ValueError, message, msg=recipes):
        self._dataset(Views(recipes))
    for recipes in ((), [RandomCrop(3), Mirror()], [[]] * 257, 3):
      with self.assertRaisesRegex(ValueError, "must be a list of 1 to 256 views"):
        Views(recipes)
    crops = [
      (
        [TenCrop(90)],
        r"TenCrop.*\[0\] must fit every image, but not .*: sample",
      ),
      ([TenCrop(20), Mirror()], "TenCrop.* and Mirror.* must not both be given"),
      ([FiveCrop(20), CenterCrop(9)], "FiveCrop.* and CenterCrop.* must not both"),
      (Views([[TenCrop(20)]] * 2), "TenCrop.* must not be given in Views"),
    ]
    for steps, message in crops:
      with self.assertRaisesRegex(ValueError, message, msg=steps):
        self._dataset(steps)
    with self.assertRaisesRegex(ValueError, "draft=True"):
      self._dataset(
        Views([_CROP, [RandomResizedCrop(8, draft=True)]]),
        cache=liquid_tf.Cache("50%", form="pixels"),
      )


if __name__ == "__main__":
  tf.test.main()
