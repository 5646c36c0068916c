"""A later process goes on exactly where a position says, whatever memory it has."""

import itertools
import json
import os
import pickle
import random
import shutil
import tempfile
from unittest import mock

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._pipeline import mix_control

_SAMPLES, _BATCH = 2000, 16
_STEPS = _SAMPLES // _BATCH
_MUCH, _LITTLE, _LEAST = "64MiB", "2MiB", "128KiB"
_KINDS = {
  "formats": {"mix": "png:5,raw:3"},
  "replicated": {"mix": "png:1,raw:2", "replicate": True},
  "pcr": {"mix": "pcr:1", "encoders": {"pcr": {"images": 7}}},
}


def _dataset(source, batch=8, **options):
  return liquid_tf.dataset(source, batch, **{"features": ["id"], "seed": 5} | options)


def _take(dataset, epoch, step, places, first=0):
  """The batches of an epoch, as a training takes them; at some steps its position."""
  found, saved = [], {}
  for number, batch in enumerate(dataset, first + 1):
    found.append(batch["id"].numpy().tolist())
    if number in places:
      saved[epoch, number] = liquid_tf.position(dataset, epoch, number)
    if number == step:
      break
  return found, saved


def _whole(dataset, epochs, places):
  """The batches of whole epochs, and the positions at some places of them."""
  orders, saved = [], {}
  for epoch in range(epochs):
    steps = [step for e, step in places if e == epoch]
    order, found = _take(dataset, epoch, None, steps)
    orders.append(order)
    saved |= found
  return orders, saved


class _Moving:
  """Stands for the controller: every epoch has another mix."""

  def __init__(self, *_):
    self._count = 0

  def next_mix(self, epoch):
    self._count += 1
    return {"png": 0.1 * (self._count % 9 + 1), "raw": 1 - 0.1 * (self._count % 9 + 1)}


class PositionTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}
    for name, options in _KINDS.items():
      os.mkdir(f"{cls.root}/{name}")
      extension = "jpg" if name == "pcr" else "png"
      cls.paths[name] = runs.make(
        f"{cls.root}/{name}", per_class=26, extension=extension, **options
      )
    cls.many = runs.make(
      f"{cls.root}/many", "png:1,raw:1", per_class=_SAMPLES // 4, sides=(8, 8)
    )

  def test_an_epoch_has_every_sample_once_with_less_memory_or_more(self):
    chance = random.Random(7)
    places = [(0, 1), (1, 50), (1, _STEPS - 1), (0, _STEPS)]
    places += [(chance.randrange(3), chance.randrange(1, _STEPS)) for _ in range(4)]
    for before, after in ((_MUCH, _LITTLE), (_LITTLE, _MUCH)):
      dataset = _dataset(self.many, _BATCH, memory=before)
      orders, saved = _whole(dataset, 4, places)
      for epoch, step in places:
        with self.subTest(epoch=epoch, step=step, before=before):
          place = saved[epoch, step]
          later = _dataset(
            self.many, _BATCH, memory=after, start=json.loads(json.dumps(place))
          )
          rest = runs.ids(later) if step < _STEPS else []
          seen = runs.flat([*orders[epoch][:step], *rest])
          self.assertCountEqual(seen, range(_SAMPLES))
          self.assertEqual(rest, orders[epoch][step:])
          self.assertEqual(runs.ids(later), orders[epoch + 1])
    # What "auto" comes to differs by itself: else nothing was shown.
    counts = [
      liquid_tf.position(_dataset(self.many, _BATCH, memory=memory), 0, 0)["cached"]
      for memory in (_MUCH, _LITTLE)
    ]
    self.assertEqual(counts[0], [_SAMPLES // 2] * 2)
    self.assertLess(sum(counts[1]), _SAMPLES * 3 // 4)

  def test_one_stop_after_another(self):
    dataset = _dataset(self.many, _BATCH, memory=_MUCH)
    orders, saved = _whole(dataset, 3, [(1, 30)])
    place, stops = saved[1, 30], [30, 31, 90, _STEPS]
    for (first, stop), memory in zip(itertools.pairwise(stops), (_LITTLE, _MUCH) * 2):
      dataset = _dataset(self.many, _BATCH, memory=memory, start=place)
      self.assertEqual((place["epoch"], place["step"]), (1, first))
      found, saved = _take(dataset, 1, stop, [stop], first)
      self.assertEqual(found, orders[1][first:stop])
      place = pickle.loads(pickle.dumps(saved[1, stop]))
    self.assertEqual((place["epoch"], place["step"]), (2, 0))
    last = _dataset(self.many, _BATCH, memory=_LITTLE, start=place)
    self.assertEqual(runs.ids(last), orders[2])

  def test_what_is_taken_ahead_does_not_count(self):
    orders, _ = _whole(_dataset(self.paths["formats"]), 1, [])
    dataset = _dataset(self.paths["formats"])
    ahead = dataset.map(lambda x: x, num_parallel_calls=4).prefetch(5)
    found, saved = _take(ahead, 0, 4, [4])
    self.assertEqual(found, orders[0][:4])
    later = _dataset(self.paths["formats"], start=saved[0, 4])
    self.assertEqual(runs.ids(later), orders[0][4:])

  @parameterized.named_parameters(
    ("stored_bytes", "formats", {"features": ["id", "bytes"]}),
    ("stored_order", "formats", {"shuffle": False}),
    ("pixels", "formats", {"cache": liquid_tf.Cache(form="pixels")}),
    ("drop", "formats", {"last_batch": "drop"}),
    ("repeat", "formats", {"last_batch": "repeat"}),
    ("replicated", "replicated", {"mix": "png:3,raw:1"}),
    ("pcr", "pcr", {}),
    ("scan_groups", "pcr", {"fidelity": {2: 1, 10: 3}}),
    ("mixes", "replicated", {"mix": ["png:1,raw:9", "png:7,raw:3", "raw"]}),
    ("auto_mix", "replicated", {"mix": "auto"}),
    ("worker", "formats", {"shard": (1, 3)}),
    ("weights", "formats", {"weigh": True}),
    ("mixture", "formats", {"mixture": True}),
  )
  def test_every_kind_of_dataset(self, kind, options):
    source = self.paths[kind]
    view = liquid_tf.open(source)
    options = dict(options)
    if options.pop("weigh", False):
      source = view.weighted({1: 4.0, 2: 0.3})
    if options.pop("mixture", False):
      source = liquid_tf.mixture(
        [(view, 2), (liquid_tf.open(self.paths["replicated"]), 1)]
      )
    if "features" not in options and kind == "formats" and "cache" in options:
      options["features"] = ["id", "image"]
      options["transforms"] = [transforms.CenterCrop(8)]
    with mock.patch.object(mix_control, "Controller", _Moving):
      dataset = _dataset(source, memory=_MUCH, **options)
      steps = len(dataset)
      places = [(e, s) for e in range(3) for s in (1, steps // 2, steps - 1, steps)]
      orders, saved = _whole(dataset, 4, places)
      self.assertLen(orders[0], steps)
      small = _dataset(source, memory=_LEAST, **options)
      # Else what is checked would be right by itself.
      cached = liquid_tf.position(small, 0, 0)["cached"]
      self.assertNotEqual(cached, saved[places[0]]["cached"])
      for epoch, step in places:
        with self.subTest(epoch=epoch, step=step):
          place = json.loads(json.dumps(saved[epoch, step]))
          later = _dataset(source, memory=_LEAST, start=place, **options)
          if step < steps:
            self.assertEqual(runs.ids(later), orders[epoch][step:])
          # Of mixes that change only those that were begun are known.
          if not place["mixes"]:
            self.assertEqual(runs.ids(later), orders[epoch + 1])

  def test_workers(self):
    path = self.paths["formats"]
    fixed = {"cache": "30%", "memory": _MUCH}
    dataset = _dataset(path, 4, shard=(0, 2), **fixed)
    _, saved = _whole(dataset, 2, [(1, 5), (1, 13)])
    place = saved[1, 5]
    for worker in range(2):
      given, wanted = (
        _dataset(path, 4, shard=(worker, 2), start=start, **fixed)
        for start in (place, (1, 5))
      )
      self.assertEqual(runs.ids(given), runs.ids(wanted))
    for worker in range(3):
      given, wanted, whole = (
        _dataset(path, 4, shard=(worker, 3), start=start, **fixed)
        for start in (place, (1, [(2, 5)]), (1, [(2, 5)]))
      )
      order = runs.ids(wanted)
      self.assertEqual(runs.ids(given), order)
      found, saved_there = _take(whole, 1, 7, [7], first=5)
      self.assertEqual(found, order[:2])
      again = saved_there[1, 7]
      self.assertEqual((again["step"], again["cuts"]), (7, [[2, 5]]))
      later = _dataset(path, 4, shard=(worker, 3), start=again, **fixed)
      self.assertEqual(runs.ids(later), order[2:])
      # The last batch of what was left ends the epoch.
      end = liquid_tf.position(given, 1, 5 + len(order))
      self.assertEqual((end["epoch"], end["step"], end["cuts"]), (2, 0, []))
    # After an epoch every number of workers begins.
    self.assertEqual((saved[1, 13]["epoch"], saved[1, 13]["step"]), (2, 0))
    given, wanted = (
      _dataset(path, 4, shard=(2, 3), start=start, **fixed)
      for start in (saved[1, 13], (2, 0))
    )
    self.assertEqual(runs.ids(given), runs.ids(wanted))

  def test_other_workers_need_a_known_cache(self):
    path = self.paths["formats"]
    dataset = _dataset(path, 4, shard=(0, 2))
    _, saved = _take(dataset, 0, 3, [3])
    for shard, message in (
      ((1, 2), "is inside of an epoch"),
      ((0, 3), "other workers"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        _dataset(path, 4, shard=shard, start=saved[0, 3])
    _dataset(path, 4, shard=(0, 2), start=saved[0, 3])

  def test_numbers_alone_need_a_known_cache(self):
    path = self.paths["formats"]
    message = r'start \(\(1, 3\)\) is inside of an epoch.* cache \("auto"\).*position'
    for cache in ("auto", liquid_tf.Cache(form="pixels")):
      features = ["id", "image"]
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.dataset(path, 8, start=(1, 3), cache=cache, features=features)
    sources = [liquid_tf.graph.format_dataset(path, name) for name in ("png", "raw")]
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.graph.interleave(
        sources, liquid_tf.graph.Snapshot("auto", start=(1, 3)), batch_size=8
      )
    with self.assertRaisesRegex(ValueError, r'mix \("auto"\) chose them'):
      _dataset(self.paths["replicated"], mix="auto", cache="30%", start=(0, 3))
    # An epoch that begins has every sample once, whatever is cached.
    begun = _dataset(path, start=(1, 0))
    self.assertCountEqual(runs.flat(runs.ids(begun)), range(104))
    for cache in (0, "30%", "40KiB"):
      orders, _ = _whole(_dataset(path, cache=cache, memory=_MUCH), 2, [])
      later = _dataset(path, cache=cache, memory="1MiB", start=(1, 3))
      self.assertEqual(runs.ids(later), orders[1][3:])

  @parameterized.parameters(
    ({"batch": 4}, "batch_size 8, but this one has 4"),
    ({"seed": 6}, "seed 5, but this one has 6"),
    ({"shuffle": False}, "shuffle True"),
    ({"last_batch": "drop"}, "batches 13, but this one has 12"),
    ({"split": "train[:50%]"}, "samples"),
    ({"source": "replicated"}, "dataset 'index"),
    ({"transforms": [transforms.CenterCrop(8)]}, "transforms"),
    ({"mix": "png:1,raw:1"}, "mix"),
    ({"mix": ["png:1,raw:1"]}, "mix .*changes"),
    ({"weights": {1: 3.0}}, "samples .*weights"),
  )
  def test_another_dataset_is_refused(self, changed, message):
    changed = dict(changed)
    path = self.paths["replicated" if "mix" in changed else "formats"]
    # 100 samples, so that a last batch has fewer.
    view = liquid_tf.open(path).take(range(100))
    place = liquid_tf.position(_dataset(view), 0, 0)
    source, split = view, changed.pop("split", None)
    if split:
      source = view.split(split)
    if "source" in changed:
      source = liquid_tf.open(self.paths[changed.pop("source")]).take(range(100))
    if "weights" in changed:
      source = view.weighted(changed.pop("weights"))
    _dataset(view, start=place)
    with self.assertRaisesRegex(ValueError, f"start is a position .*{message}"):
      _dataset(source, start=place, **changed)

  def test_another_version_of_the_dataset_is_named(self):
    root = self.create_tempdir().full_path
    path = runs.make(root)
    place = liquid_tf.position(_dataset(path), 0, 0)
    liquid_tf.append(path, f"{root}/source", duplicates="add", progress=False)
    with self.assertRaisesRegex(
      ValueError,
      f"start is a position of a run with version 1 of {path}, but this is version "
      rf'2: .*liquid_tf.open\("{path}", version=1\)',
    ):
      _dataset(path, start=place)
    _dataset(liquid_tf.open(path, version=1), start=place)

  @parameterized.parameters(
    ({"step": -1}, r'start\["step"\] \(-1\) must be a whole number from 0'),
    ({"step": 13}, r'start\["step"\] \(13\) must be below 13, the batches'),
    ({"cached": []}, r'start\["cached"\] \(\[\]\) must have 2 numbers, one a format'),
    ({"cached": [1]}, r'start\["cached"\] \(\[1\]\) must have 2 numbers'),
    ({"cached": [1 << 40, 1]}, "start must be all that position"),
    ({"mixes": [1]}, "start must be all that position.* mix"),
    ({"cuts": [[1, 3]]}, r'start\["step"\] \(0\) must be at least 3'),
    ({"run": {}}, r'start\["run"\] \({}\) must have "dataset"'),
    ({"version": 2}, r'start\["version"\] \(2\) must be 1'),
  )
  def test_what_is_no_position_is_refused(self, wrong, message):
    path = self.paths["formats"]
    place = liquid_tf.position(_dataset(path), 0, 0)
    _dataset(path, start=place)
    with self.assertRaisesRegex(ValueError, f"^{message}"):
      _dataset(path, start=place | wrong)

  def test_mixes_that_were_chosen_must_be_known(self):
    path = self.paths["replicated"]
    dataset = _dataset(path, mix="auto")
    _, saved = _whole(dataset, 2, [(1, 3)])
    place = saved[1, 3]
    _dataset(path, mix="auto", start=place)
    for mixes in ([], place["mixes"][:6]):
      with self.assertRaisesRegex(
        ValueError,
        rf'^start\["mixes"\] \({len(mixes)} numbers\) must have 6 for each of 2 epochs',
      ):
        _dataset(path, mix="auto", start=place | {"mixes": mixes})

  def test_wrong_counts(self):
    path = self.paths["formats"]
    dataset = _dataset(path, cache=0, start=(1, 3))
    place = liquid_tf.position(dataset, 1, 3)
    self.assertEqual((place["epoch"], place["step"]), (1, 3))
    for epoch, step, message in (
      (0, 5, "before start, epoch 1, step 3"),
      (1, 2, "before start"),
      (1, 4, "not reached: of epoch 1, 3 batches"),
      (1, 14, "at most 13"),
      (2, 0, "not reached"),
      (1, -1, r"step \(-1\)"),
      ("1", 3, r'epoch \("1"\)'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.position(dataset, epoch, step)
    runs.ids(dataset)
    for place in ((1, 13), (2, 0)):
      self.assertEqual(liquid_tf.position(dataset, *place)["epoch"], 2)
    # An epoch that is left early runs again.
    for _ in range(2):
      _take(dataset, 2, 4, [])
    with self.assertRaisesRegex(ValueError, "not reached: of epoch 2"):
      liquid_tf.position(dataset, 3, 4)

  def test_what_has_no_position(self):
    path = self.paths["formats"]
    sources = [liquid_tf.graph.format_dataset(path, name) for name in ("png", "raw")]
    for dataset, message in (
      (_dataset(path, None), "must have batches"),
      (liquid_tf.graph.interleave(sources), r"must come from liquid_tf.dataset\(\)"),
      (tf.data.Dataset.range(3), r"must come from liquid_tf.dataset\(\)"),
      (_dataset(path).take(5), r"one for one, but has take\(\)"),
      (_dataset(path).repeat(2), "13 batches .*not 26"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.position(dataset, 0, 0)


if __name__ == "__main__":
  tf.test.main()
