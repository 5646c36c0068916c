"""Detection sets: boxes of files beside the images become features of samples."""

import json
import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Orient, Resize

try:
  from pycocotools import coco as pycoco
except ImportError:
  pycoco = None
try:
  import pyarrow
  from pyarrow import parquet
except ImportError:
  parquet = None


def _coco(**changes):
  """Three images: two boxes, a crowd and one with keypoints; none; one."""
  data = {
    "images": [
      {"id": 7, "file_name": "a.png", "height": 30, "width": 40},
      {"id": 3, "file_name": "b.png", "height": 20, "width": 50},
      {"id": 9, "file_name": "c.png"},
    ],
    "categories": [
      {"id": 44, "name": "cat"},
      {"id": 2, "name": "dog", "keypoints": ["nose", "tail"]},
    ],
    "annotations": [
      {
        "id": 1,
        "image_id": 7,
        "category_id": 44,
        "bbox": [1.5, 2, 10, 20.25],
        "area": 123.5,
        "iscrowd": 0,
        "segmentation": [[1, 2, 3, 4, 5, 6]],
      },
      {"id": 2, "image_id": 9, "category_id": 44, "bbox": [0, 0, 8, 9]},
      {
        "id": 3,
        "image_id": 7,
        "category_id": 2,
        "bbox": [5, 6, 7, 8],
        "iscrowd": 1,
        "segmentation": {"size": [30, 40], "counts": [1200]},
        "keypoints": [6, 7, 2, 0, 0, 0],
      },
    ],
  }
  return data | changes


class AnnotationsTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    rng = np.random.default_rng(0)
    for name, shape in (
      ("a", (30, 40, 3)),
      ("b", (20, 50, 3)),
      ("c", (10, 12, 3)),
    ):
      pixels = rng.integers(0, 256, shape).astype(np.uint8)
      photos.save(self.root / f"images/{name}.png", pixels)

  def _write(self, name: str, contents: str | dict) -> str:
    path = self.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = contents if isinstance(contents, str) else json.dumps(contents)
    path.write_text(text)
    return os.fspath(path)

  def _convert(self, annotations: str, mix="l3", **options) -> str:
    path = os.fspath(self.root / "dataset")
    self.report = liquid_tf.convert(
      liquid_tf.Source(self.root / "images", annotations=annotations),
      path,
      mix,
      progress=False,
      **options,
    )
    return path

  def _read(self, path, *names) -> list[dict]:
    """Of images of unequal size, one at a time."""
    data = liquid_tf.dataset(path, None, shuffle=False, features=["id", *names])
    found = {int(one["id"]): one for one in data.as_numpy_iterator()}
    return [found[i] for i in sorted(found)]

  def test_coco(self):
    path = self._convert(self._write("coco.json", _coco()))
    features = manifest.load(path)["features"]
    self.assertEqual(features["boxes"]["shape"], [None, 4])
    self.assertEqual(features["box_labels"]["classes"], ["dog", "cat"])
    self.assertEqual(features["keypoints"]["shape"], [None, 2, 3])
    self.assertEqual(features["image_id"]["shape"], [])
    names = ["boxes", "box_labels", "area", "iscrowd", "keypoints", "image_id"]
    a, b, c = self._read(path, *names)
    self.assertAllEqual(a["boxes"], [[2, 1.5, 22.25, 11.5], [6, 5, 14, 12]])
    self.assertAllEqual(a["box_labels"], [1, 0])
    self.assertAllEqual(a["area"], [123.5, 56])
    self.assertAllEqual(a["iscrowd"], [0, 1])
    self.assertAllEqual(a["keypoints"], [np.zeros((2, 3)), [[7, 6, 2], [0, 0, 0]]])
    self.assertEqual((a["image_id"], b["image_id"], c["image_id"]), (7, 3, 9))
    self.assertEqual(b["boxes"].shape, (0, 4))
    self.assertAllEqual(c["boxes"], [[0, 0, 9, 8]])

  def test_pycocotools_agrees(self):
    if pycoco is None:
      self.skipTest("needs pycocotools")
    rng = np.random.default_rng(1)
    data = _coco()
    data["annotations"] = [
      {
        "id": i + 1,
        "image_id": int(rng.choice([7, 3, 9])),
        "category_id": int(rng.choice([44, 2])),
        "bbox": [float(x) for x in rng.uniform(0, 9, 4).round(2)],
        "area": float(rng.uniform(1, 80)),
        "iscrowd": int(rng.integers(2)),
      }
      for i in range(60)
    ]
    name = self._write("coco.json", data)
    theirs = pycoco.COCO(name)
    ids = sorted(theirs.getCatIds())
    samples = self._read(
      self._convert(name), "boxes", "box_labels", "area", "iscrowd", "image_id"
    )
    for sample in samples:
      wanted = theirs.loadAnns(theirs.getAnnIds(imgIds=[int(sample["image_id"])]))
      corners = [(y, x, y + h, x + w) for x, y, w, h in (one["bbox"] for one in wanted)]
      self.assertAllEqual(sample["boxes"], np.float32(corners).reshape(-1, 4))
      self.assertAllEqual(
        sample["box_labels"], [ids.index(one["category_id"]) for one in wanted]
      )
      self.assertAllEqual(sample["area"], np.float32([one["area"] for one in wanted]))
      self.assertAllEqual(sample["iscrowd"], [one["iscrowd"] for one in wanted])

  def test_an_unknown_category_goes_by_on_error(self):
    data = _coco()
    data["annotations"][1]["category_id"] = 5
    name = self._write("coco.json", data)
    with self.assertRaisesRegex(
      ConvertError, r"c\.png.*annotations\[1\] is of category 5, which categories has"
    ):
      self._convert(name)
    path = self._convert(name, on_error="skip:50%", existing="replace")
    self.assertEqual(manifest.load(path)["samples"], 2)
    self.assertIn("category 5", self.report.skipped[0]["reason"])

  @parameterized.parameters(
    ("no json", "is no JSON"),
    ('{"images": 3}', 'has no list "images"'),
    (
      _coco(images=[{"id": 1, "file_name": "a.png"}, {"id": 1, "file_name": "b.png"}]),
      r"images\[1\] has the id 1 of another",
    ),
    (
      _coco(images=[{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "a.png"}]),
      "images has a.png twice",
    ),
    (
      _coco(annotations=[{"image_id": 8, "category_id": 2, "bbox": [0, 0, 1, 1]}]),
      r"annotations\[0\] is of image 8, which is not in images",
    ),
    (
      _coco(annotations=[{"image_id": 7, "category_id": 2, "bbox": [0, 0, -1, 1]}]),
      "ends before it begins",
    ),
    (
      _coco(annotations=[{"image_id": 7, "category_id": 2, "bbox": [0, 0, 1]}]),
      r"must be \[x, y, width, height\]",
    ),
    (
      _coco(
        images=[{"id": i, "file_name": "x"} for i in (7, 3, 9)][:1], annotations=[]
      ),
      "are of no image below",
    ),
    (
      _coco(
        images=[{"id": 7, "file_name": "a.png", "height": 31, "width": 40}],
        annotations=[],
      ),
      "says 31x40 pixels, but the file has 30x40",
    ),
  )
  def test_files_that_are_wrong(self, contents, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._write("coco.json", contents))

  def test_annotations_of_files_that_are_not_there_are_told(self):
    data = _coco()
    data["images"].append({"id": 100, "file_name": "z.png"})
    self._convert(self._write("coco.json", data))
    self.assertIn("of 1 files that are not there, as z.png", str(self.report.skipped))

  def test_voc(self):
    def thing(name, *ends, more=""):
      sides = zip(("xmin", "ymin", "xmax", "ymax"), ends)
      place = "".join(f"<{side}>{end}</{side}>" for side, end in sides)
      return f"<object><name>{name}</name><bndbox>{place}</bndbox>{more}</object>"

    size = "<size><width>40</width><height>30</height><depth>3</depth></size>"
    dog = thing("dog", 1, 2, 40, 30, more="<difficult>1</difficult>")
    self._write(
      "voc/a.xml", f"<annotation>{size}{dog}{thing('cat', 5, 6, 7, 8)}</annotation>"
    )
    self._write("voc/b.xml", "<annotation></annotation>")
    path = self._convert(os.fspath(self.root / "voc"))
    a, b, c = self._read(path, "boxes", "box_labels", "difficult")
    # Pixels 1 to 40 are all 40, and 5 to 7 are three.
    self.assertAllEqual(a["boxes"], [[1, 0, 30, 40], [5, 4, 8, 7]])
    self.assertAllEqual(a["box_labels"], [1, 0])
    self.assertAllEqual(a["difficult"], [1, 0])
    self.assertEqual((len(b["boxes"]), len(c["boxes"])), (0, 0))
    features = manifest.load(path)["features"]
    self.assertEqual(features["box_labels"]["classes"], ["cat", "dog"])
    self._write("voc/c.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><annotation/>")
    with self.assertRaisesRegex(ConvertError, "declares a document type"):
      self._convert(os.fspath(self.root / "voc"), existing="replace")

  def test_yolo(self):
    self._write("labels/a.txt", "1 0.5 0.5 0.25 0.5\n\n0 0.125 0.1 0.25 0.2\n")
    self._write("labels/classes.txt", "cat\ndog\n")
    labels = os.fspath(self.root / "labels")
    path = self._convert(labels)
    a, b, _ = self._read(path, "boxes", "box_labels")
    self.assertAllClose(a["boxes"], [[7.5, 15, 22.5, 25], [0, 0, 6, 10]], atol=1e-5)
    self.assertAllEqual(a["box_labels"], [1, 0])
    self.assertEqual(b["boxes"].shape, (0, 4))
    features = manifest.load(path)["features"]
    self.assertEqual(features["box_labels"]["classes"], ["cat", "dog"])
    for line, message in (
      ("1 2 3", "line 1 of b.txt must be CLASS X Y WIDTH HEIGHT"),
      ("7 .1 .1 .1 .1", "is of class 7, and there are 2 names"),
      ("0 .1 .1 -1 .1", "ends before it begins"),
      ("0 nan .1 1 .1", "is not of finite numbers"),
    ):
      self._write("labels/b.txt", line)
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(labels, existing="replace")

  def test_yolo_files_beside_their_images(self):
    self._write("images/a.txt", "0 0.5 0.5 0.25 0.5\n")
    self._write("images/classes.txt", "cat\n")
    path = self._convert(os.fspath(self.root / "images"))
    a, b, c = self._read(path, "boxes")
    self.assertAllClose(a["boxes"], [[7.5, 15, 22.5, 25]], atol=1e-5)
    self.assertEqual((len(b["boxes"]), len(c["boxes"])), (0, 0))
    self.assertEqual(
      [one["path"] for one in self.report.skipped], ["a.txt", "classes.txt"]
    )

  @parameterized.parameters("csv", "jsonl", "parquet")
  def test_tables_of_boxes(self, kind):
    rows = [
      ("b.png", 1, 2, 3, 4.5, "dog", 7),
      ("a.png", 0, 0, 9, 9, "cat", 8),
      ("b.png", 5, 6, 7, 8, "cat", 9),
      ("c.png", None, None, None, None, None, None),
    ]
    names = ["file_name", "ymin", "xmin", "ymax", "xmax", "label", "track"]
    name = self._table(kind, names, rows)
    path = self._convert(name)
    a, b, c = self._read(path, "boxes", "box_labels", "track")
    self.assertAllEqual(a["boxes"], [[0, 0, 9, 9]])
    self.assertAllEqual(b["boxes"], [[1, 2, 3, 4.5], [5, 6, 7, 8]])
    self.assertAllEqual(b["box_labels"], [1, 0])
    self.assertAllEqual(b["track"], [7, 9])
    self.assertEqual(c["boxes"].shape, (0, 4))

  def _table(self, kind, names, rows) -> str:
    path = self.root / f"table.{kind}"
    if kind == "csv":
      lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
      path.write_text("\n".join([",".join(names), *lines]))
    elif kind == "jsonl":
      path.write_text("\n".join(json.dumps(dict(zip(names, row))) for row in rows))
    else:
      if parquet is None:
        self.skipTest("needs pyarrow")
      columns = {name: list(values) for name, values in zip(names, zip(*rows))}
      parquet.write_table(pyarrow.table(columns), path)
    return os.fspath(path)

  def test_parquet_without_its_reader(self):
    if parquet is not None:
      self.skipTest("pyarrow is there")
    with self.assertRaisesRegex(ConvertError, "needs pyarrow: pip install pyarrow"):
      self._convert(self._write("table.parquet", "x"))

  @parameterized.parameters("csv", "jsonl", "parquet")
  def test_tables_of_images(self, kind):
    rows = [("a.png", 3, 0.5, "north"), ("c.png", 4, 1.5, "süd")]
    path = self._convert(
      self._table(kind, ["file_name", "camera", "heat", "place"], rows)
    )
    a, b, c = self._read(path, "camera", "heat", "place")
    self.assertEqual((a["camera"], a["heat"], a["place"]), (3, 0.5, b"north"))
    self.assertEqual((b["camera"], b["heat"], b["place"]), (0, 0, b""))
    self.assertEqual(c["place"].decode(), "süd")

  @parameterized.parameters(
    ("file_name,ymin\na.png,3", "must have the columns ymin, xmin, ymax, xmax"),
    ("name,x\na.png,3", "row 1 must have a file_name"),
    ("file_name,x\na.png,3\na.png,4", "has two rows of a.png"),
    ("file_name,id\na.png,3", "column id must have a name that no other feature has"),
    ("file_name,label\na.png,3", "column label is of boxes, .* write a .lst"),
    ("file_name,ymin,xmin,ymax,xmax\na.png,1,2,3,4", "row 1 has no label"),
    ("file_name,ymin,xmin,ymax,xmax,label\na.png,5,2,3,4,1", "ends before it begins"),
    ("file_name,ymin,xmin,ymax,xmax,label\na.png,x,2,3,4,1", "must have four numbers"),
    ("file_name,x\na.png,1,2", "more values than there are columns"),
  )
  def test_tables_that_are_wrong(self, contents, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._write("table.csv", contents))

  def test_names_that_fit_two_images(self):
    pixels = np.zeros((4, 4, 3), np.uint8)
    for folder in ("x", "y"):
      photos.save(self.root / f"images/{folder}/1.png", pixels)
    for name in ("a", "b", "c"):
      os.remove(self.root / f"images/{name}.png")
    name = self._write("t.csv", "file_name,n\n1.png,5")
    with self.assertRaisesRegex(ConvertError, "1.png in .* fit x/1.png and y/1.png"):
      self._convert(name)
    name = self._write("t.csv", "file_name,n\nx/1.png,5\ny/1.png,6")
    path = self._convert(name)
    self.assertEqual([int(one["n"]) for one in self._read(path, "n")], [5, 6])

  def test_places_that_are_no_annotations(self):
    (self.root / "empty").mkdir()
    for path, message in (
      (self.root / "empty", "must hold either .xml files"),
      (self.root / "none.txt", "must be a .json file of COCO, a table"),
      (self.root / "none.json", "cannot read .*none.json"),
    ):
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(os.fspath(path))

  def test_boxes_follow_a_conversion(self):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(self.root / "images/a.png").save(self.root / "images/a.png", exif=exif)
    path = self._convert(
      self._write("coco.json", _coco()), transforms=[Orient(), Resize((60, 20))]
    )
    a, b, _ = self._read(path, "boxes", "keypoints", "image")
    self.assertEqual(a["image"].shape, (60, 20, 3))
    # 30x40 is turned to 40x30, y0 x0 y1 x1 to x0 30-y1 x1 30-y0; then 1.5 and 2/3.
    turned = np.array([[1.5, 30 - 22.25, 11.5, 28], [5, 16, 12, 24]])
    self.assertAllClose(a["boxes"], turned * [1.5, 2 / 3, 1.5, 2 / 3], atol=1e-5)
    self.assertAllClose(a["keypoints"][1, 0], [6 * 1.5, 23 * 2 / 3, 2], atol=1e-5)
    self.assertAllEqual(a["keypoints"][1, 1], [0, 0, 0])
    self.assertEqual(b["boxes"].shape, (0, 4))

  def test_annotations_go_with_copies_and_formats(self):
    path = self._convert(self._write("coco.json", _coco()), mix="png:1,l3:1")
    again = os.fspath(self.root / "again")
    liquid_tf.convert(path, again, "raw", progress=False)
    names = ["boxes", "box_labels", "image_id", "keypoints"]
    for one, other in zip(self._read(path, *names), self._read(again, *names)):
      for name in names:
        self.assertAllEqual(one[name], other[name])
    features = manifest.load(again)["features"]
    self.assertEqual(features["boxes"]["shape"], [None, 4])
    self.assertEqual(features["box_labels"]["classes"], ["dog", "cat"])


if __name__ == "__main__":
  tf.test.main()
