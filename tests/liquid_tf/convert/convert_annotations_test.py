"""Detection sets: boxes of files beside the images become features of samples."""

import json
import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._convert.sources import folders
from liquid_tf._convert.sources.annotations.annotated import annotate
from liquid_tf._convert.sources.annotations.read import read
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

  def _fault(self, annotations: str, key: str, size=(10, 12)) -> str:
    """What is wrong with an image, by its annotations."""
    found = read(annotations, skips=False)
    return found.fault(found.keys[key], size)

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
    self.assertEqual(manifest.load(path)["columns"]["image_id"]["dtype"], "int64")
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
    wrong = r"annotations\[1\] has the category_id 5, which none of categories has"
    with self.assertRaisesRegex(ConvertError, rf"c\.png.*{wrong}"):
      self._convert(name)
    path = self._convert(name, on_error="skip:50%", existing="replace")
    self.assertEqual(manifest.load(path)["samples"], 2)
    self.assertRegex(self.report.skipped[0]["reason"], wrong)

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
      r"annotations\[0\] has the image_id 8, which none of images has",
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

  def test_annotations_of_files_that_are_not_there_count(self):
    data = _coco()
    data["images"].append({"id": 100, "file_name": "z.png"})
    data["images"].append({"id": 101, "file_name": "y.png"})
    name = self._write("coco.json", data)
    lost = "2 lost, as z.png, y.png: is annotated in .*coco.json, but is no image below"
    with self.assertRaisesRegex(ConvertError, f"2 of 5 samples .*{lost}"):
      self._convert(name)
    self._convert(name, on_error="skip:40%", existing="resume")
    self.assertEqual(self.report.samples, 3)
    self.assertEqual([one["path"] for one in self.report.skipped], ["y.png", "z.png"])

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
      ("1 2 3", "line 1 must be CLASS X Y WIDTH HEIGHT, five numbers, but has 3"),
      ("7 .1 .1 .1 .1", "is of class 7, and there are 2 names"),
      ("0 .1 .1 -1 .1", "ends before it begins"),
      ("0 nan .1 1 .1", "is not of finite numbers"),
      ("0 .1 .1 .2 .1 .2 .2 .3 .4", "has 9 numbers, as a polygon of 4 points"),
      ("0 .1 .1 .2 .1 .9", "has 6 numbers$"),
      ("1.5 .1 .1 .1 .1", "is of class 1.5, which must be a whole number"),
      ("dog .1 .1 .1 .1", r"line 1 \('dog .1 .1 .1 .1'\) must be CLASS X Y"),
      ("0 .1 .1 .1 1_0", r"line 1 \('0 .1 .1 .1 1_0'\) must be CLASS X Y"),
    ):
      self._write("labels/b.txt", line)
      self.assertRegex(self._fault(labels, "b"), f"labels/b.txt: .*{message}")
    with self.assertRaisesRegex(ConvertError, "as b.png: .*b.txt: line 1 "):
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

  @parameterized.parameters(
    ({"id": "7"}, {"id": 1}, r"ids? of images\[1\] is 3, a number, and that of images"),
    ({"id": True}, {"id": 1}, r"id of images\[0\] must be .*, and is true"),
    ({"id": None}, {"id": 1}, r"id of images\[0\] must be .*, and is null"),
    ({"id": 7}, {"id": 2.5}, r"id of categories\[0\] must be .*, and is 2.5, a number"),
    ({"id": 7}, {}, r"id of categories\[0\] must be .*, and is missing"),
    ({"id": 7}, {"id": 2}, r"categories\[1\] has the id 2 of another, categories\[0\]"),
    ({"id": 7}, {"id": 1 << 70}, r"id of categories\[0\] must be a whole number"),
  )
  def test_ids_that_are_none(self, image, category, message):
    data = _coco()
    del data["images"][0]["id"], data["categories"][0]["id"]
    data["images"][0] |= image
    data["categories"][0] |= category
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._write("coco.json", data))

  def test_a_reference_of_another_type_is_said(self):
    for value, said in (
      ("44", '"44", a text'),
      (False, "false, no number"),
      (None, "null"),
    ):
      data = _coco()
      data["annotations"][0]["category_id"] = value
      fault = self._fault(self._write("coco.json", data), "a.png", None)
      wanted = f"has the category_id {said}, and ids of categories are numbers"
      self.assertIn(f"coco.json: annotations[0] {wanted}", fault)
    data = _coco()
    data["annotations"][0]["image_id"] = "7"
    with self.assertRaisesRegex(ConvertError, '"7", a text, and ids of images are num'):
      self._convert(self._write("coco.json", data))

  @parameterized.parameters((lambda n: f"n{n}", b"n7"), (float, 7))
  def test_ids_that_are_texts_or_end_in_zero_do(self, kind, first):
    data = _coco()
    for name, keys in (
      ("images", ["id"]),
      ("categories", ["id"]),
      ("annotations", ["id", "image_id", "category_id"]),
    ):
      for one in data[name]:
        one |= {key: kind(one[key]) for key in keys}
    path = self._convert(self._write("coco.json", data))
    classes = manifest.load(path)["features"]["box_labels"]["classes"]
    a, _, c = self._read(path, "box_labels", "image_id")
    self.assertEqual([classes[n] for n in a["box_labels"]], ["cat", "dog"])
    self.assertEqual([classes[n] for n in c["box_labels"]], ["cat"])
    self.assertEqual(a["image_id"], first)

  @parameterized.parameters(
    ({"area": "123"}, r'area of annotations\[1\], "123", a text, must be a number'),
    ({"iscrowd": "0"}, r'iscrowd of annotations\[1\], "0", a text, must be 0 or 1'),
    ({"bbox": [0, 0, 1e39, 1]}, "is not of finite numbers"),
    ({"bbox": [0, 0, 10**400, 1]}, r"must be \[x, y, width, height\]"),
  )
  def test_values_of_another_type(self, change, message):
    data = _coco()
    data["annotations"][1] |= change
    self.assertRegex(self._fault(self._write("coco.json", data), "c.png"), message)

  def test_a_size_that_is_none(self):
    data = _coco()
    data["images"][1]["height"] = "20"
    with self.assertRaisesRegex(
      ConvertError, r'height of images\[1\] must be a number of pixels, and is "20", a'
    ):
      self._convert(self._write("coco.json", data))

  def test_what_coco_has_more_is_told(self):
    data = _coco()
    data["annotations"][0] |= {"attributes": {"occluded": True}, "ignore": 0}
    del data["categories"][1]["keypoints"]
    path = self._convert(self._write("coco.json", data))
    notes = [note.partition("coco.json: ")[2] for note in self.report.notes]
    self.assertEqual(
      notes,
      [
        "attributes, which 1 of 3 annotations have, is not kept",
        "keypoints, which 1 of 3 annotations have, is not kept",
        "segmentation, which 2 of 3 annotations have, is not kept",
      ],
    )
    self.assertNotIn("keypoints", manifest.load(path)["features"])

  def _voc(self, name: str, *objects: str, head: str = "") -> None:
    self._write(name, f"{head}<annotation>{''.join(objects)}</annotation>")

  def _object(self, *ends: float, name: str = "cat", more: str = "") -> str:
    sides = zip(("xmin", "ymin", "xmax", "ymax"), ends)
    place = "".join(f"<{side}>{end}</{side}>" for side, end in sides)
    return f"<object><name>{name}</name>{more}<bndbox>{place}</bndbox></object>"

  def test_what_voc_has_more_is_told(self):
    part = "<part><name>head</name></part><occluded>0</occluded><pose>Left</pose>"
    self._voc("voc/a.xml", self._object(1, 1, 5, 5, more=part))
    self._voc("voc/b.xml", self._object(1, 1, 5, 5))
    self._convert(os.fspath(self.root / "voc"))
    said, without = self.report.notes
    self.assertRegex(said, "voc: part, which 1 of 2 objects have, is not kept")
    wanted = "1 of 3 images have no annotations and no boxes, as c.png"
    self.assertRegex(without, wanted)

  def test_boxes_that_do_not_lie_in_their_images(self):
    def coco(*box):
      one = {"image_id": 9, "category_id": 2, "bbox": list(box)}
      return self._write("coco.json", _coco(annotations=[one])), "c.png"

    def yolo(line):
      self._write("yolo/c.txt", f"1 .5 .5 .1 .1\n1 {line}\n")
      return os.fspath(self.root / "yolo"), "c"

    def voc(*ends):
      self._voc("voc/c.xml", self._object(*ends))
      return os.fspath(self.root / "voc"), "c"

    def table(row):
      head = "file_name,xmin,ymin,xmax,ymax,label"
      return self._write("t.csv", f"{head}\nc.png,{row},1"), "c.png"

    none = "1 of 1 boxes do not lie in the image: it has 10x12 pixels"
    share = "their numbers must be shares of the sides"
    for make, given, message in (
      (
        coco,
        (40, 50, 5, 5),
        f"coco.json: {none}, .* y 50 to 55 and x 40 to 45",
      ),
      (coco, (0, 0, 30, 25), none),
      (
        coco,
        (-9, 2, 5, 5),
        f"{none}, and they reach from y 2 to 7 and x -9 to -4",
      ),
      (yolo, ("6 5 4 3",), "c.txt: 1 of 2 boxes .* numbers look like pixels, and must"),
      (yolo, ("1 1 3 3",), "look like pixels"),
      (yolo, ("1.4 .5 .2 .2",), f"y 0.4 to 0.6 and x 1.3 to 1.5; {share}"),
      (voc, (20, 1, 25, 4), f"c.xml: {none}, .* are they of another size of the image"),
      (table, ("1,10.5,3,12",), f"t.csv: {none}"),
      (
        coco,
        (0.2, 0, 0.5, 1),
        "1 of 1 boxes lie in the first pixel: .* like shares",
      ),
      (
        voc,
        (0.1, 0.2, 0.5, 0.6),
        "c.xml: .* like shares of the sides, and must be p",
      ),
      (table, ("0.5,0.5,1,1",), "t.csv: .* like shares of the sides, and must be pixe"),
      (voc, (1, 1, 1, 1), "^$"),
    ):
      self.assertRegex(self._fault(*make(*given)), message)
    path, _ = coco(40, 50, 5, 5)
    with self.assertRaisesRegex(ConvertError, f"1 of 3 samples .*as c.png: .*{none}"):
      self._convert(path)
    self._convert(path, on_error="skip:40%", existing="resume")
    self.assertEqual([one["path"] for one in self.report.skipped], ["c.png"])

  def test_boxes_that_are_cut_off_or_flat_stay(self):
    boxes = [[-3, -2, 8, 30], [12, 10, 0, 0], [3, 4, 0, 5], [0, 0, 14, 12]]
    of = {"image_id": 9, "category_id": 2}
    data = _coco(annotations=[of | {"bbox": box} for box in boxes])
    path = self._convert(self._write("coco.json", data))
    self.assertEqual(len(self._read(path, "boxes")[2]["boxes"]), 4)
    self.assertRegex(str(self.report.notes), "2 of 4 boxes have no area; they are kept")

  def test_sizes_of_images_that_pillow_does_not_know(self):
    pixels = np.zeros((10, 12, 3), np.uint8)
    (self.root / "images/c.png").unlink()
    encoded = liquid_tf.codecs.encode_l3(pixels).numpy()
    (self.root / "images/c.l3").write_bytes(encoded)
    self._write("labels/c.txt", "0 .5 .5 .5 .5")
    path = self._convert(os.fspath(self.root / "labels"))
    self.assertAllClose(self._read(path, "boxes")[2]["boxes"], [[2.5, 3, 7.5, 9]])

  def test_names_that_systems_write_otherwise(self):
    names = ["Caf\u00e9/\u00c4.JPG", "x/D.png", "x/b.png", "x/c.png"]
    for name in names:
      photos.save(self.root / "other" / name, np.zeros((9, 9, 3), np.uint8))
    keys = ["cafe\u0301\\A\u0308.jpg", "./X/d.PNG", "B.png"]
    rows = [f"{key},{i}" for i, key in enumerate(keys, 1)]
    table = self._write("t.csv", "\n".join(["file_name,n", *rows]))
    found = annotate(
      folders.list_folder(os.fspath(self.root / "other")), [table], False
    )
    self.assertEqual([found.path(i) for i in range(4)], names)
    given = [found.columns([i], None)[-2].item() for i in range(4)]
    self.assertEqual(given, [0, 1, 2, -1])
    alike, without = found.notes
    self.assertRegex(alike, r"3 images are written otherwise .* as cafe.* for Caf.")
    self.assertRegex(
      without, "1 of 4 images have no annotations and no values of its col"
    )

  def test_names_that_are_alike_in_two_ways(self):
    def given(*rows):
      table = self._write("t.csv", "\n".join(["file_name,n", *rows]))
      folder = folders.list_folder(os.fspath(self.root / "images"))
      return annotate(folder, [table], False).columns([0, 1], None)[-2][:, 0].tolist()

    both = "annotations of A.png and of a.PNG in .* fit a.png, which differs"
    with self.assertRaisesRegex(ConvertError, both):
      given("A.png,1", "a.PNG,2")
    photos.save(self.root / "images/A.png", np.zeros((9, 9, 3), np.uint8))
    # The one that has the name has the annotations, and the other one is alike.
    self.assertEqual(given("a.PNG,1", "A.png,2"), [1, 0])
    with self.assertRaisesRegex(ConvertError, "a.PNG in .* fit A.png and a.png: name"):
      given("a.PNG,1")

  def test_other_files_beside_yolos(self):
    self._write("labels/a.txt", "1.0 .5 .5 .2 .2\r\n")
    (self.root / "labels/B.TXT").write_text("0 .5 .5 .2 .2\n", "utf-8-sig")
    (self.root / "labels/c.txt").write_text("0 .5 .5 .2 .2\n", "utf-16")
    self._write("labels/obj.names", "\ufeffcat\r\nsea lion\r\n\r\n")
    self._write("labels/README.txt", "About 3 photographs.")
    self._write("labels/train.txt", "images/a.png\nimages/b.png\n")
    self._write("labels/data.yaml", "nc: 2")
    (self.root / "labels/.c.txt.swp").write_bytes(b"\xff\xfe\0")
    self._write("labels/__MACOSX/a.txt", "\0")
    path = self._convert(os.fspath(self.root / "labels"))
    found = [len(one["boxes"]) for one in self._read(path, "boxes")]
    self.assertEqual(found, [1, 1, 1])
    classes = manifest.load(path)["features"]["box_labels"]["classes"]
    self.assertEqual(classes, ["cat", "sea lion"])
    skipped = [os.path.basename(one["path"]) for one in self.report.skipped]
    self.assertEqual(skipped, [".c.txt.swp", "README.txt", "__MACOSX", "train.txt"])
    self.assertRegex(self.report.skipped[1]["reason"], r"line 1 \('About 3 photog")

  def test_the_labels_of_an_image_are_read_whatever_they_hold(self):
    self._write("labels/a.txt", "0 .5 .5 .2 .2")
    self._write("labels/b.txt", "no labels yet")
    wrong = r"b.txt: line 1 \('no labels yet'\) must"
    with self.assertRaisesRegex(ConvertError, f"as b.png: .*{wrong}"):
      self._convert(os.fspath(self.root / "labels"))
    self._write("labels/b.txt", "")
    self._write("labels/z.txt", "0 .5 .5 .2 .2")
    with self.assertRaisesRegex(ConvertError, "1 lost, as z: is annotated in .*z.txt"):
      self._convert(os.fspath(self.root / "labels"), existing="replace")

  def test_names_of_classes_that_are_doubtful(self):
    labels = os.fspath(self.root / "labels")
    self._write("labels/x/a.txt", "1 .5 .5 .2 .2")
    self._write("labels/x/classes.txt", "cat\n \ndog\n")
    with self.assertRaisesRegex(ConvertError, "x/classes.txt has a blank line 2"):
      read(labels, False)
    self._write("labels/x/classes.txt", "cat\ndog\n")
    features = read(labels, False).features
    self.assertEqual(features["box_labels"]["classes"], ["cat", "dog"])
    self._write("labels/obj.names", "dog\ncat\n")
    with self.assertRaisesRegex(ConvertError, "obj.names and .*classes.txt name other"):
      read(labels, False)

  def test_other_files_beside_vocs(self):
    head = '<?xml version="1.0" encoding="utf-16"?>'
    self._voc("voc/a.xml", self._object(1, 1, 5, 5, name="k\u00f6ter"), head=head)
    text = (self.root / "voc/a.xml").read_text()
    (self.root / "voc/a.xml").write_text(text, "utf-16")
    self._voc("voc/B.XML", self._object(1, 1, 5, 5))
    self._write("voc/labelmap.xml", "<labels><label/></labels>")
    self._write("voc/sets/train.txt", "a\nb\n")
    self._write("voc/classes.txt", "cat")
    path = self._convert(os.fspath(self.root / "voc"))
    a, b, _ = self._read(path, "boxes")
    self.assertEqual((len(a["boxes"]), len(b["boxes"])), (1, 1))
    features = manifest.load(path)["features"]
    self.assertEqual(features["box_labels"]["classes"], ["cat", "k\u00f6ter"])
    [skipped] = self.report.skipped
    self.assertRegex(skipped["path"], "voc/labelmap.xml")
    self.assertRegex(skipped["reason"], "holds <labels>, not <annotation>")

  @parameterized.parameters(
    ("<annotation>", "is no XML: no element found"),
    ('<?xml version="1.0" encoding="gbk"?><annotation/>', "is no XML: multi-byte"),
    ('<?xml version="1.0" encoding="none"?><annotation/>', "is no XML: unknown enc"),
    (
      "<annotation><object><name> </name></object></annotation>",
      "object 0 must have a",
    ),
  )
  def test_files_of_voc_that_are_wrong(self, contents, message):
    self._voc("voc/a.xml", self._object(1, 1, 5, 5))
    self._write("voc/c.xml", contents)
    path = os.fspath(self.root / "voc")
    self.assertRegex(self._fault(path, "c"), f"voc/c.xml: .*{message}")
    features = read(path, False).features
    self.assertEqual(features["box_labels"]["classes"], ["cat"])

  def test_a_document_type_in_utf_16(self):
    self._voc("voc/a.xml", head="<!DOCTYPE a [<!ENTITY b 'c'>]>")
    text = (self.root / "voc/a.xml").read_text()
    (self.root / "voc/a.xml").write_text(text, "utf-16")
    fault = self._fault(os.fspath(self.root / "voc"), "a")
    self.assertIn("declares a document type", fault)

  def test_two_files_of_one_image(self):
    for name in ("a.txt", "a.TXT"):
      self._write(f"labels/{name}", "0 .5 .5 .2 .2")
    with self.assertRaisesRegex(ConvertError, "has both a.TXT and a.txt, of one image"):
      read(os.fspath(self.root / "labels"), False)

  def test_json_with_a_mark(self):
    path = self.root / "coco.json"
    for encoding in ("utf-8-sig", "utf-16"):
      path.write_text(json.dumps(_coco()), encoding)
      self.assertLen(read(os.fspath(path), False), 3)
    path.write_bytes(b'{"images": "\xff"}')
    with self.assertRaisesRegex(ConvertError, "coco.json is no text in UTF-8: .* 12;"):
      read(os.fspath(path), False)

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
    with self.assertRaisesRegex(ConvertError, 'need pyarrow: pip install "pyarrow'):
      self._convert(self._write("table.parquet", "x"))

  @parameterized.parameters("csv", "jsonl", "parquet")
  def test_tables_of_images(self, kind):
    rows = [("a.png", 3, 0.5, "north"), ("c.png", 4, 1.5, "süd")]
    path = self._convert(
      self._table(kind, ["file_name", "camera", "heat", "place"], rows)
    )
    a, b, c = self._read(path, "camera", "heat", "place")
    self.assertEqual((a["camera"], a["heat"], a["place"]), (3, 0.5, b"north"))
    self.assertEqual((b["camera"], b["place"]), (0, b""))
    self.assertTrue(np.isnan(b["heat"]))
    self.assertEqual(c["place"].decode(), "süd")

  @parameterized.parameters(
    ("file_name,ymin\na.png,3", "must have the columns ymin, xmin, ymax, xmax"),
    ("file,x\na.png,3", "must have a column that names .* it has the columns file, x"),
    (
      "file_name,x\n,3",
      "line 2: file_name must be the name of an image, but it has no",
    ),
    ("file_name,x\na.png,3\na.png,4", "has two rows of a.png"),
    ("file_name,id\na.png,3", "column id must have a name that nothing else of"),
    ("file_name,ymin,xmin,ymax,xmax\na.png,1,2,3,4", "column label, the class"),
    ("file_name,ymin,xmin,ymax,xmax,label\na.png,1,2,3,4,", "line 2 has no label"),
    ("file_name,ymin,xmin,ymax,xmax,label\na.png,5,2,3,4,1", "ends before it begins"),
    ("file_name,ymin,xmin,ymax,xmax,label\na.png,x,2,3,4,1", "must have four numbers"),
    ("file_name,x\na.png,1,2", "line 2 has 3 values, but there are 2 columns"),
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
