"""A set with every fault: each image, box and label is right, or named."""

import codecs
import json
import pathlib
import unicodedata

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source

# Of all images, height and width.
_SIDES = (24, 32)
_HIDDEN = b"\0\5\x16\7\0\2\0\0Mac OS X"

# The boxes of each image, (class, x, y, width, height); each by the name that the
# annotations have for it, with that of its file.
_BOXES = {
  "a/one.png": ("a/one.png", [("cat", 1, 2, 5, 6), ("dog", 3, 3, 8, 8)]),
  "Two.PNG": ("a/two.png", [("dog", 0, 0, 32, 24)]),
  "caf\xe9.png": ("cafe\u0301.png", [("cat", 4, 4, 4, 4)]),
  "cut off.png": ("cut off.png", [("cat", -5, 3, 20, 40)]),
  "far.png": ("far.png", [("cat", 1, 1, 5, 5), ("dog", 1800, 1300, 90, 60)]),
  "gone.png": (None, [("dog", 1, 1, 5, 5)]),
  "nobody's.png": ("nobody's.png", []),
}


class AccountTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.images = self.root / "images"
    random = np.random.default_rng(3)
    for file in [*(file for file, _ in _BOXES.values() if file), "plain.png"]:
      photos.save(self.images / file, random.integers(0, 256, (*_SIDES, 3), np.uint8))
    self._write("images/._hidden.png", _HIDDEN)
    self._write("images/@eaDir/thumb.png", _HIDDEN)
    self._write("images/Thumbs.db", _HIDDEN)
    self._write("images/notes.txt", b"not an image")

  def _write(self, path: str, data: bytes) -> str:
    file = self.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return str(file)

  def _coco(self) -> str:
    names, classes = list(_BOXES), ["cat", "dog"]
    found = {
      "images": [{"id": f"i{i}", "file_name": name} for i, name in enumerate(names)],
      "categories": [{"id": 9.0, "name": "cat"}, {"id": 4, "name": "dog"}],
      "annotations": [
        {
          **{"id": 7, "image_id": f"i{i}", "bbox": list(place), "iscrowd": 0},
          **{"category_id": (9, 4)[classes.index(label)], "segmentation": [[1, 2, 3]]},
        }
        for i, name in enumerate(names)
        for label, *place in _BOXES[name][1]
      ],
    }
    return self._write("coco.json", codecs.BOM_UTF8 + json.dumps(found).encode())

  def _csv(self) -> str:
    lines = ["file_name,xmin,ymin,xmax,ymax,label"]
    for name, (_, boxes) in _BOXES.items():
      lines += [f"{name},{x},{y},{x + w},{y + h},{c}" for c, x, y, w, h in boxes]
      lines += [] if boxes else [f"{name},,,,,"]
    text = "\r\n".join([*lines, "", ""])
    return self._write("boxes.csv", codecs.BOM_UTF16_LE + text.encode("utf-16-le"))

  def _yolo(self) -> str:
    height, width = _SIDES
    self._write("yolo/classes.txt", codecs.BOM_UTF8 + b"cat\r\ndog\r\n\r\n")
    self._write("yolo/._one.txt", _HIDDEN)
    self._write("yolo/README.txt", b"two classes")
    for name, (_, boxes) in _BOXES.items():
      lines = [
        f"{('cat', 'dog').index(c)} {(x + w / 2) / width} {(y + h / 2) / height} "
        f"{w / width} {h / height}\r\n"
        for c, x, y, w, h in boxes
      ]
      self._write(f"yolo/{name[:-4]}.txt", "".join(lines).encode())
    return str(self.root / "yolo")

  def _voc(self) -> str:
    self._write("voc/._one.xml", _HIDDEN)
    self._write("voc/lists/train.txt", b"one\r\n")
    for name, (_, boxes) in _BOXES.items():
      things = "".join(
        f"<object><name>{c}</name><bndbox><xmin>{x + 1}</xmin><ymin>{y + 1}</ymin>"
        f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
        for c, x, y, w, h in boxes
      )
      text = f"<annotation>{things}</annotation>"
      self._write(f"voc/{name[:-4]}.xml", codecs.BOM_UTF8 + text.encode())
    return str(self.root / "voc")

  @parameterized.parameters("coco", "csv", "voc", "yolo")
  def test_of_boxes(self, kind):
    output = self.root / "dataset"
    report = convert(
      Source(self.images, annotations=getattr(self, f"_{kind}")()),
      output,
      "png",
      on_error="skip:50%",
      progress=False,
    )
    reasons = {one["path"]: one["reason"] for one in report.skipped}
    view = liquid_tf.open(output)
    samples = {sample["name"]: sample for sample in view}
    classes = liquid_tf.inspect(output)["features"]["box_labels"]["classes"]
    self.assertLen(samples, report.samples)
    for name, (file, boxes) in _BOXES.items():
      if name in ("far.png", "gone.png"):
        named = [path for path in reasons if pathlib.Path(path).stem == name[:-4]]
        self.assertLen(named, 1, (name, reasons))
        continue
      sample = samples.pop(next(n for n in samples if _alike(n, file)))
      wanted = [[y, x, y + h, x + w] for _, x, y, w, h in boxes]
      self.assertAllClose(sample["boxes"], np.reshape(wanted, (-1, 4)), atol=1e-4)
      labels = [classes[label] for label in sample["box_labels"].tolist()]
      self.assertEqual(labels, [c for c, *_ in boxes])
    self.assertEqual(list(samples), ["plain.png"])
    self.assertIn("1 of 2 boxes do not lie in the image", str(reasons))
    for path in ("._hidden.png", "@eaDir", "Thumbs.db", "notes.txt"):
      self.assertIn(path, reasons)
    notes = " ".join(report.notes)
    self.assertRegex(notes, "names of 2 images are written otherwise")
    self.assertRegex(notes, "1 of 7 images have no annotations .* as plain.png")
    self.assertEqual("segmentation, which 8 of 8" in notes, kind == "coco")

  def test_of_labels(self):
    labels = {"a/one.png": 1, "a/two.png": "nan", "cut off.png": 2**24, "far.png": 0}
    labels |= {"gone.png": 1, "nobody's.png": "inf"}
    lines = [f"{i}\t{label}\t{path}" for i, (path, label) in enumerate(labels.items())]
    path = self._write("set.lst", codecs.BOM_UTF8 + "\r\n".join(lines).encode())
    output = self.root / "dataset"
    report = convert(
      Source(self.images, annotations=path),
      output,
      "png",
      on_error="skip:80%",
      progress=False,
    )
    stored = {s["name"]: float(np.ravel(s["label"])[0]) for s in liquid_tf.open(output)}
    self.assertEqual(stored, {"a/one.png": 1.0, "far.png": 0.0})
    reasons = {one["path"]: one["reason"] for one in report.skipped}
    for name, said in (
      ("a/two.png", "nan"),
      ("cut off.png", "16777216"),
      ("gone.png", "not below"),
      ("nobody's.png", "inf"),
      (path, "does not list 4 files"),
    ):
      self.assertIn(said, reasons[name])
    batches = liquid_tf.dataset(output, 2, shuffle=False, features=["label"])
    (batch,) = batches.as_numpy_iterator()
    self.assertCountEqual(batch["label"].tolist(), [0, 1])


def _alike(name: str, other: str) -> bool:
  return unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", other)


if __name__ == "__main__":
  tf.test.main()
