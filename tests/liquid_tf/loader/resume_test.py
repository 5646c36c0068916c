"""A place saved in one face goes on in the other: batch for batch, each sample once."""

import collections
import itertools
import json
import os
import pickle
import random
import shutil
import tempfile
import threading
from concurrent import futures
from typing import Any
from unittest import mock

import damaged
import faces
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._native import direct

# More of them by LIQUID_TEST_CASES=50.
_CASES = int(os.environ.get("LIQUID_TEST_CASES", "10"))
_FACES = (liquid_tf.dataset, liquid_tf.loader)
_KINDS = ("formats", "unequal", "replicated", "pcr", "only_pcr", "damaged")


def _take(face: Any, count: int) -> list[faces.Plain]:
  """So many batches, over as many epochs as it takes."""
  found: list[faces.Plain] = []
  while len(found) < count:
    left = count - len(found)
    found += [faces.plain(batch) for batch in itertools.islice(iter(face), left)]
  return found


def _ids(batches: list[faces.Plain]) -> list[int]:
  """The numbers of the samples of batches of dicts."""
  found = []
  for batch in batches:
    (data,) = [data for name, _, _, data in batch if name == ".id"]
    found += memoryview(data).cast("q").tolist()
  return found


class ResumeTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}
    # Cases of other workers that went on, and that were refused by both faces.
    cls.counts = collections.Counter()

  def _path(self, kind: str) -> str:
    if kind not in self.paths:
      if kind == "damaged":
        path = os.path.join(self.root, kind)
        shutil.copytree(self._path("formats"), path)
        for sample in damaged.samples(path, "raw")[2::5]:
          damaged.flip(path, sample, "raw")
      else:
        path = faces.make(self.root, kind)
      self.paths[kind] = path
    return self.paths[kind]

  def _open(self, face: Any, *arguments: Any, **options: Any) -> Any:
    made = face(*arguments, **options)
    if face is liquid_tf.loader:
      self.addCleanup(made.close)
    return made

  def _arguments(self, chance: random.Random) -> tuple[Any, int, dict[str, Any]]:
    """A dataset and how it is trained on, by chance."""
    kind = chance.choice(_KINDS)
    source: Any = self._path(kind)
    options: dict[str, Any] = {
      "memory": "64MiB",
      "seed": chance.randrange(1 << 40),
      "cache": chance.choice([0, "30%", "100%", "40KiB"]),
      "shuffle": chance.random() < 0.9,
      "last_batch": chance.choice(["short", "short", "drop", "repeat"]),
      "features": ["id", "format", "image"],
    }
    if options["shuffle"]:
      options["transforms"] = [transforms.RandomCrop(17), transforms.Mirror()]
    else:
      options["transforms"] = [transforms.CenterCrop(17)]
    if kind == "formats" and options["shuffle"] and chance.random() < 0.4:
      view = liquid_tf.open(source).split("train")
      source = view.weighted([1.0 + (n % 3) for n in view.numbers.tolist()])
    if kind == "replicated" and options["shuffle"]:
      mixes = [None, "png:1,raw:1", ["png:1,raw:1", "raw"]]
      options["mix"] = chance.choice(mixes)
    if kind == "only_pcr" and options["shuffle"]:
      options["fidelity"] = chance.choice([2, {2: 0.25, 10: 0.75}])
    if kind == "damaged":
      options["on_error"] = "skip"
    return source, chance.choice([2, 3, 5]), options

  def test_random_cases(self):
    for case in range(_CASES):
      with self.subTest(case=case):
        self._check(random.Random(case))

  def _check(self, chance: random.Random) -> None:
    source, batch, options = self._arguments(chance)
    saving, going_on = chance.choice(_FACES), chance.choice(_FACES)
    if options.get("on_error") == "skip":
      # What a dataset saves does not know what was left out.
      saving = going_on = liquid_tf.loader
    whole = self._open(liquid_tf.dataset, source, batch, **options)
    epochs = [faces.batches(whole) for _ in range(3)]
    wanted = [one for epoch in epochs for one in epoch]
    count = chance.randrange(1, len(epochs[0]) + len(epochs[1]))
    first = self._open(saving, source, batch, **options)
    self.assertEqual(_take(first, count), wanted[:count])
    if saving is liquid_tf.loader:
      state = first.state_dict()
    else:
      epoch = int(count > len(epochs[0]))
      step = count - epoch * len(epochs[0])
      state = liquid_tf.position(first, epoch, step)
    state = json.loads(json.dumps(state))
    after = len(wanted) - count
    begun = self._open(going_on, source, batch, start=state, **options)
    self.assertEqual(_take(begun, after), wanted[count:])
    later = self._open(liquid_tf.loader, source, batch, **options)
    _take(later, chance.randrange(1, len(epochs[0]) + 3))
    later.load_state_dict(state)
    self.assertEqual(later.state_dict(), state)
    self.assertEqual(_take(later, after), wanted[count:])

  def test_random_cases_of_other_workers(self):
    for case in range(_CASES):
      with self.subTest(case=case):
        self._check_workers(random.Random(1000 + case))
    print(dict(self.counts))
    self.assertGreater(self.counts["went on"], 0)
    self.assertGreater(self.counts["refused"], 0)

  def _check_workers(self, chance: random.Random) -> None:
    source, batch, options = self._arguments(chance)
    options |= {"shard_policy": chance.choice(["pad", "drop", "uneven"])}
    options |= {"on_error": "raise"}
    if source == self.paths.get("damaged"):
      source = self._path("formats")
    before, after = chance.sample(range(1, 6), 2)
    if chance.random() < 0.2:
      before, after = 8, chance.choice([6, 16])
    saving = chance.choice(_FACES)
    runs = [
      self._open(saving, source, batch, shard=(i, before), **options)
      for i in range(before)
    ]
    length = min(map(len, runs))
    epoch, step = chance.randrange(2), chance.randrange(1, max(2, length))
    parts = []
    for run in runs:
      if epoch:
        faces.batches(run)
      parts.append(_ids(_take(run, step)))
    if saving is liquid_tf.loader:
      state = runs[0].state_dict()
    else:
      state = liquid_tf.position(runs[0], epoch, step)
    state = json.loads(json.dumps(state))
    found = {}
    for face in _FACES:
      found[face] = []
      for i in range(after):
        try:
          rest = self._open(
            face, source, batch, shard=(i, after), start=state, **options
          )
          found[face].append((faces.batches(rest), faces.batches(rest)))
        except ValueError as error:
          found[face].append(str(error))
    self.assertEqual(found[liquid_tf.loader], found[liquid_tf.dataset])
    refused = [one for one in found[liquid_tf.loader] if isinstance(one, str)]
    if refused and not any("leaves no batch" in one for one in refused):
      self.assertLen(refused, after)
      self.counts["refused"] += 1
      return
    self.counts["went on"] += 1
    if options["shard_policy"] == "uneven" and options["last_batch"] == "short":
      # Each sample once, by those before and those after.
      rests = [_ids(one[0]) for one in found[liquid_tf.loader] if one not in refused]
      every = [n for part in parts + rests for n in part]
      numbers = liquid_tf.open(source).split("train").numbers.tolist()
      self.assertCountEqual(every, numbers)

  @parameterized.product(saving=_FACES, going_on=_FACES)
  def test_a_mix_that_is_chosen(self, saving, going_on):
    path = self._path("replicated")
    options = {"memory": "64MiB", "cache": "30%", "features": ["id", "format", "image"]}
    whole = self._open(saving, path, 7, mix="auto", **options)
    first = faces.batches(whole)
    step = 4
    _take(whole, step)
    if saving is liquid_tf.loader:
      state, stats = whole.state_dict(), whole.stats
    else:
      state, stats = liquid_tf.position(whole, 1, step), liquid_tf.stats(whole)
    begun = self._open(going_on, path, 7, mix="auto", start=state, **options)
    given = faces.batches(begun)
    again = self._open(liquid_tf.dataset, path, 7, mix=stats.mixes, **options)
    self.assertEqual(
      [first, given], [faces.batches(again), faces.batches(again)[step:]]
    )

  def test_a_look_uses_up_no_epoch(self):
    loader = self._open(
      liquid_tf.loader, self._path("formats"), 7, memory="64MiB", cache="30%"
    )
    looked = _take(loader, 3)
    self.assertEqual(loader.state_dict()["step"], 3)
    whole = faces.batches(loader)
    self.assertEqual(whole[:3], looked)
    self.assertEqual(
      (loader.state_dict()["epoch"], loader.state_dict()["step"]), (1, 0)
    )
    self.assertNotEqual(faces.batches(loader)[:3], looked)

  def test_a_new_iterator_ends_the_one_before(self):
    loader = self._open(liquid_tf.loader, self._path("formats"), 7, memory="64MiB")
    first = iter(loader)
    next(first)
    second = iter(loader)
    with self.assertRaisesRegex(RuntimeError, "a new iterator of the loader"):
      next(first)
    del first
    self.assertLen(list(second), len(loader))
    self.assertEmpty(list(second))

  def test_a_closed_loader_says_so_and_its_arrays_stay(self):
    with liquid_tf.loader(self._path("formats"), 7, memory="64MiB") as loader:
      image, _ = next(iter(loader))
      before = image.copy()
    self.assertAllEqual(image, before)
    image[:] = 0  # It is the reader's.
    for use in (
      lambda: iter(loader),
      loader.state_dict,
      lambda: len(loader.stats.epochs),
    ):
      with self.assertRaisesRegex(RuntimeError, "the loader is closed"):
        use()
    loader.close()
    # Closed, it promises no memory of what one beside it may take.
    with liquid_tf.loader(self._path("formats"), 7, memory="auto") as beside:
      self.assertLen(list(beside), len(beside))

  def test_it_stays_while_another_thread_asks_for_its_counters(self):
    # As `loader` itself does, of those that are beside the new one.
    loader = liquid_tf.loader(self._path("formats"), 7, memory="64MiB")
    closing = threading.Thread(target=loader.close)
    called = direct.call

    def slowly(function, *arguments):
      closing.start()
      closing.join(0.3)
      self.assertTrue(closing.is_alive())
      return called(function, *arguments)

    stats = loader.stats
    with mock.patch.object(direct, "call", slowly):
      self.assertEmpty(stats.epochs)
    closing.join()
    with self.assertRaisesRegex(RuntimeError, "the loader is closed"):
      len(stats.epochs)

  def test_loaders_are_made_while_others_are_closed(self):
    path = self._path("formats")

    def make():
      for _ in range(10):
        with liquid_tf.loader(path, 7) as loader:
          next(iter(loader))

    with futures.ThreadPoolExecutor(3) as pool:
      for made in [pool.submit(make) for _ in range(3)]:
        made.result()

  @parameterized.parameters(
    ({"version": 2}, r'start\["version"\] \(2\) must be 1'),
    ({"version": None}, r'start\["version"\] \(None\) must be 1'),
    ({"borrowed": [-1]}, r'start\["borrowed"\]\[0\] \(-1\) must be a whole number'),
    ({"skipped": "abc"}, r'start\["skipped"\] \("abc"\) must be a list'),
    ({"more": 1}, 'start .* has no field "more"'),
    ({"step": 10**6}, r'start\["step"\] \(1000000\) must be below'),
    ({"cached": []}, r'start\["cached"\] \(\[\]\) must have 3 numbers'),
  )
  def test_wrong_states(self, change, message):
    options = {"memory": "64MiB", "cache": "30%"}
    loader = self._open(liquid_tf.loader, self._path("formats"), 7, **options)
    state = loader.state_dict() | change
    with self.assertRaisesRegex(ValueError, message):
      loader.load_state_dict(state)
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.loader(self._path("formats"), 7, start=state, **options)
    self.assertLen(list(loader), len(loader))

  def test_a_state_of_another_run_is_refused(self):
    options = {"memory": "64MiB", "cache": "30%"}
    loader = self._open(liquid_tf.loader, self._path("formats"), 7, **options)
    state = loader.state_dict()
    other = self._open(liquid_tf.loader, self._path("formats"), 7, seed=3, **options)
    with self.assertRaisesRegex(ValueError, "a run with seed 0, but this one has 3"):
      other.load_state_dict(state)
    with self.assertRaisesRegex(ValueError, "must be what state_dict"):
      other.load_state_dict((0, 1))

  def test_samples_have_no_place(self):
    loader = self._open(liquid_tf.loader, self._path("formats"), None, memory="64MiB")
    with self.assertRaisesRegex(ValueError, "must be a number for a place"):
      loader.state_dict()

  def test_wrong_arguments(self):
    path = self._path("formats")
    for options, message in (
      ({"decode": "gpu"}, r'decode \("gpu"\) must be "cpu" here: .*no NVIDIA driver'),
      ({"decode": "tpu"}, "decode"),
      ({"fidelity": tf.Variable(1)}, "must be no tf.Variable here"),
      ({"start": (0, 10**6)}, "must have a step of at most"),
      ({"batch_size": 0}, "batch_size"),
      ({"last_batch": "fill"}, "last_batch"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.loader(path, **options)

  def test_it_is_not_sent_to_another_process(self):
    loader = self._open(liquid_tf.loader, self._path("formats"), 7, memory="64MiB")
    with self.assertRaisesRegex(TypeError, "make it there"):
      pickle.dumps(loader)
    if (child := os.fork()) == 0:
      try:
        iter(loader)
      except RuntimeError as error:
        os._exit(int("made in another process" not in str(error)))
      os._exit(2)
    self.assertEqual(os.waitpid(child, 0)[1], 0)
    self.assertLen(list(loader), len(loader))


if __name__ == "__main__":
  tf.test.main()
