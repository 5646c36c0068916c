"""Which datasets of ours a user's is made of is found, or refused where hidden."""

import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf

_zip, _data = tf.data.Dataset.zip, tf.data.Dataset
_SEVERAL = r"must be made of one liquid_tf.dataset\(\), not of several: "


@tf.autograph.experimental.do_not_convert
def _same(*batch):
  return batch[0]


def _sum(dataset):
  """A function that goes through a dataset for every element."""
  zero = tf.constant(0, tf.int64)
  return lambda batch: dataset.reduce(zero, lambda s, x: s + x["id"][0])


def _endless(a, b):
  return _zip((a.repeat(), b.repeat()))


def _next_of(a, b):
  other = iter(b)
  return a.map(lambda batch: (batch, next(other)))


# What may be made of datasets of ours, of 5, 5 and 10 batches.
_JOINED = {
  "zip": lambda a, b, c: _zip((a, b)),
  "zip_of_zips": lambda a, b, c: _zip(
    {"x": a, "y": _zip((b.prefetch(2), b.map(_same)))}
  ),
  "zipped_and_mapped": lambda a, b, c: _zip((a, b)).map(_same).prefetch(1).repeat(),
  "concatenate": lambda a, b, c: a.concatenate(b),
  "sample": lambda a, b, c: _data.sample_from_datasets([a, b], seed=1),
  "sample_counted": lambda a, b, c: _data.sample_from_datasets([a, b], seed=1).apply(
    tf.data.experimental.assert_cardinality(5)
  ),
  "choose": lambda a, b, c: _data.choose_from_datasets(
    [a, b], _data.range(2).repeat(5)
  ),
  "flat_map": lambda a, b, c: a.flat_map(lambda batch: b),
  "flat_map_of_a_new_one": lambda a, b, c: a.flat_map(
    lambda batch: liquid_tf.dataset(LineageTest.path, 8, features=["id"])
  ),
  "interleave": lambda a, b, c: a.interleave(lambda batch: b.prefetch(1)),
  "map_that_captures": lambda a, b, c: a.map(_sum(b.prefetch(1))),
}


class LineageTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, "png:1,raw:1", per_class=10)
    # Nobody takes their batches.
    cls.datasets = [
      liquid_tf.dataset(cls.path, size, seed=seed, features=["id"])
      for seed, size in enumerate((8, 8, 4))
    ]

    cls.single = liquid_tf.dataset(cls.path, None, features=["id"], on_error="skip")
    cls.epochs = liquid_tf.graph.epochs(cls.path, 2, features=["id"])
    cls.skipping = liquid_tf.dataset(cls.path, 8, features=["id"], on_error="skip")

  @parameterized.named_parameters(_JOINED.items())
  def test_counters_and_positions_are_of_one_dataset(self, join):
    joined = join(*self.datasets)
    with self.assertRaisesRegex(ValueError, f"{_SEVERAL}give stats each"):
      liquid_tf.stats(joined)
    with self.assertRaisesRegex(ValueError, f"{_SEVERAL}give stats each"):
      liquid_tf.keras.TensorBoardStats(joined)
    with self.assertRaisesRegex(ValueError, f"{_SEVERAL}take a position of each"):
      liquid_tf.position(joined, 0, 0)

  @parameterized.named_parameters(
    ("sample", _JOINED["sample_counted"], "sample_from_datasets.*liquid_tf.mixture"),
    ("choose", _JOINED["choose"], "choose_from_datasets.*liquid_tf.mixture"),
    ("concatenate", _JOINED["concatenate"], r"but has concatenate\(\)"),
    ("flat_map", _JOINED["flat_map"], r"but has flatmap\(\)"),
    ("interleave", _JOINED["interleave"], r"but has interleave\(\)"),
    (
      "captured",
      _JOINED["map_that_captures"],
      r"map\(\) whose function takes elements",
    ),
    ("iterator", lambda a, b, c: _next_of(a, b), r"map\(\) whose function takes"),
    ("same", lambda a, b, c: _zip((a, a.map(_same))), "same liquid_tf.dataset.* twice"),
    ("unequal", lambda a, b, c: _zip((a, _zip((c, c.map(_same))))), "5 and 10 batches"),
    ("half_endless", lambda a, b, c: _zip((a, c.repeat())), "5 and endless batches"),
    ("others", lambda a, b, c: _zip((a, _data.range(5))), "_RangeDataset.* must come"),
    ("numbered", lambda a, b, c: a.enumerate(), "must come from liquid_tf.dataset"),
    ("skip", lambda a, b, c: _zip((a, LineageTest.skipping)), "zips .* on_error"),
    ("shuffle", lambda a, b, c: a.shuffle(4), r"one for one, but has shuffle\(\)"),
    ("deep", lambda a, b, c: _zip((a, b.skip(1).prefetch(1))), r"but has skip\(\)"),
    ("single", lambda a, b, c: a.unbatch().batch(4), "must have batches"),
    ("single_and_skipping", lambda a, b, c: LineageTest.single, "must have batches"),
    ("epochs", lambda a, b, c: LineageTest.epochs, "must come from liquid_tf.dataset"),
    ("batch", lambda a, b, c: a.batch(2), r"but has batch\(\)"),
    ("cache", lambda a, b, c: a.cache(), r"but has cache\(\)"),
    (
      "filter",
      lambda a, b, c: a.filter(lambda x: True).repeat(),
      r"but has filter\(\)",
    ),
    ("no_dataset", lambda a, b, c: [a, b], "must come from liquid_tf.dataset"),
  )
  def test_what_resume_cannot_go_on_with(self, join, message):
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.keras.Resume(join(*self.datasets), "run")

  @parameterized.named_parameters(
    ("zip", _JOINED["zip"]),
    ("endless", lambda a, b, c: _endless(a, c)),
    ("three", lambda a, b, c: _endless(a, _endless(b, c).map(_same))),
    (
      "inside_of_a_batch",
      lambda a, b, c: a.map(
        lambda batch: _data.from_tensor_slices(batch["id"]).reduce(
          tf.constant(0, tf.int64), lambda total, one: total + one
        )
      ),
    ),
    (
      "known_length",
      lambda a, b, c: a.apply(tf.data.experimental.assert_cardinality(5)),
    ),
  )
  def test_what_resume_takes(self, join):
    liquid_tf.keras.Resume(join(*self.datasets), "run")

  def test_one_dataset_beside_others_is_counted(self):
    a = liquid_tf.dataset(self.path, 8, features=["id"])
    numbered = a.enumerate().shuffle(3).prefetch(1)
    self.assertLen(list(numbered), 5)
    self.assertEqual(liquid_tf.stats(numbered).summary()["batches"], 5)
    with self.assertRaisesRegex(ValueError, r"one for one, but has shuffle\(\)"):
      liquid_tf.position(numbered, 0, 5)
    self.assertEqual(liquid_tf.position(a, 0, 5)["epoch"], 1)


if __name__ == "__main__":
  tf.test.main()
