"""Datasets of weighted views and of mixtures, beside a plain count of shares."""

import collections
import math
import os
import random
import shutil
import tempfile
from fractions import Fraction

import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest as manifests

# More of them by LIQUID_TEST_CASES=1000.
_CASES = int(os.environ.get("LIQUID_TEST_CASES", "8"))
_EPOCHS = 3
_KINDS = {
  "formats": {"mix": "png:5,raw:3,webp:2", "per_class": 25},
  "small": {"mix": "png", "per_class": 3},
  "replicated": {"mix": "png:1,raw:1", "replicate": True, "per_class": 12},
}


def _options(seed, threads):
  tuning = liquid_tf.graph.Tuning(threads=threads, parallelism=threads)
  return {"seed": seed, "cache": "40%", "tuning": tuning, "features": ["id", "image"]}


def _two_epochs(paths, threads):
  """A mixture of a weighted view and a plain one."""
  first, second = map(liquid_tf.open, paths)
  weights = first.numbers % 5
  both = liquid_tf.mixture([(first.weighted(weights), 2), (second, 0.7)], 90)
  return liquid_tf.dataset(both, 8, **_options(5, threads)).repeat(2)


def _restored(paths, threads, checkpoints):
  """What is left after each checkpoint."""
  found = []
  for prefix in checkpoints:
    iterator = iter(_two_epochs(paths, threads))
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    found.append(runs.digests(iterator))
  return found


def _ids_in_new_process(paths):
  return runs.ids(_two_epochs(paths, 3))


def _uneven(root, sizes, side=8):
  """Converts classes of so many images, whose format is that of the mix."""
  random = np.random.default_rng(list(sizes.values()))
  for name, count in sizes.items():
    for i in range(count):
      pixels = random.integers(0, 256, (side, side, 3), np.uint8)
      photos.save(os.path.join(root, "source", name, f"{i:04}.png"), pixels)
  output = os.path.join(root, "dataset")
  liquid_tf.convert(os.path.join(root, "source"), output, "png:1,raw:1", progress=False)
  return output


class WeightedDatasetTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}
    for name, options in _KINDS.items():
      root = os.path.join(cls.root, name)
      os.mkdir(root)
      cls.paths[name] = runs.make(root, **options)

  def test_random_cases(self):
    for case in range(_CASES):
      with self.subTest(case=case):
        self._check(random.Random(case))

  def _check(self, chance):
    kinds = sorted(_KINDS)
    members = [chance.choice(kinds) for _ in range(chance.choice([1, 1, 2, 3]))]
    views, shares = [], []  # of each member, and of its samples in it
    for kind in members:
      view, weights = _weigh(liquid_tf.open(self.paths[kind]), chance)
      views.append(view)
      total = sum(weights.values())
      shares.append({i: w / total for i, w in weights.items()})
    draws = chance.choice([None, None, chance.randint(1, 250)])
    source, parts = views[0], [Fraction(1)]
    if len(members) > 1:
      given = [Fraction(chance.randint(1, 9), 7) for _ in members]
      source = liquid_tf.mixture(list(zip(views, given)), draws)
      parts = [weight / sum(given) for weight in given]
      draws = source.samples_per_epoch
    else:
      draws = (
        len(source) if source.weights is None else source.weights.samples_per_epoch
      )
    shards = chance.choice([1, 1, 2, 3])
    policy = chance.choice(["pad", "uneven"])
    options = {
      "seed": chance.randrange(1 << 40),
      "cache": chance.choice([0, "30%", "100%", "20KiB"]),
      "shard_policy": policy,
    }
    batch = chance.choice([1, 4, 7, 16])
    # By epoch, and member: draws of each sample. Members are told by their formats'
    # names where they are several, and so by statistics.
    seen = [collections.Counter() for _ in range(_EPOCHS)]
    formats = [collections.Counter() for _ in range(_EPOCHS)]
    repeated = 0
    for shard in range(shards):
      dataset = liquid_tf.dataset(
        source, batch, shard=(shard, shards), features=["id", "label"], **options
      )
      for epoch in range(_EPOCHS):
        for element in dataset.as_numpy_iterator():
          seen[epoch].update(element["id"].tolist())
      stats = liquid_tf.stats(dataset)
      repeated += stats.summary()["shard"]["repeated"]
      self._check_constant(stats.batches)
      for epoch in stats.epochs:
        formats[epoch["epoch"]].update(epoch["samples"])
    sums = collections.Counter()
    for epoch, counts in enumerate(seen):
      self.assertEqual(counts.total(), draws + repeated)
      sums.update(counts)
      if not repeated and len(set(members)) == len(members) == 1:
        self._check_counts(counts, shares[0], draws)
        self._check_counts(sums, shares[0], draws * (epoch + 1))
      if len(members) > 1 and not repeated:
        for name, part, view in zip(source.names, parts, views):
          found = sum(
            n for key, n in formats[epoch].items() if key.split("/")[0] == name
          )
          # A member's groups are each rounded.
          groups = 1 if view.weights is None else len(view.weights.palette)
          self.assertLess(abs(found - part * draws), max(1, groups))

  def _check_counts(self, counts, shares, draws):
    self.assertLessEqual(set(counts), set(shares))
    for sample, share in shares.items():
      exact = share * draws
      self.assertBetween(counts[sample], math.floor(exact), math.ceil(exact))

  def _check_constant(self, batches):
    by_epoch = collections.defaultdict(list)
    for batch in batches:
      if batch["full"]:
        by_epoch[batch["epoch"]].append(batch)
    for full in by_epoch.values():
      for key in ("samples", "hits", "loads"):
        for name in full[0][key]:
          values = [batch[key].get(name, 0) for batch in full]
          self.assertLessEqual(max(values) - min(values), 1, f"{key} of {name}")

  def test_balanced_classes_of_1_10_and_1000(self):
    path = _uneven(self.create_tempdir().full_path, {"a": 1, "b": 10, "c": 1000})
    view = liquid_tf.open(path).balanced()
    labels = {}
    dataset = liquid_tf.dataset(view, 16, cache="50%", features=["id", "label"])
    total = collections.Counter()
    for epoch in range(4):
      classes, counts = collections.Counter(), collections.Counter()
      for element in dataset.as_numpy_iterator():
        ids, of_batch = element["id"].tolist(), element["label"].tolist()
        labels.update(zip(ids, of_batch))
        counts.update(ids)
        classes.update(of_batch)
      self.assertEqual(dict(classes), {0: 337, 1: 337, 2: 337})
      total.update(counts)
      # In class c some are not drawn at all.
      for sums, epochs in ((counts, 1), (total, epoch + 1)):
        for i, n in sums.items():
          size = {0: 1, 1: 10, 2: 1000}[labels[i]]
          share = Fraction(337 * epochs, size)
          self.assertBetween(n, math.floor(share), math.ceil(share))
    self._check_constant(liquid_tf.stats(dataset).batches)
    # From the second epoch on what is drawn more than once is in memory.
    for epoch in liquid_tf.stats(dataset).epochs[1:]:
      loads, hits = (sum(epoch[key].values()) for key in ("loads", "hits"))
      self.assertEqual(loads + hits, 1011)
      self.assertGreaterEqual(hits, 2 * 337)
      self.assertLessEqual(loads, 337)  # each of another sample
      self.assertEqual(sum(epoch["memory_hits"].values()), hits)

  def test_what_is_drawn_more_than_once_is_read_once(self):
    sizes = {"a": 1, "b": 10, "c": 200}
    path = _uneven(self.create_tempdir().full_path, sizes, side=96)
    dataset = liquid_tf.dataset(
      liquid_tf.open(path).balanced(), 16, cache="50%", features=["id", "label"]
    )
    for _ in range(4):
      list(dataset)
    length = manifests.load_index(manifests.load(path))["length"]
    for epoch in liquid_tf.stats(dataset).epochs[1:]:
      loads = sum(epoch["loads"].values())
      self.assertLess(loads, 72)
      # Disk blocks of which a record has a part.
      self.assertLess(epoch["disk_bytes"], loads * (length.max() + 8192))
      self.assertGreater(epoch["disk_bytes"], loads * length.min() / 2)

  def test_a_mixture_of_unlike_sizes_over_five_epochs(self):
    sizes = {"a": 7, "b": 40, "c": 150}
    paths = [
      _uneven(self.create_tempdir().full_path, {name: size})
      for name, size in sizes.items()
    ]
    views = [liquid_tf.open(path) for path in paths]
    with self.assertRaisesRegex(ValueError, "its classes are 'b', not 'a'"):
      liquid_tf.mixture([(view, 1) for view in views])
    paths = []
    for size in sizes.values():
      root = self.create_tempdir().full_path
      paths.append(_uneven(root, {"x": size - size // 2, "y": size // 2}))
    views = [liquid_tf.open(path) for path in paths]
    both = liquid_tf.mixture([(views[0], 0.2), (views[1], 0.3), (views[2], 0.5)])
    self.assertEqual(both.samples_per_epoch, 300)
    self.assertEqual(both.names, ["dataset-1", "dataset-2", "dataset-3"])
    dataset = liquid_tf.dataset(both, 20, cache="20%", features=["id", "label"])
    for _ in range(5):
      list(dataset)
    stats = liquid_tf.stats(dataset)
    for epoch in stats.epochs:
      self.assertEqual(_by_member(epoch["samples"]), [60, 90, 150])
    for batch in stats.batches:
      for found, wanted in zip(_by_member(batch["samples"]), (4, 6, 10)):
        self.assertLessEqual(abs(found - wanted), 1)
    self._check_constant(stats.batches)

  def test_passes_of_a_member_are_whole_and_in_order(self):
    roots = [self.create_tempdir().full_path for _ in range(2)]
    small = _uneven(roots[0], {"x": 30, "y": 7})
    large = liquid_tf.open(_uneven(roots[1], {"x": 100, "y": 90}))
    both = liquid_tf.mixture([(liquid_tf.open(small), 1), (large, 1)], 170)
    index = manifests.load_index(manifests.load(small))
    pixels = {}
    plain = liquid_tf.dataset(small, 1, features=["id", "image", "format"])
    for element in plain.as_numpy_iterator():
      name = element["format"][0].decode()
      pixels[element["image"].tobytes()] = (int(element["id"][0]), name)
    self.assertLen(pixels, len(index))
    dataset = liquid_tf.dataset(both, 10, cache=0, features=["image"])
    drawn = collections.Counter(pixels.values())
    drawn = dict.fromkeys(drawn, 0)
    for _ in range(5):
      for element in dataset.as_numpy_iterator():
        for image in element["image"]:
          key = pixels.get(image.tobytes())
          if key is None:
            continue
          same = [n for (_, name), n in drawn.items() if name == key[1]]
          self.assertEqual(drawn[key], min(same), "a pass was not over")
          drawn[key] += 1
    self.assertEqual(sum(drawn.values()), 5 * 85)

  def test_killed_and_restored_at_any_batch(self):
    paths = [self.paths["formats"], self.paths["small"]]
    iterator = iter(_two_epochs(paths, 8))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, wanted = [], []
    for position in range(2 * -(-90 // 8)):
      saved.append(checkpoint.write(os.path.join(folder, str(position))))
      wanted.append(runs.digest(next(iterator)))
    self.assertIsNone(next(iterator, None))
    found, _ = runs.in_new_process(_restored, paths=paths, threads=1, checkpoints=saved)
    for position, rest in enumerate(found):
      self.assertEqual(rest, wanted[position:])
    again, _ = runs.in_new_process(_ids_in_new_process, paths=paths)
    self.assertEqual(again, runs.ids(_two_epochs(paths, 8)))

  def test_resume_goes_on_with_the_same_samples(self):
    view = liquid_tf.open(self.paths["formats"])
    both = liquid_tf.mixture([(view.weighted(1 + view.numbers % 3), 1), (view, 1)], 96)

    def fit(directory, stop=None):
      tf.keras.utils.set_random_seed(1)
      dataset = liquid_tf.dataset(both, 8, cache="30%", features=["id", "image"])
      model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
      model.compile("sgd", "mse")
      resume = liquid_tf.keras.Resume(dataset, directory, save_freq=1)
      stopper = tf.keras.callbacks.LambdaCallback()
      batches = iter(range(1, 99))

      def end(batch, logs=None):
        if next(batches) == stop:
          raise KeyboardInterrupt

      stopper.on_train_batch_end = end
      try:
        model.fit(dataset.map(_xy), epochs=2, verbose=0, callbacks=[resume, stopper])
      except KeyboardInterrupt:
        pass
      return [weight.tolist() for weight in model.get_weights()]

    whole = fit(self.create_tempdir().full_path)
    directory = self.create_tempdir().full_path
    self.assertNotEqual(fit(directory, stop=15), whole)
    self.assertEqual(fit(directory), whole)
    both = liquid_tf.mixture([(view.weighted(3 - view.numbers % 3), 1), (view, 1)], 96)
    with self.assertRaisesRegex(ValueError, "holds a run with samples"):
      fit(directory)

  def test_epochs_and_their_parts(self):
    view = liquid_tf.open(self.paths["formats"])
    view = view.weighted(1 + view.numbers % 3, 130)
    whole = runs.flat(runs.ids(liquid_tf.dataset(view, 8, cache=0, features=["id"])))
    for parts in (1, 3):
      elements = liquid_tf.graph.epochs(
        view, 2, parts=parts, batch_size=8, features=["id"], cache=0
      )
      seen = runs.flat(runs.ids(elements))
      self.assertEqual(seen[:130], whole)
      self.assertLen(seen, 260)

  def test_pixels_in_memory_give_the_same_order(self):
    view = liquid_tf.open(self.paths["formats"])
    view = view.weighted(1 + view.numbers % 3, 130)
    found = []
    for form in ("encoded", "pixels"):
      dataset = liquid_tf.dataset(
        view, 8, cache=liquid_tf.Cache("60%", form), features=["id", "image"]
      )
      found.append([runs.digests(dataset) for _ in range(3)])
      decodes = [sum(e["decodes"].values()) for e in liquid_tf.stats(dataset).epochs]
      if form == "pixels":
        self.assertLess(decodes[2], decodes[0])
    self.assertEqual(*found)

  def test_two_iterators_and_an_abandoned_epoch(self):
    view = liquid_tf.open(self.paths["formats"])
    view = view.weighted(1 + view.numbers % 3, 130)
    dataset = liquid_tf.dataset(view, 8, cache="60%", features=["id"])
    first = next(iter(dataset))["id"].numpy().tolist()
    one = runs.ids(dataset)
    self.assertEqual(one[0], first)
    left, right = iter(dataset), iter(dataset)
    both = [(next(left)["id"], next(right)["id"]) for _ in range(17)]
    for a, b in both:
      self.assertAllEqual(a, b)
    self.assertNotEqual(both[0][0].numpy().tolist(), first)

  def test_memory_too_small_for_what_is_pinned(self):
    view = liquid_tf.open(self.paths["formats"])
    view = view.weighted(1 + view.numbers % 3, 130)
    roomy = liquid_tf.dataset(view, 8, cache="90%", features=["id"])
    tight = liquid_tf.dataset(view, 8, cache="90%", features=["id"], memory="300KiB")
    for _ in range(3):
      self.assertEqual(runs.ids(tight), runs.ids(roomy))
    self.assertLess(
      liquid_tf.stats(tight).summary()["cached"]["records"],
      liquid_tf.stats(roomy).summary()["cached"]["records"],
    )

  def test_skipped_records_yield_to_their_own_source(self):
    path = os.path.join(self.create_tempdir().full_path, "damaged")
    shutil.copytree(self.paths["formats"], path)
    manifest = manifests.load(path)
    row = manifests.load_index(manifest)[3]
    shard = manifest.path(manifest.shards[row["shard"]].path)
    with open(shard, "r+b") as file:
      file.seek(int(row["offset"]) + int(row["length"]) // 2)
      file.write(b"\xff\x00" * 8)
    view = liquid_tf.open(path).weighted(np.full(100, 3), 300)
    dataset = liquid_tf.dataset(
      view, 10, cache="50%", features=["id", "image"], on_error="skip"
    )
    for _ in range(2):
      counts = collections.Counter(runs.flat(runs.ids(dataset)))
      self.assertNotIn(int(row["sample"]), counts)
      self.assertEqual(set(counts.values()), {3})
      self.assertLen(counts, 99)
    self.assertEqual(liquid_tf.stats(dataset).summary()["skipped"]["count"], 6)

  @parameterized.parameters(
    ({"shuffle": False}, r"shuffle \(False\) must be True with weights"),
    ({"mix": ["png", "raw"]}, r"mix \(\['png', 'raw'\]\) must be one mix"),
    ({"mix": "auto"}, r'mix \("auto"\) must be one mix with weights'),
    ({"shard_policy": "x"}, r'shard_policy \("x"\) must be one of'),
  )
  def test_what_does_not_go_with_weights(self, options, message):
    view = liquid_tf.open(self.paths["replicated"])
    view = view.weighted(1 + view.numbers % 2)
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.dataset(view, 4, **options)

  def test_pcr_has_no_weights(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "pcr:1,raw:1", per_class=3, extension="jpg")
    view = liquid_tf.open(path)
    with self.assertRaisesRegex(ValueError, "is pcr, whose records hold many samples"):
      liquid_tf.dataset(view.weighted(1 + view.numbers % 2), 4)

  def test_a_mixture_has_no_mix_nor_split(self):
    view = liquid_tf.open(self.paths["replicated"])
    both = liquid_tf.mixture([(view, 1), (view, 2)])
    with self.assertRaisesRegex(ValueError, r'mix \("png"\) must be None with a mix'):
      liquid_tf.dataset(both, 4, mix="png")
    with self.assertRaisesRegex(ValueError, r'split \("train"\) must be None'):
      liquid_tf.dataset(both, 4, split="train")
    with self.assertRaisesRegex(ValueError, "must be without weights here"):
      liquid_tf.graph.format_dataset(both, "png")

  def test_a_checkpoint_of_other_weights_is_refused(self):
    view = liquid_tf.open(self.paths["formats"])
    prefix = os.path.join(self.create_tempdir().full_path, "x")
    iterator = iter(liquid_tf.dataset(view.weighted(1 + view.numbers % 2), 4))
    next(iterator)
    tf.train.Checkpoint(iterator=iterator).write(prefix)
    other = iter(liquid_tf.dataset(view.weighted(2 - view.numbers % 2), 4))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "other samples"):
      tf.train.Checkpoint(iterator=other).restore(prefix)


def _weigh(view, chance):
  """A random view with or without weights, and the weight of each sample of it."""
  if chance.random() < 0.5:
    numbers = sorted(chance.sample(view.numbers.tolist(), chance.randint(1, len(view))))
    view = view.take(numbers)
  numbers = view.numbers.tolist()
  draws = chance.choice([None, chance.randint(1, 200)])
  kind = chance.choice(["none", "few", "any", "class", "balanced"])
  if kind in ("class", "balanced"):
    labels = _labels(view)
  if kind == "few":
    given = [chance.choice([0, 1, 1, 2, 7]) for _ in numbers]
    given[0] = 1
    return view.weighted(given, draws), {
      i: Fraction(w) for i, w in zip(numbers, given) if w
    }
  if kind == "any":
    given = [chance.random() for _ in numbers]
    return view.weighted(given, draws), {
      i: Fraction(repr(w)) for i, w in zip(numbers, given)
    }
  if kind == "class":
    given = {0: chance.choice([2, 3, 0.5]), 1: chance.randint(0, 3)}
    weights = {i: Fraction(str(given.get(labels[i], 1))) for i in numbers}
    weights = {i: w for i, w in weights.items() if w}
    if weights:
      return view.weighted(given, draws), weights
  if kind == "balanced":
    sizes = collections.Counter(labels[i] for i in numbers)
    return view.balanced(draws), {i: Fraction(1, sizes[labels[i]]) for i in numbers}
  return view, {i: Fraction(1) for i in numbers}


def _xy(element):
  """A number of each image, and one of its sample."""
  x = tf.reduce_mean(tf.cast(element["image"], tf.float32), [1, 2, 3]) / 255
  return x[:, None], tf.cast(element["id"], tf.float32)[:, None] / 100


_known = {}


def _labels(view):
  if view.path not in _known:
    dataset = liquid_tf.dataset(view.path, 16, features=["id", "label"], cache=0)
    _known[view.path] = {
      i: label
      for element in dataset.as_numpy_iterator()
      for i, label in zip(element["id"].tolist(), element["label"].tolist())
    }
  return _known[view.path]


def _by_member(samples):
  """Sums of the formats of each member."""
  sums = collections.Counter()
  for name, count in samples.items():
    sums[name.split("/")[0]] += count
  return [sums[name] for name in sorted(sums)]


if __name__ == "__main__":
  tf.test.main()
