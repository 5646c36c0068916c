"""Labels and columns of tables: as people have them, into a dataset and out of it."""

import json
import os
import pathlib

import numpy as np
import photos
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError

_NAMES = ("a", "b", "c", "d")


class ColumnsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(7)
    for name in _NAMES:
      pixels = random.integers(0, 256, (6, 8, 3), np.uint8)
      photos.save(self.root / f"images/{name}.png", pixels)

  def _write(self, name, *lines) -> str:
    path = self.root / name
    lines = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(lines))
    return os.fspath(path)

  def _convert(self, *annotations, name="d", source=None, **more) -> str:
    output = os.fspath(self.root / name)
    folder = os.fspath(self.root / (source or "images"))
    given = liquid_tf.Source(folder, annotations=annotations, **more)
    self.report = liquid_tf.convert(
      given, output, "png:1,raw:1", existing="replace", progress=False
    )
    return output

  def _labels(self, path) -> list:
    """Of the samples by their names: names of classes, numbers or lists of them."""
    view = liquid_tf.open(path)
    found = {sample["name"]: sample["label"].tolist() for sample in view}
    return [
      found[name] if view.classes is None else view.classes[found[name]]
      for name in sorted(found)
    ]

  @parameterized.parameters(
    ("id,label", ["dog", "cat", "dog", "owl"], ["cat", "dog", "owl"]),
    ("image,target", ["007", "1e3", "True", "1_000"], ["007", "1_000", "1e3", "True"]),
    ("filename,class", ["7", "7.0", "x", "1"], ["1", "7", "7.0", "x"]),
    ("file_name,label", ["2", "0", "1", "2"], None),
    ("path,label", ["2.0", "0.0", "1.0", "2.0"], None),
    ("name,label", ["0.5", "-2", "1e3", "3"], None),
  )
  def test_labels_of_a_csv(self, head, cells, classes):
    stem = {"file_name": ".png", "filename": ".png"}.get(head.split(",")[0], "")
    rows = [f"{name}{stem},{cell}" for name, cell in zip(_NAMES, cells)]
    path = self._convert(self._write("t.csv", head, *rows))
    loaded = manifest.load(path)
    self.assertEqual(loaded.classes, classes)
    found = self._labels(path)
    if classes is not None:
      self.assertEqual(found, cells)
    elif "0.5" in cells:
      self.assertEqual(found, [[float(cell)] for cell in cells])
    else:
      self.assertEqual(found, [int(float(cell)) for cell in cells])
    self.assertEqual(loaded["supervised"], ["image", "label"])
    self.assertEqual(liquid_tf.verify(path)["problems"], [])

  @parameterized.parameters("csv", "jsonl")
  def test_tags_are_a_vector(self, kind):
    tags = [("x", "y", "z"), (1, 0, 1), (0, 0, 0), (1, 1, 1), (0, 1, 0)]
    if kind == "csv":
      rows = [",".join(map(str, row)) for row in tags]
      lines = [f"{n},{row}" for n, row in zip(("id", *_NAMES), rows)]
    else:
      lines = [
        {"id": n, **dict(zip(tags[0], map(bool, row)))}
        for n, row in zip(_NAMES, tags[1:])
      ]
    table = self._write(f"t.{kind}", *lines)
    path = self._convert(table, label_column=["z", "x", "y"])
    self.assertEqual(manifest.load(path)["features"]["label"]["shape"], [3])
    self.assertEqual(self._labels(path), [[z, x, y] for x, y, z in tags[1:]])
    chosen = liquid_tf.open(path).where(lambda t: t["label"][:, 1] == 1)
    self.assertEqual(chosen.names(chosen.numbers), ["a.png", "c.png"])
    lists = [{"image": n, "target": row} for n, row in zip(_NAMES, tags[1:])]
    again = self._convert(self._write("lists.jsonl", *lists), name="e")
    self.assertEqual(self._labels(again), list(map(list, tags[1:])))

  def test_columns_that_are_named(self):
    table = self._write("t.csv", "id,photo,kind,label", "1,a,u,x", "2,b,v,x", "3,c,u,x")
    with self.assertRaisesRegex(ConvertError, "column id must have a name that no"):
      self._convert(table, name_column="photo", label_column="kind")
    table = self._write("t.csv", "n,photo,kind", "1,a,u", "2,b,v", "3,c,u")
    with self.assertRaisesRegex(ConvertError, "1 without a label, as d.png: has no"):
      self._convert(table, name_column="photo", label_column="kind")
    os.remove(self.root / "images/d.png")
    path = self._convert(table, name_column="photo", label_column="kind")
    self.assertEqual(self._labels(path), ["u", "v", "u"])
    for more, message in (
      ({"name_column": "foto"}, 'name_column ("foto") must be a column of '),
      ({"label_column": "sort"}, 'label_column ("sort") must be a column of '),
      ({"label_column": ["kind", "q"]}, 'label_column ("kind") must be a column of '),
    ):
      with self.assertRaises(ConvertError) as caught:
        self._convert(table, **({"name_column": "photo"} | more))
      self.assertStartsWith(str(caught.exception), f"{message}{table}")

  def test_no_label_where_none_is_wanted(self):
    table = self._write("t.csv", "file_name,target", *(f"{n},3" for n in _NAMES))
    with self.assertRaisesRegex(ValueError, "label_column .* needs annotations"):
      liquid_tf.Source(self.root / "images", label_column="target")
    path = self._convert(table, label_column="")
    self.assertNotIn("label", manifest.load(path)["features"])

  @parameterized.parameters(
    (
      ["id,label", "a,1", "b,x", "c,", "d,2"],
      "1 without a label, as c.png: has no label, but",
    ),
    (
      ["id,label", "a,1", "b,nan", "c,1", "d,2"],
      "line 3: its label .nan. must be a fi",
    ),
    (["id,label", "a,1", "b,16777216", "c,1", "d,2"], "line 3: its label .16777216"),
    (["id,label", "a,Cat", "b,cat", "c,cat", "d,cat"], "t.csv has the labels .*differ"),
    (["id,label", "a,1", "a,2"], "has two rows of a: a row is an image, unless"),
    (["id,label", "a,1", "z,2"], "is annotated in .*t.csv, but is no image below"),
  )
  def test_labels_that_are_wrong(self, lines, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._write("t.csv", *lines))

  def test_a_vector_that_lacks_a_number(self):
    table = self._write("t.csv", "id,u,v", "a,1,1", "b,,2", "c,1,2", "d,3,4")
    with self.assertRaisesRegex(ConvertError, r"b.png.*t.csv: line 3 has no u"):
      self._convert(table, label_column=["u", "v"])

  def test_class_folders_are_none_beside_labels(self):
    for name, folder in zip(_NAMES, "xxyy"):
      pixels = np.full((4, 4, 3), ord(name), np.uint8)
      photos.save(self.root / f"classes/{folder}/{name}.png", pixels)
    table = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    path = self._convert(table, source="classes")
    self.assertEqual(self._labels(path), ["aa", "bb", "cc", "dd"])
    self.assertLen(self.report.notes, 1)
    self.assertRegex(
      self.report.notes[0], r"t.csv gives the labels, and folders .*\(x, y\) are no cl"
    )

  def test_several_annotations(self):
    labels = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    captions = self._write(
      "c.jsonl", *({"file_name": f"{n}.png", "caption": f"an {n}"} for n in _NAMES[1:])
    )
    coco = self._write(
      "coco.json",
      {
        "images": [{"id": i, "file_name": f"{n}.png"} for i, n in enumerate(_NAMES)],
        "categories": [{"id": 7, "name": "thing"}],
        "annotations": [
          {"id": 1, "image_id": 2, "category_id": 7, "bbox": [1, 1, 3, 2]}
        ],
      },
    )
    path = self._convert(labels, captions, coco)
    found = {sample["name"]: sample for sample in liquid_tf.open(path)}
    self.assertEqual(self._labels(path), ["aa", "bb", "cc", "dd"])
    self.assertEqual(found["c.png"]["boxes"].tolist(), [[1, 1, 3, 4]])
    self.assertEqual(found["b.png"]["boxes"].shape, (0, 4))
    with self.assertRaisesRegex(ConvertError, r"t.csv and .*u.csv both give label:"):
      self._convert(labels, self._write("u.csv", "id,label", "a,1"))
    again = self._write("again.csv", "id,caption", "a,x")
    with self.assertRaisesRegex(
      ConvertError, r"c.jsonl and .*again.csv both give capt"
    ):
      self._convert(labels, captions, again)
    listed = self._write("t.lst", *(f"{i}\t{i}\t{n}.png" for i, n in enumerate("abcd")))
    with self.assertRaisesRegex(ConvertError, r"t.lst and .*t.csv both give label:"):
      self._convert(labels, listed)
    path = self._convert(listed, captions)
    self.assertEqual(self._labels(path), [0, 1, 2, 3])
    with self.assertRaisesRegex(ValueError, "annotations .* must be given once"):
      self._convert(labels, labels)

  def test_a_table_that_changes_is_seen(self):
    """Between the scan and the shards, as where a conversion is gone on with."""
    table = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    given = liquid_tf.Source(self.root / "images", annotations=table)
    output = self.root / "resumed"
    with self.assertRaises(ConvertError):
      liquid_tf.convert(given, output, "jpeg", splits="train:.9,val:.001")
    self._write("t.csv", "id,label", "a,2", "b,1", "c,0", "d,3")
    with self.assertRaisesRegex(ConvertError, "changed since it was scanned"):
      liquid_tf.convert(given, output, "jpeg", existing="resume")


if __name__ == "__main__":
  absltest.main()
