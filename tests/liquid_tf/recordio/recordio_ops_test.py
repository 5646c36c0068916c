"""The record ops agree with MXNet's format, byte for byte."""

import hashlib
import json
import os
import pathlib
import struct

import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._native import ops

_MAGIC = bytes.fromhex("0a23d7ce")


def _frame(payload: bytes) -> bytes:
  """RecordIO framing, written down a second time."""
  cuts = [i for i in range(0, len(payload) - 3, 4) if payload[i : i + 4] == _MAGIC]
  parts, begin = [], 0
  for cut in cuts:
    parts.append(payload[begin:cut])
    begin = cut + 4
  parts.append(payload[begin:])
  out = b""
  for i, part in enumerate(parts):
    flag = 0 if len(parts) == 1 else 1 if i == 0 else 3 if i == len(parts) - 1 else 2
    out += _MAGIC + struct.pack("<I", flag << 29 | len(part)) + part
    out += b"\0" * (-len(part) % 4)
  return out


class RecordOpsTest(parameterized.TestCase, tf.test.TestCase):
  def _pack(self, image=b"img", labels=(1.0,), sample=7, example=b"") -> bytes:
    return (
      ops.lib()
      .liquid_pack_record(image=image, labels=list(labels), id=sample, example=example)
      .numpy()
    )

  @parameterized.parameters(
    (b"img", (3.0,), b""),
    (b"img", (), b""),
    (b"img", (1.5, -2.0), b"example"),
    (b"1234" + _MAGIC + b"5" + _MAGIC, (0.0,), b""),
    (_MAGIC * 3, (1.0, 2.0, 3.0), _MAGIC),
    (b"", (1.0,), b""),
  )
  def test_layout(self, image, labels, example):
    framed = self._pack(image, labels, 2**40, example)
    flag = len(labels) if len(labels) > 1 else 0
    label = labels[0] if len(labels) == 1 else 0.0
    header = struct.pack("<IfQQ", flag, label, 2**40, len(image) if example else 0)
    if not labels:
      header = header[:4] + bytes.fromhex("0000c07f") + header[8:]
    values = struct.pack(f"<{flag}f", *labels) if flag else b""
    self.assertEqual(framed, _frame(header + values + image + example))
    record = ops.lib().liquid_unpack_record(framed=framed)
    self.assertEqual(record.image.numpy(), image)
    self.assertAllEqual(record.labels, tf.constant(labels, tf.float32))
    self.assertEqual(record.id, 2**40)
    self.assertEqual(record.example.numpy(), example)

  def test_every_cut_record_is_refused(self):
    framed = self._pack(b"1234" + _MAGIC + b"56")
    for size in range(len(framed)):
      with self.assertRaisesRegex(tf.errors.DataLossError, "offset|shorter"):
        ops.lib().liquid_unpack_record(framed=framed[:size])

  def test_an_example_needs_an_image(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "sample 7: .*image"):
      self._pack(image=b"", example=b"x")

  def test_crc32c(self):
    crc = ops.lib().liquid_crc32c
    self.assertEqual(crc(contents=b"\0" * 32, crc=0), 0x8A9136AA)
    self.assertEqual(
      crc(contents=b"6789", crc=crc(contents=b"12345", crc=0)), 0xE3069283
    )
    for wrong in (-1, 2**32):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, rf"crc \({wrong}\)"):
        crc(contents=b"", crc=wrong)

  def test_read_file(self):
    path = self.create_tempfile(content=b"123456789", mode="wb").full_path
    result = ops.lib().liquid_read_file(path=path)
    self.assertEqual(result.contents.numpy(), b"123456789")
    self.assertEqual(result.crc32c, 0xE3069283)
    self.assertEqual(result.error.numpy(), b"")
    for wrong, options, message in (
      (path + ".absent", {}, b"No such file"),
      (os.path.dirname(path), {}, b"is a folder"),
      (path, {"max_bytes": 8}, b"9 bytes is longer than 8"),
    ):
      result = ops.lib().liquid_read_file(path=wrong, **options)
      self.assertEqual(result.contents.numpy(), b"")
      self.assertIn(message, result.error.numpy())

  def test_records_of_mxnet(self):
    folder = photos.shared_data("open", "recordio", "mxnet191")
    if folder is None:
      self.skipTest("no records of MXNet on this machine")
    folder = pathlib.Path(folder)
    expected = json.loads((folder / "expected_by_mxnet_1.9.1.json").read_text())
    checked = 0
    for name, records in expected.items():
      data = (folder / name).read_bytes()
      ends = [record["offset"] for record in records[1:]] + [len(data)]
      for record, end in zip(records, ends):
        if "flag" not in record:
          continue
        framed = data[record["offset"] : end]
        found = ops.lib().liquid_unpack_record(framed=framed)
        self.assertEqual(found.id, record["id"])
        labels = record["label"]
        labels = labels if isinstance(labels, list) else [labels]
        self.assertAllEqual(found.labels, labels)
        # In other people's records id2 is any number, not the image's size.
        image = found.image.numpy() + found.example.numpy()
        self.assertEqual(
          hashlib.sha256(image).hexdigest(), record["payload_sha256"], name
        )
        if record["id2"] == 0:
          self.assertEqual(self._pack(image, labels, record["id"]), framed)
        checked += 1
    self.assertGreater(checked, 20)
    payloads = json.loads((folder / "magic_raw.payloads_hex.json").read_text())
    framed = b"".join(_frame(bytes.fromhex(payload)) for payload in payloads)
    self.assertEqual(framed, (folder / "magic_raw.rec").read_bytes())


if __name__ == "__main__":
  tf.test.main()
