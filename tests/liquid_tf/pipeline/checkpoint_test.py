"""Restored in a new process, a pipeline goes on with the very next sample."""

import os
import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms

_BATCH = 8
# Batches of one epoch of runs.make's 100 samples.
_EPOCH = 13

# Every way of building the pipeline that a checkpoint must survive.
_PIPELINES = {
  "explicit": {},
  "symbolic": {"symbolic": True},
  "explicit, mapped and prefetched": {"mapped": True},
  "symbolic, mapped and prefetched": {"symbolic": True, "mapped": True},
  "stored order": {"shuffle": False},
  "stored order, symbolic": {"shuffle": False, "symbolic": True},
  "one at a time": {"batch_size": None},
  "one at a time, symbolic": {"batch_size": None, "symbolic": True},
  "no cache": {"cache": 0},
  "all in the cache": {"cache": "100%"},
  "second shard": {"shard": [1, 2], "symbolic": True},
  "no remainder": {"last_batch": "drop"},
}

# Those for which a part of the positions is enough.
_VARIANTS = ("no cache", "all in the cache", "second shard", "no remainder")


def _pipeline(path: str, name: str) -> tf.data.Dataset:
  """Two epochs, the pixels of random windows included."""
  shuffled = _PIPELINES[name].get("shuffle", True)
  crop = transforms.RandomCrop(16) if shuffled else transforms.CenterCrop(16)
  options = {
    "batch_size": _BATCH,
    "cache": "30%",
    "seed": 3,
    "transforms": [crop],
    "features": ["id", "image", "label"],
    **_PIPELINES[name],
  }
  symbolic = options.pop("symbolic", False)
  mapped = options.pop("mapped", False)
  dataset = liquid_tf.dataset(path, **options)
  if mapped:
    dataset = dataset.map(lambda x: x, num_parallel_calls=2).prefetch(4)
  tf_options = tf.data.Options()
  tf_options.experimental_symbolic_checkpoint = symbolic
  return dataset.repeat(2).with_options(tf_options)


def _restored(path: str, checkpoints: dict[str, list]) -> dict[str, list]:
  """What is left after each checkpoint, for [position, prefix] by pipeline."""
  found = {}
  for name, saved in checkpoints.items():
    found[name] = []
    for position, prefix in saved:
      iterator = iter(_pipeline(path, name))
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      found[name].append([position, runs.digests(iterator)])
  return found


class CheckpointTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root)

  def _save(self, name: str, positions) -> tuple[list, list[str]]:
    """Saves before, after and between elements of one run.

    Args:
      name: of the pipeline.
      positions: numbers of elements delivered before a checkpoint; one more than
        there are stands for an iterator that has said that it is at its end.

    Returns:
      [position, prefix] of each checkpoint, and the digests of every element.
    """
    iterator = iter(_pipeline(self.path, name))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, found = [], []
    for position in range(max(positions) + 1):
      if position in positions:
        prefix = checkpoint.write(os.path.join(folder, str(position)))
        saved.append([position, prefix])
      element = next(iterator, None)
      if element is not None:
        found.append(runs.digest(element))
    self.assertIsNone(next(iterator, None))
    return saved, found

  def test_in_a_new_process(self):
    checkpoints, wanted = {}, {}
    for name in _PIPELINES:
      # Unused; each of the first 20; both sides of an epoch's end; used up;
      # exhausted.
      positions = range(28)
      if _PIPELINES[name].get("batch_size", _BATCH) is None:
        positions = [*range(21), 99, 100, 101, 200, 201]
      elif name in _VARIANTS:
        positions = [0, 1, 5, 12, 13, 14, 20, 26, 27]
      checkpoints[name], wanted[name] = self._save(name, positions)
    found, _ = runs.in_new_process(_restored, path=self.path, checkpoints=checkpoints)
    for name, rests in found.items():
      self.assertLen(rests, len(checkpoints[name]))
      for position, rest in rests:
        self.assertEqual(
          rest, wanted[name][position:], f"{name}, saved after {position}"
        )
    self.assertLen(wanted["explicit"], 2 * _EPOCH)
    # Otherwise a restored pipeline that starts again would pass.
    self.assertLen(set(wanted["explicit"]), 2 * _EPOCH)
    self.assertLen(wanted["one at a time"], 200)
    self.assertLen(wanted["second shard"], 14)
    self.assertLen(wanted["no remainder"], 2 * (_EPOCH - 1))

  def test_the_epoch_after_a_restored_one(self):
    dataset = liquid_tf.dataset(self.path, _BATCH, seed=3, cache="30%", features=["id"])
    wanted = [runs.ids(dataset) for _ in range(3)]
    saved = liquid_tf.dataset(self.path, _BATCH, seed=3, cache="30%", features=["id"])
    runs.ids(saved)
    iterator = iter(saved)
    for _ in range(5):
      next(iterator)
    prefix = tf.train.Checkpoint(iterator=iterator).write(
      os.path.join(self.create_tempdir().full_path, "x")
    )
    restored = liquid_tf.dataset(
      self.path, _BATCH, seed=3, cache="30%", features=["id"]
    )
    iterator = iter(restored)
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    self.assertEqual(runs.ids(iterator), wanted[1][5:])
    self.assertEqual(runs.ids(restored), wanted[2])

  @parameterized.parameters(0, 4)
  def test_an_automatic_cache_is_taken_from_the_checkpoint(self, position):
    folder = self.create_tempdir().full_path
    options = {"seed": 3, "features": ["id"], "memory": "64MiB"}
    first = liquid_tf.dataset(self.path, _BATCH, cache="30%", **options).repeat(2)
    iterator = iter(first)
    for _ in range(position):
      next(iterator)
    prefix = tf.train.Checkpoint(iterator=iterator).write(os.path.join(folder, "x"))
    wanted = runs.ids(iterator)
    # A machine with more memory would have cached everything.
    second = liquid_tf.dataset(self.path, _BATCH, cache="auto", **options).repeat(2)
    iterator = iter(second)
    tf.train.Checkpoint(iterator=iterator).restore(prefix)
    self.assertEqual(runs.ids(iterator), wanted)

  def test_a_checkpoint_of_another_dataset_is_refused(self):
    folder = self.create_tempdir().full_path
    iterator = iter(_pipeline(self.path, "explicit"))
    for _ in range(9):
      next(iterator)
    prefix = tf.train.Checkpoint(iterator=iterator).write(os.path.join(folder, "x"))
    other = runs.make(os.path.join(folder, "other"), "png:1,raw:1", per_class=8)
    iterator = iter(_pipeline(other, "explicit"))
    with self.assertRaisesRegex(Exception, "saved by (a|another) dataset"):
      tf.train.Checkpoint(iterator=iterator).restore(prefix)


if __name__ == "__main__":
  tf.test.main()
