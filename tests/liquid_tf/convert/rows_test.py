"""Rows with images: files of Parquet and Arrow, made by pyarrow as `datasets` does."""

import io
import json
import os
import pathlib
import sys
import unittest
from unittest import mock

import http_server
import numpy as np
import photos
from absl.testing import absltest, parameterized
from PIL import Image

import liquid_tf
from liquid_tf import Source, _extras
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import arrow, parquet
from liquid_tf.errors import ConvertError

try:
  import pyarrow
  import pyarrow.ipc
  from pyarrow import parquet as pyarrow_parquet
except ImportError:
  pyarrow = None

_CLASSES = ["owl", "cat", "dog"]


def _described(**features) -> dict[bytes, bytes]:
  """A schema's metadata, as Hugging Face's library writes them."""
  return {b"huggingface": json.dumps({"info": {"features": features}}).encode()}


_IMAGE = {"_type": "Image"}
_CLASS = {"names": _CLASSES, "_type": "ClassLabel"}
_HUGGING_FACE = _described(image=_IMAGE, label=_CLASS)


def _files(count: int, seed: int = 0) -> list[bytes]:
  """Encoded crops of a photograph, PNG and JPEG in turns."""
  random, result = np.random.default_rng(seed), []
  for i in range(count):
    file = io.BytesIO()
    crop = photos.crop(photos.photo("coffee"), (24 + i % 5, 31), random)
    Image.fromarray(crop).save(file, ("PNG", "JPEG")[i % 2])
    result.append(file.getvalue())
  return result


def _pixels(file: bytes) -> np.ndarray:
  return np.asarray(Image.open(io.BytesIO(file)))


@unittest.skipIf(pyarrow is None, "needs pyarrow")
class RowsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/made.liquid"

  def _write(self, columns, name="rows.parquet", metadata=None, **options) -> str:
    table = pyarrow.table(columns).replace_schema_metadata(metadata)
    path = pathlib.Path(self.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"row_group_size": 4} | options
    pyarrow_parquet.write_table(table, path, **options)
    return os.fspath(path)

  def _convert(self, source, mix="raw", **options):
    if not isinstance(source, Source):
      source = Source(source)
    return convert(source, self.output, mix, progress=False, workers=2, **options)

  def _check(self, files, names):
    view = liquid_tf.open(self.output)
    self.assertEqual(list(view.names(range(len(view)))), list(names))
    for number, file in enumerate(files):
      np.testing.assert_array_equal(view[number]["image"], _pixels(file))
    return view


