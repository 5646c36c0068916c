"""Hugging Face's imagefolder: tables beside images, which no flag names."""

import json
import os
import pathlib
import shutil
import unittest

import numpy as np
import photos
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf.errors import ConvertError

try:
  import pyarrow
  from pyarrow import parquet
except ImportError:
  parquet = None


class ImageFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source, self.output = f"{self.root}/photos", f"{self.root}/made.liquid"

  def _images(self, *names):
    random = np.random.default_rng(0)
    for name in names:
      crop = photos.crop(photos.photo("coffee"), (20, 30), random)
      photos.save(pathlib.Path(self.source, name), crop)

  def _table(self, name: str, rows: list[dict]) -> None:
    path = pathlib.Path(self.source, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
      if parquet is None:
        raise unittest.SkipTest("needs pyarrow")
      parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif name.endswith(".jsonl"):
      path.write_text("\n".join(map(json.dumps, rows)))
    else:
      lines = [",".join(rows[0]), *(",".join(map(str, r.values())) for r in rows)]
      path.write_text("\n".join(lines))

  def _convert(self, source=None, **options):
    source = source or self.source
    return convert(source, self.output, "raw", progress=False, workers=2, **options)

  def _samples(self) -> dict[str, dict]:
    view = liquid_tf.open(self.output)
    names = view.names(range(len(view)))
    return {name: view[number] for number, name in enumerate(names)}

  @parameterized.parameters("csv", "jsonl", "parquet")
  def test_captions_and_labels(self, extension):
    self._images("0.png", "below/1.png", "2.png")
    rows = [
      {"file_name": "0.png", "text": "ein Süd", "label": "cup", "weight": 0.5},
      {"file_name": "below/1.png", "text": "b", "label": "tea", "weight": 2.5},
      {"file_name": "2.png", "text": "c", "label": "cup", "weight": 3.5},
    ]
    self._table(f"metadata.{extension}", rows)
    report = self._convert()
    self.assertEqual(report.classes, {"cup": 2, "tea": 1})
    self.assertEqual(report.skipped, [])
    path = f"{self.source}/metadata.{extension}"
    self.assertIn(f"{path} says what images show: text, label, weight", report.notes)
    samples = self._samples()
    for row in rows:
      sample = samples[row["file_name"]]
      self.assertEqual(sample["text"], row["text"])
      self.assertEqual(sample["weight"], row["weight"])
      self.assertEqual(sample["label"], int(row["label"] == "tea"))

  @parameterized.parameters("jsonl", "parquet")
  def test_several_captions(self, extension):
    self._images("0.png", "1.png")
    rows = [
      {"file_name": "0.png", "text": ["ein Süd", "b"], "more": {"k": [1]}},
      {"file_name": "1.png", "text": [], "more": None},
    ]
    self._table(f"metadata.{extension}", rows)
    report = self._convert()
    samples = self._samples()
    self.assertEqual(samples["0.png"]["text"], '["ein Süd", "b"]')
    self.assertEqual(samples["1.png"]["text"], "[]")
    self.assertEqual(samples["0.png"]["more"], '{"k": [1]}')
    notes = [note for note in report.notes if "kept as JSON" in note]
    self.assertLen(notes, 1)
    self.assertIn("text, more: lists and objects", notes[0])

  def test_an_empty_table(self):
    self._images("0.png")
    pathlib.Path(self.source, "metadata.jsonl").write_text("")
    with self.assertRaisesRegex(ConvertError, "metadata.jsonl is empty: write its"):
      self._convert()

  def test_a_table_in_each_split(self):
    self._images("train/0.png", "train/1.png", "test/0.png")
    self._table(
      "train/metadata.csv",
      [{"file_name": "0.png", "text": "a"}, {"file_name": "1.png", "text": "b"}],
    )
    row = {"file_name": "0.png", "text": "c", "more": 7}
    self._table("test/metadata.jsonl", [row])
    report = self._convert()
    self.assertEqual(report.splits, {"train": 2, "test": 1})
    found = {name: sample["text"] for name, sample in self._samples().items()}
    wanted = {"train/0.png": "a", "train/1.png": "b", "test/0.png": "c"}
    self.assertEqual(found, wanted)
    self.assertEqual(self._samples()["test/0.png"]["more"], 7)
    self._table("test/metadata.jsonl", [{"file_name": "9.png", "text": "c"}])
    with self.assertRaisesRegex(ConvertError, "test/9.png.* but is no image below"):
      self._convert(existing="replace")
    self._table("test/metadata.jsonl", [{"file_name": None, "text": "c"}])
    with self.assertRaisesRegex(ConvertError, "test/metadata.jsonl, line 1: file_name"):
      self._convert(existing="replace")

  def test_classes_of_folders_stay(self):
    self._images("cup/0.png", "tea/1.png")
    rows = [{"file_name": "cup/0.png", "text": "a"}]
    rows.append({"file_name": "tea/1.png", "text": "b"})
    self._table("metadata.jsonl", rows)
    self.assertEqual(self._convert().classes, {"cup": 1, "tea": 1})
    self.assertEqual(self._samples()["tea/1.png"]["text"], "b")

  @parameterized.parameters("jsonl", "parquet")
  def test_boxes(self, extension):
    self._images("0.png", "1.png", "2.png")
    objects = [
      {"bbox": [[1.0, 2.0, 10.0, 5.0], [0.0, 0.0, 3.5, 4.0]], "categories": ["b", "a"]},
      {"bbox": [], "categories": []},
      {"bbox": [[4.0, 3.0, 2.0, 1.0]], "categories": ["b"]},
    ]
    rows = [
      {"file_name": f"{i}.png", "text": f"t{i}", "objects": one}
      for i, one in enumerate(objects)
    ]
    self._table(f"metadata.{extension}", rows)
    self._convert()
    samples = self._samples()
    for i, boxes in enumerate(([[2, 1, 7, 11], [0, 0, 4, 3.5]], [], [[3, 4, 4, 6]])):
      sample = samples[f"{i}.png"]
      found = np.reshape(sample["boxes"], (-1, 4))
      np.testing.assert_array_equal(found, np.reshape(boxes, (-1, 4)))
      self.assertEqual(sample["text"], f"t{i}")
    self.assertEqual(list(samples["0.png"]["box_labels"]), [1, 0])

  def test_boxes_in_a_list_of_objects(self):
    self._images("0.png", "1.png")
    one = {"bbox": [1, 2, 3, 4], "area": 12}
    rows = [{"file_name": "0.png", "objects": [one]}, {"file_name": "1.png"}]
    self._table("metadata.jsonl", rows)
    report = self._convert()
    np.testing.assert_array_equal(self._samples()["0.png"]["boxes"], [[2, 1, 6, 4]])
    notes = " ".join(report.notes)
    self.assertIn("area of objects are not kept", notes)
    self.assertIn("have no categories, and all are of class 0", notes)

  @parameterized.parameters(
    ({"bbox": [[1, 2, 3]]}, "line 1: objects must have bbox, a list of"),
    ({"bbox": [[1, 2, 3, "x"]]}, "line 1: objects must have bbox"),
    ([7], "line 1: objects must have bbox"),
    ({"bbox": [[1, 2, 3, 4]], "category": []}, "category of objects must be as many"),
    ({"bbox": [[1, 2, -3, 4]], "category": [1]}, "ends before it begins"),
  )
  def test_wrong_boxes(self, objects, message):
    self._images("0.png")
    self._table("metadata.jsonl", [{"file_name": "0.png", "objects": objects}])
    with self.assertRaisesRegex(ConvertError, message):
      self._convert()

  def test_tables_that_are_others(self):
    self._images("cup/0.png")
    self._table("metadata.csv", [{"photographer": "x", "year": 3}])
    report = self._convert()
    self.assertEqual(report.classes, {"cup": 1})
    self.assertIn("metadata.csv has no column file_name, and is left", report.notes[0])
    self._table("metadata.jsonl", [{"file_name": "cup/0.png"}])
    with self.assertRaisesRegex(ConvertError, "metadata.csv and metadata.jsonl: keep"):
      self._convert(existing="replace")
    # What is named goes before.
    os.rename(f"{self.source}/metadata.jsonl", f"{self.root}/more.jsonl")
    given = Source(self.source, annotations=f"{self.root}/more.jsonl")
    self.assertEqual(self._convert(given, existing="replace").notes, [])

  def test_columns_that_a_dataset_has(self):
    self._images("0.png")
    row = {"file_name": "0.png", "id": 7, "width": 30, "text": "a"}
    self._table("metadata.jsonl", [row])
    notes = " ".join(self._convert().notes)
    self.assertIn("column id is not kept", notes)
    self.assertIn("column width is not kept", notes)
    self.assertEqual(self._samples()["0.png"]["text"], "a")

  @parameterized.parameters("zip", "tar", "gztar")
  def test_in_an_archive(self, kind):
    self._images("0.png", "below/1.png")
    rows = [
      {"file_name": "0.png", "text": "ein Süd", "label": "cup"},
      {"file_name": "below/1.png", "text": "b", "label": "tea"},
    ]
    rows[0]["objects"] = {"bbox": [[1, 2, 3, 4]], "categories": ["a"]}
    self._table("metadata.jsonl", rows)
    archive = shutil.make_archive(self.source, kind, self.root, "photos")
    report = self._convert(archive)
    self.assertEqual(report.classes, {"cup": 1, "tea": 1})
    self.assertEqual(report.skipped, [])
    table = f"{os.path.basename(archive)}/photos/metadata.jsonl"
    shown = "says what images show: text, label, objects"
    self.assertIn(f"{table} {shown}", report.notes)
    samples = self._samples()
    self.assertEqual(samples["0.png"]["text"], "ein Süd")
    np.testing.assert_array_equal(samples["0.png"]["boxes"], [[2, 1, 6, 4]])
    self.assertEqual(samples["below/1.png"]["text"], "b")

  def test_in_archives_of_splits_and_of_parts(self):
    self._images("train/a.png", "test/a.png")
    for split in ("train", "test"):
      self._table(f"{split}/metadata.csv", [{"file_name": "a.png", "text": split}])
    whole = shutil.make_archive(f"{self.root}/whole", "zip", self.source)
    report = self._convert(whole)
    self.assertEqual(report.splits, {"train": 1, "test": 1})
    self.assertEqual(self._samples()["test/a.png"]["text"], "test")
    for first, second in (("train", "test"), ("x", "y")):
      for split, name in (("train", first), ("test", second)):
        folder = f"{self.source}/{split}"
        if first == "x":
          os.rename(f"{folder}/a.png", f"{folder}/{split}.png")
          rows = [{"file_name": f"{split}.png", "text": split}]
          self._table(f"{split}/metadata.csv", rows)
        shutil.make_archive(f"{self.root}/{name}", "zip", folder)
      source = f"{self.root}/{first}.zip;{self.root}/{second}.zip"
      report = self._convert(source, existing="replace")
      self.assertEqual(report.samples, 2)
      self.assertEqual(report.skipped, [])
      found = {name: one["text"] for name, one in self._samples().items()}
      images = ("train/a", "test/a") if first == "train" else ("train", "test")
      wanted = dict(zip((f"{name}.png" for name in images), ("train", "test")))
      self.assertEqual(found, wanted)

  def test_wrong_tables_in_an_archive(self):
    self._images("0.png")
    self._table("metadata.csv", [{"file_name": "9.png", "text": "a"}])
    archive = shutil.make_archive(self.source, "zip", self.source)
    with self.assertRaisesRegex(
      ConvertError, "annotations .*photos.zip/metadata.csv.* are of no image"
    ):
      self._convert(archive)
    pathlib.Path(self.source, "metadata.csv").write_text("file_name,text\n0.png\n")
    archive = shutil.make_archive(self.source, "zip", self.source)
    with self.assertRaisesRegex(
      ConvertError, "photos.zip/metadata.csv cannot be read: line 2 has 1 values"
    ):
      self._convert(archive)
    self._table("metadata.jsonl", [{"file_name": "0.png"}])
    archive = shutil.make_archive(self.source, "tar", self.source)
    with self.assertRaisesRegex(
      ConvertError, "photos.tar holds metadata.csv and metadata.jsonl: keep one"
    ):
      self._convert(archive)


if __name__ == "__main__":
  absltest.main()
