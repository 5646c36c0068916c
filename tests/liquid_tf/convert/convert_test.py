"""A conversion keeps every sample, proves its pixels, and repeats its bytes."""

import hashlib
import io
import json
import os
import pathlib
import shutil
from unittest import mock

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageCms

from liquid_tf._convert import pipelines, plan, scan
from liquid_tf._convert.convert import convert
from liquid_tf._convert.geometry import Geometry
from liquid_tf._convert.source import source_of
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._edit.append import append
from liquid_tf._native.encoders import resolve
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError, ManifestError
from liquid_tf.transforms import Mirror, Orient


def _sources(root: str) -> list[pathlib.Path]:
  return sorted(path for path in pathlib.Path(root).rglob("*") if path.is_file())


class ConvertTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")

  def _convert(self, mix="png:6,raw:4", output=None, **options):
    return convert(self.source, output or self.output, mix, progress=False, **options)

  @parameterized.parameters(
    "png:6,raw:4",
    "raw:1",
    "png:1",
    "l3:1",
    "webp:1,bmp:1",
    "l3:1,bmp:1,webp:1,png:1,raw:1",
  )
  def test_every_sample_is_there_with_its_pixels_and_label(self, mix):
    photos.class_folders(self.source)
    report = self._convert(mix)
    sources = _sources(self.source)
    records = stored.records(self.output)
    self.assertEqual(report.samples, len(sources))
    self.assertEqual(
      sorted(record["id"] for record in records), list(range(len(sources)))
    )
    classes = manifest.load(self.output).classes
    for record in records:
      path = sources[record["id"]]
      self.assertAllEqual(record["image"], np.asarray(Image.open(path)))
      self.assertEqual(
        [classes[int(label)] for label in record["labels"]], [path.parent.name]
      )
      self.assertEqual(record["row"]["sample"], record["id"])
      self.assertEqual(record["image"].shape[0], record["row"]["height"])
      if record["shard"].format == "png":
        self.assertEqual(record["contents"], path.read_bytes())
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_report_and_manifest_count_what_is_there(self):
    photos.class_folders(self.source, per_class=15)
    report = self._convert().to_dict()
    self.assertEqual(
      set(report),
      {
        "output",
        "samples",
        "splits",
        "classes",
        "formats",
        "jpeg_index",
        "seconds",
        "skipped",
        "by_pillow",
        "notes",
      },
    )
    json.dumps(report)
    self.assertEqual(report["splits"], {"train": 45})
    self.assertEqual(report["classes"], {"astronaut": 15, "chelsea": 15, "coffee": 15})
    self.assertEqual(report["formats"]["png"]["samples"], 27)
    self.assertEqual(report["formats"]["raw"]["samples"], 18)
    pixel_bytes = {"png": 0, "raw": 0}
    for record in stored.records(self.output):
      pixel_bytes[record["shard"].format] += record["image"].nbytes
    loaded = manifest.load(self.output)
    for name, entry in report["formats"].items():
      size = os.path.getsize(os.path.join(self.output, f"{name}-00000-of-00001.rec"))
      self.assertEqual(entry["bytes"], size)
      self.assertEqual(entry["pixel_bytes"], pixel_bytes[name])
      self.assertTrue(loaded["formats"][name]["lossless"])
    self.assertEqual(
      loaded["features"],
      {
        "image": {"dtype": "uint8", "shape": [None, None, 3]},
        "label": {
          "dtype": "int64",
          "shape": [],
          "classes": ["astronaut", "chelsea", "coffee"],
          "class_counts": [15, 15, 15],
        },
      },
    )
    self.assertEqual(loaded["supervised"], ["image", "label"])
    self.assertEqual(loaded["splits"], {"train": {"samples": 45, "index": 0}})
    self.assertNotIn("_journal.db", os.listdir(self.output))

  def test_idx_files_point_at_the_records(self):
    photos.class_folders(self.source)
    self._convert()
    for record in stored.records(self.output):
      idx = pathlib.Path(self.output, record["shard"].path).with_suffix(".idx")
      line = f"{record['id']}\t{record['row']['offset']}\n"
      self.assertIn(line, idx.read_text())

  def test_bytes_do_not_depend_on_workers_but_on_the_seed(self):
    photos.class_folders(self.source, per_class=20)
    made = []
    for workers in (1, 2, 4):
      output = os.path.join(self.root, f"by{workers}")
      self._convert(output=output, workers=workers, shard_size=20_000)
      made.append(photos.files(output))
    self.assertGreater(len(made[0]), 12)
    self.assertEqual(made[0], made[1])
    self.assertEqual(made[0], made[2])
    other = os.path.join(self.root, "other")
    self._convert(output=other, seed=1, shard_size=20_000)
    self.assertNotEqual(made[0]["index.npy"], photos.files(other)["index.npy"])

  def test_golden_bytes(self):
    for i in range(6):
      pixels = np.arange(4 * (i + 2) * 3, dtype=np.uint8).reshape(4, i + 2, 3) + i
      photos.save(f"{self.source}/{'ab'[i % 2]}/{i}.png", pixels)
    self._convert("raw:1")
    digests = {
      name: hashlib.sha256(photos.files(self.output)[name]).hexdigest()[:16]
      for name in ("index.npy", "raw-00000-of-00001.rec", "raw-00000-of-00001.idx")
    }
    self.assertEqual(
      digests,
      {
        "index.npy": "41f6a3be79aee444",
        "raw-00000-of-00001.rec": "dd9bb531690bb655",
        "raw-00000-of-00001.idx": "d533ee70e8eb071f",
      },
    )

  def test_what_cannot_be_a_sample_is_reported_and_counted(self):
    photos.class_folders(self.source, per_class=3)
    good = pathlib.Path(self.source, "coffee/0000.png").read_bytes()
    bad = {
      "coffee/cut.png": good[: len(good) // 2],
      "coffee/notes.txt": b"not an image",
      "coffee/empty.png": b"",
      "coffee/.hidden.png": good,
      "outside.png": good,
    }
    for name, data in bad.items():
      pathlib.Path(self.source, name).write_bytes(data)
    os.symlink("nowhere", os.path.join(self.source, "coffee/dangling.png"))
    os.symlink("..", os.path.join(self.source, "coffee/circle"))
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 9)
    self.assertEqual(
      [skipped["path"] for skipped in report.skipped],
      sorted([*bad, "coffee/dangling.png", "coffee/circle"]),
    )
    reasons = {skipped["path"]: skipped["reason"] for skipped in report.skipped}
    self.assertEqual(reasons["outside.png"], "is in no class folder")
    self.assertEqual(reasons["coffee/.hidden.png"], "is hidden")
    self.assertEqual(reasons["coffee/empty.png"], "the file is empty")
    self.assertStartsWith(reasons["coffee/notes.txt"], "is no image")
    self.assertIn("link", reasons["coffee/circle"])
    self.assertTrue(all(reasons.values()))
    self.assertEqual(manifest.load(self.output)["skipped"], report.skipped)
    with self.assertRaisesRegex(ConvertError, "coffee/dangling.png is a link that"):
      self._convert(output=f"{self.root}/strict")

  def test_files_that_are_no_images_are_left_out(self):
    photos.class_folders(self.source, per_class=3)
    good = pathlib.Path(self.source, "coffee/0000.png").read_bytes()
    # An image stays one under any name, and many other files have none of an image.
    for name, data in {
      "chelsea/Thumbs.db": b"\xd0\xcf\x11\xe0",
      "chelsea/empty.txt": b"",
      "coffee/0000.xml": b"<annotation/>",
      "coffee/content_hash": good,
      "coffee/photo.png.part": good,
      "_SUCCESS": b"",
    }.items():
      pathlib.Path(self.source, name).write_bytes(data)
    report = self._convert()
    self.assertEqual(report.samples, 11)
    self.assertEqual(report.classes, {"astronaut": 3, "chelsea": 3, "coffee": 5})
    self.assertEqual(
      [one["path"] for one in report.skipped],
      ["_SUCCESS", "chelsea/Thumbs.db", "chelsea/empty.txt", "coffee/0000.xml"],
    )

  @parameterized.parameters(
    ("coffee/empty.jpg", b"", "the file is empty"),
    ("coffee/phone.HEIC", b"\0\0\0\x18ftypheic", "nor is it one that Pillow reads"),
    ("coffee/0", b"\x89PNG\r\n\x1a\ncut", "png: "),
  )
  def test_an_image_that_cannot_be_read_is_an_error(self, name, data, reason):
    photos.class_folders(self.source, per_class=2)
    pathlib.Path(self.source, name).write_bytes(data)
    with self.assertRaisesRegex(
      ConvertError, rf"1 of 7 samples cannot be stored \(.* as {name}: .*{reason}"
    ):
      self._convert()

  def test_a_source_of_nothing_but_damage_is_an_error(self):
    os.makedirs(f"{self.source}/class")
    pathlib.Path(self.source, "class/a.png").write_bytes(b"no")
    with self.assertRaisesRegex(ConvertError, "none of the 1 samples .* class/a.png: "):
      self._convert(on_error="skip:100%")
    with self.assertRaisesRegex(ManifestError, "unfinished"):
      manifest.load(self.output)

  def test_16_bits_and_gray(self):
    deep = photos.photo("camera")[:32, :40].astype(np.uint16) * 201
    for i in range(4):
      photos.save(f"{self.source}/a/{i}.png", deep + i)
    self._convert("png:1,raw:1")
    loaded = manifest.load(self.output)
    self.assertEqual(
      loaded["features"]["image"], {"dtype": "uint16", "shape": [32, 40, 1]}
    )
    for record in stored.records(self.output):
      self.assertAllEqual(record["image"][..., 0], deep + record["id"])
    with self.assertRaisesRegex(ConvertError, r'"jpeg" holds .* 8 bits, but these'):
      self._convert("jpeg:1", output=f"{self.root}/jpeg")

  def test_jpeg_files_are_copied_and_other_files_encoded_because_it_is_asked(self):
    photos.class_folders(self.source, per_class=4, extension="jpg")
    report = self._convert("jpeg:1,raw:1")
    sources = _sources(self.source)
    for record in stored.records(self.output):
      if record["shard"].format == "jpeg":
        self.assertEqual(record["contents"], sources[record["id"]].read_bytes())
      with Image.open(sources[record["id"]]) as image:
        self.assertAllEqual(record["image"], np.asarray(image))
    self.assertEqual(report.formats["jpeg"]["samples"], 6)
    formats = manifest.load(self.output)["formats"]
    self.assertTrue(formats["jpeg"]["lossless"])

    shutil.rmtree(self.source)
    photos.class_folders(self.source, per_class=4)
    for mix, name in (("jpeg:1,raw:1", "jpeg"), ("webp-lossy:1,raw:1", "webp")):
      output = f"{self.root}/{name}"
      self._convert(mix, output=output)
      formats = manifest.load(output)["formats"]
      self.assertFalse(formats[name]["lossless"])
      self.assertTrue(formats["raw"]["lossless"])
      self.assertEqual(inspection.verify(output)["problems"], [])

  def test_what_was_scanned_is_copied_and_not_decoded_again(self):
    """A hash that is not the pixels' tells which files are decoded."""
    photos.class_folders(self.source, per_class=3, classes=1, extension="jpg")
    source = open_source(source_of(self.source), self.output)
    options = resolve(None)
    keeps = pipelines.Encoding.of({}, options)
    turns = pipelines.Encoding.of({"orient": Orient()}, options, Geometry(orient=True))
    found = scan.scan_samples(source, range(3), keeps, 1)
    table = np.array([row for _, row, _ in found])
    self.assertTrue(table["pixels_hash"].all())
    told = table.copy()
    told["pixels_hash"] = 1
    told["crc32c"][1] += 1

    def hashes(target, encoding, scanned):
      targets, ids = [target] * 3, np.arange(3)
      made = pipelines.encode(source, ids, targets, ids, encoding, 1, scanned)
      return [int(np.uint64(np.int64(one["pixels_hash"]))) for one in made]

    right = table["pixels_hash"].tolist()
    self.assertEqual(hashes("jpeg", keeps, told), [1, right[1], 1])
    self.assertEqual(hashes("jpeg", keeps, None), right)
    self.assertEqual(hashes("jpeg", turns, told), right)
    self.assertEqual(hashes("png", keeps, told), right)
    told["by_pillow"] = True
    self.assertEqual(hashes("jpeg", keeps, told), right)

  @parameterized.parameters(b"", b"\0")
  def test_a_file_that_changes_after_the_scan_is_named(self, more):
    photos.class_folders(self.source, per_class=3, classes=1, extension="jpg")
    [_, second, _] = _sources(self.source)
    plan_shards = plan.plan_shards

    def change(*arguments):
      second.write_bytes(second.read_bytes()[:-200] + more)
      return plan_shards(*arguments)

    with mock.patch.object(plan, "plan_shards", change):
      with self.assertRaisesRegex(ConvertError, f"{second.name} has changed since"):
        self._convert("jpeg")

  def test_split_folders_are_splits(self):
    for split, count in (("train", 6), ("val", 3), ("test", 2)):
      photos.class_folders(f"{self.source}/{split}", per_class=count, seed=count)
    self._convert()
    loaded = manifest.load(self.output)
    self.assertEqual(
      loaded["splits"],
      {
        "train": {"samples": 18, "index": 0},
        "val": {"samples": 9, "index": 1},
        "test": {"samples": 6, "index": 2},
      },
    )
    sources = _sources(self.source)
    for record in stored.records(self.output):
      self.assertStartsWith(
        os.path.relpath(sources[record["id"]], self.source),
        record["shard"].split + "/",
      )
      self.assertStartsWith(record["shard"].path, record["shard"].split + "-")
    with self.assertRaisesRegex(ConvertError, "splits of its own, train, val, test"):
      self._convert(output=f"{self.root}/other", splits="a:1,b:1")

  def test_drawn_splits(self):
    photos.class_folders(self.source, per_class=20)
    self._convert(splits="train:.9,val:.1")
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["splits"]["val"], {"samples": 6, "index": 1})
    records = stored.records(self.output)
    labels = [r["labels"][0] for r in records if r["row"]["split"] == 1]
    self.assertEqual(sorted(labels), [0, 0, 1, 1, 2, 2])

  def test_images_without_labels(self):
    random = np.random.default_rng(0)
    for i in range(5):
      pixels = photos.crop(photos.photo("coffee"), (20, 30), random)
      photos.save(f"{self.source}/{i}.png", pixels)
    self._convert()
    loaded = manifest.load(self.output)
    self.assertIsNone(loaded.classes)
    self.assertEqual(loaded["supervised"], ["image"])
    labels = [record["labels"] for record in stored.records(self.output)]
    self.assertEqual(labels, [[]] * 5)

  def test_replicated_samples_are_in_every_format(self):
    photos.class_folders(self.source, per_class=5)
    report = self._convert("png:6,raw:4,webp:1", replicate=True)
    self.assertEqual(report.samples, 15)
    orders = {}
    for record in stored.records(self.output):
      orders.setdefault(record["shard"].format, []).append(record["id"])
    self.assertEqual(set(orders), {"png", "raw", "webp"})
    self.assertEqual(orders["png"], orders["raw"])
    self.assertEqual(orders["png"], orders["webp"])
    self.assertEqual(sorted(orders["png"]), list(range(15)))
    self.assertTrue(manifest.load(self.output)["replicated"])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_names_that_are_not_utf8(self):
    photos.class_folders(self.source, per_class=2, classes=1)
    folder = os.fsencode(self.source) + b"/astronaut/"
    os.rename(folder + b"0000.png", folder + b"\xff\xfe.png")
    with open(folder + b"\xfd.png", "wb") as file:
      file.write(b"damaged")
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 2)
    self.assertEqual(os.fsencode(report.skipped[0]["path"]), b"astronaut/\xfd.png")

  def test_wrong_arguments_are_named(self):
    photos.class_folders(self.source, per_class=1, classes=1)
    for options, message in (
      ({"seed": -1}, r"seed \(-1\) must be a whole number in \[0"),
      ({"seed": 1.5}, r"seed \(1.5\)"),
      ({"transforms": [Mirror()]}, "must be a step of convert: Orient, Resize"),
      ({"workers": 0}, r"workers \(0\)"),
      ({"shard_size": 1}, r"shard_size \(1\)"),
      ({"encoders": {"jpg": {}}}, "did you mean jpeg"),
      ({"on_error": "ignore"}, r'on_error \("ignore"\) must be'),
      ({"on_error": "skip:101%"}, r'on_error \("skip:101%"\) must be'),
      ({"on_error": "skip:.1"}, r'on_error \("skip:.1"\) must be'),
      ({"existing": True}, r"existing \(True\) must be one of"),
      ({"splits": "train,val"}, "splits .* must look like"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        self._convert(**options)
    self.assertFalse(os.path.exists(self.output))


class JpegTest(tf.test.TestCase):
  def test_progressive_files_become_baseline_where_it_is_asked(self):
    root = self.create_tempdir().full_path
    photos.class_folders(f"{root}/a", per_class=3, sides=(40, 56), extension="jpg")
    files = _sources(f"{root}/a")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Image.Exif()
    exif[0x0112] = 6
    progressive = files[::2]
    for file in progressive:
      pixels = np.asarray(Image.open(io.BytesIO(file.read_bytes())))
      photos.save(file, pixels, progressive=True, icc_profile=profile, exif=exif)
    # Without its last scan, so it is smoothed.
    partial = files[2]
    data = partial.read_bytes()
    partial.write_bytes(data[: data.rindex(b"\xff\xda")] + b"\xff\xd9")
    found = {}
    for name, source, asked in (
      ("keep", f"{root}/a", "keep"),
      ("baseline", f"{root}/a", "baseline"),
      ("again", f"{root}/keep", "baseline"),
    ):
      options = {"encoders": {"jpeg": {"progressive": asked}}, "progress": False}
      report = convert(source, f"{root}/{name}", "jpeg", **options)
      self.assertEqual(inspection.verify(f"{root}/{name}")["problems"], [])
      found[name] = {one["id"]: one for one in stored.records(f"{root}/{name}")}
      shard, *_ = manifest.load(f"{root}/{name}")["shards"]
      kept = len(progressive) if asked == "keep" else 1
      self.assertEqual(shard["indexed"], len(files) - kept)
      wanted = {"records": len(files) - kept, "bytes": shard["index_bytes"]}
      self.assertEqual(report.jpeg_index, {**wanted, "without": kept})
    for number, file in enumerate(files):
      kept, made, again = (one[number] for one in found.values())
      self.assertEqual(kept["contents"], file.read_bytes())
      self.assertEqual(again["contents"], made["contents"])
      self.assertAllEqual(made["image"], kept["image"])
      self.assertEqual(made["row"]["pixels_hash"], kept["row"]["pixels_hash"])
      if file not in progressive or file == partial:
        self.assertEqual(made["contents"], kept["contents"])
        continue
      info = Image.open(io.BytesIO(made["contents"])).info
      self.assertNotIn("progressive", info)
      self.assertEqual(info["icc_profile"], profile)
      self.assertEqual(info["exif"], exif.tobytes())

    append(f"{root}/baseline", f"{root}/a", duplicates="add", progress=False)
    records = stored.records(f"{root}/baseline")
    first, second = records[: len(files)], records[len(files) :]
    contents = [{one["contents"] for one in half} for half in (first, second)]
    self.assertEqual(*contents)


if __name__ == "__main__":
  tf.test.main()
