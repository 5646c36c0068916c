"""TFRecords of tf.train.Examples become samples; damage is found, named and counted."""

import io
import os
import pathlib
import struct

import examples as written
import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Channels


class ConvertExamplesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"

  def _convert(self, source="*.tfrecord", mix="png:1,raw:1", about=(), **options):
    options.setdefault("output", self.output)
    source = os.path.join(self.root, source)
    return convert(Source(source, **dict(about)), mix=mix, progress=False, **options)

  def _write(self, count=6, name="a.tfrecord", seed=0, **more) -> list[bytes]:
    images = written.images(count, seed)
    examples = [
      {"image/encoded": image, "image/class/label": i % 3}
      | {key: value(i) for key, value in more.items()}
      for i, image in enumerate(images)
    ]
    self.offsets = written.write(f"{self.root}/{name}", examples)
    return images

  def test_images_labels_and_order(self):
    images = self._write(7, "a.tfrecord") + self._write(5, "b.tfrecord", 1)
    report = stored.sound(self._convert())
    self.assertEqual((report.samples, report.skipped), (12, []))
    labels = [i % 3 for i in range(7)] + [i % 3 for i in range(5)]
    for record in stored.records(self.output):
      image = images[record["id"]]
      self.assertAllEqual(record["image"], np.asarray(Image.open(io.BytesIO(image))))
      self.assertEqual(record["labels"], [labels[record["id"]]])
      if record["shard"].format == "png":
        self.assertEqual(record["contents"], image)
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["features"]["label"], {"dtype": "int64", "shape": []})
    self.assertIsNone(loaded.classes)
    self.assertEqual(loaded["source"]["kind"], "tfrecord")
    batch = next(iter(liquid_tf.dataset(self.output, 12)))
    self.assertEqual(sorted(batch[1].numpy()), sorted(labels))

  def test_names_of_files_are_splits_and_labels_txt_has_classes(self):
    self._write(6, "train-00000-of-00002")
    self._write(6, "train-00001-of-00002", 1)
    self._write(3, "validation-00000-of-00001", 2)
    pathlib.Path(self.root, "labels.txt").write_text("0:cat\n2:dog\n1:cow\n")
    self._convert("*-of-*")
    loaded = manifest.load(self.output)
    self.assertEqual(
      {name: split["samples"] for name, split in loaded["splits"].items()},
      {"train": 12, "validation": 3},
    )
    self.assertEqual(loaded.classes, ["cat", "cow", "dog"])

  def test_other_names_vectors_and_features(self):
    images = written.images(6)
    examples = [
      {
        "pixels": image,
        "where": [0.5, i + 0.25],
        "text": f"number {i}".encode(),
        "many": list(range(i + 1)),
        "unused": 3,
      }
      for i, image in enumerate(images)
    ]
    written.write(f"{self.root}/a.tfrecord", examples)
    names = {
      "image_feature": "pixels",
      "label_feature": "where",
      "features": ["text", "many"],
    }
    stored.sound(self._convert(about=names))
    features = manifest.load(self.output)["features"]
    self.assertEqual(features["label"], {"dtype": "float32", "shape": [2]})
    self.assertEqual(
      features["many"], {"dtype": "int64", "shape": [None], "example": "many"}
    )
    self.assertEqual(features["text"]["dtype"], "string")
    images, labels = next(iter(liquid_tf.dataset(self.output, 6)))
    self.assertEqual(labels.shape, [6, 2])
    wanted = ["id", "image", "label", "text", "many"]
    for batch in liquid_tf.dataset(self.output, 4, features=wanted):
      for i, label, text, many in zip(
        batch["id"].numpy(), batch["label"].numpy(), batch["text"], batch["many"]
      ):
        self.assertEqual(label.tolist(), [0.5, i + 0.25])
        self.assertEqual(text.numpy().tolist(), [b"number %d" % i])
        self.assertEqual(many.numpy().tolist(), list(range(i + 1)))
    one = next(iter(liquid_tf.dataset(self.output, None, features=["id", "many"])))
    self.assertLen(one["many"].numpy(), int(one["id"]) + 1)

  def test_without_labels(self):
    self._write()
    self._convert(about={"label_feature": ""})
    self.assertNotIn("label", manifest.load(self.output)["features"])
    self.assertEqual(stored.records(self.output)[0]["labels"], [])

  def test_an_example_without_a_label(self):
    labels = [[0], [], [2]]
    examples = [
      {"image/encoded": image, "image/class/label": label}
      for image, label in zip(written.images(3), labels)
    ]
    (_, place, *_) = written.write(f"{self.root}/a.tfrecord", examples)
    with self.assertRaisesRegex(
      ConvertError, f"1 without a label, as a.tfrecord, offset {place}: "
    ):
      self._convert()
    report = self._convert(on_error="skip:100%", existing="resume")
    (skipped,) = report.skipped
    self.assertEqual(skipped["reason"], "has no label, but others have")
    self.assertEqual(manifest.load(self.output)["features"]["label"]["dtype"], "int64")

  def test_labels_of_unequal_number(self):
    examples = [
      {"image/encoded": image, "image/class/label": [1.5] * (i + 1)}
      for i, image in enumerate(written.images(3))
    ]
    written.write(f"{self.root}/a.tfrecord", examples)
    self._convert()
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["features"]["label"]["shape"], [None])
    self.assertEqual(loaded["supervised"], ["image"])
    for record in stored.records(self.output):
      self.assertEqual(record["labels"], [1.5] * (record["id"] + 1))
    with self.assertRaisesRegex(ValueError, "unequal numbers of labels"):
      liquid_tf.dataset(self.output, features=["label"])
    with self.assertRaisesRegex(ConvertError, "format pcr holds one class number"):
      self._convert(mix="pcr", output=f"{self.root}/pcr")

  def test_samples_that_are_none_are_counted(self):
    image = written.images(1)[0]
    good = {"image/encoded": image, "image/class/label": 1}
    bad = {
      'has no feature "image/class/label" .*; it has image/encoded': {
        "image/encoded": image
      },
      'has no feature "image/encoded"': {"image/class/label": 1},
      "must hold the bytes of one image, but has 2": good
      | {"image/encoded": [image, image]},
      "must hold numbers, but holds text": good | {"image/class/label": b"cat"},
      "1099511627776.* must be from": good | {"image/class/label": 1 << 40},
      "png": good | {"image/encoded": image[:40]},
    }
    self.offsets = written.write(f"{self.root}/a.tfrecord", [good, *bad.values()])
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 1)
    self.assertLen(report.skipped, len(bad))
    reasons = {one["path"]: one["reason"] for one in report.skipped}
    for offset, reason in zip(self.offsets[1:], bad):
      self.assertRegex(reasons[f"a.tfrecord, offset {offset}"], reason)
    with self.assertRaisesRegex(ConvertError, "6 cannot be read, as a.tfrecord"):
      self._convert(output=f"{self.root}/strict")

  @parameterized.named_parameters(
    ("data", 1, 20, "the checksum of the record is wrong", 1),
    ("length", 2, 0, "the record at offset {2} is damaged", 4),
    ("first_length", 0, 1, "holds no TFRecords: the checksum", 6),
    ("length_checksum", 3, 9, "checksum of the record's length is wrong", 1),
  )
  def test_damage(self, record, position, reason, lost):
    self._write()
    path = pathlib.Path(self.root, "a.tfrecord")
    data = bytearray(path.read_bytes())
    data[self.offsets[record] + position] ^= 0x55
    path.write_bytes(data)
    reason = reason.format(*self.offsets)
    if lost == 6:
      with self.assertRaisesRegex(ConvertError, reason):
        self._convert(on_error="skip:100%")
      return
    report = stored.sound(self._convert(on_error="skip:100%"))
    self.assertEqual(report.samples, 6 - lost)
    self.assertRegex(report.skipped[0]["reason"], reason)
    self.assertStartsWith(report.skipped[0]["path"], "a.tfrecord")
    with self.assertRaisesRegex(ConvertError, reason):
      self._convert(output=f"{self.root}/strict")

  def test_every_cut_is_found(self):
    self._write(3)
    path = pathlib.Path(self.root, "a.tfrecord")
    data = path.read_bytes()
    for size in (5, 12, self.offsets[1] + 4, self.offsets[1] + 13, len(data) - 1):
      path.write_bytes(data[:size])
      with self.assertRaisesRegex(ConvertError, "a.tfrecord"):
        self._convert(output=f"{self.root}/cut")

  def test_a_length_near_2_64_is_no_size(self):
    crc = manifest.crc32c(b"\xff" * 8)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    pathlib.Path(self.root, "a.tfrecord").write_bytes(
      struct.pack("<8sI", b"\xff" * 8, masked)
    )
    with self.assertRaisesRegex(ConvertError, "offset 0 is damaged or cut off"):
      self._convert()

  def test_bytes_do_not_depend_on_workers_and_a_changed_source_is_found(self):
    self._write(20)
    made = []
    for workers in (1, 3):
      output = f"{self.root}/by{workers}"
      self._convert(output=output, workers=workers)
      made.append(photos.files(output))
    self.assertEqual(made[0], made[1])
    # Interrupted where an image turns out to be none.
    with self.assertRaisesRegex(ConvertError, "mix: format .* holds images"):
      self._convert(mix="jpeg:1,raw:1", transforms=[Channels(4)])
    os.utime(f"{self.root}/a.tfrecord", (1, 1))
    with self.assertRaisesRegex(ConvertError, "mix: format .* holds images"):
      self._convert(mix="jpeg:1,raw:1", existing="resume", transforms=[Channels(4)])
    self._write(20, seed=1)
    with self.assertRaisesRegex(ConvertError, "source is not the same as when"):
      self._convert(mix="jpeg:1,raw:1", existing="resume", transforms=[Channels(4)])

  def test_wrong_arguments(self):
    self._write()
    for options, error, message in (
      ({"source": "none*"}, ConvertError, "files of records that exist"),
      (
        {"about": {"features": ["label"]}},
        ValueError,
        r'features \("label"\) must be other',
      ),
      ({"about": {"features": "text"}}, ValueError, r'must be a list: \["text"\]'),
      (
        {"about": {"features": ["x"]}},
        ConvertError,
        r'a.tfrecord, offset 0: has no feature "x"',
      ),
      ({"about": {"image_feature": ""}}, ValueError, "must name a feature"),
      (
        {"about": {"masks": self.root}},
        ConvertError,
        "masks .* are of a folder of images",
      ),
      ({"about": {"tfds_dir": self.root}}, ConvertError, "is of a source"),
    ):
      with self.assertRaisesRegex(error, message):
        self._convert(**options)
    photos.class_folders(f"{self.root}/photos", per_class=1, classes=1)
    with self.assertRaisesRegex(ConvertError, "are of sources of tf.train.Examples"):
      self._convert("photos", about={"features": ["x"]})
    self.assertFalse(os.path.exists(self.output))
    self._convert()
    self.assertEqual(inspection.verify(self.output)["problems"], [])


if __name__ == "__main__":
  tf.test.main()
