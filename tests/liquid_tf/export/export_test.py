"""A dataset written as other files: nothing lost, nothing half-written."""

import hashlib
import io
import json
import os
import pathlib
import shutil
import tarfile
import tempfile

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf import recordio
from liquid_tf._convert.convert import convert
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError

_PATTERNS = {"rec": "*.rec", "folder": "", "tfrecord": "*.tfrecord"}
_KINDS = (*_PATTERNS, "webdataset")


def images(folder: str) -> list[tuple]:
  """(split, class, pixels) of every image of class folders, sorted."""
  result = []
  for path, data in photos.tree(folder).items():
    if not path.endswith(("json", "jsonl")):
      pixels = np.asarray(Image.open(io.BytesIO(data)))
      digest = hashlib.sha256(pixels.tobytes()).hexdigest()
      # A name may be that of a file of records, and a number.
      folders = [part for part in path.split("/")[:-1] if ".tfrecord" not in part]
      result.append(("/".join(folders), pixels.shape, digest))
  return sorted(result)


class ExportTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source, self.dataset = f"{self.root}/source", f"{self.root}/dataset"
    self.output = f"{self.root}/output"

  def _make(self, mix="png:1,raw:1", splits=("",), **options):
    for seed, split in enumerate(splits):
      photos.class_folders(f"{self.source}/{split}", per_class=4, seed=seed)
    convert(self.source, self.dataset, mix, progress=False, **options)

  def _export(self, to, output=None, **options):
    return liquid_tf.export(
      self.dataset, output or self.output, to, progress=False, **options
    )

  def test_there_and_back_again(self):
    self._make("png:1,raw:1,l3:1", ("train", "val"))
    wanted, path = images(self.source), self.dataset
    for to in ("rec", "tfrecord", "folder"):
      files = f"{self.root}/{to}"
      report = liquid_tf.export(path, files, to, progress=False)
      self.assertEqual(report.samples, {"train": 12, "val": 12})
      path = f"{self.root}/{to}.liquid"
      source = os.path.join(files, _PATTERNS[to])
      stored.sound(convert(source, path, "raw:1,webp:1", progress=False))
      loaded = manifest.load(path)
      self.assertEqual(loaded.classes, ["astronaut", "chelsea", "coffee"])
    self.assertEqual(images(f"{self.root}/folder"), wanted)

  def test_images_are_copied_where_others_read_them(self):
    self._make("png:1,jpeg:1,raw:1,pcr:1", encoders={"pcr": {"images": 5}})
    report = self._export("folder")
    self.assertEqual(report.formats, {"png": 6, "jpeg": 6})
    files = photos.tree(self.output)
    index = manifest.load_index(manifest.load(self.dataset))
    self.assertLen([name for name in files if name.endswith((".png", ".jpg"))], 12)
    for row in index:
      classes = ("astronaut", "chelsea", "coffee")
      sample = int(row["sample"])
      stem = f"{classes[sample // 4]}/{sample % 4:04}"
      lossy = manifest.FORMATS[row["format"]] in ("jpeg", "pcr")
      data = files[stem + (".jpg" if lossy else ".png")]
      if manifest.FORMATS[row["format"]] == "pcr":
        self.assertEqual(manifest.crc32c(data), row["crc32c"])

  @parameterized.parameters("png", "jpeg", "webp", "bmp")
  def test_one_format_for_all(self, image_format):
    self._make()
    report = self._export("folder", image_format=image_format)
    self.assertEqual(report.formats, {image_format: 12})
    if image_format != "jpeg":
      self.assertEqual(images(self.output), images(self.source))

  def test_rec_without_labels_and_with_an_emptied_split_comes_back(self):
    photos.class_folders(self.source, per_class=6, classes=1)
    (folder,) = os.listdir(self.source)
    # Without classes a list has NaN.
    source, splits = f"{self.source}/{folder}", {"a": 5, "b": 1}
    convert(source, self.dataset, "png", splits=splits, progress=False)
    liquid_tf.remove(liquid_tf.open(self.dataset).split("b"))
    self._export("rec")
    self.assertNotIn("b.rec", os.listdir(self.output))
    report = convert(f"{self.output}/*.rec", f"{self.root}/new", "raw", progress=False)
    self.assertEqual(report.samples, 5)

  def test_rec_has_index_and_list(self):
    self._make(splits=("train", "test"))
    self._export("rec", split="train")
    self.assertCountEqual(
      os.listdir(self.output),
      ["train.rec", "train.idx", "train.lst", ".liquid_export.json"],
    )
    reader = recordio.Reader(f"{self.output}/train.rec", index=True)
    records = {record["id"]: record for record in stored.records(self.dataset)}
    entries = recordio.read_list(f"{self.output}/train.lst")
    self.assertEqual([entry.index for entry in entries], reader.keys)
    for entry in entries:
      header, data = recordio.unpack(reader.read(entry.index))
      record = records[entry.index]
      self.assertEqual((header.id, header.id2), (entry.index, 0))
      self.assertEqual([header.label], record["labels"])
      self.assertEqual(entry.labels, (header.label,))
      pixels = np.asarray(Image.open(io.BytesIO(data)))
      self.assertAllEqual(pixels, record["image"])
    # As they are stored, and not class by class.
    labels = [entry.labels[0] for entry in entries]
    self.assertNotEqual(labels, sorted(labels))

  def test_stock_tf_data_reads_the_examples(self):
    self._make()
    self._export("tfrecord", shard_size=20_000, label_feature="y")
    names = sorted(name for name in os.listdir(self.output) if "-of-" in name)
    self.assertGreater(len(names), 2)
    self.assertEqual(names[0], f"train-00000-of-{len(names):05}.tfrecord")
    found = []
    files = [f"{self.output}/{name}" for name in names]
    for serialized in tf.data.TFRecordDataset(files):
      parsed = tf.io.parse_single_example(
        serialized,
        {
          "image/encoded": tf.io.FixedLenFeature([], tf.string),
          "image/height": tf.io.FixedLenFeature([], tf.int64),
          "image/class/text": tf.io.FixedLenFeature([], tf.string),
          "y": tf.io.FixedLenFeature([], tf.int64),
        },
      )
      pixels = tf.io.decode_image(parsed["image/encoded"]).numpy()
      self.assertEqual(pixels.shape[0], parsed["image/height"])
      digest = hashlib.sha256(pixels.tobytes()).hexdigest()
      found.append((parsed["image/class/text"].numpy().decode(), pixels.shape, digest))
      self.assertEqual(
        found[-1][0], ("astronaut", "chelsea", "coffee")[int(parsed["y"])]
      )
    self.assertEqual(sorted(found), images(self.source))

  @parameterized.parameters("rec", "tfrecord")
  def test_vectors_and_features_stay(self, to):
    with recordio.Writer(f"{self.root}/a.rec") as writer:
      for i in range(4):
        png = io.BytesIO()
        Image.fromarray(np.full((8, 9, 3), i, np.uint8)).save(png, "png")
        header = recordio.Header(label=(i + 0.5, -1.0), id=i)
        writer.write(recordio.pack(header, png.getvalue()), i)
    convert(f"{self.root}/a.rec", self.dataset, "raw:1", progress=False)
    self._export(to)
    back = f"{self.root}/back"
    convert(f"{self.output}/{_PATTERNS[to]}", back, "png", progress=False)
    for record in stored.records(back):
      self.assertEqual(record["labels"], [record["image"][0, 0, 0] + 0.5, -1.0])

  def test_masks_go_beside_their_images(self):
    random = np.random.default_rng(0)
    for i in range(5):
      pixels = photos.crop(photos.photo("coffee"), (24, 32), random)
      photos.save(f"{self.source}/{i}.png", pixels)
      photos.save(f"{self.root}/masks/{i}.png", pixels[..., 0] // 20)
    convert(
      liquid_tf.Source(self.source, masks=f"{self.root}/masks"),
      self.dataset,
      "raw",
      progress=False,
    )
    self._export("folder")
    for i in range(5):
      for kind, folder in (("images", self.source), ("masks", f"{self.root}/masks")):
        found = Image.open(f"{self.output}/{kind}/{i}.png")
        self.assertAllEqual(
          np.asarray(found), np.asarray(Image.open(f"{folder}/{i}.png"))
        )
    # MXNet sees an image, and we the mask behind it.
    self._export("rec", f"{self.root}/rec")
    (record, *_) = recordio.Reader(f"{self.root}/rec/train.rec")
    header, data = recordio.unpack(record)
    self.assertTrue(np.isnan(header.label))
    self.assertEqual(Image.open(io.BytesIO(data)).size, (32, 24))
    example = tf.train.Example.FromString(data[header.id2 :])
    self.assertStartsWith(
      example.features.feature["mask"].bytes_list.value[0], b"\x89PNG"
    )

  def test_names_of_classes_become_names_of_folders(self):
    photos.class_folders(self.source, per_class=1, classes=1)
    os.makedirs(f"{self.source}/empty")
    convert(self.source, self.dataset, "raw", progress=False)
    path = pathlib.Path(self.dataset, "dataset.json")
    path.write_text(path.read_text().replace('"astronaut"', '"../a/%b"'))
    self._export("folder")
    self.assertCountEqual(
      os.listdir(self.output),
      ["%2E%2E%2Fa%2F%25b", "empty", "metadata.jsonl", ".liquid_export.json"],
    )
    self.assertIn("%2E%2E%2Fa%2F%25b/astronaut/0000.png", photos.tree(self.output))

  def test_bytes_depend_on_the_dataset_only(self):
    self._make()
    for to in _KINDS:
      made = []
      for workers in (1, 3):
        output = f"{self.root}/{to}{workers}"
        self._export(to, output, workers=workers)
        made.append(photos.tree(output))
      self.assertEqual(made[0], made[1])

  def test_only_exports_are_replaced(self):
    self._make()
    self._export("folder")
    with self.assertRaisesRegex(ConvertError, "already holds an export: existing"):
      self._export("rec")
    self._export("rec", existing="replace")
    self.assertIn("train.rec", os.listdir(self.output))
    with self.assertRaisesRegex(ConvertError, "must not exist, be empty or be an ear"):
      self._export("folder", self.source, existing="replace")
    with self.assertRaisesRegex(ConvertError, "must not be inside"):
      self._export("folder", f"{self.dataset}/x")
    with self.assertRaisesRegex(ValueError, "output .*must be a local path.*gcloud"):
      self._export("folder", "gs://bucket/x")
    os.makedirs(f"{self.root}/new.new.tmp/mine")
    with self.assertRaisesRegex(ConvertError, "new.new.tmp is in the way: move it"):
      self._export("folder", f"{self.root}/new")
    self.assertCountEqual(
      os.listdir(self.root), ["source", "dataset", "output", "new.new.tmp"]
    )

  def test_damage_ends_it_or_is_left_out(self):
    self._make("png")
    path = pathlib.Path(self.dataset, "png-00000-of-00001.rec")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with self.assertRaisesRegex(ConvertError, r"rec, offset \d+ \(sample .*CRC-32C"):
      self._export("tfrecord")
    self.assertCountEqual(os.listdir(self.root), ["source", "dataset"])
    report = self._export("tfrecord", on_error="skip:100%", shard_size=5000)
    self.assertEqual(report.samples, {"train": 11})
    self.assertRegex(report.skipped[0]["path"], "png-00000-of-00001.rec, offset")
    files = [name for name in os.listdir(self.output) if "-of-" in name]
    self.assertStartsWith(files[0].split("-of-")[1], f"{len(files):05}")

  def test_wrong_arguments_are_named(self):
    self._make()
    for to, options, message in (
      ("zip", {}, r'to \("zip"\) must be one of rec, folder, tfrecord, webdataset'),
      ("rec", {"image_format": "raw"}, r'image_format \("raw"\) must be one of bmp'),
      ("rec", {"image_format": "l3"}, r'image_format \("l3"\)'),
      ("rec", {"split": "test"}, r'split \("test"\): "test" must be one of "train"'),
      ("rec", {"on_error": "x"}, r'on_error \("x"\)'),
      ("rec", {"workers": 0}, r"workers \(0\)"),
      ("tfrecord", {"shard_size": 0}, r"shard_size \(0\)"),
      ("tfrecord", {"encoders": {"png": {"level": 10}}}, r"\(10\) must be from"),
      ("tfrecord", {"image_feature": ""}, "must name a feature"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        self._export(to, **options)
    self.assertFalse(os.path.exists(self.output))


# Names as sources have them, and where their files lie in the folder of class "owl".
_NAMES = {
  "train/owl/1.png": "1",
  "owl/2.JPG": "2",
  "owl": "owl",
  "../../etc/x.png": "%2E%2E/%2E%2E/etc/x",
  "/abs//3.5.tiff": "abs/3.5",
  ".hidden": "%2Ehidden",
  "a\\b\t%.png": "a%5Cb%09%25",
  "x.png/4": "x%2Epng/4",
  "\udcff é.gif": "%FF é",
  "n" * 300: "n" * 200,
  "owl/same.png": "same-{:08}",
  "owl/same.jpg": "same-{:08}",
}


class ColumnsTest(tf.test.TestCase):
  """Names, labels and columns go out, each to where its readers look."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.folder)
    cls.dataset = f"{cls.folder}/dataset"
    items = [
      {
        "image": np.full((8, 9, 3), i, np.uint8),
        "label": "owl",
        "name": name,
        "text": f"é {i}",
        "share": 0.1,
        "split": "val" if i == 2 else "train",
      }
      for i, name in enumerate(_NAMES)
    ]
    source = liquid_tf.Source.from_iterable(items)
    convert(source, cls.dataset, "raw:1", progress=False)
    count = len(items)
    cls.table = {
      "number": range(count),
      "weight": [i / 10 for i in range(count)],
      "far": [float("inf"), float("nan"), *[1.0] * (count - 2)],
      "good": [i % 2 == 0 for i in range(count)],
      "file_names": ["a"] * count,
      "old_file_name": ["b"] * count,
    }
    liquid_tf.annotate(cls.dataset, cls.table)
    view = liquid_tf.open(cls.dataset)
    cls.numbers = dict(zip(view.names(view.numbers), view.numbers.tolist()))

  def _export(self, to, dataset=None, **options):
    output = os.path.join(self.create_tempdir().full_path, "output")
    self.report = liquid_tf.export(
      dataset or self.dataset, output, to, progress=False, **options
    )
    return output

  def _values(self, name: str, named: bool) -> dict:
    """The columns of a sample, by its name, but for those that some exports leave."""
    number = self.numbers[name]
    (i,) = np.unique(liquid_tf.open(self.dataset)[number]["image"]).tolist()
    return {
      "label": "owl" if named else 0,
      "text": f"é {i}",
      "share": 0.1,
      "weight": self.table["weight"][number],
      "good": number % 2 == 0,
      "old_file_name": "b",
    }

  def test_a_folder_has_names_and_every_column(self):
    output = self._export("folder")
    files = photos.tree(output)
    for name, stem in _NAMES.items():
      number, split = self.numbers[name], "val" if name == "owl" else "train"
      path = f"owl/{stem.format(number)}.png"
      self.assertIn(f"{split}/{path}", files)
      lines = files[f"{split}/metadata.jsonl"].decode().splitlines()
      (line,) = [one for one in map(json.loads, lines) if one["file_name"] == path]
      far = line.pop("far")
      self.assertEqual(far, None if number < 2 else 1.0)
      self.assertEqual(line, {"file_name": path, **self._values(name, named=True)})
      pixels = np.asarray(Image.open(f"{output}/{split}/{path}"))
      self.assertEqual(line["text"], f"é {pixels[0, 0, 0]}")
    self.assertLen(files, len(_NAMES) + 3)
    self.assertEqual(
      self.report.notes,
      [
        'the column "file_names" is left out: folder has that name for something else',
        "names that two samples would have (2), as a.jpg and a.png in one format, end "
        "with the samples' numbers",
        'the column "far" has infinite numbers (1), which JSON cannot hold: they are '
        "null",
        'Hugging Face takes the column "old_file_name" of metadata.jsonl for the path '
        "of a file",
      ],
    )

  def test_labels_that_are_no_classes_are_in_the_lines_of_a_folder(self):
    image = np.zeros((8, 9, 3), np.uint8)
    for kind, labels, wanted in (
      ("one", [0.5, 1.5], [0.5, 1.5]),
      ("tags", [[0.1, 1], [1, 0]], [[0.1, 1], [1, 0]]),
      ("none", [None, None], [None, None]),
    ):
      items = [
        {"image": image, "label": one, "name": f"a/{i}"} for i, one in enumerate(labels)
      ]
      dataset = f"{self.create_tempdir().full_path}/dataset"
      convert(liquid_tf.Source.from_iterable(items), dataset, "raw", progress=False)
      output = self._export("folder", dataset)
      text = pathlib.Path(output, "metadata.jsonl").read_text()
      lines = sorted(map(json.loads, text.splitlines()), key=lambda x: x["file_name"])
      self.assertEqual([line["file_name"] for line in lines], ["a/0.png", "a/1.png"])
      self.assertEqual([line.get("label") for line in lines], wanted, kind)
      self.assertEqual(self.report.notes, [])

  def test_boxes_have_names_of_classes(self):
    folder = self.create_tempdir().full_path
    for name in "ab":
      photos.save(f"{folder}/in/{name}.png", np.zeros((8, 9, 3), np.uint8))
    table = pathlib.Path(folder, "boxes.csv")
    table.write_text(
      "file_name,ymin,xmin,ymax,xmax,label\na.png,1,2,3,4.5,owl\na.png,1,2,3,4,elk\n"
      "b.png,,,,,\n"
    )
    source = liquid_tf.Source(f"{folder}/in", annotations=str(table))
    convert(source, f"{folder}/dataset", "raw", progress=False)
    boxes, names = [[1.0, 2.0, 3.0, 4.5], [1.0, 2.0, 3.0, 4.0]], ["owl", "elk"]
    wanted = [
      {"file_name": "a.png", "boxes": boxes, "box_labels": names},
      {"file_name": "b.png", "boxes": [], "box_labels": []},
    ]
    output = self._export("folder", f"{folder}/dataset")
    text = pathlib.Path(output, "metadata.jsonl").read_text()
    self.assertCountEqual(map(json.loads, text.splitlines()), wanted)

  def test_webdataset_is_tar_files_of_bounded_size(self):
    output = self._export("webdataset", shard_size=12_000)
    found = {}
    paths = sorted(pathlib.Path(output).glob("*.tar"))
    self.assertEqual(paths[0].name, "train-000000.tar")
    self.assertEqual(paths[-1].name, "val-000000.tar")
    self.assertGreater(len(paths), 3)
    for path in paths:
      with tarfile.open(path) as file:
        members = file.getmembers()
        self.assertLessEqual(members[-1].offset_data, 12_000)
        for one in members:
          self.assertEqual((one.mtime, one.uid, one.uname, one.mode), (0, 0, "", 0o644))
          extension = one.name.rpartition(".")[2]
          stem = one.name[: -len(extension) - 1]
          found.setdefault(stem, {})[extension] = file.extractfile(one).read()
        # The files of a sample lie together.
        stems = [one.name.rpartition(".")[0] for one in members]
        self.assertLen(
          dict.fromkeys(stems), sum(a != b for a, b in zip(stems, [None, *stems]))
        )
    self.assertLen(found, len(_NAMES))
    for stem, files in found.items():
      self.assertCountEqual(files, ["png", "cls", "json"])
      values = json.loads(files["json"])
      name = values.pop("name")
      self.assertNotIn(".", stem.rpartition("/")[2])
      self.assertEqual(files["cls"], b"0")
      self.assertEqual(values.pop("file_names"), "a")
      del values["far"]
      self.assertEqual(values, self._values(name, named=True))
      pixels = np.asarray(Image.open(io.BytesIO(files["png"])))
      self.assertEqual(values["text"], f"é {pixels[0, 0, 0]}")
    self.assertIn("train/owl/1", found)
    self.assertIn("abs/3_5", found)
    self.assertLen(self.report.notes, 2)

  def test_parquet_has_types_and_names_of_classes(self):
    try:
      from pyarrow import parquet
    except ImportError:
      with self.assertRaisesRegex(ImportError, "need pyarrow: pip install"):
        self._export("parquet")
      self.skipTest("pyarrow is not installed")
    output = self._export("parquet", shard_size=1000)
    paths = sorted(pathlib.Path(output).glob("*.parquet"))
    self.assertEqual(paths[-1].name, "val-00000-of-00001.parquet")
    self.assertEqual(paths[0].name, f"train-00000-of-{len(paths) - 1:05}.parquet")
    self.assertGreater(len(paths), 3)
    schema = parquet.read_schema(paths[0])
    types = {name: str(schema.field(name).type) for name in schema.names}
    self.assertEqual(
      types,
      {
        "image": "struct<bytes: binary, path: string>",
        "label": "int64",
        "text": "string",
        "share": "double",
        "weight": "double",
        "far": "double",
        "good": "bool",
        "file_names": "string",
        "old_file_name": "string",
      },
    )
    self.assertEqual(
      json.loads(schema.metadata[b"huggingface"])["info"]["features"],
      {
        "image": {"_type": "Image"},
        "label": {"names": ["owl"], "_type": "ClassLabel"},
      },
    )
    rows = [row for path in paths for row in parquet.read_table(path).to_pylist()]
    self.assertLen(rows, len(_NAMES))
    by_text = {row["text"]: row for row in rows}
    for name in _NAMES:
      wanted = self._values(name, named=False)
      row = by_text[wanted["text"]]
      image, far = row.pop("image"), row.pop("far")
      self.assertEqual(row.pop("file_names"), "a")
      self.assertAllClose(row.pop("share"), wanted.pop("share"))
      self.assertEqual(row, wanted)
      number = self.numbers[name]
      self.assertTrue(np.isinf(far) if number == 0 else number > 1 or np.isnan(far))
      pixels = np.asarray(Image.open(io.BytesIO(image["bytes"])))
      self.assertEqual(row["text"], f"é {pixels[0, 0, 0]}")
      self.assertEndsWith(image["path"], ".png")
    self.assertEmpty(self.report.notes)

  def test_records_have_columns_beside_features(self):
    output = self._export("tfrecord", split="train")
    (path,) = pathlib.Path(output).glob("*.tfrecord")
    names = []
    for serialized in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
      features = tf.train.Example.FromString(serialized).features.feature
      name = os.fsdecode(features["image/filename"].bytes_list.value[0])
      wanted = self._values(name, named=True)
      names.append(name)
      self.assertEqual(features["text"].bytes_list.value[0].decode(), wanted["text"])
      self.assertAllClose(features["weight"].float_list.value, [wanted["weight"]])
      self.assertEqual(features["good"].int64_list.value, [wanted["good"]])
      self.assertEqual(features["file_names"].bytes_list.value, [b"a"])
    self.assertCountEqual(names, [name for name in _NAMES if name != "owl"])
    share, weight = self.report.notes
    self.assertIn('"share" has numbers', share)
    rounded = r"\"weight\" has numbers \(\d+\) that are rounded to 32 bits"
    self.assertRegex(weight, rounded)

    output = self._export("rec", split="train")
    entries = {e.index: e.path for e in recordio.read_list(f"{output}/train.lst")}
    self.assertEqual(entries[self.numbers["owl/2.JPG"]], "owl/2.png")
    reader = recordio.Reader(f"{output}/train.rec", index=True)
    header, data = recordio.unpack(reader.read(self.numbers["owl/2.JPG"]))
    features = tf.train.Example.FromString(data[header.id2 :]).features.feature
    self.assertEqual(features["old_file_name"].bytes_list.value, [b"b"])
    self.assertEqual(Image.open(io.BytesIO(data[: header.id2])).size, (9, 8))


if __name__ == "__main__":
  tf.test.main()
