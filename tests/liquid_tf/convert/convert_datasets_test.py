"""A new mix from an old dataset: what stays is copied, and nothing gets lost."""

import json
import os
import pathlib
from unittest import mock

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._store import manifest, stored_sample
from liquid_tf._store.manifest import INDEX_DTYPE
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Channels


def framed(dataset: str, sample: int) -> bytes:
  """The bytes of a sample's record."""
  found = stored_sample.find_sample(dataset, sample)[0]
  data = pathlib.Path(dataset, found["shard"]).read_bytes()
  return data[found["offset"] :][: found["length"]]


def rewrite(dataset: str, sample: int, change) -> None:
  """Changes the bytes of a stored record, and no byte of anything about it.

  `change` gets and returns the record as a bytearray of the same length.
  """
  found = stored_sample.find_sample(dataset, sample)[0]
  path = pathlib.Path(dataset, found["shard"])
  data = bytearray(path.read_bytes())
  part = slice(found["offset"], found["offset"] + found["length"])
  data[part] = change(data[part])
  path.write_bytes(data)


def renew_checksum(dataset: str, sample: int) -> None:
  """Makes index and manifest agree with a record that was changed."""
  loaded = manifest.load(dataset)
  index = np.array(manifest.load_index(loaded), INDEX_DTYPE)
  crc = manifest.crc32c(framed(dataset, sample))
  index["crc32c"][index["sample"] == sample] = crc
  contents = manifest.encode_index(index)
  pathlib.Path(dataset, manifest.INDEX).write_bytes(contents)
  loaded.data["index"]["crc32c"] = manifest.crc32c(contents)
  pathlib.Path(dataset, manifest.MANIFEST).write_text(json.dumps(loaded.data))


class ConvertDatasetsTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.old, self.new = f"{self.root}/old", f"{self.root}/new"

  def _make(
    self,
    mix="png:2,raw:1,l3:1",
    *,
    splits=("train",),
    per_class=6,
    extension="png",
    folder="source",
    **options,
  ):
    source = f"{self.root}/{folder}"
    for seed, split in enumerate(splits):
      photos.class_folders(
        f"{source}/{split}", per_class=per_class, seed=seed, extension=extension
      )
    convert(source, self.old, mix, progress=False, **options)

  def _convert(self, mix="png:1,raw:1", **options):
    output = options.pop("output", self.new)
    return convert(self.old, output, mix, progress=False, **options)

  def _by_id(self, dataset):
    result = {}
    for record in stored.records(dataset):
      result.setdefault(record["id"], []).append(record)
    return result

  def test_ids_labels_splits_and_pixels_stay(self):
    self._make(splits=("train", "val"))
    report = stored.sound(self._convert("raw:1,webp:1,png:1", seed=5))
    self.assertEqual((report.samples, report.skipped), (36, []))
    old, new = self._by_id(self.old), self._by_id(self.new)
    for sample, (record,) in new.items():
      self.assertAllEqual(record["image"], old[sample][0]["image"])
      self.assertEqual(record["labels"], old[sample][0]["labels"])
      self.assertEqual(record["shard"].split, old[sample][0]["shard"].split)
    before, after = manifest.load(self.old), manifest.load(self.new)
    for key in ("features", "splits", "supervised", "samples"):
      self.assertEqual(before[key], after[key])
    self.assertEqual(after["source"]["kind"], "liquid")

  def test_encodings_that_stay_are_copied(self):
    self._make("png:1,l3:1", splits=("train", "val"), encoders={"png": {"level": 1}})
    self._convert("png:1,l3:1", seed=3)
    old, new = self._by_id(self.old), self._by_id(self.new)
    copied = 0
    for sample, (record,) in new.items():
      if record["shard"].format == old[sample][0]["shard"].format:
        self.assertEqual(record["contents"], old[sample][0]["contents"])
        copied += 1
    self.assertBetween(copied, 10, 26)

  def test_copies_are_not_decoded(self):
    self._make("png", per_class=2)

    def spoil(record):
      record[60:64] = b"spoi"
      return record

    rewrite(self.old, 3, spoil)
    renew_checksum(self.old, 3)
    self._convert("png")
    self.assertEqual(framed(self.old, 3), framed(self.new, 3))

  def test_a_replicated_one_gives_what_is_wanted(self):
    self._make("png:1,jpeg:1,raw:1", replicate=True)
    old = self._by_id(self.old)
    self._convert("jpeg:1,png:1")
    for sample, (record,) in self._by_id(self.new).items():
      (same,) = [r for r in old[sample] if r["shard"].format == record["shard"].format]
      self.assertEqual(record["contents"], same["contents"])
    formats = manifest.load(self.new)["formats"]
    self.assertFalse(formats["jpeg"]["lossless"])
    self.assertTrue(formats["png"]["lossless"])
    # What is no longer there comes from an encoding without loss.
    self._convert("l3", output=f"{self.root}/l3")
    for sample, (record,) in self._by_id(f"{self.root}/l3").items():
      (png,) = [r for r in old[sample] if r["shard"].format == "png"]
      self.assertAllEqual(record["image"], png["image"])

  def test_damage_is_skipped_or_has_a_stand_in(self):
    self._make()

    def flip(record):
      record[-9] ^= 1
      return record

    rewrite(self.old, 4, flip)
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 17)
    (skipped,) = report.skipped
    self.assertRegex(
      skipped["path"], r"^\w+-00000-of-00001.rec, offset \d+ \(sample 4\)"
    )
    self.assertRegex(skipped["reason"], "is damaged: its CRC-32C is 0x")
    with self.assertRaisesRegex(ConvertError, r"1 cannot be read, .*\(sample 4\)"):
      self._convert(output=f"{self.root}/strict")

    os.rename(self.old, f"{self.root}/single")
    self._make(mix="png:1,raw:1", folder="two", replicate=True)
    rewrite(self.old, 4, flip)
    report = stored.sound(self._convert(output=f"{self.root}/both"))
    self.assertEqual((report.samples, report.skipped), (18, []))

  @parameterized.parameters("jpeg", "png", "pcr")
  def test_from_progressive_compressed_records(self, mix):
    self._make(
      "pcr", extension="jpg", encoders={"pcr": {"images": 4, "groups": [1, 4, 10]}}
    )
    report = stored.sound(self._convert(mix))
    self.assertEqual((report.samples, report.skipped), (18, []))
    index = manifest.load_index(manifest.load(self.old))
    hashes = dict(zip(index["sample"].tolist(), index["pixels_hash"].tolist()))
    index = manifest.load_index(manifest.load(self.new))
    for row in index:
      self.assertEqual(hashes[int(row["sample"])], int(row["pixels_hash"]))
    if mix != "pcr":
      for record in stored.records(self.new):
        self.assertEqual(record["labels"], [record["id"] // 6])

  def test_masks_stay(self):
    random = np.random.default_rng(0)
    for i in range(5):
      pixels = photos.crop(photos.photo("coffee"), (24, 32), random)
      photos.save(f"{self.root}/images/{i}.png", pixels)
      photos.save(f"{self.root}/masks/{i}.png", pixels[..., 0] // 20)
    images, masks = f"{self.root}/images", f"{self.root}/masks"
    convert(Source(images, masks=masks), self.old, "png:1,pcr:1", progress=False)
    stored.sound(self._convert("raw:1,png:1"))
    before, after = manifest.load(self.old), manifest.load(self.new)
    for key in ("features", "supervised"):
      self.assertEqual(before[key], after[key])
    for sample, mask in stored.masks(self.new).items():
      pixels = tf.io.decode_png(tf.io.read_file(f"{masks}/{sample}.png"))
      self.assertAllEqual(mask, pixels[..., 0])

  def test_channels_are_changed_where_asked(self):
    self._make("png:1,raw:1", per_class=2)
    stored.sound(self._convert(transforms=[Channels(4)]))
    self.assertEqual(
      manifest.load(self.new)["features"]["image"]["shape"], [None, None, 4]
    )

  def test_bytes_do_not_depend_on_workers_or_interruptions(self):
    self._make()
    self._convert(workers=1)
    other = f"{self.root}/other"
    with mock.patch.object(os, "rename", side_effect=OSError(28, "No space left")):
      with self.assertRaisesRegex(ConvertError, "cannot write .*No space left"):
        self._convert(output=other, workers=3)
    self._convert(output=other, workers=2, existing="resume")
    self.assertEqual(photos.files(self.new), photos.files(other))

  def test_what_is_no_dataset(self):
    self._make(per_class=2)
    with self.assertRaisesRegex(ConvertError, "must not be inside"):
      self._convert(output=f"{self.old}/inside")
    os.truncate(f"{self.old}/index.npy", 100)
    with self.assertRaisesRegex(ConvertError, "index.npy has 100 bytes"):
      self._convert()
    os.unlink(f"{self.old}/dataset.json")
    pathlib.Path(self.old, "_journal.db").touch()
    with self.assertRaisesRegex(ConvertError, "is an unfinished conversion"):
      self._convert()


if __name__ == "__main__":
  tf.test.main()
