"""Whole folders of other people's images, where this machine has them."""

import os
import pathlib

import numpy as np
import photos
import stored
import tensorflow as tf
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._store import manifest
from liquid_tf._view import inspection


class SharedDataTest(tf.test.TestCase):
  def _folder(self, *parts: str) -> str:
    path = photos.shared_data(*parts)
    if path is None:
      self.skipTest(f"no {'/'.join(parts)} on this machine")
    return path

  def test_flowers(self):
    source = self._folder("limited", "photo_jpeg", "flowers")
    output = os.path.join(self.create_tempdir().full_path, "flowers")
    report = convert(source, output, "png:4,jpeg:3,raw:3", progress=False)
    files = [path for path in pathlib.Path(source).rglob("*") if path.is_file()]
    self.assertEqual(report.samples + len(report.skipped), len(files))
    self.assertEqual(report.skipped, [])
    loaded = manifest.load(output)
    self.assertEqual(
      loaded.classes, ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
    )
    shares = {"png": 0.4, "jpeg": 0.3, "raw": 0.3}
    for name, entry in loaded["formats"].items():
      self.assertLess(abs(entry["samples"] - shares[name] * len(files)), 1)
      # Files that are JPEG already are copied, so that no pixel changes.
      self.assertTrue(entry["lossless"], name)
    self.assertEqual(inspection.verify(output)["problems"], [])

  def test_camvid(self):
    camvid = self._folder("limited", "driving", "camvid")
    output = os.path.join(self.create_tempdir().full_path, "camvid")
    report = convert(
      Source(f"{camvid}/train", masks=f"{camvid}/trainannot"),
      output,
      "png:1,raw:1",
      progress=False,
    )
    images = sorted(pathlib.Path(camvid, "train").iterdir())
    self.assertEqual((report.samples, report.skipped), (len(images), []))
    self.assertEqual(manifest.load(output)["features"]["mask"]["shape"], [360, 480, 1])
    found = stored.masks(output)
    for sample, path in enumerate(images):
      mask = Image.open(os.path.join(camvid, "trainannot", path.name))
      self.assertAllEqual(found[sample], np.asarray(mask))
    self.assertEqual(inspection.verify(output)["problems"], [])


if __name__ == "__main__":
  tf.test.main()
