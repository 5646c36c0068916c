"""Folders as TensorFlow Datasets prepares them: splits, class names, versions."""

import json
import os
import pathlib

import examples
import stored
import tensorflow as tf

from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources import tfds
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError

# As TFDS 4.9 wrote them of a dataset with these features.
_FEATURES = {
  "featuresDict": {
    "features": {
      "image": {
        "image": {"dtype": "uint8", "shape": {"dimensions": ["-1", "-1", "3"]}}
      },
      "label": {"classLabel": {"numClasses": "3"}},
      "name": {"text": {}},
      "boxes": {
        "sequence": {
          "feature": {"featuresDict": {"features": {"kind": {"tensor": {}}}}},
          "length": "-1",
        }
      },
      "inner": {"featuresDict": {"features": {"thumbnail": {"tensor": {}}}}},
    }
  }
}
_SUPERVISED = {"tuple": {"items": [{"featureKey": "image"}, {"featureKey": "label"}]}}


class ConvertTfdsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"

  def _prepare(self, folder="tiny/1.2.0", splits=(("train", (4, 3)), ("test", (2,)))):
    path = f"{self.root}/tfds/{folder}"
    os.makedirs(path)
    self.samples, entries = [], []
    for split, lengths in splits:
      for i, length in enumerate(lengths):
        made = [
          {"image": image, "label": n % 3, "name": b"n%d" % n, "boxes/kind": [n, n]}
          for n, image in enumerate(examples.images(length, seed=len(self.samples)))
        ]
        name = f"tiny-{split}.tfrecord-{i:05}-of-{len(lengths):05}"
        examples.write(f"{path}/{name}", made)
        self.samples += [(split, sample) for sample in made]
      entries.append(
        {
          "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
          "name": split,
          "shardLengths": [str(length) for length in lengths],
        }
      )
    info = {
      "fileFormat": "tfrecord",
      "name": "tiny",
      "splits": entries,
      "supervisedKeys": _SUPERVISED,
      "version": "1.2.0",
    }
    self._write(path, info, _FEATURES)
    pathlib.Path(path, "label.labels.txt").write_text("cat/dog\nbird\nzebra\n")
    return path, info

  def _write(self, path, info, features):
    pathlib.Path(path, "dataset_info.json").write_text(json.dumps(info))
    pathlib.Path(path, "features.json").write_text(json.dumps(features))

  def _convert(self, source="tfds:tiny", about=(), **options):
    about = dict(about)
    if source.startswith("tfds:"):
      about.setdefault("tfds_dir", f"{self.root}/tfds")
    output = options.pop("output", self.output)
    return convert(
      Source(source, **about), output, "png:1,raw:1", progress=False, **options
    )

  def test_files_of_windows_and_a_blank_name(self):
    path, info = self._prepare()
    pathlib.Path(path, "dataset_info.json").write_text(json.dumps(info), "utf-8-sig")
    names = pathlib.Path(path, "label.labels.txt")
    names.write_bytes("\ufeffcat/dog\r\nbird\r\nzebra\r\n\r\n".encode())
    listed = tfds.list_tfds(path, ExampleNames(), skips=False)
    self.assertEqual(listed.classes, ["cat/dog", "bird", "zebra"])
    names.write_text("cat/dog\n\nzebra\n")
    with self.assertRaisesRegex(ConvertError, "label.labels.txt has a blank line 2"):
      tfds.list_tfds(path, ExampleNames(), skips=False)

  def test_samples_splits_and_names(self):
    path, _ = self._prepare()
    report = stored.sound(self._convert(about={"features": ["name", "boxes/kind"]}))
    self.assertEqual(report.samples, 9)
    loaded = manifest.load(self.output)
    self.assertEqual(
      loaded["splits"],
      {"train": {"samples": 7, "index": 0}, "test": {"samples": 2, "index": 1}},
    )
    self.assertEqual(loaded.classes, ["cat/dog", "bird", "zebra"])
    self.assertEqual(loaded["source"]["kind"], "tfds")
    for record in stored.records(self.output):
      split, sample = self.samples[record["id"]]
      self.assertEqual(record["shard"].split, split)
      self.assertEqual(record["labels"], [sample["label"]])
      if record["shard"].format == "png":
        self.assertEqual(record["contents"], sample["image"])
      kept = tf.train.Example.FromString(record["example"]).features.feature
      self.assertEqual(kept["name"].bytes_list.value, [sample["name"]])
      self.assertEqual(kept["boxes/kind"].int64_list.value, sample["boxes/kind"])
    # The folder itself says as much as the name.
    self._convert(path, output=f"{self.root}/again")
    self.assertEqual(manifest.load(f"{self.root}/again")["splits"], loaded["splits"])

  def test_the_newest_version_or_the_one_asked_for(self):
    self._prepare("tiny/9.9.9", (("train", (1,)),))
    self._prepare("tiny/10.0.0", (("train", (2,)),))
    self.assertEqual(self._convert().samples, 2)
    older = self._convert("tfds:tiny:9.9.9", output=f"{self.root}/older")
    self.assertEqual(older.samples, 1)
    with self.assertRaisesRegex(ConvertError, "no version 3.0.0, but 10.0.0, 9.9.9"):
      self._convert("tfds:tiny:3.0.0", output=f"{self.root}/none")

  def test_configurations_are_named(self):
    self._prepare("tiny/small/1.0.0")
    with self.assertRaisesRegex(ConvertError, "configuration, as tfds:tiny/small"):
      self._convert()
    self.assertEqual(self._convert("tfds:tiny/small").samples, 9)

  def test_a_hidden_label_is_no_class(self):
    path, _ = self._prepare("tiny/1.0.0", (("train", (2,)),))
    image = examples.images(1)[0]
    made = [{"image": image, "label": label} for label in (2, -1)]
    examples.write(f"{path}/tiny-train.tfrecord-00000-of-00001", made)
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 1)
    self.assertEqual(report.skipped[0]["reason"], "has no class: its label is -1")
    self.assertEqual(
      self._convert(about={"label_feature": ""}, output=f"{self.root}/all").samples, 2
    )

  def test_what_cannot_be_read_says_so(self):
    path, info = self._prepare()
    two = {
      "featuresDict": {
        "features": _FEATURES["featuresDict"]["features"] | {"depth": {"image": {}}}
      }
    }
    unsafe = [info["splits"][0] | {"name": "../x"}]
    missing = [info["splits"][0] | {"shardLengths": ["4", "3", "1"]}]
    for changed, features, message in (
      (info | {"supervisedKeys": {}}, two, r"images \['image', 'depth'\] .*: choose"),
      (info | {"fileFormat": "riegeli"}, _FEATURES, "format riegeli; prepare it as"),
      (info | {"splits": []}, _FEATURES, "lists no records"),
      (info | {"splits": unsafe}, _FEATURES, r'split "../x" .* is no name'),
      (info | {"splits": missing}, _FEATURES, "cannot read .*00000-of-00003"),
      (info, {"type": "x", "content": {}}, "prepare the dataset again"),
      ([], _FEATURES, "dataset_info.json must hold an object"),
    ):
      self._write(path, changed, features)
      with self.assertRaisesRegex(ConvertError, message):
        self._convert()
    self._write(path, info, _FEATURES)
    with self.assertRaisesRegex(ConvertError, 'has no feature "x", but image'):
      self._convert(about={"label_feature": "x"})
    with self.assertRaisesRegex(ConvertError, "download_and_prepare"):
      self._convert("tfds:absent")
    with self.assertRaisesRegex(ConvertError, "download_and_prepare"):
      self._convert("tfds:../tfds/tiny")


if __name__ == "__main__":
  tf.test.main()
