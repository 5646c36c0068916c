"""Datasets of views, beside a plain model of what a view is."""

import collections
import os
import random
import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest as manifests

# More of them by LIQUID_TEST_CASES=1000.
_CASES = int(os.environ.get("LIQUID_TEST_CASES", "8"))
_KINDS = {
  "formats": {"mix": "png:5,raw:3,webp:2"},
  "replicated": {"mix": "png:1,raw:1", "replicate": True},
  "pcr": {"mix": "pcr:1,raw:1", "encoders": {"pcr": {"images": 7}}},
}


def _restored(path, numbers, batch, seed, threads, checkpoints):
  """What is left after each checkpoint."""
  found = []
  for prefix in checkpoints:
    iterator = iter(_two_epochs(path, numbers, batch, seed, threads))
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    found.append(runs.digests(iterator))
  return found


def _two_epochs(path, numbers, batch, seed, threads):
  return liquid_tf.dataset(
    liquid_tf.open(path).take(numbers),
    batch,
    seed=seed,
    cache="40%",
    features=["id", "image", "label"],
    tuning=liquid_tf.graph.Tuning(threads=threads, parallelism=threads),
  ).repeat(2)


class ViewDatasetTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths, cls.models = {}, {}
    for name, options in _KINDS.items():
      root = os.path.join(cls.root, name)
      os.mkdir(root)
      extension = "jpg" if name == "pcr" else "png"
      cls.paths[name] = runs.make(
        root, extension=extension, splits="train:.7,val:.3", **options
      )
      cls.models[name] = _Model(cls.paths[name])

  def test_random_cases(self):
    for case in range(_CASES):
      with self.subTest(case=case):
        self._check(random.Random(case))

  def _check(self, chance: random.Random):
    kind = chance.choice(sorted(_KINDS))
    path, model = self.paths[kind], self.models[kind]
    view, wanted = _choose(liquid_tf.open(path), model, chance)
    self.assertEqual(sorted(wanted), view.numbers.tolist())
    shards = chance.choice([1, 1, 2, 3])
    batch = chance.choice([1, 4, 7, 16])
    cache = chance.choice([0, "30%", "100%"])
    options = {"seed": chance.randrange(1 << 40), "cache": cache}
    seen = collections.defaultdict(list)
    repeated = 0
    for shard in range(shards):
      dataset = liquid_tf.dataset(
        view,
        batch,
        shard=(shard, shards),
        features=["id", "format"],
        **options,
      )
      for epoch in range(3):
        for element in dataset.as_numpy_iterator():
          seen[epoch] += element["id"].tolist()
          if kind == "formats":
            pairs = zip(element["id"].tolist(), element["format"].tolist())
            self.assertTrue(all(model.formats[i] == f.decode() for i, f in pairs))
      stats = liquid_tf.stats(dataset)
      repeated += stats.summary()["shard"]["repeated"]
      self._check_constant(stats.batches, kind == "pcr")
    for epoch in range(3):
      counts = collections.Counter(seen[epoch])
      self.assertEqual(set(counts), wanted)
      self.assertEqual(sum(counts.values()) - len(wanted), repeated)

  def _check_constant(self, batches, pcr):
    full = [batch for batch in batches if batch["full"] and batch["epoch"] >= 1]
    for key in ("samples", "hits", "loads"):
      for name in full[0][key] if full else ():
        values = [batch[key][name] for batch in full]
        # Beside records of many samples the loads of others vary by one more.
        most = 2 if pcr and key != "samples" else 1
        self.assertLessEqual(max(values) - min(values), most, f"{key} of {name}")

  def test_killed_and_restored_at_any_batch(self):
    numbers = [i for i in range(100) if i % 3]
    iterator = iter(_two_epochs(self.paths["formats"], numbers, 8, 5, 8))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, wanted = [], []
    for position in range(2 * -(-len(numbers) // 8)):
      saved.append(checkpoint.write(os.path.join(folder, str(position))))
      wanted.append(runs.digest(next(iterator)))
    self.assertIsNone(next(iterator, None))
    found, _ = runs.in_new_process(
      _restored,
      path=self.paths["formats"],
      numbers=numbers,
      batch=8,
      seed=5,
      threads=1,
      checkpoints=saved,
    )
    for position, rest in enumerate(found):
      self.assertEqual(rest, wanted[position:])

  def test_a_checkpoint_of_another_view_is_refused(self):
    view = liquid_tf.open(self.paths["formats"])
    png = view.rows("png")["sample"].tolist()
    prefix = os.path.join(self.create_tempdir().full_path, "x")
    # As many samples of each file, but others.
    one, other = view.take(png[:4]), view.take([png[0], *png[2:5]])
    iterator = iter(liquid_tf.dataset(one, 2))
    next(iterator)
    tf.train.Checkpoint(iterator=iterator).write(prefix)
    restored = iter(liquid_tf.dataset(other, 2))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "other samples"):
      tf.train.Checkpoint(iterator=restored).restore(prefix)

  def test_epochs_of_a_view(self):
    view = liquid_tf.open(self.paths["formats"]).split("train[:50%]+val[-5:]")
    elements = liquid_tf.graph.epochs(view, 2, parts=3, batch_size=4, features=["id"])
    seen = runs.flat(runs.ids(elements))
    self.assertEqual(collections.Counter(seen), dict.fromkeys(view.numbers.tolist(), 2))

  def test_a_split_beside_a_view_is_of_the_view(self):
    view = liquid_tf.open(self.paths["formats"]).where(lambda t: t["number"] < 50)
    seen = runs.flat(runs.ids(liquid_tf.dataset(view, 4, split="val", features=["id"])))
    self.assertEqual(sorted(seen), view.split("val").numbers.tolist())
    self.assertLess(max(seen), 50)

  def test_a_path_with_a_part_of_a_split(self):
    dataset = liquid_tf.dataset(
      self.paths["formats"], 4, split="train[:10]", features=["id"]
    )
    self.assertLen(runs.flat(runs.ids(dataset)), 10)

  def test_a_mix_that_changes(self):
    view = liquid_tf.open(self.paths["replicated"]).split("train[:40]")
    mixes = ["png:1,raw:1", "png:1,raw:3"]
    dataset = liquid_tf.dataset(view, 4, mix=mixes, features=["id", "format"])
    for raw in (20, 30):
      batches = list(dataset.as_numpy_iterator())
      seen = runs.flat(batch["id"].tolist() for batch in batches)
      self.assertEqual(sorted(seen), view.numbers.tolist())
      formats = runs.flat(batch["format"].tolist() for batch in batches)
      self.assertEqual(formats.count(b"raw"), raw)


class _Model:
  """What a dataset holds, as lists."""

  def __init__(self, path: str):
    manifest = manifests.load(path)
    index = manifests.load_index(manifest)
    names = {entry["index"]: name for name, entry in manifest["splits"].items()}
    self.rows = {
      int(row["sample"]): (names[int(row["split"])], int(row["height"]))
      for row in index
    }
    self.formats = {
      int(row["sample"]): manifests.FORMATS[row["format"]] for row in index
    }


def _choose(view, model, chance):
  """A random view, and the samples that it must have."""
  wanted = set(model.rows)
  for _ in range(chance.randrange(3)):
    how = chance.choice(["split", "take", "where", "part"])
    if how == "split":
      name = chance.choice(view.splits)
      view = view.split(name)
      wanted = {i for i in wanted if model.rows[i][0] == name}
    elif how == "take":
      wanted = set(chance.sample(sorted(wanted), chance.randint(1, len(wanted))))
      view = view.take(sorted(wanted, key=lambda _: chance.random()))
    elif how == "where":
      each, rest = chance.choice([(2, 0), (2, 1), (3, 2), (7, 3)])
      some = {i for i in wanted if i % each == rest}
      if some:
        wanted = some
        mask = view.numbers % each == rest
        view = view.where(lambda _, mask=mask: mask)
    else:
      # Whose samples a part has is its own test's; here, how many.
      name = chance.choice(view.splits)
      mine = {i for i in wanted if model.rows[i][0] == name}
      if mine:
        count = chance.randint(1, len(mine))
        view = view.split(f"{name}[:{count}]")
        wanted = set(view.numbers.tolist())
        assert wanted <= mine and len(wanted) == count
  return view, wanted


if __name__ == "__main__":
  tf.test.main()
