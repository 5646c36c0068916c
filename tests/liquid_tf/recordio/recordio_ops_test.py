"""The record ops agree with MXNet's format, byte for byte."""

import hashlib
import json
import math
import os
import pathlib
import struct

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._native import ops
from liquid_tf._view import stored_record

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
  def _pack(
    self, image=b"img", labels=(1.0,), sample=7, example=b"", spacing=-1
  ) -> bytes:
    packed = ops.lib().liquid_pack_record(
      image=image, labels=list(labels), id=sample, example=example, jpeg_index=spacing
    )
    index = ops.lib().liquid_unpack_record(framed=packed.framed).index.numpy()
    self.assertEqual(packed.index_bytes, len(index))
    return packed.framed.numpy()

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

  @parameterized.parameters(((1.0,), b""), ((1.0, 2.0), b"example"), ((), b"e"))
  def test_index_of_a_jpeg(self, labels, example):
    pixels = photos.photo("chelsea")[:70, :90]
    jpeg = tf.io.encode_jpeg(pixels, quality=80).numpy()
    plain = self._pack(jpeg, labels, example=example)
    indexes = []
    for spacing in (0, 2, 16):
      framed = self._pack(jpeg, labels, example=example, spacing=spacing)
      record = ops.lib().liquid_unpack_record(framed=framed)
      index = record.index.numpy()
      self.assertEqual(index[:4], b"LJX1")
      self.assertEqual(struct.unpack_from("<II", index, 4), (len(index), spacing))
      flag = len(labels) if len(labels) > 1 else 0
      header = plain[8:24] + struct.pack("<Q", len(jpeg)) + plain[32 : 32 + 4 * flag]
      self.assertEqual(framed, _frame(header + jpeg + index + example))
      self.assertEqual(record.image.numpy(), jpeg)
      self.assertEqual(record.example.numpy(), example)
      self.assertAllEqual(record.labels, tf.constant(labels, tf.float32))
      indexes.append(index)
      for size in range(len(framed)):
        with self.assertRaisesRegex(tf.errors.DataLossError, "offset|shorter"):
          ops.lib().liquid_unpack_record(framed=framed[:size])
    self.assertLen(set(indexes), 3)

  def test_files_without_an_index(self):
    pixels = photos.photo("chelsea")[:40, :50]
    baseline = tf.io.encode_jpeg(pixels).numpy()
    progressive = tf.io.encode_jpeg(pixels, progressive=True).numpy()
    png = tf.io.encode_png(pixels).numpy()
    for image in (progressive, png, baseline[: len(baseline) // 2], b"img", b""):
      self.assertEqual(self._pack(image, spacing=16), self._pack(image))
    for wrong in (-2, 2**32):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "jpeg_index"):
        self._pack(baseline, spacing=wrong)

  @parameterized.product(
    labels=[(), (1.0,), (1.0, 2.0)], size=[0, 40, 68], example=[b"", b"e", b"example"]
  )
  def test_python_parses_the_same(self, labels, size, example):
    image = b"img1" + _MAGIC * 2 + b"5"
    index = struct.pack("<4sI", b"LJX1", size) + bytes(size - 8) if size else b""
    flag = len(labels) if len(labels) > 1 else 0
    label = labels[0] if len(labels) == 1 else 0.0 if flag else math.nan
    id2 = len(image) if index or example else 0
    payload = struct.pack(f"<IfQQ{flag}f", flag, label, 7, id2, *labels[:flag])
    behind = len(payload) + len(image)
    payload += image + index + example
    found = self._parse_both(payload)
    self.assertEqual(
      (bytes(found.image), bytes(found.index), found.labels, found.example),
      (image, index, labels, example),
    )
    random = np.random.default_rng(len(payload))
    sizes = [0, 1, 2, 3, *range(16, 24), *range(behind, behind + 8)]
    outcomes = {True}
    for case in range(40):
      bad = bytearray(payload)
      bad[min(random.choice(sizes), len(bad) - 1)] ^= 1 << random.integers(8)
      bad = bad[: random.integers(len(bad) + 1) if case % 4 == 0 else None]
      outcomes.add(self._parse_both(bytes(bad)) is not None)
    self.assertLen(outcomes, 2)

  def _parse_both(self, payload: bytes) -> stored_record.Stored | None:
    """What Python makes of sample 7, and the op too; None where both refuse it."""
    framed = _frame(payload)
    try:
      found = stored_record.parse(np.frombuffer(framed, np.uint8), 7)
    except ValueError:
      with self.assertRaises(tf.errors.DataLossError):
        ops.lib().liquid_unpack_record(framed=framed)
      return None
    record = ops.lib().liquid_unpack_record(framed=framed)
    self.assertEqual(bytes(found.image), record.image.numpy())
    self.assertEqual(bytes(found.index), record.index.numpy())
    self.assertEqual(found.example, record.example.numpy())
    np.testing.assert_array_equal(found.labels, record.labels.numpy())
    return found

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
