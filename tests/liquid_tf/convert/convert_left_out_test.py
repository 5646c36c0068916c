"""Each file of a source is a sample, or named with the reason why it is none."""

import io
import os
import pathlib
import tarfile
import zipfile
from fractions import Fraction

import examples as written
import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf._convert import choose
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources import left_out, other_files
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf.errors import ConvertError


class LeftOutTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.photos, self.masks = f"{self.root}/photos", f"{self.root}/masks"
    self.output = f"{self.root}/dataset"
    self.random = np.random.default_rng(5)

  def _save(self, *paths: str) -> None:
    for path in paths:
      pixels = self.random.integers(0, 256, (6, 7, 3), np.uint8)
      photos.save(f"{self.root}/{path}", pixels)

  def _write(self, *paths: str, data: bytes = b"words") -> None:
    for path in paths:
      file = pathlib.Path(self.root, path)
      file.parent.mkdir(parents=True, exist_ok=True)
      file.write_bytes(data)

  def _mask(self, *paths: str) -> None:
    data = io.BytesIO()
    Image.fromarray(self.random.integers(0, 5, (6, 7), np.uint8)).save(data, "PNG")
    self._write(*paths, data=data.getvalue())

  def _convert(self, source, **options):
    return convert(source, self.output, "png", progress=False, **options)

  def _check_all_are_told_of(self, source: Source, **options) -> dict[str, str]:
    """Converts what can be; returns the reasons for the rest, by path."""
    report = self._convert(source, on_error="skip:100%", **options)
    reasons = {one["path"]: one["reason"] for one in report.skipped}
    names = {sample["name"] for sample in liquid_tf.open(self.output)}
    self.assertLen(names, report.samples)
    for folder, prefix in ((self.photos, ""), (self.masks, "masks/")):
      for file in pathlib.Path(folder).rglob("*"):
        path = prefix + os.path.relpath(file, folder)
        if file.is_dir() and not file.is_symlink():
          continue
        used = path in names or (prefix and os.path.splitext(path[6:])[0] in self.used)
        above = [os.fspath(part) for part in pathlib.Path(path).parents]
        self.assertTrue(used or {path, *above} & set(reasons), path)
    return reasons

  def test_every_file_of_class_folders(self):
    self._save(*(f"photos/{name}/{i}.png" for name in ("cat", "dog") for i in range(3)))
    self._save("photos/loose.png", "photos/cat/.hidden.png")
    self._save("photos/cat/@eaDir/0.png", "photos/__MACOSX/1.png", "photos/old.d/x.png")
    self._write("photos/Thumbs.db", "photos/cat/notes.txt", "photos/dog/more.zip")
    self._write("photos/dog/cut.png", "photos/dog/empty.png", data=b"")
    os.symlink("nowhere", f"{self.photos}/dog/gone.png")
    os.mkfifo(f"{self.photos}/dog/pipe.png")
    os.symlink("..", f"{self.photos}/dog/above")
    reasons = self._check_all_are_told_of(Source(self.photos))
    self.assertStartsWith(reasons["loose.png"], "is in no class folder")
    self.assertLen(liquid_tf.open(self.output), 7)

  def test_every_file_of_masks(self):
    self._save(*(f"photos/{name}.png" for name in ("a", "b/c", "lonely", "wide")))
    self._mask("masks/a.png", "masks/B/C.PNG", "masks/nobody.png", "masks/.a.png")
    self._write("masks/a.json", "masks/b/c.txt", "masks/Thumbs.db", "photos/a.xml")
    self._write("masks/wide.bmp", data=b"BM")
    self.used = ("a", "B/C", "wide")
    reasons = self._check_all_are_told_of(Source(self.photos, masks=self.masks))
    self.assertEqual(reasons["lonely.png"], "has no mask")
    self.assertEqual(reasons["masks/nobody.png"], "is a mask without an image")
    self.assertIn("mask cannot be decoded", reasons["wide.png"])

  def test_loose_images_count(self):
    self._save("photos/one/a.png", *(f"photos/{i}.png" for i in range(19)))
    message = (
      r"19 of 20 samples cannot be stored \(19 lost, as 0.png, 1.png, 10.png and 16 "
      r"more: is in no class folder; move it into one \(one\), or these away"
    )
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self.photos)
    # Before any image was read.
    self.assertCountEqual(os.listdir(self.output), ["_journal.db", "_problems.jsonl"])
    with self.assertRaisesRegex(ConvertError, "at most 1 % may be left out"):
      self._convert(self.photos, existing="resume", on_error="skip")
    self._write(*(f"photos/one/{i}.png" for i in range(1899)))
    found = open_source(Source(self.photos))
    choose.check_lost(found, Fraction(1, 100), None)
    with self.assertRaisesRegex(ConvertError, "19 of 1919 .* move it into one"):
      choose.check_lost(found, Fraction(9, 1000), None)

  def test_what_counts_in_lists(self):
    self._save("photos/train/a/0.png", "photos/val/a/1.png", "photos/2.png")
    self._write("photos/.DS_Store", "photos/read.me", "photos/train/a/x.pdf")
    os.symlink("nowhere", f"{self.photos}/val/a/3.png")
    self.assertEqual(open_source(Source(self.photos)).lost, 2)

  def test_folders_without_an_image_make_no_classes(self):
    self._save("photos/0.png", "photos/1.png")
    self._write("photos/logs/today.txt")
    found = open_source(Source(self.photos))
    self.assertEqual((found.kind, len(found), found.lost), ("images", 2, 0))

  def test_append_counts_as_well(self):
    self._save("photos/0.png")
    self._convert(self.photos)
    self._save("photos/x/1.png")
    with self.assertRaisesRegex(
      ConvertError, "1 lost, as 0.png: is in no class folder"
    ):
      liquid_tf.append(self.output, self.photos, duplicates="skip", progress=False)
    os.rename(f"{self.photos}/x/1.png", f"{self.root}/1.png")
    self._write("photos/x/read.me")
    report = liquid_tf.append(
      self.output, self.photos, duplicates="skip", progress=False
    )
    self.assertEqual(report.samples, 1)

  @parameterized.parameters(
    ("Cat", "cat"), ("caf\xe9", "cafe\u0301"), ("big dog", "Big  Dog")
  )
  def test_classes_that_differ_in_spelling(self, one, other):
    for below, paths in (
      ("", (one, other)),
      ("train/", (f"train/{one}", f"val/{other}")),
    ):
      root = f"{self.root}/of{bool(below)}"
      self._save(*(f"of{bool(below)}/{path}/0.png" for path in paths))
      message = "has class folders .* which differ only in the case of letters"
      with self.assertRaisesRegex(ConvertError, message) as caught:
        open_source(Source(root))
      for path in paths:
        self.assertIn(path, str(caught.exception))

  def test_an_append_of_classes_that_differ_in_spelling(self):
    self._save("photos/gr\xfcn/0.png", "more/Gru\u0308n/1.png")
    self._convert(self.photos)
    with self.assertRaisesRegex(ConvertError, "have classes .* which differ only"):
      liquid_tf.append(self.output, f"{self.root}/more", progress=False)

  @parameterized.parameters(
    ("A/x.jpg", "a/X.png", None),
    ("na\xefve.jpg", "nai\u0308ve.png", None),
    ("x_LEFT.jpg", "x_Ids.PNG", "_left:_ids"),
  )
  def test_masks_whose_names_differ_in_spelling(self, image, mask, suffix):
    self._save(f"photos/{image}", "photos/other.png", "photos/other_left.png")
    self._mask(f"masks/{mask}", "masks/other.png", "masks/other_ids.png")
    source = Source(self.photos, masks=self.masks, mask_suffix=suffix)
    found = {one.path: one.mask for one in open_source(source).files}
    self.assertEqual(found[image], mask)
    # With two that may be meant, nobody can say.
    stem, extension = os.path.splitext(mask)
    self._mask(f"masks/{stem.upper()}{extension}")
    with self.assertRaisesRegex(
      ConvertError, "may be of .*: names differ .* give each"
    ):
      open_source(source)

  @parameterized.parameters(
    (["x-00000-of-00003.tfrecord", "x-00002-of-00003.tfrecord"], ["x-00001-of-00003"]),
    (["train-1-of-2", "val-1-of-3", "train-2-of-2"], ["val-0-of-3", "val-2-of-3"]),
    (["a_003_of_004.rec"], ["a_000_of", "a_001_of", "a_002_of"]),
    (["d.tfrecord-00001-of-00002", "d.tfrecord-00000-of-00002", "e.rec"], []),
  )
  def test_missing_parts(self, names, wanted):
    found = list(left_out.missing_parts([f"/data/{name}" for name in names], 7))
    self.assertLen(found, len(wanted))
    for one, start in zip(found, wanted):
      self.assertStartsWith(one.path, f"/data/{start}")
      self.assertEqual(one.samples, 7)

  def test_a_pattern_that_lacks_a_part_is_an_error(self):
    image = written.images(1)[0]
    for i in (0, 1, 3):
      example = {"image/encoded": image, "image/class/label": i}
      written.write(f"{self.root}/set-{i:05}-of-00004.tfrecord", [example] * 5)
    with self.assertRaisesRegex(
      ConvertError, r"5 of 20 samples .*set-00002-of-00004.tfrecord: is missing: .* 4"
    ):
      self._convert(f"{self.root}/set-*")
    self.assertEqual(
      open_source(Source(f"{self.root}/set-00003-of-00004.tfrecord")).lost, 0
    )
    choose.check_lost(open_source(Source(f"{self.root}/set-*")), Fraction(1, 4), None)

  def test_damage_of_tfrecords_counts_by_its_size(self):
    image = written.images(1)[0]
    path = f"{self.root}/a.tfrecord"
    written.write(path, [{"image/encoded": image, "image/class/label": 0}] * 10)
    size = os.path.getsize(path)
    data = bytearray(pathlib.Path(path).read_bytes())
    data[size // 10 * 4] ^= 0xFF
    pathlib.Path(path).write_bytes(data)
    found = open_source(Source(path))
    self.assertEqual((len(found), found.lost), (5, 5))

  @parameterized.parameters(("train:8,val:1", "val"), ("a:1,b:1,c:1,d:.01", "c, d"))
  def test_splits_without_a_sample(self, splits, empty):
    self._save("photos/0.png", "photos/1.png")
    with self.assertRaisesRegex(
      ConvertError, rf'splits \("{splits[:5]}.*"\) would leave {empty} without any of'
    ):
      self._convert(self.photos, splits=splits)
    self.assertNotIn("png", str(os.listdir(self.output)))

  def test_a_split_of_a_folder_without_an_image(self):
    self._save("photos/train/0.png")
    os.mkdir(f"{self.photos}/test")
    with self.assertRaisesRegex(ConvertError, "has no sample for the split test"):
      self._convert(self.photos)

  def test_a_split_that_was_emptied(self):
    self._save("photos/train/0.png", "photos/val/1.png")
    self._convert(self.photos)
    liquid_tf.remove(liquid_tf.open(self.output).split("val"))
    with self.assertRaisesRegex(ValueError, r'split \("val"\) must choose a sample'):
      liquid_tf.dataset(self.output, 1, split="val")
    again = convert(self.output, f"{self.root}/again", "png", progress=False)
    self.assertEqual(again.splits, {"train": 1})

  def _archive(self, kind: str) -> bytes:
    data = io.BytesIO()
    if kind == "7z":
      data.write(b"7z\xbc\xaf\x27\x1c and more")
    elif kind == "zip":
      with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.png", b"x")
    else:
      with tarfile.open(fileobj=data, mode=f"w:{kind}") as archive:
        archive.addfile(tarfile.TarInfo("a.png"))
    return data.getvalue()

  @parameterized.parameters(
    ("photos.7z", "7z", "is a 7z archive, .*: unpack it"),
    ("photos", "7z", "is a 7z archive, .*: unpack it"),
    ("photos.tar.zst", "7z", "is a compressed tar archive, .*: unpack it"),
    ("photos.zst", "7z", "is a compressed file, .*: decompress it"),
  )
  def test_archives_are_named(self, name, kind, message):
    self._write(name, data=self._archive(kind))
    for options in ({}, {"on_error": "skip"}):
      with self.assertRaisesRegex(ConvertError, message) as caught:
        self._convert(f"{self.root}/{name}", **options)
      self.assertNotIn("checksum", str(caught.exception))

  @parameterized.parameters(
    "7z rar h5 hdf5 mds mdb beton csv json jsonl xml pkl mp4 avi sqlite dcm".split()
  )
  def test_other_files_are_named(self, extension):
    self._write(f"x.{extension}", f"folder/deep/x.{extension}", "folder/README.md")
    kind = other_files.kind_of(f"x.{extension}", b"")
    with self.assertRaisesRegex(
      ConvertError, f"is {kind.name}, .*: {kind.advice[:20]}"
    ):
      open_source(Source(f"{self.root}/x.{extension}"), skips=False)
    with self.assertRaisesRegex(
      ConvertError, f"no image files: deep/x.{extension} is {kind.name}; {kind.advice}"
    ):
      open_source(Source(f"{self.root}/folder"))

  def test_one_image_and_a_folder_of_records_are_named(self):
    self._save("x.png", "y/0.png")
    pathlib.Path(self.root, "y/0.png").rename(f"{self.root}/unnamed")
    for name in ("x.png", "unnamed"):
      with self.assertRaisesRegex(ConvertError, "is an image, .*: give its folder"):
        open_source(Source(f"{self.root}/{name}"), skips=False)
    self._write("z/0.tfrecord")
    with self.assertRaisesRegex(
      ConvertError, "a file of TFRecords; give the files, as"
    ):
      open_source(Source(f"{self.root}/z"))

  def test_annotated_images_beside_folders_are_all_samples(self):
    self._save("photos/a.png", "photos/more/b.png")
    self._write(
      "boxes.csv", data=b"file_name,ymin,xmin,ymax,xmax,label\na.png,0,0,2,2,x\n"
    )
    found = open_source(Source(self.photos, annotations=f"{self.root}/boxes.csv"))
    self.assertEqual((len(found), found.classes, found.lost), (2, None, 0))
    choose.check_lost(found, None, None)


if __name__ == "__main__":
  tf.test.main()
