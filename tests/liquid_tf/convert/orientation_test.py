"""EXIF orientations stay with their images, whatever the format."""

import io
import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import ExifTags, Image

import liquid_tf
from liquid_tf._convert import exif
from liquid_tf._convert.convert import convert
from liquid_tf._convert.single import convert_image
from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._view import inspection

_FORMATS = ("png", "raw", "l3", "l3-compact", "bmp", "webp", "jpeg", "pcr")
_ORIENTATIONS = {"0.png": 1, "1.jpg": 6, "2.png": 3, "3.webp": 8, "4.jpg": 1}


def _exif(orientation: int) -> Image.Exif:
  result = Image.Exif()
  result[ExifTags.Base.Software] = "a longer entry than those that lie in the directory"
  result[ExifTags.Base.Orientation] = orientation
  return result


def _orientation(file: bytes) -> int:
  """As Pillow reads it."""
  with Image.open(io.BytesIO(file)) as image:
    image.load()
    return image.getexif().get(ExifTags.Base.Orientation, 1)


class OrientationTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")

  def _make(self) -> None:
    for i, (name, orientation) in enumerate(_ORIENTATIONS.items()):
      pixels = photos.photo("coffee")[i : i + 30, :40]
      options = {} if name == "0.png" else {"exif": _exif(orientation)}
      if name.endswith("webp"):
        options["lossless"] = True
      photos.save(f"{self.source}/a/{name}", pixels, **options)

  def _check(self, path: str) -> None:
    loaded = manifest.load(path)
    self.assertNotIn("orientation", loaded["features"])
    rows = manifest.load_index(loaded)
    self.assertAllEqual(
      rows["orientation"], np.array(list(_ORIENTATIONS.values()))[rows["sample"]]
    )
    for name in loaded["formats"]:
      mix = name if loaded["replicated"] else None
      features = ["id", "image", "label", "orientation", "example"]
      ds = liquid_tf.dataset(path, 5, features=features, mix=mix)
      [batch] = list(ds)
      self.assertEqual(ds.element_spec["orientation"].shape.as_list(), [None])
      found = dict(zip(batch["id"].numpy(), batch["orientation"].numpy()))
      expected = dict(enumerate(_ORIENTATIONS.values()))
      self.assertEqual(found, expected, name)
      self.assertEqual(batch["image"].shape, (5, 30, 40, 3))
      self.assertAllEqual(batch["example"], [b""] * 5)
    self.assertEqual(inspection.verify(path)["problems"], [])

  def test_every_format_keeps_it_and_so_do_exports(self):
    self._make()
    mix = ",".join(f"{name}:1" for name in _FORMATS)
    convert(self.source, self.output, mix, replicate=True, progress=False)
    self._check(self.output)
    again = f"{self.root}/again"
    convert(self.output, again, "raw:1", progress=False)
    self._check(again)

    for image_format in (None, "png", "jpeg", "webp"):
      folder = f"{self.root}/{image_format}"
      report = liquid_tf.export(
        self.output, folder, "folder", image_format=image_format, progress=False
      )
      self.assertEqual(report.orientations_lost, 0)
      files = sorted(pathlib.Path(folder, "a").iterdir())
      found = [_orientation(path.read_bytes()) for path in files]
      self.assertEqual(found, list(_ORIENTATIONS.values()), image_format)
    with Image.open(files[2]) as image:  # webp, without loss
      self.assertAllEqual(np.asarray(image), photos.photo("coffee")[2:32, :40])

    for kind, pattern in (("rec", "*.rec"), ("tfrecord", "*.tfrecord")):
      folder = f"{self.root}/{kind}"
      liquid_tf.export(again, folder, kind, progress=False)
      back = f"{self.root}/{kind}-back"
      convert(f"{folder}/{pattern}", back, "png:1", progress=False)
      ds = liquid_tf.dataset(back, 5, features=["orientation"])
      [batch] = list(ds)
      self.assertCountEqual(batch["orientation"].numpy(), _ORIENTATIONS.values())

  def test_what_has_no_room_for_it_is_counted(self):
    self._make()
    convert(self.source, self.output, "raw:1", progress=False)
    for kind, lost in (("folder", 3), ("rec", 0), ("tfrecord", 0)):
      folder = f"{self.root}/{kind}"
      report = liquid_tf.export(
        self.output, folder, kind, image_format="bmp", progress=False
      )
      self.assertEqual(report.orientations_lost, lost, kind)
    back = f"{self.root}/back"
    convert(f"{self.root}/rec/*.rec", back, "png:1", progress=False)
    ds = liquid_tf.dataset(back, 5, features=["orientation", "example"])
    [batch] = list(ds)
    self.assertCountEqual(batch["orientation"].numpy(), _ORIENTATIONS.values())
    # It moves to the index.
    self.assertAllEqual(batch["example"], [b""] * 5)

  def test_it_is_1_where_none_is_stated(self):
    photos.save(f"{self.source}/a/0.png", photos.photo("coffee")[:30, :40])
    convert(self.source, self.output, "raw:1", progress=False)
    ds = liquid_tf.dataset(self.output, 1, features=["orientation"])
    self.assertEqual(ds.element_spec["orientation"].dtype, tf.int64)
    [batch] = list(ds)
    self.assertAllEqual(batch["orientation"], [1])

  def test_other_features_of_a_record_stay(self):
    other = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    stated = tf.train.Feature(int64_list=tf.train.Int64List(value=[5]))
    features = tf.train.Features(feature={"a": other, "orientation": stated})
    example = tf.train.Example(features=features).SerializeToString()
    found = ops.lib().liquid_orientation(contents=b"", example=example)
    self.assertEqual(found.orientation, 5)
    left = tf.train.Example.FromString(found.example_without.numpy())
    self.assertEqual(dict(left.features.feature), {"a": other})
    for example in (b"", b"no example", left.SerializeToString()):
      found = ops.lib().liquid_orientation(contents=b"", example=example)
      self.assertEqual(found.orientation, 1)
      self.assertEqual(found.example_without, example)

  def test_the_name_is_taken(self):
    path = f"{self.root}/a.tfrecord"
    with tf.io.TFRecordWriter(path):
      pass
    with self.assertRaisesRegex(
      ValueError, r'features \("orientation"\) must be other'
    ):
      convert(
        liquid_tf.Source(path, features=["orientation"]),
        self.output,
        "png:1",
        progress=False,
      )

  @parameterized.parameters("png", "jpg", "webp", "bmp", "l3", "raw")
  def test_single_images(self, extension):
    self._make()
    for name, orientation in list(_ORIENTATIONS.items())[:4]:
      output = f"{self.root}/{name}.{extension}"
      report = convert_image(f"{self.source}/a/{name}", output)
      has_room = extension in ("png", "jpg", "webp")
      self.assertEqual(report["orientation"], orientation)
      self.assertEqual(report["orientation_kept"], has_room or orientation == 1)
      if has_room:
        file = pathlib.Path(output).read_bytes()
        self.assertEqual(_orientation(file), orientation)
        self.assertEqual(len(file), report["bytes"])

  def test_files_that_have_exif_or_alpha(self):
    rgba = np.dstack(
      [photos.photo("coffee")[:31, :41], np.full((31, 41), 77, np.uint8)]
    )
    gray = photos.photo("camera")[:31, :41]
    for name, pixels, options in (
      ("webp", rgba, {"lossless": True}),
      ("webp", rgba, {}),
      ("webp", rgba[..., :3], {}),
      ("webp", rgba[..., :3], {"exif": _exif(1), "lossless": True}),
      ("png", rgba, {}),
      ("png", gray, {"exif": _exif(1)}),
      ("jpeg", gray, {"exif": _exif(1)}),
    ):
      buffer = io.BytesIO()
      Image.fromarray(pixels).save(buffer, name, **options)
      for orientation in range(2, 9):
        file = exif.with_orientation(buffer.getvalue(), name, orientation)
        self.assertEqual(_orientation(file), orientation)
        with Image.open(buffer) as before, Image.open(io.BytesIO(file)) as after:
          self.assertEqual(after.mode, before.mode)
          self.assertAllEqual(np.asarray(after), np.asarray(before))
        decoded = liquid_tf.codecs.decode(file)
        self.assertEqual(decoded.shape[:2], (31, 41))


if __name__ == "__main__":
  tf.test.main()
