"""A dataset written as other files: nothing lost, nothing half-written."""

import hashlib
import io
import os
import pathlib

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


def images(folder: str) -> list[tuple]:
  """(split, class, pixels) of every image of class folders, sorted."""
  result = []
  for path, data in photos.tree(folder).items():
    if not path.startswith("."):
      pixels = np.asarray(Image.open(io.BytesIO(data)))
      digest = hashlib.sha256(pixels.tobytes()).hexdigest()
      result.append((os.path.dirname(path), pixels.shape, digest))
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
      stem = f"{classes[sample // 4]}/{sample:08}"
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
    with self.assertRaisesRegex(ConvertError, "labels that are no classes"):
      self._export("folder")
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
        found = Image.open(f"{self.output}/{kind}/{i:08}.png")
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
      os.listdir(self.output), ["%2E%2E%2Fa%2F%25b", "empty", ".liquid_export.json"]
    )
    self.assertIn("%2E%2E%2Fa%2F%25b/00000000.png", photos.tree(self.output))

  def test_bytes_depend_on_the_dataset_only(self):
    self._make()
    for to in _PATTERNS:
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
      ("zip", {}, r'to \("zip"\) must be one of rec, folder, tfrecord'),
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


if __name__ == "__main__":
  tf.test.main()
