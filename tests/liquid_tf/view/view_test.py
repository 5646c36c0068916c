"""Views by themselves: which samples they hold, and what they refuse."""

import os
import pathlib
import pickle
import shutil
import tempfile

import numpy as np
import runs
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._view.rows import Rows
from liquid_tf.errors import ManifestError


class ViewTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, sides=(16, 40), splits="train:.8,val:.2")
    cls.rows = [record["row"] for record in stored.records(cls.path)]
    cls.view = liquid_tf.open(cls.path)

  def test_of_a_whole_dataset(self):
    self.assertLen(self.view, 100)
    self.assertEqual(self.view.numbers.tolist(), list(range(100)))
    self.assertEqual(self.view.splits, ("train", "val"))
    self.assertEqual(sum(self.view.counts().values()), 100)
    self.assertIn("100 samples of train+val", repr(self.view))

  def test_splits_are_those_of_the_index(self):
    for number, name in enumerate(("train", "val")):
      wanted = sorted(int(row["sample"]) for row in self.rows if row["split"] == number)
      self.assertEqual(self.view.split(name).numbers.tolist(), wanted)
    self.assertLen(self.view.split("train+val"), 100)
    self.assertLen(self.view.split("val+val"), 20)

  def test_parts_that_meet_share_nothing(self):
    for at in ("10%", "33%", "17", "-9"):
      one = self.view.split(f"train[:{at}]").numbers
      other = self.view.split(f"train[{at}:]").numbers
      both = np.sort(np.concatenate([one, other]))
      self.assertAllEqual(both, self.view.split("train").numbers)

  def test_a_part_has_the_mix_and_goes_forward(self):
    whole, part = self.view.split("train"), self.view.split("train[25%:75%]")
    self.assertLen(part, 40)
    for name, count in whole.counts().items():
      self.assertLessEqual(abs(part.counts()[name] - count / 2), 1)
      stored_order = whole.rows(name)["sample"].tolist()
      mine = part.rows(name)["sample"].tolist()
      begin = stored_order.index(mine[0])
      self.assertEqual(mine, stored_order[begin : begin + len(mine)])

  def test_a_part_of_a_part(self):
    part = self.view.split("train").where(lambda t: t["number"] % 2 == 0)
    self.assertLen(part.split("train[:10%]"), round(len(part) / 10))
    self.assertAllInSet(part.split("train[:10%]").numbers % 2, [0])

  def test_union(self):
    found = self.view.split("train[:10%]+val+train[5%:15%]")
    self.assertLen(found, 12 + 20)

  def test_where(self):
    seen = {}

    def choose(table):
      seen.update(table)
      return (table["height"] > 25) & (table["split"] == "val")

    view = self.view.where(choose)
    by_sample = {int(row["sample"]): row for row in self.rows}
    for name in ("height", "width", "channels", "bits"):
      wanted = [by_sample[i][name] for i in range(100)]
      self.assertEqual(seen[name].tolist(), wanted)
    self.assertEqual(seen["number"].tolist(), list(range(100)))
    # Sorted by path: 25 of each class.
    self.assertEqual(seen["label"].tolist(), [i // 25 for i in range(100)])
    classes = self.view.manifest.classes
    for name, label in zip(seen["name"].tolist(), seen["label"].tolist()):
      self.assertStartsWith(name, classes[label] + "/")
    wanted = [i for i, row in by_sample.items() if row["height"] > 25 and row["split"]]
    self.assertEqual(view.numbers.tolist(), sorted(wanted))

  def test_where_takes_the_text_of_the_command(self):
    names = self.view.classes
    self.assertEqual(names, ["astronaut", "chelsea", "coffee", "ihc"])
    text = 'height > 25 and label in ("coffee", "ihc") or name.endswith("/0003.png")'
    wanted = self.view.where(
      lambda t: (
        ((t["height"] > 25) & (t["label"] >= names.index("coffee")))
        | np.char.endswith(t["name"], "/0003.png")
      )
    )
    self.assertEqual(self.view.where(text).numbers.tolist(), wanted.numbers.tolist())
    val = self.view.split("val")
    self.assertEqual(
      val.where("number % 2 == 0").numbers.tolist(),
      [number for number in val.numbers.tolist() if number % 2 == 0],
    )

  def test_labels_are_numbers_in_a_function(self):
    with self.assertRaisesRegex(
      ValueError,
      r"where must choose a sample of .*; it chooses none; labels are numbers in a "
      r"function \(0 'astronaut', 1 'chelsea', 2 'coffee', 3 'ihc'\), and names in a "
      r"""text, as where\('height >= 256 and label == "astronaut"'\)$""",
    ):
      self.view.where(lambda t: t["label"] == "coffee")
    with self.assertRaisesRegex(ValueError, "it chooses none$"):
      self.view.where(lambda t: t["height"] > 9000)

  @parameterized.parameters(
    (lambda t: t["height"] > 20 and t["label"] == "coffee",),
    (lambda t: not t["height"] > 20,),
    (lambda t: 20 < t["height"] < 30,),
    (lambda t: t["label"] in (1, 2),),
  )
  def test_python_joins_no_columns(self, function):
    with self.assertRaisesRegex(
      ValueError,
      r"where: function joins columns by and, .*: write &, \| and ~, .* or give a "
      r"""text, as where\('.* and label == "astronaut"'\); labels are numbers in a """
      r"function \(0 'astronaut', .*\), and names in a text$",
    ):
      self.view.where(function)

  def test_a_function_raises_what_it_likes(self):
    with self.assertRaisesRegex(ValueError, "^mine$"):
      self.view.where(lambda t: _raise(ValueError("mine")))

  @parameterized.parameters((3,), (None,), (np.ones(100, bool),))
  def test_a_condition_is_a_text_or_a_function(self, condition):
    with self.assertRaisesRegex(TypeError, r"where: condition \(.*\) must be a text"):
      self.view.where(condition)

  def test_a_part_has_the_classes_of_the_whole(self):
    kept = ["chelsea", "ihc"]
    two = self.view.where('label in ("chelsea", "ihc")')
    self.assertEqual(two.classes, self.view.classes)
    new = [kept.index(name) if name in kept else -1 for name in two.classes]
    size = liquid_tf.transforms.Resize((16, 16))
    ds = liquid_tf.dataset(two, 10, shuffle=False, transforms=[size]).map(
      lambda x, label: (x, tf.gather(new, label))
    )
    found = [number for _, labels in ds for number in labels.numpy().tolist()]
    self.assertEqual((found.count(0), found.count(1), len(found)), (25, 25, 50))

  def test_converted_a_part_keeps_its_classes(self):
    two = self.view.where('label in ("chelsea", "ihc")')
    output = f"{self.create_tempdir().full_path}/two"
    liquid_tf.convert(two, output, "raw", progress=False)
    made = liquid_tf.open(output)
    self.assertEqual(made.classes, self.view.classes)
    counts = liquid_tf.inspect(output)["features"]["label"]["class_counts"]
    self.assertEqual(counts, [0, 25, 0, 25])
    self.assertEqual({int(sample["label"]) for sample in made}, {1, 3})

  def test_folders_that_are_left_are_the_classes(self):
    two = self.view.split("train").where('label in ("chelsea", "ihc")')
    root = self.create_tempdir().full_path
    liquid_tf.export(two, f"{root}/two", "folder", progress=False)
    for folder in pathlib.Path(root, "two").iterdir():
      if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    liquid_tf.convert(f"{root}/two", f"{root}/two.liquid", "png", progress=False)
    made = liquid_tf.open(f"{root}/two.liquid")
    self.assertEqual(made.classes, ["chelsea", "ihc"])
    self.assertLen(made, len(two))

  def test_names_of_a_batch(self):
    val = self.view.split("val")
    table = {}
    val.where(lambda t: table.update(t) or t["number"] >= 0)
    named = dict(zip(table["number"].tolist(), table["name"].tolist()))
    size = liquid_tf.transforms.Resize((16, 16))
    seen = 0
    for batch in liquid_tf.dataset(val, 8, features=["id"], transforms=[size]):
      numbers = batch["id"].numpy()
      self.assertEqual(val.names(numbers), [named[n] for n in numbers.tolist()])
      seen += len(numbers)
    self.assertLen(val, seen)
    number = int(val.numbers[0])
    self.assertEqual(val.names([number, number]), [named[number]] * 2)
    self.assertEqual(val.names([]), [])
    self.assertEqual(val.balanced().names([number]), [named[number]])
    train = int(self.view.split("train").numbers[0])
    for wrong in (train, 100, -1, 2**62):
      with self.assertRaisesRegex(
        ValueError,
        rf"names: number \({wrong}\) must be of a sample of <View of .* val>",
      ):
        val.names([number, wrong])
    with self.assertRaisesRegex(ValueError, "names: numbers .* must be a list of"):
      val.names(number)

  def test_dir_has_what_users_call(self):
    _ = self.view.numbers, self.view.fingerprint
    found = {name for name in dir(self.view) if not name.startswith("_")}
    self.assertEqual(
      found,
      {"path", "version", "splits", "formats", "classes", "numbers", "counts", "names"}
      | {"split", "take", "where", "weighted", "balanced"},
    )
    self.assertIn("__getitem__", dir(self.view))

  def test_take(self):
    self.assertEqual(self.view.take([5, 3, 99]).numbers.tolist(), [3, 5, 99])
    self.assertLen(self.view.take(np.arange(7, dtype="u1")), 7)

  @parameterized.parameters(
    (lambda view: view.take([1, 100]), r"number \(100\) must be of a sample"),
    (lambda view: view.take([-1]), r"number \(-1\) must be of a sample"),
    (lambda view: view.take([3, 4, 3]), r"number \(3\) must be there once"),
    (lambda view: view.take([]), "must choose a sample"),
    (lambda view: view.take([1.5]), "must be a list of sample numbers"),
    (lambda view: view.take("abc"), "must be a list of sample numbers"),
    (lambda view: view.split("train[5:5]"), r"split \(.*\) must choose a sample"),
    (lambda view: view.split("train[5:3]"), r"split \(.*\) must choose a sample"),
    (lambda view: view.split("val").split("train"), '"train" must be one of "val"'),
    (lambda view: view.where(lambda t: t["height"] > 9000), "must choose a sample"),
    (lambda view: view.where(lambda t: t["height"]), "must give bool"),
    (lambda view: view.where(lambda t: [True]), "must give bool"),
    (lambda view: view.where(lambda t: None), "must give bool"),
  )
  def test_what_is_refused(self, choose, message):
    with self.assertRaisesRegex(ValueError, message):
      choose(self.view)

  def test_an_unknown_column(self):
    with self.assertRaisesRegex(KeyError, r'column \("heigth"\) must be one of'):
      self.view.where(lambda t: t["heigth"] > 3)

  def test_fingerprints(self):
    train = self.view.split("train")
    half = train.split("train[:50%]")
    self.assertLen({v.fingerprint for v in (self.view, train, half)}, 3)
    again = liquid_tf.open(self.path).split("train[:50%]")
    self.assertEqual(again.fingerprint, half.fingerprint)
    copied = os.path.join(self.create_tempdir().full_path, "copy")
    shutil.copytree(self.path, copied)
    self.assertEqual(
      liquid_tf.open(copied).split("train[:50%]").fingerprint, half.fingerprint
    )

  def test_pickled(self):
    view = self.view.split("train[:50%]")
    found = pickle.loads(pickle.dumps(view))
    self.assertAllEqual(found.numbers, view.numbers)
    self.assertEqual(found.fingerprint, view.fingerprint)
    self.assertLess(len(pickle.dumps(view)), 600)

  def test_pickled_of_another_dataset(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, per_class=3)
    data = pickle.dumps(liquid_tf.open(path).take([1]))
    shutil.rmtree(path)
    runs.make(root, per_class=4)
    with self.assertRaisesRegex(ManifestError, "another dataset than when its view"):
      pickle.loads(data)


def _raise(error: Exception):
  raise error


class RowsTest(tf.test.TestCase):
  def test_equals_a_list(self):
    random = np.random.default_rng(5)
    for _ in range(40):
      runs_of, wanted = [], []
      for _ in range(random.integers(0, 4)):
        rows = np.zeros(int(random.integers(0, 150_000)), [("sample", "<u8")])
        rows["sample"] = random.integers(0, 1 << 40, len(rows))
        mask = None
        if random.random() < 0.7:
          mask = random.random(len(rows)) < random.choice([0, 1e-4, 0.5, 1])
        runs_of.append((rows, mask))
        wanted += rows["sample"][... if mask is None else mask].tolist()
      rows = Rows(runs_of)
      self.assertLen(rows, len(wanted))
      self.assertEqual(rows["sample"].tolist(), wanted)
      for _ in range(5):
        a, b = sorted(random.integers(0, len(wanted) + 1, 2).tolist())
        self.assertEqual(rows[a:b]["sample"].tolist(), wanted[a:b])
        both = rows[a:b] + rows[:a]
        self.assertEqual(both["sample"].tolist(), wanted[a:b] + wanted[:a])
        if b < len(wanted):
          self.assertEqual(int(rows[b]["sample"]), wanted[b])


if __name__ == "__main__":
  tf.test.main()
