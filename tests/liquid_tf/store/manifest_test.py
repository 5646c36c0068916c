"""A manifest or index that is wrong is refused in one sentence that says where."""

import copy
import io
import json
import os
import pathlib
import shutil
import tempfile

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import recordio
from liquid_tf._convert.convert import convert
from liquid_tf._store import arrays, manifest
from liquid_tf.errors import ManifestError


def _set(data, keys, value):
  for key in keys[:-1]:
    data = data[key]
  if value is _MISSING:
    del data[keys[-1]]
  else:
    data[keys[-1]] = value


_MISSING = object()


class ManifestTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = pathlib.Path(tempfile.mkdtemp())
    cls.addClassCleanup(shutil.rmtree, root)
    source = photos.class_folders(root / "source", per_class=4, classes=2)
    cls.dataset = os.fspath(root / "dataset")
    convert(source, cls.dataset, "png:1,raw:1", progress=False)
    cls.good = json.loads((root / "dataset" / "dataset.json").read_text())

  def tearDown(self):
    self._write(self.good)
    super().tearDown()

  def _write(self, data) -> None:
    path = os.path.join(self.dataset, "dataset.json")
    text = data if isinstance(data, str) else json.dumps(data)
    pathlib.Path(path).write_text(text)

  def test_a_good_one_loads(self):
    loaded = manifest.load(self.dataset)
    self.assertEqual(loaded["samples"], 8)
    self.assertEqual(loaded.classes, ["astronaut", "coffee"])
    self.assertEqual(loaded.split_index("train"), 0)
    self.assertEqual(
      [(s.path, s.format, s.split, s.records) for s in loaded.shards],
      [
        ("raw-00000-of-00001.rec", "raw", "train", 4),
        ("png-00000-of-00001.rec", "png", "train", 4),
      ],
    )
    for shard in loaded.shards:
      self.assertEqual(os.path.getsize(loaded.path(shard.path)), shard.bytes)
    with self.assertRaisesRegex(ValueError, r'split \("test"\) must be one of "train"'):
      loaded.split_index("test")

  @parameterized.parameters(
    (["schema"], 1, r"schema \(1\) must be 3: .* an older version .*: convert again"),
    (["schema"], 4, r"schema \(4\) must be 3: .* another version"),
    (["schema"], _MISSING, r"schema \(null\) must be 3"),
    (["samples"], _MISSING, "samples is missing"),
    (["samples"], "8", r'samples \("8"\) must be a whole number in \[0, 2\^63\)'),
    (["samples"], True, r"samples \(true\) must be a whole number"),
    (["samples"], 2**63, r"samples \(9223372036854775808\) must be a whole number"),
    (["samples"], 9, r"samples \(9\) must be the sum over splits, 8"),
    (["seed"], -1, r"seed \(-1\)"),
    (["mix", "png"], 0, r'mix\["png"\] \(0\) must be a number > 0'),
    (["mix", "gif"], 1, "mix .*gif.* must be one of raw, png"),
    (["features", "image", "dtype"], "float32", r"features.image.dtype \(.float32.\)"),
    (["features", "image", "shape"], [1, 2], "features.image.shape"),
    (["features", "image", "shape"], [None, None, 5], "features.image.shape"),
    (["features", "label", "classes"], "abc", "features.label.classes must be a list"),
    (["supervised"], ["image", "mask"], r"supervised\[1\] .*mask"),
    (["splits", "train", "index"], 1, r"splits\[\*\].index"),
    (["shards", 0, "path"], "../x.rec", r"shards\[0\].path .* plain file name"),
    (["shards", 0, "path"], "/etc/passwd", r"shards\[0\].path .* plain file name"),
    (["shards", 0, "path"], "a/b.rec", r"shards\[0\].path .* plain file name"),
    (["shards", 0, "path"], "..", r"shards\[0\].path .* plain file name"),
    (["shards", 0, "path"], "png-00000-of-00001.rec", r"shards\[1\].path .* twice"),
    (["shards", 0, "format"], "gif", r"shards\[0\].format"),
    (["shards", 0, "format"], "bmp", r"shards\[0\].format .* not in formats"),
    (["shards", 0, "split"], "val", r"shards\[0\].split .* not in splits"),
    (["shards", 0, "records"], 3, "formats.raw .* at most the sum over its shards, 3"),
    (["shards", 0, "crc32c"], 2**32, r"shards\[0\].crc32c"),
    (["shards", 1], 5, r"shards\[1\] must be an object"),
    (["formats", "png", "lossless"], 1, r'formats\["png"\].lossless'),
    (["index", "rows"], 7, r"index.rows \(7\) must be the sum over formats, 8"),
    (["next_sample"], 7, r"next_sample \(7\) must be at least samples \(8\)"),
    (["targets"], ["png"], r"targets \(1\) must have a name for each format of mix"),
    (["version"], 2, r"version \(2\) must be that of the file.s name"),
    (["version"], 0, r"version \(0\) must be a whole number in \[1"),
    (["labels"], _MISSING, "labels must be there where"),
    (["labels", "path"], "../x", "labels.path .* plain file name"),
    (["names", "text", "bytes"], -1, r"names.text.bytes \(-1\)"),
    (["columns", "a"], {"dtype": "int8"}, r'columns\["a"\].dtype'),
    (["columns", "a"], {"dtype": "bool"}, r'columns\["a"\] of bool must have values'),
    (
      ["columns", "a"],
      {"dtype": "string", "values": {"path": "a", "crc32c": 1}},
      r'columns\["a"\] of string must have ends, text',
    ),
    (["skipped"], [{"path": "x"}], r"skipped\[0\].reason is missing"),
  )
  def test_wrong_values_are_named(self, keys, value, message):
    data = copy.deepcopy(self.good)
    _set(data, keys, value)
    self._write(data)
    with self.assertRaisesRegex(ManifestError, message) as caught:
      manifest.load(self.dataset)
    self.assertIn(os.path.join(self.dataset, "dataset.json"), str(caught.exception))

  def test_every_missing_key_is_named(self):
    for key in self.good:
      data = copy.deepcopy(self.good)
      del data[key]
      self._write(data)
      with self.assertRaisesRegex(ManifestError, key):
        manifest.load(self.dataset)

  @parameterized.parameters("", "{", "[]", "null", "\x00", '{"schema": 1} trailing')
  def test_other_text_is_refused(self, text):
    self._write(text)
    with self.assertRaisesRegex(ManifestError, "dataset.json"):
      manifest.load(self.dataset)

  def test_sizes_that_disagree_are_named(self):
    data = copy.deepcopy(self.good)
    data["shards"][1]["bytes"] += 4
    data["formats"]["png"]["bytes"] += 4
    self._write(data)
    message = r"png-00000-of-00001.rec has \d+ bytes, but shards\[1\].bytes"
    with self.assertRaisesRegex(ManifestError, message):
      manifest.load(self.dataset)
    manifest.load(self.dataset, check_files=False)

  def test_a_missing_file_is_named(self):
    path = os.path.join(self.dataset, "raw-00000-of-00001.rec")
    os.rename(path, path + ".away")
    try:
      with self.assertRaisesRegex(ManifestError, f"{path} is missing"):
        manifest.load(self.dataset)
    finally:
      os.rename(path + ".away", path)

  def test_files_of_records_say_what_they_are(self):
    root = self.create_tempdir().full_path
    with recordio.Writer(f"{root}/a.rec") as writer:
      writer.write(b"x")
    with tf.io.TFRecordWriter(f"{root}/b.rec") as writer:
      writer.write(b"x")
    for name, message in (
      ("a.rec", "is RecordIO, not a Liquid .*liquid_tf.convert, .*recordio.dataset"),
      ("a.r*", "is RecordIO"),
      ("b.rec", "is TFRecord, not a Liquid .*tf.data.TFRecordDataset"),
      ("none.rec", "is not a Liquid dataset"),
    ):
      with self.assertRaisesRegex(ManifestError, message):
        liquid_tf.dataset(f"{root}/{name}", 8)
    pathlib.Path(root, "a.rec").write_bytes(b"1234567890abc")
    with self.assertRaisesRegex(ManifestError, "is not a Liquid dataset"):
      manifest.load(f"{root}/a.rec")

  def test_a_folder_without_a_manifest_says_what_it_is(self):
    empty = self.create_tempdir().full_path
    with self.assertRaisesRegex(ManifestError, "is not a Liquid dataset"):
      manifest.load(empty)
    with self.assertRaisesRegex(ManifestError, "is not a Liquid dataset"):
      manifest.load(os.path.join(empty, "absent"))
    pathlib.Path(empty, "_journal.db").touch()
    message = "unfinished conversion or copy: .*resume"
    with self.assertRaisesRegex(ManifestError, message):
      manifest.load(empty)


