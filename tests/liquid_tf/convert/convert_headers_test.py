"""Copies of which only headers are read: what they are, and what is not known."""

import json
import os
import pathlib
import shutil

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf._convert.convert import convert
from liquid_tf._edit.append import append
from liquid_tf._export.export import export
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError, ManifestError
from liquid_tf.transforms import Channels, Orient, Resize

_QUICK = {"progress": False, "workers": 2}


def _rows(path: str) -> np.ndarray:
  return manifest.load_index(manifest.load(path))


class HeadersTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")
    photos.class_folders(self.source, per_class=4, sides=(48, 64), extension="jpg")
    self.files = sorted(pathlib.Path(self.source).rglob("*.jpg"))

  def _convert(self, mix="jpeg", output=None, **options):
    options = {"check": "headers", **_QUICK} | options
    return convert(self.source, output or self.output, mix, **options)

  def _cut(self, number: int) -> pathlib.Path:
    """Damages a file, but for its header."""
    file = self.files[number]
    file.write_bytes(file.read_bytes()[:-40])
    return file

  def test_all_but_the_hashes_is_as_if_pixels_were_checked(self):
    checked = f"{self.root}/checked"
    plain = {"jpeg": {"index": "none"}}
    self._convert(check="pixels", output=checked, encoders=plain)
    self._convert()
    found, wanted = photos.files(self.output), photos.files(checked)
    self.assertEqual(found.keys(), wanted.keys())
    different = {name for name in found if found[name] != wanted[name]}
    self.assertEqual(different, {"dataset.json", "index.npy"})
    rows, known = _rows(self.output), _rows(checked)
    for name in set(rows.dtype.names) - {"pixels_hash"}:
      self.assertAllEqual(rows[name], known[name])
    self.assertTrue(known["pixels_hash"].all())
    self.assertFalse(rows["pixels_hash"].any())
    texts = [json.loads(files["dataset.json"]) for files in (found, wanted)]
    self.assertEqual([text.pop("pixels") for text in texts], ["unchecked", "checked"])
    for text in texts:
      del text["index"]["crc32c"]
    self.assertEqual(*texts)
    summary = inspection.verify(self.output)
    self.assertEqual((summary["problems"], summary["verified"]), ([], len(rows)))
    self.assertEqual(summary["pixels"], "unchecked")

  def test_each_file_keeps_its_format_whatever_the_weights(self):
    for i, file in enumerate(self.files[:3]):
      photos.save(
        str(file.with_name(f"more{i}.png")), np.full((24, 32, 3), i, np.uint8)
      )
    report = self._convert("png:100,jpeg:1,bmp:1")
    files = sorted(pathlib.Path(self.source).rglob("*.*"))
    for record in stored.records(self.output):
      file = files[record["id"]]
      self.assertEqual(record["contents"], file.read_bytes())
      self.assertEqual(record["shard"].format, {".jpg": "jpeg"}.get(file.suffix, "png"))
    counts = {name: entry["samples"] for name, entry in report.formats.items()}
    self.assertEqual(counts, {"png": 3, "jpeg": len(self.files), "bmp": 0})
    batches = liquid_tf.dataset(self.output, 1, features=["id"])
    found = [int(batch["id"][0]) for batch in batches]
    self.assertCountEqual(found, range(len(files)))

  def test_damage_shows_when_it_is_decoded(self):
    file = self._cut(2)
    with self.assertRaisesRegex(ConvertError, f"1 cannot be read, as .*{file.name}"):
      self._convert(check="pixels")
    self._convert(existing="replace")
    [problem] = inspection.verify(self.output)["problems"]
    self.assertIn("(sample 2,", problem)
    given = {"features": ["image", "id"], "transforms": [Resize((8, 8))]}
    with self.assertRaisesRegex(tf.errors.DataLossError, r"sample 2\b"):
      list(liquid_tf.dataset(self.output, 1, **given))
    left = liquid_tf.dataset(self.output, 1, **given, on_error="skip")
    self.assertNotIn(2, [int(batch["id"][0]) for batch in left])

  def test_what_is_no_copy_goes_by_on_error(self):
    photos.save(f"{self.source}/c0/more.png", np.zeros((24, 32, 3), np.uint8))
    ink = Image.new("CMYK", (32, 24))
    ink.save(self.files[0])
    self.files[1].write_bytes(b"\xff\xd8\xff\xe0")
    with self.assertRaisesRegex(
      ConvertError,
      r"2 cannot be read, as .*; 1 of no format of the mix, as .*more\.png: is in the "
      r'format png, and check="headers" copies files of jpeg',
    ):
      self._convert()
    report = self._convert(existing="resume", on_error="skip:50%")
    self.assertLen(report.skipped, 3)
    self.assertEqual(report.samples, len(self.files) - 2)

  @parameterized.parameters(
    ({"check": "none"}, 'must be one of "pixels", "headers"'),
    ({"mix": "png:1,jpeg:1", "replicate": True}, '"pixels" with replicate=True'),
    (
      {"encoders": {"jpeg": {"index": "row"}}},
      r'"pixels" with encoders\["jpeg"\]\["index"\]="row"',
    ),
    (
      {"encoders": {"jpeg": {"progressive": "baseline"}}},
      r'"pixels" with encoders\["jpeg"\]\["progressive"\]="baseline"',
    ),
    ({"transforms": [Channels(3)]}, '"pixels" with transforms'),
    ({"transforms": [Orient()]}, '"pixels" with transforms'),
    ({"mix": "jpeg:1,pcr:1"}, '"pixels" with "pcr" in the mix'),
    ({"mix": "webp"}, '"pixels" with "webp" in the mix'),
    ({"mix": "webp-lossy"}, '"pixels" with "webp-lossy" in the mix'),
  )
  def test_more_than_a_copy_is_refused(self, options, message):
    with self.assertRaisesRegex(ValueError, rf"check \(.*\) must be .*{message[8:]}"):
      self._convert(**options)
    self.assertFalse(os.path.exists(self.output))

  def test_a_conversion_is_finished_with_the_check_that_it_began_with(self):
    self._cut(2)
    with self.assertRaisesRegex(ConvertError, "cannot be read"):
      self._convert(check="pixels")
    with self.assertRaisesRegex(ConvertError, r'check \("headers"\) was "pixels"'):
      self._convert(existing="resume")
    self._convert(existing="replace")
    with self.assertRaisesRegex(ConvertError, "pixels unchecked, not checked"):
      self._convert(check="pixels", existing="resume")
    self.assertEqual(self._convert(existing="resume").samples, len(self.files))

  def test_what_is_appended_is_not_decoded_either(self):
    self._convert()
    more = f"{self.root}/more"
    shutil.copytree(self.source, more)
    for file in pathlib.Path(more).rglob("*.jpg"):
      file.rename(file.with_name(f"x{file.name}"))
    [first, *_] = pathlib.Path(more).rglob("*.jpg")
    first.write_bytes(first.read_bytes()[:-40])
    append(self.output, more, **_QUICK)
    rows = _rows(self.output)
    self.assertLen(rows, 2 * len(self.files))
    self.assertFalse(rows["pixels_hash"].any())
    self.assertEqual(manifest.load(self.output)["pixels"], "unchecked")
    self.assertLen(inspection.verify(self.output)["problems"], 1)

  def test_other_datasets_are_made_of_what_it_decodes_to(self):
    self._convert()
    again, other, direct = (f"{self.root}/{name}" for name in ("again", "l3", "direct"))
    convert(self.output, again, "jpeg", check="headers", **_QUICK)
    self.assertFalse(_rows(again)["pixels_hash"].any())
    convert(again, other, "l3", **_QUICK)
    convert(self.source, direct, "l3", **_QUICK)
    self.assertAllEqual(_rows(other)["pixels_hash"], _rows(direct)["pixels_hash"])
    self.assertTrue(_rows(other)["pixels_hash"].all())
    copied = f"{self.root}/copied"
    liquid_tf.copy(self.output, copied, progress=False)
    self.assertEqual(inspection.verify(copied)["problems"], [])
    folder = f"{self.root}/folder"
    export(self.output, folder, "folder", progress=False)
    exported = sorted(pathlib.Path(folder).rglob("*.jpg"))
    self.assertEqual(
      [file.read_bytes() for file in exported],
      [file.read_bytes() for file in self.files],
    )

  def test_damage_goes_no_further(self):
    self._cut(2)
    self._convert()
    with self.assertRaisesRegex(ConvertError, r"1 cannot be read, as .*\(sample 2\)"):
      convert(self.output, f"{self.root}/other", "jpeg", **_QUICK)

  def test_readers_find_hashes_that_the_manifest_denies(self):
    self._convert()
    path = pathlib.Path(self.output, "dataset.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"pixels": "checked"}))
    [problem] = inspection.inspect(self.output)["problems"]
    self.assertIn("has no hash of the pixels of sample", problem)
    path.write_text(json.dumps(data | {"replicated": True}))
    with self.assertRaisesRegex(ManifestError, "replicated must be false where pixels"):
      manifest.load(self.output)

  def test_masks_are_checked(self):
    images, masks = f"{self.root}/images", f"{self.root}/masks"
    for i, file in enumerate(self.files[:3]):
      os.makedirs(images, exist_ok=True)
      shutil.copyfile(file, f"{images}/{i}.jpg")
      with Image.open(file) as image:
        sides = image.size[::-1]
      photos.save(f"{masks}/{i}.png", np.full(sides, i, np.uint8))
    source = liquid_tf.Source(images, masks=masks)
    convert(source, self.output, "jpeg", check="headers", **_QUICK)
    self.assertEqual(inspection.verify(self.output)["problems"], [])


if __name__ == "__main__":
  tf.test.main()
