"""What a number of workers left of an epoch, another number goes on with."""

import collections
import dataclasses
import functools
import os
import random
import shutil
import tempfile
from typing import Any

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms

# More of them by LIQUID_TEST_CASES=1000.
_CASES = int(os.environ.get("LIQUID_TEST_CASES", "10"))
_KINDS = {
  "formats": {"mix": "png:5,raw:3,webp:2"},
  "replicated": {"mix": "png:1,raw:2", "replicate": True},
  "pcr": {"mix": "pcr:1,raw:1", "encoders": {"pcr": {"images": 7}}},
}


@dataclasses.dataclass(frozen=True)
class Batch:
  """Sample numbers of a batch, and the format that each was read in."""

  ids: list[int]
  formats: list[str]


def _batch(element: dict[str, np.ndarray]) -> Batch:
  return Batch(element["id"].tolist(), [name.decode() for name in element["format"]])


def _batches(dataset: tf.data.Dataset) -> list[Batch]:
  return [_batch(element) for element in dataset.as_numpy_iterator()]


def _together(datasets: list[tf.data.Dataset | None]) -> list[list[Batch]]:
  """The next epoch of each, by one iterator, since many take long to make."""
  found = [[] for _ in datasets]
  numbered = [
    tf.data.Dataset.zip((dataset, tf.data.Dataset.from_tensors(i).repeat()))
    for i, dataset in enumerate(datasets)
    if dataset is not None
  ]
  if numbered:
    joined = functools.reduce(lambda one, next_: one.concatenate(next_), numbered)
    for element, i in joined.as_numpy_iterator():
      found[i].append(_batch(element))
  return found


def _dataset(source: Any, batch: int, **options) -> tf.data.Dataset:
  options = {"features": ["id", "format"], "memory": "64MiB"} | options
  return liquid_tf.dataset(source, batch, **options)


def _ids(batches: list[Batch]) -> list[int]:
  return runs.flat(batch.ids for batch in batches)


class _Case:
  """A dataset and how it is trained on, by chance."""

  def __init__(self, paths: dict[str, str], chance: random.Random):
    self.kind = chance.choice(sorted(paths))
    view = liquid_tf.open(paths[self.kind]).split("train")
    count = chance.randrange(60, len(view) + 1)
    self.view = view.take(chance.sample(view.numbers.tolist(), count))
    self.batch = chance.choice([1, 2, 3, 5])
    self.policy = chance.choice(["pad", "drop", "uneven"])
    self.options = {
      "seed": chance.randrange(1 << 40),
      "cache": chance.choice([0, "30%", "100%", "40KiB"]),
      "shuffle": chance.random() < 0.9,
      "last_batch": chance.choice(["short", "short", "drop"]),
      "shard_policy": self.policy,
    }
    self.epoch = chance.randrange(3)
    # Every fifth time as many as in the pages, else fewer, which is faster.
    self.workers = (8, 6, 16)
    if chance.randrange(5):
      self.workers = tuple(chance.sample(range(1, 6), 3))

  def open(self, worker: int, workers: int, start: tuple) -> tf.data.Dataset | None:
    """Of a worker; None where nothing is left to it."""
    try:
      return _dataset(
        self.view, self.batch, shard=(worker, workers), start=start, **self.options
      )
    except ValueError as error:
      if "leaves no batch of epoch" not in str(error):
        raise
      return None


class RestTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}
    for name, options in _KINDS.items():
      root = os.path.join(cls.root, name)
      os.mkdir(root)
      cls.paths[name] = runs.make(
        root,
        per_class=50,
        extension="jpg" if name == "pcr" else "png",
        splits="train:.9,val:.1",
        **options,
      )

  def test_random_cases(self):
    for case in range(_CASES):
      with self.subTest(case=case):
        self._check(random.Random(case))

  def _check(self, chance: random.Random):
    case = _Case(self.paths, chance)
    seen, ran = set(), []
    for workers in case.workers:
      start = (case.epoch, ran)
      datasets = [case.open(worker, workers, start) for worker in range(workers)]
      parts = _together(datasets)
      self._check_rest(case, parts, set(case.view.numbers.tolist()) - seen)
      # The epoch after it is that of the new number of workers.
      some = [i for i in chance.sample(range(workers), min(2, workers)) if parts[i]]
      later = (case.epoch + 1, 0)
      ordinary = [case.open(worker, workers, later) for worker in some]
      self.assertEqual(_together([datasets[i] for i in some]), _together(ordinary))
      least = min(map(len, parts))
      steps = chance.randrange(1, least) if least > 1 else 0
      for batches in parts:
        seen.update(runs.flat(batch.ids for batch in batches[:steps]))
      ran = [*ran, (workers, steps)]

  def _check_rest(self, case: _Case, parts: list[list[Batch]], left: set[int]):
    """Checks what all workers draw, of the samples that are left."""
    drawn = collections.Counter(runs.flat(map(_ids, parts)))
    self.assertLessEqual(set(drawn), left)
    workers = len(parts)
    padded = -len(left) % workers if case.policy == "pad" else 0
    if case.options["last_batch"] == "short":
      lost = len(left) % workers if case.policy == "drop" else 0
      self.assertLen(drawn, len(left) - lost)
      self.assertEqual(drawn.total() - len(drawn), padded)
    else:
      # Less than a batch of each.
      self.assertGreater(drawn.total(), len(left) - workers * case.batch)
      self.assertLessEqual(drawn.total() - len(drawn), padded)
    lengths = [len(_ids(batches)) for batches in parts]
    most = 0 if case.policy != "uneven" else 1
    if case.options["last_batch"] == "short":
      self.assertLessEqual(max(lengths) - min(lengths), most)
    for batches in parts:
      full = [batch for batch in batches if len(batch.ids) == case.batch]
      for name in {name for batch in full for name in batch.formats}:
        counts = [batch.formats.count(name) for batch in full]
        mean = sum(counts) / len(counts)
        self.assertGreaterEqual(min(counts), int(np.floor(mean)))
        self.assertLessEqual(max(counts), int(np.ceil(mean)))

  def test_what_is_left_keeps_its_formats(self):
    options = {"seed": 3, "cache": "30%", "shard_policy": "drop"}
    path = self.paths["replicated"]
    wanted = {}
    for batch in _batches(_dataset(path, 8, **options)):
      wanted.update(zip(batch.ids, batch.formats))
    for worker in range(3):
      rest = _dataset(path, 8, shard=(worker, 3), start=(1, [(2, 5)]), **options)
      for batch in _batches(rest):
        self.assertEqual(batch.formats, [wanted[i] for i in batch.ids])
        if len(batch.ids) == 8:
          self.assertBetween(batch.formats.count("png"), 2, 3)

  def test_as_many_workers_go_on_where_they_stood(self):
    options = {"seed": 3, "cache": "30%"}
    for ran, shard, same in (
      ([(2, 3), (2, 4)], (1, 2), 7),
      ([(3, 0), (2, 5), (7, 0)], (0, 2), 5),
      ([], (0, 1), 0),
      ([(8, 2), (3, 2), (3, 1)], (2, 3), [(8, 2)]),
    ):
      ordinary = _dataset(
        self.paths["formats"], 4, shard=shard, start=(1, same), **options
      )
      given = _dataset(self.paths["formats"], 4, shard=shard, start=(1, ran), **options)
      skipped = 3 if isinstance(same, list) else 0
      self.assertEqual(_batches(given), _batches(ordinary)[skipped:])
      self.assertEqual(_batches(given), _batches(ordinary))

  def test_an_abandoned_rest_is_run_again(self):
    rest = _dataset(
      self.paths["formats"], 4, cache="30%", shard=(0, 3), start=(1, [(2, 4)])
    )
    first = next(iter(rest.as_numpy_iterator()))["id"].tolist()
    batches = _batches(rest)
    self.assertEqual(batches[0].ids, first)
    self.assertNotEqual(_batches(rest)[0].ids, first)
    told = [entry["epoch"] for entry in liquid_tf.stats(rest).epochs]
    self.assertEqual(told, [1, 2])

  @parameterized.product(kind=sorted(_KINDS), symbolic=(False, True))
  def test_a_checkpoint_inside_of_a_rest(self, kind, symbolic):
    def pipeline(**options):
      dataset = _dataset(
        self.paths[kind],
        4,
        seed=3,
        cache="30%",
        shard=(1, 3),
        features=["id", "image"],
        transforms=[transforms.RandomCrop(16)],
        **options,
      )
      tf_options = tf.data.Options()
      tf_options.experimental_symbolic_checkpoint = symbolic
      return dataset.repeat(2).with_options(tf_options)

    start = {"start": (1, [(2, 9), (5, 2)])}
    iterator = iter(pipeline(**start))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, wanted = [], []
    for element in iter(lambda: next(iterator, None), None):
      saved.append(checkpoint.write(os.path.join(folder, str(len(saved)))))
      wanted.append(runs.digest(element))
    rest = len(wanted) - 15  # 60 samples of a whole epoch
    self.assertGreater(rest, 5)
    for position in (0, 1, rest - 2, rest - 1, rest, len(wanted) - 1):
      restored = iter(pipeline(**start))
      tf.train.Checkpoint(iterator=restored).restore(saved[position])
      self.assertEqual(runs.digests(restored), wanted[position + 1 :])
    # Where no epoch has a rest, an ordinary one may be gone on with.
    restored = iter(pipeline())
    tf.train.Checkpoint(iterator=restored).restore(saved[rest])
    self.assertEqual(runs.digest(next(restored)), wanted[rest + 1])
    with self.assertRaisesRegex(Exception, "other numbers of workers began"):
      tf.train.Checkpoint(iterator=iter(pipeline())).restore(saved[1])

  def test_a_checkpoint_before_the_first_batch_of_a_rest(self):
    def rest():
      return _dataset(
        self.paths["formats"], 4, cache="30%", shard=(0, 3), start=(1, [(2, 4), (3, 2)])
      )

    prefix = os.path.join(self.create_tempdir().full_path, "x")
    tf.train.Checkpoint(iterator=iter(rest())).write(prefix)
    iterator = iter(rest())
    next(iterator)
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    wanted = [batch.ids for batch in _batches(rest())]
    self.assertEqual([batch["id"].numpy().tolist() for batch in iterator], wanted)

  def test_fidelity_is_asked_for_the_batches_that_are_left(self):
    asked = []

    def fidelity(epoch, batch):
      asked.append((epoch, batch))
      return 1

    rest = _dataset(
      self.paths["pcr"],
      4,
      cache=0,
      shard=(0, 3),
      start=(2, [(2, 4), (5, 3)]),
      fidelity=fidelity,
    )
    batches = _batches(rest)
    self.assertEqual(asked[0], (2, 7))
    self.assertLen(asked, len(batches))
    self.assertEqual(asked[-1], (2, 6 + len(batches)))

  def test_a_rest_of_one_sample_at_a_time(self):
    options = {"cache": 0, "features": ["id"], "memory": "64MiB"}
    first = liquid_tf.dataset(self.paths["formats"], None, shard=(0, 2), **options)
    drawn = {int(sample["id"]) for sample in first.take(32)}
    for worker in range(3):
      rest = liquid_tf.dataset(
        self.paths["formats"], None, shard=(worker, 3), start=(0, [(2, 1)]), **options
      )
      self.assertNoCommonElements(drawn, {int(sample["id"]) for sample in rest})

  def test_another_process_does_not_begin_with_all_of_the_epoch(self):
    dispatcher = tf.data.experimental.service.DispatchServer()
    config = tf.data.experimental.service.WorkerConfig(
      dispatcher_address=dispatcher.target.split("://")[1]
    )
    worker = tf.data.experimental.service.WorkerServer(config)
    rest = _dataset(self.paths["formats"], 4, cache=0, start=(1, [(2, 4)]))
    served = rest.apply(
      tf.data.experimental.service.distribute("parallel_epochs", dispatcher.target)
    )
    with self.assertRaisesRegex(tf.errors.OpError, "left of epoch 1 is known only in"):
      next(iter(served))
    del worker

  @parameterized.parameters(
    ({"start": 3}, r"start \(3\) must be \(epoch, step\), \(epoch, \[\(workers"),
    ({"start": (0, [3])}, r"start \(\(0, \[3\]\)\) must be \(epoch, step\), "),
    ({"start": (0, [(1, 2, 3)])}, "must be .epoch, step., "),
    ({"start": (0, [(0, 2)])}, r"workers of start \(0\) must be"),
    ({"start": (0, [(2, -1)])}, r"steps of start \(-1\) must be"),
    ({"start": (0, [(1 << 20, 1)])}, r"workers of start \(1048576\) must be at most"),
    ({"start": (3, [(2, 23)])}, r"leaves no batch of epoch 3 .* start=\(4, 0\)"),
    ({"start": (3, [(2, 5), (1, 99)])}, r"leaves no batch of epoch 3"),
    ({"cache": "auto"}, r'cache \("auto"\) must be a share'),
    ({"mix": ["png", "raw"], "kind": "replicated"}, "no such sections"),
    ({"mix": "auto", "kind": "replicated"}, "no such sections"),
  )
  def test_wrong_arguments(self, options, message):
    options = {"cache": 0, "start": (0, [(2, 1)])} | options
    path = self.paths[options.pop("kind", "formats")]
    with self.assertRaisesRegex(ValueError, message):
      _dataset(path, 4, **options)

  def test_weights_are_refused(self):
    view = liquid_tf.open(self.paths["formats"])
    for source in (
      view.weighted({0: 5}),
      liquid_tf.mixture([(view.split("train"), 2), (view.split("val"), 1)]),
    ):
      with self.assertRaisesRegex(ValueError, "draws some samples several times"):
        _dataset(source, 4, cache=0, start=(0, [(2, 1)]))
      ordinary = _dataset(source, 4, cache=0, start=(0, [(1, 2)]))
      self.assertEqual(_batches(ordinary), _batches(_dataset(source, 4, cache=0))[2:])


if __name__ == "__main__":
  tf.test.main()