class IndexTest(parameterized.TestCase, tf.test.TestCase):
  def test_numpy_reads_it_and_writes_the_same(self):
    rows = np.zeros(3, manifest.INDEX_DTYPE)
    rows["sample"] = [5, 6, 7]
    rows["pixels_hash"] = 2**64 - 1
    data = manifest.encode_index(rows)
    self.assertLen(data, arrays.size(manifest.INDEX_DTYPE, (3,)))
    read = np.load(io.BytesIO(data))
    self.assertEqual(read.dtype, manifest.INDEX_DTYPE)
    self.assertEqual(read.dtype.itemsize, 56)
    self.assertEqual(read.tobytes(), rows.tobytes())
    self.assertTrue(data.startswith(b"\x93NUMPY\x01\x00"))
    self.assertEqual((len(data) - 3 * 56) % 64, 0)

  def test_damage_anywhere_is_found(self):
    root = self.create_tempdir().full_path
    source = photos.class_folders(f"{root}/source", per_class=3, classes=2)
    convert(source, f"{root}/dataset", "png:1,raw:1", progress=False)
    loaded = manifest.load(f"{root}/dataset")
    self.assertLen(manifest.load_index(loaded), 6)
    path = pathlib.Path(root, "dataset", "index.npy")
    good = path.read_bytes()
    for position in range(0, len(good), 7):
      bad = bytearray(good)
      bad[position] ^= 1
      path.write_bytes(bad)
      with self.assertRaisesRegex(ManifestError, "index.npy is damaged"):
        manifest.load_index(loaded)
    path.write_bytes(good[:-1])
    with self.assertRaisesRegex(ManifestError, r"index.npy has \d+ bytes"):
      manifest.load(f"{root}/dataset")

  def test_crc32c_is_that_of_rfc_3720(self):
    self.assertEqual(manifest.crc32c(b"123456789"), 0xE3069283)
    self.assertEqual(manifest.crc32c(b"6789", manifest.crc32c(b"12345")), 0xE3069283)


if __name__ == "__main__":
  tf.test.main()
