"""With shuffle=False: which sample is where, so that predictions get their files."""

import csv
import os
import shutil
import tempfile

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf

_KINDS = {
  "shards": {"mix": "png:5,raw:3,webp:2", "shard_size": 8192},
  "replicated": {"mix": "png:1,raw:1", "replicate": True},
  "pcr": {
    "mix": "pcr:1,raw:1",
    "encoders": {"pcr": {"images": 7}},
    "extension": "jpg",
  },
}
_VIEWS = {
  "all": lambda view: view,
  "a split": lambda view: view.split("val"),
  "some": lambda view: view.where("label != 2").split("train[20%:]+val"),
}


class OrderTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}
    for kind, options in _KINDS.items():
      root = os.path.join(cls.root, kind)
      os.mkdir(root)
      cls.paths[kind] = runs.make(
        root, per_class=12, splits="train:.7,val:.3", **options
      )

  @parameterized.product(kind=list(_KINDS), view=list(_VIEWS))
  def test_is_what_the_dataset_gives(self, kind, view):
    view = _VIEWS[view](liquid_tf.open(self.paths[kind]))
    for batch, options in (
      (5, {"cache": "40%"}),
      (5, {"cache": 0, "last_batch": "drop"}),
      (6, {"last_batch": "repeat"}),
      (4, {"shard": (1, 3)}),
      (64, {}),
      (None, {"cache": "90%"}),
    ):
      dataset = liquid_tf.dataset(
        view, batch, shuffle=False, features=["id", "image"], **options
      )
      # In any epoch.
      for _ in range(2):
        found = [image["id"].numpy().reshape(-1) for image in dataset]
        self.assertAllEqual(np.concatenate(found), liquid_tf.keras.order(dataset))

  def test_predictions_get_their_files(self):
    view = liquid_tf.open(self.paths["shards"]).split("val")
    truth = {sample["name"]: sample["image"].mean() for sample in view}
    test = liquid_tf.dataset(view, 5, shuffle=False).map(lambda x, y: x).prefetch(2)
    model = tf.keras.Sequential(
      [
        tf.keras.layers.Lambda(lambda x: tf.cast(x, tf.float32)),
        tf.keras.layers.GlobalAveragePooling2D(),
      ]
    )
    path = os.path.join(self.create_tempdir().full_path, "means.csv")
    with open(path, "w", newline="") as file:
      scores = model.predict(test, verbose=0).mean(axis=-1)
      names = view.names(liquid_tf.keras.order(test))
      csv.writer(file).writerows(zip(names, scores))
    with open(path, newline="") as file:
      rows = {name: float(score) for name, score in csv.reader(file)}
    self.assertCountEqual(rows, truth)
    for name, score in rows.items():
      self.assertAllClose(score, truth[name], rtol=1e-4)
    # The mistake that it saves from would be seen.
    wrong = dict(zip(view.names(view.numbers), scores))
    self.assertGreater(sum(abs(wrong[name] - truth[name]) > 0.1 for name in truth), 5)

  @parameterized.parameters(
    ("shards", "all"), ("replicated", "a split"), ("pcr", "some")
  )
  def test_predictions_are_sorted_and_named(self, kind, view):
    view = _VIEWS[view](liquid_tf.open(self.paths[kind]))
    image = tf.keras.Input([None, None, 3])
    mean = tf.keras.layers.GlobalAveragePooling2D()(tf.keras.ops.cast(image, "float32"))
    model = tf.keras.Model(image, {"mean": mean, "first": mean[:, 0]})
    wanted = np.array([sample["image"].mean(axis=(0, 1)) for sample in view])
    for last_batch in ("short", "repeat"):
      test = liquid_tf.dataset(view, 5, shuffle=False, last_batch=last_batch)
      self.assertNotEqual(len(view) % 5, 0)
      table = liquid_tf.keras.predictions(model, test, verbose=0)
      self.assertEqual(list(table), ["number", "name", "prediction"])
      self.assertAllEqual(table["number"], view.numbers)
      self.assertEqual(table["name"].tolist(), [sample["name"] for sample in view])
      self.assertAllClose(table["prediction"]["mean"], wanted, rtol=1e-4)
      self.assertAllClose(table["prediction"]["first"], wanted[:, 0], rtol=1e-4)

  def test_predictions_are_one_a_sample(self):
    test = liquid_tf.dataset(self.paths["shards"], 5, shuffle=False)
    model = tf.keras.Sequential([tf.keras.layers.GlobalAveragePooling2D()])
    twice = test.map(lambda x, y: tf.cast(tf.repeat(x, 2, axis=0), tf.float32))
    with self.assertRaisesRegex(ValueError, "gives 68 rows for 34 samples"):
      liquid_tf.keras.predictions(model, twice, verbose=0)
    sources = [
      liquid_tf.graph.format_dataset(self.paths[kind], "raw")
      for kind in ("shards", "pcr")
    ]
    both = liquid_tf.graph.interleave(sources, shuffle=False)
    for wrong, message in (
      (test.repeat(), "repeat\\(\\) after it may change"),
      (liquid_tf.dataset(self.paths["shards"], 5), "must have shuffle=False"),
      (both, "must be of one dataset directory, but is of 2"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.keras.predictions(model, wrong)

  @parameterized.parameters(
    ({"shuffle": True}, lambda d: d, "must have shuffle=False"),
    ({"on_error": "skip"}, lambda d: d, 'must have on_error="raise"'),
    ({"start": (0, 2), "cache": 0}, lambda d: d, "must begin with an epoch"),
    ({}, lambda d: d.shuffle(9), "shuffle\\(\\) after it may change"),
    ({}, lambda d: d.take(2), "take\\(\\) after it"),
    ({}, lambda d: d.filter(lambda x, y: True), "filter\\(\\) after it"),
    ({}, lambda d: d.unbatch(), "unbatch\\(\\) after it"),
    (
      {},
      lambda d: d.map(lambda x, y: x, num_parallel_calls=2, deterministic=False),
      "map\\(\\) after it",
    ),
  )
  def test_is_refused_where_it_is_not_known(self, options, change, message):
    options = {"shuffle": False} | options
    dataset = change(liquid_tf.dataset(self.paths["shards"], 5, **options))
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.keras.order(dataset)

  def test_of_another_dataset(self):
    with self.assertRaisesRegex(ValueError, "must come from liquid_tf.dataset"):
      liquid_tf.keras.order(tf.data.Dataset.range(3))


class SeedTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:1,raw:1", per_class=8, sides=(40, 60))

  def _draws(self, *steps, side=16, **options):
    """Of two epochs: numbers, windows, and which images were mirrored."""
    steps = [
      liquid_tf.transforms.RandomResizedCrop(side),
      liquid_tf.transforms.Mirror(),
      *steps,
    ]
    features = ["id", "window", "mirrored"]
    dataset = liquid_tf.dataset(
      self.path, 6, transforms=steps, features=features, cache=0, **options
    )
    batches = [batch for _ in range(2) for batch in dataset]
    return [np.concatenate([batch[name] for batch in batches]) for name in features]

  def test_steps_apart_from_the_order(self):
    seed = liquid_tf.transforms.Seed
    ids, windows, mirrored = self._draws(seed=3)
    # Of one seed, whatever the size of the result.
    for found, wanted in zip(self._draws(seed=3, side=24), (ids, windows, mirrored)):
      self.assertAllEqual(found, wanted)
    other = self._draws(seed(5), seed=3)
    self.assertAllEqual(other[0], ids)
    self.assertGreater(np.mean(np.any(other[1] != windows, axis=-1)), 0.9)
    self.assertGreater(np.sum(other[2] != mirrored), 8)
    # What the steps draw is what they draw by that seed, and by no other.
    for found, wanted in zip(self._draws(seed(3), seed=3), (ids, windows, mirrored)):
      self.assertAllEqual(found, wanted)
    self.assertNotAllEqual(self._draws(seed(3), seed=4)[0], ids)
    again = self._draws(seed(5), seed=3)
    self.assertAllEqual(again[1], other[1])

  def test_it_may_stand_anywhere_once(self):
    crop, seed = liquid_tf.transforms.RandomCrop(16), liquid_tf.transforms.Seed(-1)
    mirror = liquid_tf.transforms.Mirror()
    found = [
      runs.digests(liquid_tf.dataset(self.path, 8, transforms=steps, cache=0))
      for steps in ([seed, crop, mirror], [crop, seed, mirror], [crop, mirror, seed])
    ]
    self.assertEqual(found[0], found[1])
    self.assertEqual(found[0], found[2])
    # As any 64-bit number: the same bits.
    same = [crop, mirror, liquid_tf.transforms.Seed(np.uint64(2**64 - 1))]
    dataset = liquid_tf.dataset(self.path, 8, transforms=same, cache=0)
    self.assertEqual(runs.digests(dataset), found[0])
    with self.assertRaisesRegex(ValueError, "Seed.* and Seed.* must not both"):
      liquid_tf.dataset(self.path, 8, transforms=[seed, crop, seed])
    for wrong in (1.5, True, "1", 2**64, None):
      with self.assertRaisesRegex(ValueError, "Seed .*must be a whole number of 64"):
        liquid_tf.transforms.Seed(wrong)

  def test_a_position_is_of_it(self):
    steps = [liquid_tf.transforms.RandomCrop(16), liquid_tf.transforms.Seed(5)]
    train = liquid_tf.dataset(self.path, 8, transforms=steps)
    next(iter(train))
    place = liquid_tf.position(train, 0, 1)
    liquid_tf.dataset(self.path, 8, transforms=steps, start=place)
    other = [steps[0], liquid_tf.transforms.Seed(6)]
    with self.assertRaisesRegex(ValueError, r"transforms .*Seed\(seed=5\).*seed=6"):
      liquid_tf.dataset(self.path, 8, transforms=other, start=place)


if __name__ == "__main__":
  tf.test.main()