class ParquetTest(RowsTest):
  def _splits(self) -> list[bytes]:
    """Writes two splits as Hugging Face writes them; returns the images."""
    files = _files(13)
    for split, part, rows in (
      ("train", "00000-of-00002", range(0, 5)),
      ("train", "00001-of-00002", range(5, 9)),
      ("validation", "00000-of-00001", range(9, 13)),
    ):
      images = [{"bytes": files[i], "path": f"{i % 5}.png"} for i in rows]
      self._write(
        {
          "image": images,
          "label": [i % 3 for i in rows],
          "caption": [f"image {i} é" for i in rows],
          "weight": [i / 4 for i in rows],
          "count": [2**40 + i for i in rows],
          "is_big": [i > 3 for i in rows],
        },
        f"data/{split}-{part}.parquet",
        _HUGGING_FACE,
      )
    return files

  def _check_splits(self, files, report):
    self.assertEqual(report.splits, {"train": 9, "validation": 4})
    self.assertEqual(report.classes, {"owl": 5, "cat": 4, "dog": 4})
    # Two images of train have one path, so places in the files name them all.
    places = [("train-00000-of-00002", 5), ("train-00001-of-00002", 4)]
    places.append(("validation-00000-of-00001", 4))
    names = [f"{file}.parquet/{row}" for file, rows in places for row in range(rows)]
    view = self._check(files, names)
    for i in range(13):
      sample = view[i]
      self.assertEqual(sample["label"], i % 3)
      self.assertEqual(sample["caption"], f"image {i} é")
      self.assertEqual(sample["weight"], i / 4)
      self.assertEqual(sample["count"], 2**40 + i)
      self.assertEqual(sample["is_big"], i > 3)

  def test_hugging_face(self):
    files = self._splits()
    report = self._convert(f"{self.root}/data/*.parquet", "png:1,raw:1")
    self._check_splits(files, report)

  def test_http(self):
    files = self._splits()
    with http_server.HttpServer(self.root) as server:
      names = ("train-00000-of-00002", "train-00001-of-00002")
      names += ("validation-00000-of-00001",)
      source = ";".join(f"{server.url}/data/{name}.parquet" for name in names)
      self._check_splits(files, self._convert(source))
      server.failure = lambda again: 403
      with self.assertRaisesRegex(ConvertError, "train-00000-of-00002.parquet.*403"):
        self._convert(source, existing="replace")

  def test_files_are_stored_byte_for_byte(self):
    files = _files(8)[1::2]
    self._convert(self._write({"image": files}), "jpeg")
    exported = f"{self.root}/out"
    liquid_tf.export(self.output, exported, "folder", progress=False)
    found = pathlib.Path(exported).rglob("*.jp*g")
    self.assertCountEqual([path.read_bytes() for path in found], files)

  @parameterized.named_parameters(
    ("bytes", {"img": list}, {}, None),
    ("large_bytes", {"jpg": lambda f: pyarrow.array(f, "large_binary")}, {}, None),
    ("the_only_one", {"what": list, "more": lambda f: [1] * len(f)}, {}, None),
    ("chosen", {"a": lambda f: f[::-1], "b": list}, {"image_feature": "b"}, None),
  )
  def test_columns_of_images(self, columns, options, _):
    files = _files(4)
    path = self._write({name: make(files) for name, make in columns.items()})
    self._convert(Source(path, **options))
    self._check(files, [f"rows.parquet/{i}" for i in range(4)])

  def test_paths_beside_the_file(self):
    files = _files(3)
    for i, file in enumerate(files):
      pathlib.Path(self.root, f"{i}.x").write_bytes(file)
    self._convert(self._write({"image": ["0.x", "1.x", f"{self.root}/2.x"]}))
    self._check(files, ["0.x", "1.x", f"{self.root}/2.x"])
    # As `to_parquet` of a data set of files has them.
    images = [{"bytes": None, "path": f"../{i}.x"} for i in range(3)]
    path = self._write({"image": images}, "below/rows.parquet")
    self._convert(path, existing="replace")
    self._check(files, ["../0.x", "../1.x", "../2.x"])
    with http_server.HttpServer(self.root) as server:
      path = self._write({"image": ["0.x", "1.x", "2.x"]})
      self._convert(f"{server.url}/rows.parquet", existing="replace")
      self._check(files, ["0.x", "1.x", "2.x"])
      self._write({"image": ["0.x", "9.x"]})
      with self.assertRaisesRegex(
        ConvertError, "rows.parquet, row 1: .*no image .*9.x"
      ):
        self._convert(f"{server.url}/rows.parquet", existing="replace")

  @parameterized.parameters(True, False)
  def test_boxes(self, in_a_list):
    boxes = [[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.5, 8.0]], []]
    classes = [[2, 0], []]
    objects = [{"bbox": b, "category": c, "area": c} for b, c in zip(boxes, classes)]
    category = {"feature": _CLASS, "_type": "List"}
    feature = {"category": category, "bbox": {}}
    if in_a_list:
      objects = [
        [{"bbox": one, "category": c} for one, c in zip(b, some)]
        for b, some in zip(boxes, classes)
      ]
      feature = {"feature": {"category": _CLASS}, "_type": "List"}
    path = self._write(
      {"image": _files(2), "objects": objects},
      metadata=_described(image=_IMAGE, objects=feature),
    )
    report = self._convert(path)
    notes = " ".join(report.notes)
    self.assertIn("bbox is [x, y, width, height]", notes)
    self.assertEqual("area of objects are not kept" in notes, not in_a_list)
    view = liquid_tf.open(self.output)
    self.assertEqual(view[0]["boxes"].tolist(), [[2, 1, 6, 4], [6, 5, 14, 12.5]])
    self.assertEqual(view[0]["box_labels"].tolist(), [2, 0])
    self.assertEqual(view[1]["boxes"].shape, (0, 4))
    features = view.manifest["features"]
    self.assertEqual(features["box_labels"]["classes"], _CLASSES)
    self._convert(Source(path, features=["objects"]), existing="replace")
    self.assertIn("boxes", liquid_tf.open(self.output)[0])

  def test_paths_from_another_folder(self):
    for images in (["x/a.png", "x/b.png"], [{"bytes": None, "path": "x/a.png"}]):
      with self.assertRaisesRegex(ConvertError, "x/a.png, .* paths count from the fol"):
        self._convert(self._write({"image": images}))

  def test_names(self):
    files = _files(4)
    images = [{"bytes": file, "path": "same.png"} for file in files]
    columns = {"image": images, "file_name": [f"a/{i}" for i in range(4)]}
    self._convert(self._write(columns))
    self._check(files, columns["file_name"])
    columns["file_name"][1:3] = [None, ""]
    self._convert(self._write(columns), existing="replace")
    names = ["a/0", "rows.parquet/1", "rows.parquet/2", "a/3"]
    self.assertNotIn("file_name", self._check(files, names)[0])
    # One path in each split.
    for i, split in enumerate(("train", "test")):
      self._write({"image": images[2 * i : 2 * i + 1]}, f"data/{split}.parquet")
    self._convert(f"{self.root}/data/*", existing="replace")
    self._check([files[2], files[0]], ["test/same.png", "train/same.png"])

  def test_labels(self):
    files = _files(4)
    for labels, classes, wanted in (
      (["tea", "cup", "tea", "cup"], {"cup": 2, "tea": 2}, [1, 0, 1, 0]),
      ([2, 0, 1, 1], {}, [2, 0, 1, 1]),
      ([2.0, 0.0, 1.0, 1.0], {}, [[2], [0], [1], [1]]),
      ([[0.5, 1.0]] * 4, {}, [[0.5, 1.0]] * 4),
      ([True, False] * 2, {}, [1, 0, 1, 0]),
    ):
      path = self._write({"image": files, "target": labels})
      report = self._convert(path, existing="replace")
      self.assertEqual(report.classes, classes)
      view = liquid_tf.open(self.output)
      found = [np.asarray(view[i]["label"]).tolist() for i in range(4)]
      self.assertEqual(found, wanted)
    self._convert(Source(path, label_feature=""), existing="replace")
    self.assertNotIn("label", liquid_tf.open(self.output)[0])

  def test_a_column_of_splits(self):
    files = _files(4)
    columns = {"image": files, "split": ["train", "val", "train", "train"]}
    report = self._convert(self._write(columns))
    self.assertEqual(report.splits, {"train": 3, "val": 1})

  def test_columns_that_are_kept(self):
    columns = {"image": _files(2), "a": [1, 2], "b": ["x", None], "id": [7, 8]}
    columns |= {"texts": [["a", "ü"], None], "empty": [[], ["b"]]}
    columns |= {"number": [3, 4], "boxes": [[1.0], [2.0]], "more": [{"k": 1}, {"k": 2}]}
    path = self._write(columns)
    report = self._convert(path)
    sample = liquid_tf.open(self.output)[1]
    self.assertEqual((sample["a"], sample["b"]), (2, ""))
    self.assertEqual((sample["texts"], sample["empty"]), ("", '["b"]'))
    self.assertEqual(liquid_tf.open(self.output)[0]["texts"], '["a", "ü"]')
    notes = " ".join(report.notes)
    for words in (
      "id, number, boxes: not kept, as a dataset calls other things so: rename",
      "texts, empty: lists of texts, kept as JSON",
      "more: not kept",
      "have no b, and empty texts",
    ):
      self.assertIn(words, notes)
    self._convert(Source(path, features=["a"]), existing="replace")
    self.assertNotIn("b", liquid_tf.open(self.output)[1])

  @parameterized.named_parameters(
    (
      "no_images",
      {"a": [1], "b": ["x"]},
      None,
      {},
      "no column of images.*a .int64., b",
    ),
    (
      "two",
      {"a": [b"x"], "b": [b"y"]},
      None,
      {},
      "has images in a, b: choose one with",
    ),
    ("other", {"image": [1]}, None, {"image_feature": "x"}, "column x.* is not there"),
    ("type", {"image": [1]}, None, {"image_feature": "image"}, "but it is int64"),
    ("no_label", {"image": [b"x"]}, None, {"label_feature": "y"}, "labels in its colu"),
    ("feature", {"image": [b"x"]}, None, {"features": ["y"]}, "has no column y"),
    ("lists", {"image": [b"x"], "y": [[["a"]]]}, None, {"features": ["y"]}, "is list<"),
    (
      "two_labels",
      {"image": [b"x"], "fine": [1], "coarse": [1]},
      {"fine": _CLASS, "coarse": _CLASS},
      {},
      "has classes in fine, coarse: choose one",
    ),
    (
      "names",
      {"image": [b"x"], "label": [1]},
      {"label": {**_CLASS, "names": 3}},
      {},
      "li",
    ),
    (
      "twice",
      {"image": [b"x"], "label": [1]},
      {"label": {**_CLASS, "names": ["a", "a"]}},
      {},
      "two classes of label are a",
    ),
    (
      "empty",
      {"image": pyarrow and pyarrow.array([], "binary")},
      None,
      {},
      "gave no rows",
    ),
    (
      "url",
      {"image": ["https://s/1.jpg"]},
      None,
      {},
      "row 0: its image is not there, but",
    ),
  )
  def test_wrong_columns(self, columns, features, options, message):
    path = self._write(columns, metadata=features and _described(**features))
    with self.assertRaisesRegex(ConvertError, message) as raised:
      self._convert(Source(path, **options))
    self.assertIn("rows.parquet", str(raised.exception))

  def test_metadata_that_are_no_json(self):
    path = self._write({"image": _files(1)}, metadata={b"huggingface": b"{"})
    with self.assertRaisesRegex(ConvertError, "rows.parquet: the metadata huggingface"):
      self._convert(path)

  def test_files_of_other_columns(self):
    self._write({"image": _files(1), "label": ["x"]}, "data/a.parquet")
    self._write({"image": _files(1), "label": [1]}, "data/b.parquet")
    with self.assertRaisesRegex(ConvertError, "b.parquet has other columns .*int64"):
      self._convert(f"{self.root}/data/*")
    classes = {"label": {**_CLASS, "names": ["a", "b"]}}
    self._write({"image": _files(1), "label": [1]}, "data/a.parquet", _HUGGING_FACE)
    for metadata in (None, _described(**classes)):
      self._write({"image": _files(1), "label": [1]}, "data/b.parquet", metadata)
      if metadata is None:
        self.assertEqual(self._convert(f"{self.root}/data/*").classes["cat"], 2)
        continue
      with self.assertRaisesRegex(ConvertError, "b.parquet has other names of classes"):
        self._convert(f"{self.root}/data/*", existing="replace")

  def test_rows_that_lack_something(self):
    files = _files(6)
    images = [{"bytes": file, "path": f"{i}.png"} for i, file in enumerate(files)]
    images[1] = None
    images[2] = {"bytes": b"no image", "path": "2.png"}
    labels = [0, 1, 2, None, 3, -1]
    path = self._write({"image": images, "label": labels}, metadata=_HUGGING_FACE)
    with self.assertRaisesRegex(ConvertError, r"rows.parquet, row \d"):
      self._convert(path)
    report = self._convert(path, existing="resume", on_error="skip:90%")
    self.assertEqual(report.samples, 1)
    reasons = {one["path"]: one["reason"] for one in report.skipped}
    for row, name, reason in (
      (1, "rows.parquet/1", "has no image"),
      (2, "2.png", "codec"),
      (3, "3.png", "has no label"),
      (4, "4.png", r"its label \(3\) is no class: there are names of 3"),
      (5, "5.png", "has no label"),
    ):
      where = f"rows.parquet, row {row} ({name})"
      self.assertIn(where, reasons)
      if reason != "codec":
        self.assertRegex(reasons[where], reason)

  def test_a_part_that_is_missing(self):
    self._splits()
    os.remove(f"{self.root}/data/train-00001-of-00002.parquet")
    with self.assertRaisesRegex(
      ConvertError, "train-00001-of-00002.parquet.*is missing"
    ):
      self._convert(f"{self.root}/data/*.parquet")
    report = self._convert(
      f"{self.root}/data/*.parquet", on_error="skip:50%", existing="resume"
    )
    self.assertEqual(report.samples, 9)

  def test_damage(self):
    path = self._write({"image": _files(16)}, compression="NONE")
    contents = pathlib.Path(path).read_bytes()
    cut = pathlib.Path(path)
    for size in (0, 3, 100, len(contents) // 2, len(contents) - 1):
      cut.write_bytes(contents[:size])
      with self.assertRaisesRegex(
        ConvertError, "rows.parquet cannot be read as Parquet"
      ):
        self._convert(path, existing="replace")
    # Each byte is turned once in some runs: an error that names the file, or all rows.
    random = np.random.default_rng(0)
    footer = len(contents) - 8 - int.from_bytes(contents[-8:-4], "little")
    for offset in [*random.integers(footer, len(contents), 60), *range(4, 40, 3)]:
      damaged = bytearray(contents)
      damaged[offset] ^= 1 << int(random.integers(8))
      cut.write_bytes(damaged)
      try:
        rows = list(parquet.list_parquet([path], Source(path).names).given)
        self.assertLen(rows, 16)
      except ConvertError as error:
        self.assertIn("rows.parquet", str(error))

  def test_a_footer_that_lies(self):
    path = self._write({"image": _files(8)})
    real = pyarrow_parquet.ParquetFile.iter_batches

    def fewer(*arguments, **options):
      for batch in real(*arguments, **options):
        yield batch.slice(1)

    with mock.patch.object(pyarrow_parquet.ParquetFile, "iter_batches", fewer):
      with self.assertRaisesRegex(
        ConvertError, "rows from 0 on should be 4 and are 3: it is damaged"
      ):
        self._convert(path)

  def test_memory_is_bounded(self):
    noise = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8).tobytes()
    # One row group, of pages of one row.
    sizes = {"row_group_size": 96, "write_batch_size": 1, "use_dictionary": False}
    path = self._write({"image": [noise] * 96}, **sizes)
    seen, most, before = 0, 0, pyarrow.total_allocated_bytes()
    for item in parquet.list_parquet([path], Source(path).names).given:
      seen += len(item["image"])
      most = max(most, pyarrow.total_allocated_bytes() - before)
    self.assertEqual(seen, 96 << 20)
    self.assertLess(most, 48 << 20)

  def test_a_folder(self):
    files = self._splits()
    self._check_splits(files, self._convert(f"{self.root}/data"))
    # A clone of the hub.
    pathlib.Path(self.root, "clone/.git").mkdir(parents=True)
    os.rename(f"{self.root}/data", f"{self.root}/clone/data")
    report = self._convert(f"{self.root}/clone", existing="replace")
    self._check_splits(files, report)
    self._write({"image": files}, "clone/more/train.parquet")
    with self.assertRaisesRegex(ConvertError, "configurations default, more: .*/data/"):
      self._convert(f"{self.root}/clone", existing="replace")

  def test_folders_that_are_named_as_splits(self):
    files = _files(5)
    for name, some in (("train/a", files[:3]), ("test/a", files[3:])):
      self._write({"image": some}, f"data/{name}.parquet")
    report = self._convert(f"{self.root}/data/*/*.parquet")
    self.assertEqual(report.splits, {"train": 3, "test": 2})

  def test_a_folder_and_a_file_of_another_name(self):
    path = self._write({"image": _files(1)}, "data/x.parquet")
    pathlib.Path(self.root, "masks").mkdir()
    with self.assertRaisesRegex(ConvertError, 'Parquet; give .*"/.*/data/.*.parquet"'):
      self._convert(Source(f"{self.root}/data", masks=f"{self.root}/masks"))
    os.rename(path, f"{self.root}/data/x")
    with self.assertRaisesRegex(ConvertError, "is a table of Parquet, .* named so"):
      self._convert(f"{self.root}/data/x")

  def test_a_resume_compares_rows(self):
    files = _files(6)
    path = self._write({"image": files[:5] + [b""]})
    with self.assertRaisesRegex(ConvertError, "has no image"):
      self._convert(path)
    self._write({"image": files[1:] + [b""]})
    with self.assertRaisesRegex(ConvertError, r"row 0 \(rows.parquet/0\) has another"):
      self._convert(path, existing="resume")

  def test_without_pyarrow(self):
    path = self._write({"image": _files(1)})
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
      with self.assertRaisesRegex(ImportError, _extras.sentence("pyarrow")[:40]):
        self._convert(path)


