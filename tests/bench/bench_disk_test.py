"""`tools.bench disk`: what it reads, and what it says."""

import json
import os
import pathlib
import shutil
from unittest import mock

import benches
import numpy as np
from absl.testing import absltest
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._store import manifest as manifests
from liquid_tf.cli import wheel_images
from tools.bench import disk


class BenchDiskTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.source = str(root / "source")
    folder = root / "source" / "class"
    folder.mkdir(parents=True)
    photograph = wheel_images.wheel_photographs()["coffee"]
    for i in range(8):
      crop = np.ascontiguousarray(photograph[i : i + 256, :256])
      Image.fromarray(crop).save(folder / f"{i}.png")
    self.dataset = str(root / "dataset")
    convert(self.source, self.dataset, "png:1,raw:1", progress=False)

  def test_reads_every_format(self):
    done = benches.run("disk", "--json", f"--dataset={self.dataset}", "--rounds=1")
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(set(result["formats"]), {"png", "raw"})
    self.assertEqual(result["skipped"] is None, shutil.which("fio") is not None)
    for name, entry in result["formats"].items():
      self.assertGreater(entry["ours"][0], 0)
      self.assertEqual("ratio" in entry, result["skipped"] is None)
      self.assertIn(f"{name}, ", done.stderr)

  def test_without_fio(self):
    with mock.patch.dict(os.environ, PATH=self.create_tempdir().full_path):
      done = benches.run("disk", "--json", f"--dataset={self.dataset}", "--rounds=1")
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(result["skipped"], "fio is not installed")
    self.assertNotIn("fio", result["formats"]["png"])
    self.assertIn("nothing to compare with: fio is not installed", done.stderr)

  def test_fio_reads_the_split_that_ours_does(self):
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    splits = {"test": 0.5, "train": 0.5}
    convert(self.source, path, "raw", splits=splits, progress=False)
    with (
      mock.patch.object(shutil, "which", return_value="fio"),
      mock.patch.object(disk, "fio_speed", return_value=1.0) as fio_speed,
    ):
      options = {"rounds": 1, "block": 1 << 17, "depth": 8, "reader": "auto"}
      result = disk.bench(path, say=lambda text: None, **options)
    manifest = manifests.load(path)
    wanted = [s for s in manifest.shards if s.split == "train"]
    self.assertLess(len(wanted), len(manifest.shards))
    (call,) = fio_speed.call_args_list
    self.assertEqual(call.args[1], [manifest.path(s.path) for s in wanted])
    self.assertEqual(result["split"], "train")
    self.assertEqual(result["formats"]["raw"]["bytes"], sum(s.bytes for s in wanted))

  def test_no_record_comes_to_python(self):
    with mock.patch.object(disk, "_ALL", 0):
      with self.assertRaisesRegex(RuntimeError, r"skip\(0\) left an element"):
        disk._ours(self.dataset, "raw", 1 << 20, 8, "auto")


if __name__ == "__main__":
  absltest.main()
