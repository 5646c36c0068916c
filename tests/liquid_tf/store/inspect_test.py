"""inspect says what a dataset holds, and what is wrong, without reading records."""

import json
import os
import pathlib
import shutil

import numpy as np
import photos
import tensorflow as tf
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._store import manifest, stored_sample
from liquid_tf._view import inspection, sample_reader


class InspectTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = photos.class_folders(f"{self.root}/source", per_class=10, classes=2)
    self.dataset = f"{self.root}/dataset"
    convert(self.source, self.dataset, "png:6,raw:4", shard_size=20_000, progress=False)

  def test_a_sound_dataset(self):
    result = inspection.inspect(self.dataset)
    json.dumps(result)
    self.assertEqual(result["problems"], [])
    self.assertEqual(result["samples"], 20)
    self.assertEqual(result["mix"], {"raw": 4, "png": 6})
    self.assertEqual(result["formats"]["png"]["samples"], 12)
    self.assertEqual(result["formats"]["raw"]["samples"], 8)
    shards = [path for path in pathlib.Path(self.dataset).glob("*.rec")]
    self.assertEqual(result["shards"], len(shards))
    self.assertEqual(result["bytes"], sum(path.stat().st_size for path in shards))
    self.assertEqual(result["splits"], {"train": 20})

  def test_missing_and_truncated_files_are_each_one_problem(self):
    shards = sorted(pathlib.Path(self.dataset).glob("*.rec"))
    os.truncate(shards[0], 100)
    shards[1].unlink()
    os.truncate(f"{self.dataset}/index.npy", 100)
    problems = inspection.inspect(self.dataset)["problems"]
    self.assertLen(problems, 3)
    for problem, path in zip(sorted(problems), [f"{self.dataset}/index.npy", *shards]):
      self.assertStartsWith(problem, f"{path} ")
    self.assertIn("has 100 bytes, but shards[", "".join(problems))
    self.assertIn("is missing", "".join(problems))

  def test_what_is_no_dataset(self):
    for path, message in (
      (self.source, "is not a Liquid dataset"),
      (f"{self.root}/absent", "is not a Liquid dataset"),
    ):
      result = inspection.inspect(path)
      self.assertEqual(result["samples"], 0)
      self.assertEqual(result["formats"], {})
      self.assertRegex(result["problems"][0], message)
    os.unlink(f"{self.dataset}/dataset.json")
    pathlib.Path(self.dataset, "_journal.db").touch()
    problems = inspection.inspect(self.dataset)["problems"]
    self.assertRegex(problems[0], "unfinished conversion.*resume")

  def test_files_of_another_dataset(self):
    other = f"{self.root}/other"
    convert(
      self.source, other, "png:6,raw:4", seed=5, shard_size=20_000, progress=False
    )
    good = pathlib.Path(self.dataset, "index.npy").read_bytes()
    shutil.copy(f"{other}/index.npy", f"{self.dataset}/index.npy")
    problems = inspection.inspect(self.dataset)["problems"]
    self.assertLen(problems, 1)
    self.assertRegex(problems[0], "index.npy is damaged: its CRC-32C")

    pathlib.Path(self.dataset, "index.npy").write_bytes(good)
    shutil.copy(f"{other}/dataset.json", f"{self.dataset}/dataset.json")
    self.assertNotEmpty(inspection.inspect(self.dataset)["problems"])

  def _rewrite_index(self, change) -> None:
    """Changes rows and makes the manifest agree with the file."""
    rows = manifest.load_index(manifest.load(self.dataset)).copy()
    change(rows)
    data = manifest.encode_index(rows)
    pathlib.Path(self.dataset, "index.npy").write_bytes(data)
    path = pathlib.Path(self.dataset, "dataset.json")
    text = json.loads(path.read_text())
    text["index"]["crc32c"] = manifest.crc32c(data)
    path.write_text(json.dumps(text))

  def test_a_sample_stored_twice_and_one_never(self):
    def change(rows):
      rows["sample"][0] = rows["sample"][1]

    self._rewrite_index(change)
    problems = inspection.inspect(self.dataset)["problems"]
    self.assertRegex(
      problems[0], r"has \d rows of sample \d+, not 1 \(1 such samples\)"
    )
    self.assertRegex("\n".join(problems), r'19 samples of split "train"')

  def test_rows_outside_their_shard(self):
    def change(rows):
      rows["offset"][3] = 2**40

    self._rewrite_index(change)
    problems = inspection.inspect(self.dataset)["problems"]
    self.assertRegex(problems[0], r"row 3 .*: offset \(1099511627776\) must be .* room")

  def test_find_and_export_a_sample(self):
    sources = sorted(pathlib.Path(self.source).rglob("*.png"))
    for sample in (0, 7, 19):
      [place] = stored_sample.find_sample(self.dataset, sample)
      self.assertEqual(place["sample"], sample)
      shard = pathlib.Path(self.dataset, place["shard"])
      idx = shard.with_suffix(".idx").read_text().splitlines()
      self.assertEqual(idx[place["record"]], f"{sample}\t{place['offset']}")
      exported = f"{self.root}/{sample}.png"
      sample_reader.export_sample(self.dataset, sample, exported)
      self.assertAllEqual(
        np.asarray(Image.open(exported)), np.asarray(Image.open(sources[sample]))
      )
    with self.assertRaisesRegex(ValueError, r"sample \(20\) must be in \[0, 19\]"):
      stored_sample.find_sample(self.dataset, 20)


if __name__ == "__main__":
  tf.test.main()
