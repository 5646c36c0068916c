"""Files that MXNet 1.9.1 wrote, as its own reader gives them; damaged ones too."""

import hashlib
import json
import pathlib

import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import recordio
from liquid_tf.errors import RecordIOError

# Of each damaged file: where it says that it is damaged, and where what is left of it
# begins.
_DAMAGED = {
  "bad_magic_record1.rec": (18136, [0, 28480, 36584, 52508, 63356, 81816]),
  "length_too_long_record1.rec": (18136, [0, 28480, 36584]),
  "multipart_cut_before_end.rec": (156, [0, 8, 20, 32, 44, 60, 80, 96, 112]),
  "truncated_in_header.rec": (28480, [0, 18136]),
  "truncated_in_payload.rec": (28480, [0, 18136]),
}


def _sha(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()


class RecordIOSharedDataTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    folder = photos.shared_data("open", "recordio", "mxnet191")
    if folder is None:
      self.skipTest("no records of MXNet on this machine")
    self.folder = pathlib.Path(folder)
    expected = self.folder / "expected_by_mxnet_1.9.1.json"
    self.expected = json.loads(expected.read_text())
    self.assertNotEmpty(self.expected)

  def test_every_record_is_as_mxnet_reads_it(self):
    for name, expected in self.expected.items():
      reader = recordio.Reader(self.folder / name)
      records = list(reader.records())
      self.assertEqual([one.offset for one in records], [e["offset"] for e in expected])
      for record, one in zip(records, expected):
        self.assertEqual(len(record.data), one["length"])
        self.assertEqual(_sha(record.data), one["sha256"])
        if "flag" in one:
          header, data = recordio.unpack(record.data)
          label = tuple(one["label"]) if one["flag"] else one["label"]
          self.assertEqual(header, (label, one["id"], one["id2"]))
          self.assertEqual(_sha(data), one["payload_sha256"])
          self.assertEqual(recordio.pack(header, data), record.data)
      keys = [one["key"] for one in expected]
      if None in keys:
        continue
      self.assertEqual(reader.keys, keys)
      for one in expected:
        self.assertEqual(_sha(reader.read(one["key"])), one["sha256"])

  def test_what_we_write_is_the_same_file(self):
    copy, indices = pathlib.Path(self.create_tempdir().full_path) / "copy.rec", 0
    for name, expected in self.expected.items():
      with recordio.Writer(copy) as writer:
        for one, data in zip(expected, recordio.Reader(self.folder / name)):
          writer.write(data, one["key"])
      self.assertEqual(copy.read_bytes(), (self.folder / name).read_bytes())
      index = (self.folder / name).with_suffix(".idx")
      if index.exists():
        self.assertEqual(copy.with_suffix(".idx").read_bytes(), index.read_bytes())
        indices += 1
    self.assertGreater(indices, 0)

  def test_lists(self):
    lists = list(self.folder.glob("*.lst"))
    self.assertNotEmpty(lists)
    for path in lists:
      entries = recordio.read_list(path)
      expected = self.expected[path.stem + ".rec"]
      self.assertEqual([one.index for one in entries], [one["key"] for one in expected])
      for entry, one in zip(entries, expected):
        labels = one["label"] if one["flag"] else [one["label"]]
        self.assertAllClose(entry.labels, labels)

  def test_payloads_with_magics(self):
    payloads = json.loads((self.folder / "magic_raw.payloads_hex.json").read_text())
    self.assertEqual(
      [data.hex() for data in recordio.Reader(self.folder / "magic_raw.rec")], payloads
    )

  @parameterized.parameters(*_DAMAGED)
  def test_damaged(self, name):
    path = self.folder / "damaged" / name
    offset, survivors = _DAMAGED[name]
    reader, found = recordio.Reader(path), []
    with self.assertRaisesRegex(RecordIOError, f"{name}: .* at offset {offset}\\b"):
      for record in reader.records():
        found.append(record.offset)
    self.assertEqual(found, [one for one in survivors if one < offset])
    repairing = recordio.Reader(path, repair=True)
    records = list(repairing.records())
    self.assertEqual([one.offset for one in records], survivors)
    self.assertIn(f"offset {offset}", repairing.losses[0].reason)
    if not name.startswith("multipart"):
      kept = sum(8 + len(one.data) + -len(one.data) % 4 for one in records)
      lost = sum(loss.length for loss in repairing.losses)
      self.assertEqual(kept + lost, path.stat().st_size)
    for n in (2, 3, 7, 50):
      parts = [recordio.Reader(path, part=(i, n), repair=True) for i in range(n)]
      found = [one.offset for part in parts for one in part.records()]
      self.assertEqual(found, survivors, n)
      losses = [loss for part in parts for loss in part.losses]
      self.assertEqual(losses, repairing.losses, n)

  def test_empty_file(self):
    for n in (1, 3):
      for i in range(n):
        self.assertEmpty(
          list(recordio.Reader(self.folder / "damaged/empty.rec", part=(i, n)))
        )

  def test_wrong_offsets(self):
    index = self.folder / "damaged" / "wrong_offsets.idx"
    path = self.folder / "im2rec_resize160_q90.rec"
    reader = recordio.Reader(path, index=index)
    for key, offset in zip(reader.keys, (0, 18140, 28480, 36588, 52508, 63360, 81816)):
      if key % 2 == 0:
        self.assertLen(reader.read(key), self.expected[path.name][key]["length"])
        continue
      with self.assertRaisesRegex(
        RecordIOError,
        f"no RecordIO magic at offset {offset}, where .*wrong_offsets.idx .* {key}",
      ):
        reader.read(key)


if __name__ == "__main__":
  tf.test.main()