class ArrowTest(RowsTest):
  def setUp(self):
    super().setUp()
    home = {"HF_HOME": f"{self.root}/home", "HF_DATASETS_CACHE": "", "HF_HUB_CACHE": ""}
    self.enter_context(mock.patch.dict(os.environ, home))

  def _write_arrow(self, columns, name, metadata=None, rows=3, **options) -> str:
    """Writes a stream of batches, as `datasets` does."""
    table = pyarrow.table(columns).replace_schema_metadata(metadata)
    path = pathlib.Path(self.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = pyarrow.ipc.IpcWriteOptions(**options)
    make = pyarrow.ipc.new_file if path.suffix == ".feather" else pyarrow.ipc.new_stream
    with make(os.fspath(path), table.schema, options=options) as writer:
      writer.write_table(table, max_chunksize=rows)
    return os.fspath(path)

  def _prepare(self, config="default", version="1.2.0", **told) -> list[bytes]:
    """Writes what `datasets` prepares of org/Some_Name; returns the images."""
    files = _files(9)
    folder = f"home/datasets/org___some_name/{config}/{version}/abc"
    info = {"dataset_name": "some_name", "splits": {}}
    for split, part, rows in (
      ("train", "-00000-of-00002", range(0, 4)),
      ("train", "-00001-of-00002", range(4, 7)),
      ("unlabelled", "", range(7, 9)),
    ):
      images = [{"bytes": files[i], "path": f"{i}.png"} for i in rows]
      columns = {"image": images, "label": [i % 3 for i in rows]}
      self._write_arrow(
        columns, f"{folder}/some_name-{split}{part}.arrow", _HUGGING_FACE
      )
      one = info["splits"].setdefault(split, {"num_examples": 0})
      one["num_examples"] += len(rows)
    info["splits"] |= told
    pathlib.Path(self.root, folder, "dataset_info.json").write_text(json.dumps(info))
    # What `map` and others leave there.
    self._write_arrow({"a": [1]}, f"{folder}/cache-0123.arrow")
    return files

  def test_prepared(self):
    files = self._prepare()
    report = self._convert("hf:org/Some_Name")
    self.assertEqual(report.splits, {"train": 7, "unlabelled": 2})
    self.assertEqual(report.classes, {"owl": 3, "cat": 3, "dog": 3})
    self.assertEqual(report.notes, [])
    view = self._check(files, [f"{i}.png" for i in range(9)])
    self.assertEqual([view[i]["label"] for i in range(9)], [i % 3 for i in range(9)])

  def test_versions_and_configurations(self):
    self._prepare(version="1.10.0")
    self._prepare("other", "1.9.0", train={"num_examples": 8})
    self._prepare("default", "1.9.0", train={"num_examples": 8})
    self.assertEqual(self._convert("hf:org/Some_Name").samples, 9)
    with self.assertRaisesRegex(ConvertError, "has 7 rows of train, and its .* says 8"):
      self._convert("hf:org/Some_Name/other", existing="replace")
    with self.assertRaisesRegex(ConvertError, "configurations default, other: choose"):
      self._convert("hf:org/Some_Name/third", existing="replace")

  def test_downloaded(self):
    files = _files(4)
    folder = "home/hub/datasets--org--Name/snapshots"
    blob = self._write({"image": files[:1]}, "home/hub/datasets--org--Name/blobs/0a")
    for name, rows in (
      ("new/data/train-00000-of-00001.parquet", None),
      ("new/data/extra-00000-of-00001.parquet", [1]),
      ("new/wide/test/0000.parquet", [2]),
      ("new/wide/train/0000.parquet", [3]),
      ("old/data/train-00000-of-00001.parquet", [3, 3, 3]),
    ):
      if rows is None:
        os.makedirs(f"{self.root}/{folder}/new/data")
        os.symlink(blob, f"{self.root}/{folder}/{name}")
      else:
        self._write({"image": [files[row] for row in rows]}, f"{folder}/{name}")
    refs = pathlib.Path(self.root, folder).parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("new")
    report = self._convert("hf:org/Name")
    self.assertEqual(report.splits, {"train": 1, "extra": 1})
    names = ["extra-00000-of-00001.parquet/0", "train-00000-of-00001.parquet/0"]
    self._check([files[1], files[0]], names)
    report = self._convert("hf:org/Name/wide", existing="replace")
    self.assertEqual(report.splits, {"train": 1, "test": 1})
    self._check([files[2], files[3]], ["test/0000.parquet/0", "train/0000.parquet/0"])
    for path in pathlib.Path(self.root, folder, "new").rglob("*.parquet"):
      path.unlink()
    with self.assertRaisesRegex(
      ConvertError, "no Parquet files; datasets.load_dataset"
    ):
      self._convert("hf:org/Name", existing="replace")

  @parameterized.parameters(
    ("hf:some", "neither in .*home/datasets nor in .*home/hub: prepare it with"),
    ("hf:", "must be hf:NAME or hf:ORG/NAME"),
    ("hf:../x", "must be hf:NAME or hf:ORG/NAME"),
    ("hf:a/b/c/d", "must be hf:NAME or hf:ORG/NAME"),
  )
  def test_what_no_cache_has(self, source, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(source)

  def test_a_cache_that_lacks_something(self):
    self._prepare(test={"num_examples": 2})
    with self.assertRaisesRegex(
      ConvertError, "no file some_name-test.arrow, which data"
    ):
      self._convert("hf:org/Some_Name")
    [info] = pathlib.Path(self.root).rglob("dataset_info.json")
    info.write_text("{}")
    with self.assertRaisesRegex(
      ConvertError, "dataset_info.json cannot be read .KeyErr"
    ):
      self._convert("hf:org/Some_Name")

  def _save(self, split, files, **state) -> None:
    """Writes what `save_to_disk` does of a split, and what `map` leaves beside it."""
    names = []
    for i, rows in enumerate((files[:2], files[2:])):
      names.append(f"data-{i:05}-of-00002.arrow")
      columns = {"image": [{"bytes": file, "path": ""} for file in rows]}
      self._write_arrow(columns, f"saved/{split}/{names[-1]}")
    self._write_arrow({"image": files}, f"saved/{split}/cache-0123456789abcdef.arrow")
    folder = pathlib.Path(self.root, "saved", split)
    state = {"_data_files": [{"filename": name} for name in names]} | state
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")

  def test_saved(self):
    files = _files(8)
    self._save("train", files[:5])
    self._save("extra", files[5:], _split="extra")
    saved = pathlib.Path(self.root, "saved")
    splits = {"splits": ["train", "extra"]}
    (saved / "dataset_dict.json").write_text(json.dumps(splits))
    report = self._convert(os.fspath(saved))
    self.assertEqual(report.splits, {"train": 5, "extra": 3})
    view = liquid_tf.open(self.output)
    for number, file in enumerate(files):
      np.testing.assert_array_equal(view[number]["image"], _pixels(file))
    report = self._convert(os.fspath(saved / "extra"), existing="replace")
    self.assertEqual(report.splits, {"extra": 3})
    self._save("test", files[5:])
    report = self._convert(os.fspath(saved / "test"), existing="replace")
    self.assertEqual(report.splits, {"test": 3})
    os.remove(saved / "extra/data-00001-of-00002.arrow")
    with self.assertRaisesRegex(ConvertError, "data-00001-of-00002.arrow, which state"):
      self._convert(os.fspath(saved), existing="replace")
    state = {"_data_files": [{"filename": "../train/data-00000-of-00002.arrow"}]}
    (saved / "extra/state.json").write_text(json.dumps(state))
    with self.assertRaisesRegex(ConvertError, "is no name of a file"):
      self._convert(os.fspath(saved), existing="replace")

  def test_a_pattern_of_what_was_saved(self):
    files = _files(8)
    self._save("train", files[:5])
    self._save("test", files[5:])
    report = self._convert(f"{self.root}/saved/*/*.arrow")
    self.assertEqual(report.splits, {"train": 5, "test": 3})
    self.assertIn("datasets computed", str(report))

  @parameterized.parameters("x.arrow", "x.feather")
  def test_files_by_their_names(self, name):
    files = _files(7)
    images = [{"bytes": None, "path": f"{i}.x"} for i in range(7)]
    for i, file in enumerate(files):
      pathlib.Path(self.root, f"{i}.x").write_bytes(file)
    path = self._write_arrow({"image": images}, name)
    self.assertEqual(self._convert(path).notes, [])
    self._check(files, [f"{i}.x" for i in range(7)])
    # Compressed rows are not mapped, and come once.
    path = self._write_arrow({"image": files}, name, compression="zstd")
    report = self._convert(path, existing="replace")
    self.assertIn(f"took {sum(map(len, files)):,} bytes", report.notes[0])
    self._check(files, [f"{name}/{i}" for i in range(7)])

  @parameterized.parameters("x.arrow", "x.feather")
  def test_damaged_files(self, name):
    path = self._write_arrow({"image": _files(7), "name": list("abcdefg")}, name)
    contents = pathlib.Path(path).read_bytes()
    file, names = pathlib.Path(path), Source(path).names
    for size in (0, 3, 100, len(contents) // 2):
      file.write_bytes(contents[:size])
      with self.assertRaisesRegex(ConvertError, f"{name} (cannot be read|is empty)"):
        arrow.list_arrow([path], names)
    random = np.random.default_rng(0)
    for offset in [*range(0, 40, 3), *random.integers(len(contents), size=60)]:
      damaged = bytearray(contents)
      damaged[offset] ^= 1 << int(random.integers(8))
      file.write_bytes(damaged)
      try:
        rows = arrow.list_arrow([path], names).given
        self.assertLessEqual(len(list(rows)), 7)
      except ConvertError as error:
        self.assertIn(name, str(error))

  def test_offsets_that_lie(self):
    array = pyarrow.array([b"x" * 9, b"y" * 9])
    _, offsets, data = array.buffers()
    wrong = np.frombuffer(offsets, np.int32).copy()
    wrong[1] = 1 << 30
    array = pyarrow.Array.from_buffers(
      array.type, 2, [None, pyarrow.py_buffer(wrong), data]
    )
    path = self._write_arrow({"image": array}, "x.arrow")
    with self.assertRaisesRegex(ConvertError, "x.arrow cannot be read as Arrow"):
      self._convert(path)

  def test_a_file_of_a_server(self):
    with self.assertRaisesRegex(ConvertError, "must be on a local disk: copy it, or"):
      self._convert("http://127.0.0.1:9/x.arrow")


if __name__ == "__main__":
  absltest.main()
