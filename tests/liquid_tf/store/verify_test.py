"""verify finds every kind of damage and names file, record and sample."""

import json
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._convert.convert import convert
from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._view import inspection


class VerifyTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = photos.class_folders(f"{self.root}/source", per_class=10, classes=2)
    self.dataset = f"{self.root}/dataset"
    convert(self.source, self.dataset, "png:1,raw:1", progress=False)
    self.shard = pathlib.Path(self.dataset, "png-00000-of-00001.rec")
    rows = manifest.load_index(manifest.load(self.dataset))
    self.rows = rows[rows["format"] == manifest.FORMATS.index("png")]

  def _verify(self) -> list[str]:
    return inspection.verify(self.dataset)["problems"]

  def _where(self, record: int) -> str:
    row = self.rows[record]
    place = f"(sample {row['sample']}, offset {row['offset']})"
    return f"{self.shard}, record {record} {place}: "

  def test_a_sound_dataset(self):
    result = inspection.verify(self.dataset)
    self.assertEqual(result["problems"], [])
    self.assertEqual(result["verified"], 20)
    self.assertEqual(result["samples"], 20)

  def test_a_flipped_byte_anywhere_in_a_record(self):
    good = self.shard.read_bytes()
    row = self.rows[4]
    begin, length = int(row["offset"]), int(row["length"])
    for position in {*range(begin, begin + length, 97), begin + length - 1}:
      bad = bytearray(good)
      bad[position] ^= 0x10
      self.shard.write_bytes(bad)
      [problem] = self._verify()
      self.assertStartsWith(problem, self._where(4))
      self.assertIn("CRC-32C", problem)

  def test_a_truncated_shard_names_every_record_that_is_cut(self):
    cut = int(self.rows[7]["offset"]) + 8
    self.shard.write_bytes(self.shard.read_bytes()[:cut])
    result = inspection.verify(self.dataset)
    self.assertEqual(result["verified"], 17)
    self.assertRegex(result["problems"][0], rf"{self.shard} has {cut} bytes, but")
    for record, problem in zip((7, 8, 9), result["problems"][1:], strict=True):
      self.assertStartsWith(problem, self._where(record))
      self.assertIn("past the end of the file", problem)

  def test_a_missing_shard_is_one_problem(self):
    self.shard.unlink()
    result = inspection.verify(self.dataset)
    self.assertEqual(result["verified"], 10)
    [problem] = result["problems"]
    self.assertRegex(problem, f"{self.shard} is missing: .* 10 records")

  def _replace_record(self, record: int, image: bytes | None, **changes) -> None:
    """Puts another image into a record and makes every checksum agree with it."""
    loaded = manifest.load(self.dataset)
    rows = manifest.load_index(loaded).copy()
    data = self.shard.read_bytes()
    at = np.flatnonzero(rows["format"] == manifest.FORMATS.index("png"))
    records = []
    for row in rows[at]:
      records.append(data[row["offset"] :][: row["length"]])
    if image is not None:
      old = ops.lib().liquid_unpack_record(framed=records[record])
      records[record] = (
        ops.lib()
        .liquid_pack_record(image=image, labels=old.labels, id=old.id, example=b"")
        .framed.numpy()
      )
    offset = 0
    for i, framed in zip(at, records):
      rows[i]["offset"], rows[i]["length"] = offset, len(framed)
      rows[i]["crc32c"] = manifest.crc32c(framed)
      offset += len(framed)
    for name, value in changes.items():
      rows[at[record]][name] = value
    data = b"".join(records)
    self.shard.write_bytes(data)
    index = manifest.encode_index(rows)
    pathlib.Path(self.dataset, "index.npy").write_bytes(index)
    path = pathlib.Path(self.dataset, "dataset.json")
    text = json.loads(path.read_text())
    text["index"]["crc32c"] = manifest.crc32c(index)
    text["formats"]["png"]["bytes"] = len(data)
    [shard] = [shard for shard in text["shards"] if shard["format"] == "png"]
    shard["bytes"], shard["crc32c"] = len(data), manifest.crc32c(data)
    path.write_text(json.dumps(text))
    self.shard.with_suffix(".idx").write_text(
      "".join(f"{row['sample']}\t{row['offset']}\n" for row in rows[at])
    )

  def _image(self, record: int) -> bytes:
    row = self.rows[record]
    framed = self.shard.read_bytes()[row["offset"] :][: row["length"]]
    return ops.lib().liquid_unpack_record(framed=framed).image.numpy()

  def test_the_helper_by_itself_leaves_a_sound_dataset(self):
    self._replace_record(2, self._image(2))
    self.assertEqual(self._verify(), [])

  def test_a_png_that_lies_about_its_size(self):
    import zlib

    png = bytearray(self._image(2))
    png[16:24] = (60_000).to_bytes(4, "big") * 2
    png[29:33] = zlib.crc32(png[12:29]).to_bytes(4, "big")
    self._replace_record(2, bytes(png))
    [problem] = self._verify()
    self.assertStartsWith(problem, self._where(2))
    self.assertRegex(problem, "pixels|size")

  def test_damage_under_right_checksums(self):
    png = bytearray(self._image(2))
    png[len(png) // 2] ^= 1
    self._replace_record(2, bytes(png))
    [problem] = self._verify()
    self.assertStartsWith(problem, self._where(2))

  def test_another_image_under_right_checksums(self):
    random = np.random.default_rng(0)
    row = self.rows[2]
    pixels = random.integers(0, 255, (row["height"], row["width"], 3), np.uint8)
    self._replace_record(2, tf.io.encode_png(pixels).numpy())
    [problem] = self._verify()
    self.assertIn(f"record 2 (sample {row['sample']}", problem)
    self.assertRegex(problem, "pixels' hash differs from the index")

  @parameterized.parameters(
    ({"pixels_hash": 5}, "hash differs"),
    ({"height": 4000}, "size differs"),
    ({"crc32c": 5}, "CRC-32C"),
  )
  def test_index_rows_that_lie(self, changes, message):
    self._replace_record(3, None, **changes)
    problem = self._verify()[-1]
    self.assertStartsWith(problem, self._where(3))
    self.assertIn(message, problem)

  def test_an_idx_file_that_differs(self):
    path = self.shard.with_suffix(".idx")
    path.write_text(path.read_text().replace("\t0\n", "\t4\n"))
    [problem] = self._verify()
    self.assertEqual(problem, f"{path} does not list its shard's records")
    path.unlink()
    self.assertRegex(self._verify()[0], f"{path} cannot be read")

  def test_rows_are_checked_before_they_are_used(self):
    row = np.zeros((1, 56), np.uint8)
    with self.assertRaisesRegex(tf.errors.DataLossError, "length .0. must be"):
      ops.lib().liquid_verify_records(path=str(self.shard), rows=row)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"\[n, 56\]"):
      ops.lib().liquid_verify_records(path=str(self.shard), rows=row[:, :51])


if __name__ == "__main__":
  tf.test.main()
