"""annotate reads tables of every kind, and refuses what does not fit the samples."""

import json
import os
import pathlib
import shutil
import tempfile

import living
import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import columns, texts
from liquid_tf._store import manifest as manifests
from liquid_tf.errors import ConvertError, ManifestError


class AnnotateTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    source = f"{cls.root}/source"
    cls.names = living.images(source, np.random.default_rng(1), {"cat": 3, "dog": 2})
    liquid_tf.convert(source, f"{cls.root}/made", "png:1,raw:1", progress=False)

  def setUp(self):
    super().setUp()
    folder = tempfile.mkdtemp(dir=self.root)
    self.path = shutil.copytree(f"{self.root}/made", f"{folder}/dataset")
    self.folder = folder

  def _column(self, name: str):
    values = columns.load(manifests.load(self.path), name)
    if isinstance(values, texts.Texts):
      return [values[i] for i in range(len(values))]
    return values

  def _file(self, name: str, text: str) -> str:
    path = pathlib.Path(self.folder, name)
    path.write_text(text, encoding="utf-8")
    return os.fspath(path)

  def test_csv_by_name(self):
    rows = [
      f"{name},{i},{i / 4},{'TRUE' if i else 'false'},00{i}"
      for i, name in enumerate(self.names)
    ]
    table = self._file("t.csv", "path,n,f,b,code\n" + "\n".join(rows) + "\n")
    liquid_tf.annotate(self.path, table)
    self.assertAllEqual(self._column("n"), range(5))
    self.assertEqual(self._column("n").dtype, np.int64)
    self.assertAllEqual(self._column("f"), np.arange(5) / 4)
    self.assertEqual(self._column("f").dtype, np.float64)
    self.assertAllEqual(self._column("b"), [False, True, True, True, True])
    self.assertEqual(self._column("code"), ["000", "001", "002", "003", "004"])

  def test_texts_that_python_takes_for_numbers(self):
    cells = [["1_0", "+4", "٣", " 5", "10"], ["nan", "", "1e400", "6", "7"]]
    rows = [f"{i},{s},{t}\r\n" for i, (s, t) in enumerate(zip(*cells))]
    table = self._file("t.csv", "")
    pathlib.Path(table).write_bytes(("number,s,t\r\n" + "".join(rows)).encode("utf-16"))
    liquid_tf.annotate(self.path, table)
    self.assertEqual([self._column(name) for name in "st"], cells)

  def test_large_numbers_do_not_join_a_column_of_fractions(self):
    liquid_tf.annotate(self.path, {"number": [0], "x": [0.5]})
    with self.assertRaisesRegex(ConvertError, r'column \("x"\) has 9007199254740993'):
      liquid_tf.annotate(self.path, {"number": [1], "x": [2**53 + 1]})

  def test_json_lines_by_number(self):
    rows = [{"number": i, "x": i + 0.5, "t": f"<{i}>"} for i in (4, 1, 0)]
    table = self._file("t.jsonl", "\n".join(map(json.dumps, rows)))
    liquid_tf.annotate(self.path, table)
    self.assertAllEqual(self._column("x"), [0.5, 1.5, np.nan, np.nan, 4.5])
    self.assertEqual(self._column("t"), ["<0>", "<1>", "", "", "<4>"])

  def test_parquet(self):
    try:
      import pyarrow as pa
      from pyarrow import parquet
    except ImportError:
      self.skipTest("pyarrow is not installed")
    table = pa.table({"sample": [0, 1, 2, 3, 4], "n": [5, 4, 3, 2, 1]})
    parquet.write_table(table, f"{self.folder}/t.parquet")
    liquid_tf.annotate(self.path, f"{self.folder}/t.parquet")
    self.assertAllEqual(self._column("n"), [5, 4, 3, 2, 1])

  def test_columns_choose(self):
    liquid_tf.annotate(
      self.path,
      {"sample": np.arange(5), "q": [0.1, 0.9, 0.5, 0.7, 0.2], "by": list("aabba")},
    )
    view = liquid_tf.open(self.path).where(lambda t: (t["q"] > 0.4) & (t["by"] == "b"))
    self.assertEqual(view.numbers.tolist(), [2, 3])
    self.assertIn("q", liquid_tf.inspect(self.path)["columns"])

  def test_lists_of_numbers(self):
    vectors = np.arange(10.0).reshape(5, 2)
    liquid_tf.annotate(self.path, {"name": self.names, "v": vectors})
    self.assertAllEqual(self._column("v"), vectors)
    self.assertEqual(self._column("v").dtype, np.float32)
    liquid_tf.annotate(self.path, {"sample": [3], "v": [[7, 0.5]]})
    self.assertAllEqual(self._column("v")[3], [7, 0.5])
    with self.assertRaisesRegex(ConvertError, "lists of 2 numbers, but the table of 1"):
      liquid_tf.annotate(self.path, {"sample": [3], "v": [[7]]})
    found = liquid_tf.dataset(self.path, 5, features=["v", "id"]).take(1)
    for batch in found.as_numpy_iterator():
      self.assertAllEqual(batch["v"], self._column("v")[batch["id"]])
    source = f"{self.folder}/more"
    living.images(source, np.random.default_rng(2), {"cat": 1})
    liquid_tf.append(self.path, source, progress=False)
    self.assertAllEqual(self._column("v")[-1], [np.nan, np.nan])
    self.assertEqual(liquid_tf.verify(self.path)["problems"], [])

  def test_names_as_convert_takes_them(self):
    stems = [name.split(".")[0] for name in self.names]
    liquid_tf.annotate(self.path, {"image_id": stems, "n": range(5)})
    self.assertAllEqual(self._column("n"), range(5))
    liquid_tf.annotate(self.path, {"number": range(5), "image_id": list("vwxyz")})
    self.assertEqual(self._column("image_id"), list("vwxyz"))

  def test_rows_change_a_column_that_is_there(self):
    liquid_tf.annotate(
      self.path, {"sample": range(5), "n": range(5), "t": list("abcde")}
    )
    liquid_tf.annotate(self.path, {"sample": [3], "n": [-7], "t": ["x"], "new": [1.0]})
    self.assertAllEqual(self._column("n"), [0, 1, 2, -7, 4])
    self.assertEqual(self._column("t"), list("abcxe"))
    self.assertAllEqual(self._column("new"), [np.nan] * 3 + [1.0, np.nan])
    first = columns.load(manifests.load(self.path, 2), "n")
    self.assertAllEqual(first, range(5))
    with self.assertRaisesRegex(
      ConvertError, r'column \("n"\) is int64, but .* string'
    ):
      liquid_tf.annotate(self.path, {"sample": [3], "n": ["x"]})

  def test_defaults(self):
    table = {"sample": [1], "n": [5], "b": [True], "f": [1.5], "t": ["x"]}
    with self.assertRaisesRegex(
      ConvertError, r'"n", int64\) has no value for 4 samples, as 0: give defaults'
    ):
      liquid_tf.annotate(self.path, table)
    defaults = {"n": -1, "b": False, "t": "?"}
    liquid_tf.annotate(self.path, table, defaults=defaults)
    self.assertAllEqual(self._column("n"), [-1, 5, -1, -1, -1])
    self.assertAllEqual(self._column("b"), [False, True, False, False, False])
    self.assertEqual(self._column("t"), ["?", "x", "?", "?", "?"])
    # They are those of samples that come, too.
    source = f"{self.folder}/more"
    living.images(source, np.random.default_rng(2), {"cat": 1})
    liquid_tf.append(self.path, source, progress=False)
    self.assertAllEqual(self._column("n"), [-1, 5, -1, -1, -1, -1])
    self.assertAllEqual(self._column("f")[-1:], [np.nan])
    self.assertEqual(self._column("t")[-1], "?")

  def test_a_column_without_a_default_keeps_samples_out(self):
    liquid_tf.annotate(self.path, {"sample": range(5), "n": range(5)})
    source = f"{self.folder}/more"
    living.images(source, np.random.default_rng(2), {"cat": 1})
    with self.assertRaisesRegex(
      ConvertError, r'"n", int64\) has no value for new samp'
    ):
      liquid_tf.append(self.path, source, progress=False)
    liquid_tf.annotate(self.path, {"sample": [0], "n": [9]}, defaults={"n": 3})
    liquid_tf.append(self.path, source, progress=False)
    self.assertAllEqual(self._column("n"), [9, 1, 2, 3, 4, 3])
    self.assertEqual(liquid_tf.verify(self.path)["problems"], [])

  @parameterized.parameters(
    ({"x": [1.0]}, "must have one of the columns number, sample .*: it has none"),
    ({"number": [0], "name": ["a"], "x": [1]}, "it has number and name"),
    ({"number": [0]}, "must have a row, and a column beside number"),
    ({"number": [], "x": []}, "column x has no values|must have a row"),
    ({"number": [0, 1], "x": [1.0]}, "all columns must be equally long"),
    ({"number": [0, 0], "x": [1.0, 2.0]}, "two rows of sample 0"),
    ({"number": [5], "x": [1.0]}, r"1 rows are of no sample of .*, as row 1 \(5\)"),
    ({"number": [-1], "x": [1.0]}, "are of no sample"),
    ({"number": [2**70], "x": [1.0]}, "are of no sample"),
    ({"number": [0.5], "x": [1.0]}, r"number \(0.5\) of row 1 must be a sample number"),
    ({"name": ["no.png"], "x": [1.0]}, r"1 rows are of no sample .*'no.png'"),
    ({"name": ["a", "a"], "x": [1.0, 2.0]}, r'name \("a"\) is there twice'),
    ({"number": [0], "label": [1]}, r"column \('label'\) must have a name"),
    ({"number": [0], "": [1]}, r"column \(''\) must have a name"),
    ({"number": [0], "x": [2**63]}, r"x \(9223372036854775808, row 1\) must fit 64"),
    (
      {"number": [0, 1], "x": [[1, 2], [3]]},
      r"of one length, but has 2 .* and 1 .row 2",
    ),
    ({"number": [0], "x": [["a"]]}, r"lists of 1 to 1048576 numbers, but has \['a'\]"),
    (
      {"number": [0], "x": [[1e39]]},
      "of row 1 has a number that float32 does not hold",
    ),
    ({"number": [0], "x": [None]}, "column x has no values"),
    ({"number": [0], "x": ["\ud800"]}, "must be valid Unicode"),
    (
      {"number": [0, 1], "x": [True, 2]},
      r"has True \(bool, row 1\) and 2 \(int, row 2",
    ),
    ({"number": [0, 1], "x": [3, "3"]}, r"has 3 \(int, row 1\) and '3' \(str, row 2\)"),
    (
      {"number": [0, 1], "x": [0.5, 2**53 + 1]},
      "has 9007199254740993, which float64 d",
    ),
  )
  def test_tables_that_do_not_fit(self, table, message):
    with self.assertRaisesRegex(ConvertError, message):
      liquid_tf.annotate(self.path, table)
    self.assertEqual(liquid_tf.open(self.path).version, 1)

  @parameterized.parameters(
    ("t.csv", "number,x\n0,1,2\n", "line 2 has 3 values, but there are 2 columns"),
    ("t.csv", 'number,x\n0,"1\n', "cannot be read"),
    ("t.jsonl", "[1]\n", "line 1 is no object"),
    ("t.jsonl", '{"number": 0, "x": {}}\n', "column x must have numbers, or"),
    ("t.parquet", "no", "cannot be read|need pyarrow"),
    ("t.txt", "number,x\n", "must end with one of .csv, .jsonl, .parquet"),
  )
  def test_files_that_are_no_tables(self, name, text, message):
    with self.assertRaisesRegex(ConvertError, message):
      liquid_tf.annotate(self.path, self._file(name, text))
    with self.assertRaisesRegex(ConvertError, "cannot read|must end|need pyarrow"):
      liquid_tf.annotate(self.path, f"{self.folder}/none-{name}")

  @parameterized.parameters(
    ({"y": 1}, r'defaults \("y"\) must be of a column'),
    ({"n": 1.5}, r"must be of int64"),
    ({"n": True}, r"must be of int64"),
    ({"n": 2**63}, r"must be of int64"),
  )
  def test_defaults_that_do_not_fit(self, defaults, message):
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.annotate(self.path, {"number": [0], "n": [1]}, defaults=defaults)

  def test_a_removed_sample_has_no_row(self):
    liquid_tf.remove(liquid_tf.open(self.path).take([1]))
    for table in ({"number": [1], "x": [1.0]}, {"name": [self.names[1]], "x": [1.0]}):
      with self.assertRaisesRegex(ConvertError, "are of no sample"):
        liquid_tf.annotate(self.path, table)
    liquid_tf.annotate(self.path, {"number": [0, 2, 3, 4], "n": [1, 2, 3, 4]})
    self.assertEqual(liquid_tf.verify(self.path)["problems"], [])

  def _check_labels(self, path, wanted) -> None:
    """Compares labels, by number, in all ways of reading them."""
    view = liquid_tf.open(path)
    self.assertAllEqual(view["label"], wanted)
    self.assertAllEqual([sample["label"] for sample in view], wanted)
    features = ["image", "label", "id"]
    with liquid_tf.loader(path, 2, features=features) as loader:
      for batches in (liquid_tf.dataset(path, 2, features=features), loader):
        for batch in batches:
          self.assertAllEqual(batch["label"], np.asarray(wanted)[batch["id"]])
    found = [label.numpy() for _, label in liquid_tf.dataset(path, 5)]
    self.assertCountEqual(np.concatenate(found).tolist(), np.array(wanted).tolist())
    found = liquid_tf.inspect(path)["features"]["label"]
    if "class_counts" in found:
      counts = np.bincount(wanted, minlength=len(found["classes"]))
      self.assertEqual(found["class_counts"], counts.tolist())
    self.assertEqual(liquid_tf.verify(path)["problems"], [])

  def test_labels_are_corrected(self):
    self.assertEqual(
      [name.split("/")[0] for name in self.names], ["cat"] * 3 + ["dog"] * 2
    )
    before = liquid_tf.open(self.path)
    report = liquid_tf.annotate(
      self.path, labels={"name": self.names[2:4], "label": ["owl", "cat"]}
    )
    self.assertEqual((report.version, report.changed), (2, 2))
    wanted = [0, 0, 2, 0, 1]
    self._check_labels(self.path, wanted)
    view = liquid_tf.open(self.path)
    self.assertEqual(view.classes, ["cat", "dog", "owl"])
    self.assertEqual(view.where('label == "owl"').numbers.tolist(), [2])
    self.assertLen(view.weighted({"owl": 0}).numbers, 4)
    # The version before has the labels that it had.
    self.assertAllEqual(before["label"], [0, 0, 0, 1, 1])
    self.assertAllEqual([one["label"] for one in before], [0, 0, 0, 1, 1])
    # Again, by numbers, beside a column.
    table = self._file("right.csv", "number,target\n0,1\n")
    report = liquid_tf.annotate(self.path, {"number": [3], "w": [2.0]}, labels=table)
    self.assertEqual(report.changed, 2)
    wanted[0] = 1
    self._check_labels(self.path, wanted)
    # All that is made of it has them in its records.
    again, out = f"{self.folder}/again", f"{self.folder}/out"
    liquid_tf.convert(self.path, again, "pcr", progress=False)
    self.assertNotIn("corrected", manifests.load(again)["labels"])
    self._check_labels(again, wanted)
    liquid_tf.export(self.path, out, to="folder", progress=False)
    folders = [
      sorted(p.name for p in pathlib.Path(out, c).iterdir()) for c in view.classes
    ]
    self.assertEqual(list(map(len, folders)), [2, 2, 1])
    # Those that come are beside them, and those that go are not counted.
    source = f"{self.folder}/more"
    living.images(source, np.random.default_rng(2), {"owl": 1, "ant": 1})
    liquid_tf.append(self.path, source, progress=False)
    wanted = [*wanted, *liquid_tf.open(self.path)["label"][5:].tolist()]
    self.assertCountEqual(wanted[5:], [2, 3])
    self._check_labels(self.path, wanted)
    liquid_tf.remove(liquid_tf.open(self.path).take([1]))
    liquid_tf.compact(self.path)
    found = liquid_tf.inspect(self.path)
    self.assertEqual(found["features"]["label"]["class_counts"], [1, 2, 2, 1])
    self.assertEqual(liquid_tf.verify(self.path)["problems"], [])
    copied = f"{self.folder}/copied"
    liquid_tf.copy(self.path, copied)
    self.assertAllEqual(liquid_tf.open(copied)["label"], np.delete(wanted, 1))

  def test_labels_and_columns_of_a_mixture(self):
    other = shutil.copytree(self.path, f"{self.folder}/other")
    for path, scale in ((self.path, 1), (other, 10)):
      table = {"number": range(5), "n": np.arange(5) * scale, "t": list("abcde")}
      liquid_tf.annotate(path, table)
    liquid_tf.annotate(other, labels={"number": range(5), "label": [1] * 5})
    members = [(liquid_tf.open(path), 1) for path in (self.path, other)]
    features = ["label", "n", "t", "id", "format"]
    mixed = liquid_tf.mixture(members)
    right = {(n, b"abcde"[n : n + 1], int(n > 2)) for n in range(5)}
    right |= {(10 * n, b"abcde"[n : n + 1], 1) for n in range(5)}
    with liquid_tf.loader(mixed, 4, features=features) as loader:
      for batches in (liquid_tf.dataset(mixed, 4, features=features), loader):
        seen = set()
        for batch in batches:
          values = [np.asarray(batch[name]).tolist() for name in ("n", "t", "label")]
          seen |= set(zip(*values))
        self.assertEqual(seen, right)
    liquid_tf.annotate(other, {"number": range(5), "m": range(5)})
    members = [(liquid_tf.open(path), 1) for path in (other, self.path)]
    with self.assertRaisesRegex(ValueError, '"m".* in all members, and .* has none'):
      liquid_tf.dataset(liquid_tf.mixture(members), 4, features=["m"])

  def test_labels_of_a_dataset_that_has_none(self):
    for i, labels in enumerate((list("babba"), range(5), [0.5, 1, 2, 3, -1])):
      source, path = f"{self.folder}/plain{i}", f"{self.folder}/plain{i}.liquid"
      for n in range(5):
        photos.save(f"{source}/{n}.png", np.full((4, 4, 3), n, np.uint8))
      liquid_tf.convert(source, path, "png:1,l3:1", progress=False)
      with self.assertRaisesRegex(
        ConvertError, "all of its .* 4 have no row, as sample 0"
      ):
        liquid_tf.annotate(path, labels={"number": [3], "label": [labels[3]]})
      liquid_tf.annotate(path, labels={"id": list("01234"), "label": labels})
      if i < 2:
        self._check_labels(path, [1, 0, 1, 1, 0] if i == 0 else list(range(5)))
      else:
        self._check_labels(path, np.array(labels, np.float32)[:, np.newaxis])
      again = f"{self.folder}/again{i}"
      liquid_tf.convert(path, again, "raw", progress=False)
      self.assertAllEqual(liquid_tf.open(again)["label"], liquid_tf.open(path)["label"])

  @parameterized.parameters(
    (
      {"number": [0], "label": ["Cat"]},
      "have classes .*cat.* and .*Cat.*, which differ",
    ),
    (
      {"number": [0], "label": [2]},
      r"label \(2, row 1\) must be a class number in .0, 1",
    ),
    ({"number": [0], "label": [-1]}, "must be a class number in .0, 1., or the name"),
    ({"number": [0], "label": [0.5]}, "must be a class number"),
    ({"number": [0], "label": [[1]]}, "must be a class number"),
    ({"number": [0], "label": [True]}, "must be numbers, or names of classes"),
    ({"number": [0, 1], "label": [None, "cat"]}, "row 1 has no label"),
    ({"number": [0], "label": [""]}, "row 1 has no label"),
    ({"number": [0], "label": [float("nan")]}, "must be a finite number"),
    (
      {"number": [0], "kind": [1]},
      "of labels must have number and one column more, lab",
    ),
    ({"number": [0], "label": [1], "x": [1]}, "one column more, .*: it has label, x"),
    ({"number": [7], "label": [1]}, "1 rows are of no sample"),
  )
  def test_labels_that_do_not_fit(self, table, message):
    with self.assertRaisesRegex(ConvertError, message):
      liquid_tf.annotate(self.path, labels=table)
    with self.assertRaisesRegex(
      ConvertError, "column .*label.*; labels=… corrects labels"
    ):
      liquid_tf.annotate(self.path, {"number": [0], "label": [1]})
    with self.assertRaisesRegex(ValueError, "table .None. or labels=… must be given"):
      liquid_tf.annotate(self.path)
    self.assertEqual(liquid_tf.open(self.path).version, 1)

  @parameterized.parameters("column-0-2.npy", "column-1-2.npy", "column-1-2.bin")
  def test_damage_is_found(self, name):
    liquid_tf.annotate(self.path, {"number": [0], "x": [1.0], "t": ["abc"]})
    path = pathlib.Path(self.path, name)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    [problem] = liquid_tf.verify(self.path)["problems"]
    self.assertRegex(problem, f"{name} is damaged")
    with self.assertRaisesRegex(ManifestError, f"{name} is damaged"):
      liquid_tf.open(self.path).where(lambda t: (t["x"] == 1) & (t["t"] == ""))
    path.unlink()
    with self.assertRaisesRegex(ManifestError, f"{name} is missing"):
      liquid_tf.open(self.path)


if __name__ == "__main__":
  tf.test.main()
