"""Conversion to progressive compressed records."""

import io
import json
import os
import pathlib

import numpy as np
import pcr_messages
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from liquid_tf import pcr
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._native import image_ops
from liquid_tf._store import manifest
from liquid_tf._view import inspection, sample_reader
from liquid_tf.errors import ConvertError, ManifestError
from liquid_tf.transforms import Channels


def _pixels(jpeg: bytes) -> np.ndarray:
  return image_ops.decode(jpeg, format="jpeg").numpy()


class ConvertPcrTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")

  def _convert(self, mix="pcr:1", about=(), **options):
    return convert(
      Source(self.source, **dict(about)), self.output, mix, progress=False, **options
    )

  def _sources(self) -> list[pathlib.Path]:
    return sorted(p for p in pathlib.Path(self.source).rglob("*") if p.is_file())

  def _rows(self) -> np.ndarray:
    rows = manifest.load_index(manifest.load(self.output))
    return rows[rows["format"] == manifest.FORMATS.index("pcr")]

  def test_jpeg_files_keep_their_pixels_labels_and_numbers(self):
    photos.class_folders(self.source, extension="jpg")
    report = self._convert(encoders={"pcr": {"images": 8}})
    self.assertEqual(report.samples, 36)
    loaded = manifest.load(self.output)
    self.assertEqual([shard.records for shard in loaded.shards], [8, 8, 8, 8, 4])
    self.assertTrue(loaded["formats"]["pcr"]["lossless"])
    reader = pcr.Reader(self.output)
    self.assertEqual([r.name for r in reader], [shard.path for shard in loaded.shards])
    sources = self._sources()
    seen = []
    for row in self._rows():
      record = reader[int(row["shard"])]
      path = sources[row["sample"]]
      image = record.images[row["offset"]]
      self.assertAllEqual(_pixels(image), _pixels(path.read_bytes()))
      self.assertEqual(loaded.classes[record.labels[row["offset"]]], path.parent.name)
      self.assertEqual(record.examples[row["offset"]], b"")
      self.assertEqual(
        (row["length"], row["crc32c"]), (len(image), manifest.crc32c(image))
      )
      seen.append(row["sample"])
    self.assertEqual(sorted(seen), list(range(36)))
    self.assertEqual(inspection.verify(self.output)["problems"], [])
    self.assertEqual(inspection.verify(self.output)["verified"], 36)

  def test_other_sources_become_what_jpeg_makes_of_them(self):
    photos.class_folders(self.source, per_class=4)
    self._convert("pcr:1,jpeg:1", replicate=True, encoders={"jpeg": {"quality": 60}})
    rows = manifest.load_index(manifest.load(self.output))
    self.assertLen(rows, 24)
    for sample in range(12):
      hashes = rows["pixels_hash"][rows["sample"] == sample]
      self.assertEqual(hashes[0], hashes[1])
    self.assertFalse(manifest.load(self.output)["formats"]["pcr"]["lossless"])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_gray_files_become_colour_without_loss(self):
    for i, name in enumerate(photos.GRAY):
      gray = photos.photo(name)[: 90 + i, :75]
      photos.save(f"{self.source}/a/{i}.jpg", gray, progressive=bool(i % 2))
    photos.save(f"{self.source}/b/4.jpg", photos.photo("coffee")[:90, :75])
    self._convert("jpeg:1,pcr:1", replicate=True, transforms=[Channels(3)])
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["features"]["image"]["shape"][2], 3)
    for name in ("jpeg", "pcr"):
      self.assertTrue(loaded["formats"][name]["lossless"], name)
    images = {
      (r["id"], r["shard"].format): r["contents"]
      for r in stored.records(self.output, "jpeg")
    }
    [record] = pcr.Reader(self.output)
    for row in self._rows():
      images[int(row["sample"]), "pcr"] = record.images[row["offset"]]
    self.assertLen(images, 10)
    sources = self._sources()
    self.assertEqual(images[4, "jpeg"], sources[4].read_bytes())
    for (sample, name), contents in images.items():
      with Image.open(io.BytesIO(contents)) as image:
        self.assertEqual(image.mode, "RGB", (sample, name))
        pixels = np.asarray(image)
      with Image.open(sources[sample]) as image:
        self.assertAllEqual(pixels, np.asarray(image.convert("RGB")))
      self.assertAllEqual(pixels, _pixels(contents))
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_beside_another_format(self):
    photos.class_folders(self.source, extension="jpg")
    self._convert("raw:1,pcr:1", encoders={"pcr": {"images": 7}})
    loaded = manifest.load(self.output)
    self.assertEqual(
      [(s.format, s.records) for s in loaded.shards],
      [("raw", 18), ("pcr", 7), ("pcr", 7), ("pcr", 4)],
    )
    self.assertTrue(loaded["formats"]["pcr"]["lossless"])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_a_stranger_reads_the_records(self):
    photos.class_folders(self.source, per_class=5, extension="jpg")
    self._convert(encoders={"pcr": {"images": 4}})
    messages = pcr_messages.messages()
    index = messages["DatasetOffsetsIndex"].FromString(
      pathlib.Path(self.output, "PCR_index.pb").read_bytes()
    )
    images = {}
    for entry in index.records:
      data = pathlib.Path(self.output, entry.name).read_bytes()
      self.assertEqual(sum(entry.offsets), len(data))
      ends = np.cumsum(entry.offsets)
      head = messages["MetadataRecord"].FromString(data[: ends[0]])
      self.assertEqual((head.version, head.progressive_levels), (1, len(ends) - 1))
      glued = [b""] * len(head.labels)
      for begin, end in zip(ends, ends[1:]):
        group = messages["ScanGroup"].FromString(data[begin:end])
        glued = [a + b for a, b in zip(glued, group.image_bytes, strict=True)]
      images[entry.name] = [(image + b"\xff\xd9") for image in glued]
    shards = manifest.load(self.output).shards
    for row in self._rows():
      with Image.open(self._sources()[row["sample"]]) as source:
        wanted = np.asarray(source)
      jpeg = images[shards[row["shard"]].path][row["offset"]]
      with Image.open(io.BytesIO(jpeg)) as image:
        self.assertAllEqual(np.asarray(image), wanted)

  def test_groups_merge_scans(self):
    photos.class_folders(self.source, per_class=5, extension="jpg")
    self._convert(encoders={"pcr": {"groups": (1, 2, 5, 10)}})
    merged = [
      pcr.Reader(self.output, fidelity=group)[0].images for group in range(1, 5)
    ]
    self.assertEqual(pcr.Reader(self.output).groups, 4)
    self._convert(existing="replace")
    self.assertEqual(pcr.Reader(self.output).groups, 10)
    single = [
      pcr.Reader(self.output, fidelity=scan)[0].images for scan in (1, 2, 5, 10)
    ]
    self.assertEqual(merged, single)

  def test_the_manifest_says_what_groups_cost_and_give(self):
    photos.class_folders(self.source, per_class=5, sides=(40, 200), extension="jpg")
    self._convert(encoders={"pcr": {"images": 4}})
    table = manifest.load(self.output)["pcr"]
    entries = manifest.load_pcr_index(manifest.load(self.output)).values()
    self.assertEqual((table["images"], table["groups"]), (4, None))
    self.assertEqual(
      [fidelity["bytes"] for fidelity in table["fidelity"]],
      [sum(e.lengths[: g + 1].sum() for e in entries) for g in range(1, 11)],
    )
    similarity = [fidelity["mssim"] for fidelity in table["fidelity"]]
    self.assertEqual(similarity[-1], 1)
    self.assertLess(similarity[0], 0.98)
    self.assertGreater(similarity[0], 0.3)
    self.assertEqual(similarity, sorted(similarity))
    self.assertEqual(inspection.inspect(self.output)["pcr"], table)

  def test_images_too_small_for_a_scale_have_no_mssim(self):
    photos.class_folders(self.source, per_class=2, sides=(5, 10), extension="jpg")
    self._convert()
    table = manifest.load(self.output)["pcr"]["fidelity"]
    self.assertEqual([fidelity["mssim"] for fidelity in table], [None] * 10)

  def test_gray_and_splits(self):
    random = np.random.default_rng(0)
    for name in photos.GRAY:
      for i in range(6):
        pixels = photos.crop(photos.photo(name), (40, 50), random)
        photos.save(f"{self.source}/{name}/{i}.jpg", pixels)
    self._convert(splits="train:2,val:1", encoders={"pcr": {"images": 10}})
    loaded = manifest.load(self.output)
    self.assertEqual(
      [(s.path, s.split, s.records) for s in loaded.shards],
      [
        ("train-pcr-00000-of-00002.pcr", "train", 10),
        ("train-pcr-00001-of-00002.pcr", "train", 6),
        ("val-pcr-00000-of-00001.pcr", "val", 8),
      ],
    )
    self.assertEqual(pcr.Reader(self.output).groups, 6)
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_orientation_is_in_the_index(self):
    pixels = photos.photo("coffee")[:40, :60]
    for orientation in range(1, 9):
      exif = Image.Exif()
      exif[0x0112] = orientation
      photos.save(f"{self.source}/a/{orientation}.jpg", pixels, exif=exif)
    self._convert()
    [record] = pcr.Reader(self.output)
    for row in self._rows():
      self.assertEqual(record.examples[row["offset"]], b"")
      self.assertEqual(row["orientation"], row["sample"] + 1)
      # As in the other formats, pixels are not turned.
      self.assertAllEqual(_pixels(record.images[row["offset"]]).shape, (40, 60, 3))

  def test_masks_go_with_an_orientation(self):
    image = photos.photo("coffee")[:40, :60]
    exif = Image.Exif()
    exif[0x0112] = 6
    photos.save(f"{self.source}/a.jpg", image, exif=exif)
    photos.save(f"{self.root}/masks/a.png", image[..., 0])
    self._convert(about={"masks": f"{self.root}/masks"})
    [record] = pcr.Reader(self.output)
    features = tf.train.Example.FromString(record.examples[0]).features.feature
    self.assertEqual(list(features), ["mask"])
    self.assertAllEqual(self._rows()["orientation"], [6])
    mask = stored.mask_of(features["mask"].bytes_list.value[0])
    self.assertAllEqual(mask, image[..., 0])
    self.assertAllEqual(record.labels, [-1])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_the_bytes_do_not_depend_on_workers(self):
    photos.class_folders(self.source, extension="jpg")
    found = []
    for workers in (1, 5):
      self._convert(
        "pcr:1,png:1",
        workers=workers,
        existing="replace",
        encoders={"pcr": {"images": 5}},
      )
      found.append(photos.files(self.output))
    self.assertEqual(*found)

  def test_a_mix_may_give_it_nothing(self):
    photos.class_folders(self.source, per_class=1, classes=1, extension="jpg")
    self._convert("raw:9,pcr:1")
    self.assertEqual(manifest.load(self.output)["formats"]["pcr"]["samples"], 0)
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_other_arguments_are_another_dataset(self):
    photos.class_folders(self.source, per_class=2, extension="jpg")
    self._convert(encoders={"pcr": {"images": 5}})
    self._convert(existing="resume", encoders={"pcr": {"images": 5}})
    with self.assertRaisesRegex(ConvertError, "already holds a dataset with pcr"):
      self._convert(existing="resume", encoders={"pcr": {"images": 6}})

  @parameterized.parameters(
    ({"images": 0}, r'\["images"\] \(0\)'),
    ({"groups": [2, 1]}, r'\["groups"\] .* rising'),
    ({"groups": [0]}, r'\["groups"\] .* rising'),
    ({"groups": [1.5]}, r'\["groups"\] .* rising'),
  )
  def test_wrong_arguments(self, options, name):
    photos.class_folders(self.source, per_class=1)
    with self.assertRaisesRegex(ValueError, name):
      self._convert(encoders={"pcr": options})

  def test_four_channels_do_not_fit(self):
    photos.save(f"{self.source}/a/a.png", np.zeros((8, 8, 4), np.uint8))
    with self.assertRaisesRegex(ConvertError, 'format "pcr" holds'):
      self._convert()

  def test_export(self):
    photos.class_folders(self.source, per_class=2, classes=1, extension="jpg")
    self._convert()
    sample_reader.export_sample(self.output, 1, f"{self.root}/one.png")
    with Image.open(f"{self.root}/one.png") as image:
      self.assertAllEqual(np.asarray(image), _pixels(self._sources()[1].read_bytes()))


class VerifyPcrTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    root = self.create_tempdir().full_path
    source = photos.class_folders(f"{root}/source", per_class=3, extension="jpg")
    self.dataset = f"{root}/dataset"
    convert(
      source, self.dataset, "pcr:1", encoders={"pcr": {"images": 5}}, progress=False
    )
    self.shard = pathlib.Path(self.dataset, "pcr-00001-of-00002.pcr")

  def _problem(self) -> str:
    result = inspection.verify(self.dataset)
    self.assertEqual(result["verified"], 5)
    [problem] = result["problems"]
    return problem

  def test_a_flipped_byte_names_the_group(self):
    good = self.shard.read_bytes()
    entry = manifest.load_pcr_index(manifest.load(self.dataset))[1]
    ends = np.cumsum(entry.lengths)
    for group, end in enumerate(ends):
      bad = bytearray(good)
      bad[end - 1] ^= 1
      self.shard.write_bytes(bad)
      part = f"scan group {group}" if group else "metadata"
      self.assertRegex(self._problem(), f"{self.shard}: .*CRC-32C of (the )?{part} ")

  def test_a_truncated_record(self):
    self.shard.write_bytes(self.shard.read_bytes()[:100])
    problems = inspection.verify(self.dataset)["problems"]
    self.assertRegex(problems[0], "has 100 bytes, but")
    self.assertRegex(problems[1], f"{self.shard}: .* at offset 100")

  def test_a_missing_or_damaged_index(self):
    index = pathlib.Path(self.dataset, "PCR_index.pb")
    good = index.read_bytes()
    for bad, what in (
      (good[:-1] + b"\0", "is damaged: its CRC-32C"),
      (good + b"\0", "pcr.index_bytes of dataset.json says"),
    ):
      index.write_bytes(bad)
      result = inspection.verify(self.dataset)
      self.assertEqual(result["verified"], 0)
      self.assertRegex(result["problems"][0], f"{index} .*{what}")
    index.unlink()
    self.assertRegex(inspection.inspect(self.dataset)["problems"][0], "is missing")

  def test_an_index_of_another_dataset(self):
    index = pathlib.Path(self.dataset, "PCR_index.pb")
    contents = index.read_bytes().replace(b"pcr-00000", b"pcr-00009")
    index.write_bytes(contents)
    path = pathlib.Path(self.dataset, "dataset.json")
    data = json.loads(path.read_text())
    data["pcr"]["index_crc32c"] = manifest.crc32c(contents)
    path.write_text(json.dumps(data))
    with self.assertRaisesRegex(ManifestError, "does not list the records"):
      manifest.load_pcr_index(manifest.load(self.dataset))


if __name__ == "__main__":
  tf.test.main()
