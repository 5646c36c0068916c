"""Tables keep what their cells say, or the error names the cell."""

import json
import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._convert.sources.annotations import tables
from liquid_tf.errors import ConvertError

_BOX = "file_name,ymin,xmin,ymax,xmax,label\n"


class ConvertTablesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _read(self, contents, name="t.csv"):
    path = self.root / name
    if isinstance(contents, list):
      contents = "\n".join(map(json.dumps, contents))
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return tables.read(os.fspath(path))

  def _labels(self, found) -> list:
    """Names or numbers of all boxes."""
    example = tf.train.Example()
    result = []
    for i in range(len(found)):
      self.assertEqual(found.fault(i, (9, 9)), "")
      example.ParseFromString(found.example(i, (9, 9)))
      result += example.features.feature["box_labels"].int64_list.value
    classes = found.features["box_labels"].get("classes")
    return result if classes is None else [classes[i] for i in result]

  @parameterized.parameters(
    (["3", "12", "0"], [3, 12, 0]),
    (["3.0", "12.0"], [3, 12]),
    (["9007199254740993", "2"], [9007199254740993, 2]),
    (["3", "3.0"], None),
    (["01", "1"], None),
    (["+5", "5"], None),
    (["1_000", "1000"], None),
    (["1e2", "100"], None),
    (["-0", "0"], None),
    (["٤", "4"], None),
    ([" 4", "4 "], [4, 4]),
    (["cat", " cat", "cat "], None),
    (["NaN", "Infinity", "None"], None),
    (["True", "False", "1"], None),
    (["0x1f", "31"], None),
    (["2.50", "2.5"], None),
  )
  def test_labels_of_a_csv(self, cells, wanted):
    rows = [f"{i}.png,1,1,5,5,{cell}\n" for i, cell in enumerate(cells)]
    found = self._labels(self._read(_BOX + "".join(rows)))
    self.assertEqual(found, cells if wanted is None else wanted)

  @parameterized.parameters(
    ([7, 2], [7, 2]),
    (["7", "2"], ["7", "2"]),
    ([7.0, 2], [7, 2]),
    ([7, "7"], r"label must have .* but has 7 \(int, line 1\) and '7' \(str, line 2\)"),
    ([True, 1], r"has True \(bool, line 1\) and 1 \(int, line 2\)"),
    ([[7], 1], r"has \[7\] \(list, line 1\)"),
    ([1, -1], "line 2 has the label -1, which is no class number: these count from 0"),
    ([1, 2.5], "line 2 has the label 2.5, which is no class number"),
    ([float("nan"), 1], "line 1 has the label nan, which is no class number"),
    ([2**63, 1], "line 1 has the label 9223372036854775808, which is no class"),
    (["", "a"], "line 1 has no label"),
    (["\ud800", "a"], "line 1 has a label that is no Unicode"),
  )
  def test_labels_of_json_lines(self, labels, wanted):
    rows = [
      {"file_name": f"{i}.png", **dict.fromkeys(tables.SIDES, 1), "label": label}
      for i, label in enumerate(labels)
    ]
    if isinstance(wanted, list):
      self.assertEqual(self._labels(self._read(rows, "t.jsonl")), wanted)
      return
    try:
      found = self._read(rows, "t.jsonl")
    except ConvertError as error:
      self.assertRegex(str(error), wanted)
    else:
      self.assertRegex("; ".join(found.fault(i, (9, 9)) for i in range(2)), wanted)

  @parameterized.parameters(
    (["5", "7", ""], "int64", [5, 7, 0]),
    (["5", "7.5", ""], "float64", [5, 7.5, np.nan]),
    (["true", "FALSE", ""], "bool", [True, False, False]),
    (["16777217", "2"], "int64", [16777217, 2]),
    (["5 ", " 7.5", ""], "float64", [5, 7.5, np.nan]),
    (["007", "7", ""], "string", [b"007", b"7", b""]),
    (["1.50", "x"], "string", [b"1.50", b"x"]),
    (["1e400", "2"], "string", [b"1e400", b"2"]),
    (["nan", "inf"], "string", [b"nan", b"inf"]),
    (['"a\nb"', "\tc "], "string", [b"a\nb", b"\tc "]),
    (["16777217", "0.5"], "float64", [16777217, 0.5]),
    (["9007199254740993", "0.5"], "column x has 9007199254740993, which float64", None),
    (["9223372036854775808"], "9223372036854775808, line 2. must fit 64 bits", None),
  )
  def test_other_columns(self, cells, dtype, wanted):
    text = "file_name,x\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    if wanted is None:
      with self.assertRaisesRegex(ConvertError, dtype):
        self._read(text)
      return
    read = self._read(text)
    lacking = sum(not cell for cell in cells)
    self.assertEqual(bool(read.notes), bool(lacking))
    if lacking:
      self.assertIn(f"{lacking} of {len(cells)} rows have no x, and", read.notes[0])
    found = read.scalars["x"].column(np.arange(len(cells)))
    self.assertEqual(found.dtype, dtype)
    self.assertAllEqual(list(found.values), wanted)
    self.assertEqual(found.default, 0 if wanted[-1] in (0, False) else None)

  @parameterized.parameters(
    (["45", "50.5 ", "NA", "", "61"], "3 of 4 cells of column x .*line 4 has 'NA'"),
    (
      ["45", '"61,5"', "33"],
      "2 of 3 cells of column x are .*line 3 has '61,5'.* names",
    ),
    (["45", "50"], None),
    (["007", "7"], None),
  )
  def test_names_that_look_like_numbers_are_told(self, cells, message):
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    (self.root / "t.csv").write_text(f"id,x\n{rows}")
    for named in (tables.UNNAMED, tables.Named(label="x")):
      notes = tables.read(os.fspath(self.root / "t.csv"), named).notes
      found = [note for note in notes if "are numbers" in note]
      self.assertLen(found, message is not None)
      if found:
        self.assertRegex(found[0], message)

  def test_a_number_that_is_none_is_kept(self):
    rows = [{"file_name": "a", "x": float("nan")}, {"file_name": "b", "x": -0.5}]
    for found in (
      self._read(rows, "t.jsonl"),
      self._read("file_name,x\na,nan\nb,-.5"),
    ):
      self.assertAllEqual(found.scalars["x"].values, [float("nan"), -0.5])

  def test_sides_of_images_are_said_and_not_kept(self):
    found = self._read("file_name,width,x\na.png,7,1\n")
    self.assertEqual(list(found.scalars), ["x"])
    self.assertRegex(found.notes[0], "t.csv: column width is not kept, since a dataset")

  @parameterized.parameters("utf-8", "utf-8-sig", "utf-16")
  def test_files_of_windows(self, encoding):
    text = _BOX.replace("\n", "\r\n") + "ä.png,1,1,5,5,Öl\r\n\r\n,,,,,\r\n"
    self.assertEqual(self._labels(self._read(text.encode(encoding))), ["Öl"])
    line = '{"file_name": "a.png", "x": "Öl"}\r\n'
    found = self._read((line + "\r\n").encode(encoding), "t.jsonl")
    self.assertEqual(list(found.keys), ["a.png"])

  @parameterized.parameters(
    ("file_name|xmin\na.png|4", r"has one column, 'file_name\|xmin': separate col"),
    ("file_name\txmin\na.png\t4,5", r"has one column, 'file_name\\txmin': separate"),
    ("photo,xmin\na.png,4", "must have a column that names .* columns photo, xmin"),
    ("", "must have a column that names the image of each row, file_name.* is empty"),
    ("file_name,XMax\na.png,4", "ymin, xmin, ymax, xmax, written so.* file_name, XMax"),
    ("file_name, xmin\na.png,4", "xmax, written so, or none"),
    ("file_name,x1,y1,label\na,1,2,3\na,4,5,6", "rows of a: .* it has a box, .* ymin"),
    ("file_name,x,x\na,1,2", "two columns have the name x"),
    (",file_name,x\n0,a,1", "column 1 has no name; pandas"),
    ('file_name,x\n"a\n\nb",1\n\nc', "line 6 has 1 values, but there are 2 columns"),
    (_BOX.replace("label", "kind") + "a,1,1,5,5,x", "a column label, .*, xmax, kind"),
    ("file_name,x\na,\udc80", "is no text in UTF-8: .* at byte 14"),
  )
  def test_tables_that_say_something_else(self, text, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._read(text.encode(errors="surrogateescape"))

  @parameterized.parameters(
    (
      '{"file_name": "a", "x": 1}\n{"file_name": "b", "x": "1"}',
      "has 1 .int, line 1. a",
    ),
    ('{"file_name": "a", "x": 1, "x": 2}', "line 1: two columns have the name x"),
    ('\n{"file_name": 7}', "line 2: file_name must be the name of an image, .* has 7"),
    ('{"file_name": "a"}\n\n{file_name}', "line 3: Expecting property name"),
  )
  def test_json_lines_that_contradict(self, text, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._read(text, "t.jsonl")

  def test_a_box_that_is_none_is_a_fault_of_its_image_alone(self):
    found = self._read(
      _BOX + "a,1,1,5,5,cat\nb,1,one,5,5,cat\nc,,,,,cat\nd,1,1,,5,cat\ne,,,,,\n"
    )
    for image, reason in enumerate(
      (
        "",
        "the box of line 3 .ymin 1, xmin one, ymax 5, xmax 5. must have four numbers",
        "the box of line 4 .ymin None, .* must have four numbers",
        "the box of line 5",
        "",
      )
    ):
      self.assertRegex(found.fault(image, (9, 9)), reason or "^$")

  def test_a_conversion(self):
    for name in ("a", "b"):
      photos.save(self.root / f"images/{name}.png", photos.photo("coffee")[:9, :9])
    path = self.root / "t.csv"
    path.write_text(_BOX + "a.png,1,1,5,5,08\nb.png,1,1,5,5,8\n")
    source = liquid_tf.Source(self.root / "images", annotations=path)
    output = os.fspath(self.root / "dataset")
    liquid_tf.convert(source, output, "png", progress=False)
    classes = liquid_tf.inspect(output)["features"]["box_labels"]["classes"]
    found = {one["name"]: one["box_labels"].tolist() for one in liquid_tf.open(output)}
    self.assertEqual(classes, ["08", "8"])
    self.assertEqual(found, {"a.png": [0], "b.png": [1]})


if __name__ == "__main__":
  tf.test.main()
