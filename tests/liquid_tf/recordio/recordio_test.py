"""RecordIO files by themselves: reading, writing, indexes, lists and headers."""

import os
import pathlib
import struct

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import recordio
from liquid_tf.errors import RecordIOError

_MAGIC = bytes.fromhex("0a23d7ce")
_PAYLOADS = [
  b"",
  b"a",
  b"abcd",
  _MAGIC,
  b"abcd" + _MAGIC + b"e",
  _MAGIC * 3,
  b"a" + _MAGIC,
  b"x" * 1001,
]


class RecordIOTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = str(self.folder / "a.rec")

  def _write(self, payloads=tuple(_PAYLOADS), path=None, **options) -> None:
    with recordio.Writer(path or self.path, **options) as writer:
      for payload in payloads:
        writer.write(payload)

  def test_golden_bytes(self):
    for payload, expected in (
      (b"", "0a23d7ce00000000"),
      (_MAGIC, "0a23d7ce000000200a23d7ce00000060"),
      (b"a" + _MAGIC, "0a23d7ce05000000610a23d7ce000000"),
    ):
      self._write([payload])
      self.assertEqual(pathlib.Path(self.path).read_bytes().hex(), expected)

  def test_what_is_written_is_read(self):
    self._write()
    with recordio.Reader(self.path) as reader:
      self.assertEqual(list(reader), _PAYLOADS)
      self.assertEqual(list(reader), _PAYLOADS)
      self.assertEqual(reader.keys, list(range(len(_PAYLOADS))))
      for key, payload in enumerate(_PAYLOADS):
        self.assertEqual(reader.read(key), payload)
      with self.assertRaisesRegex(KeyError, "a.rec has the key 99"):
        reader.read(99)
    records = list(recordio.Reader(self.path).records())
    index = (self.folder / "a.idx").read_text()
    self.assertEqual(
      index, "".join(f"{key}\t{one.offset}\n" for key, one in enumerate(records))
    )
    self.assertEqual({one.path for one in records}, {self.path})
    self.assertEqual(sorted(os.listdir(self.folder)), ["a.idx", "a.rec"])

  def test_keys_are_the_users(self):
    with recordio.Writer(self.path, index=self.folder / "k.idx") as writer:
      for key in (7, None, -3, None):
        writer.write(f"{key}".encode(), key)
      with self.assertRaisesRegex(ValueError, r"key \(8\) must be new"):
        writer.write(b"", 8)
    reader = recordio.Reader(self.path, index=self.folder / "k.idx")
    self.assertEqual(reader.keys, [7, 8, -3, 9])
    self.assertEqual(reader.read(-3), b"-3")
    self.assertFalse((self.folder / "a.idx").exists())

  def test_several_files_are_read_as_one(self):
    paths = [str(self.folder / f"{name}.rec") for name in "abc"]
    self._write(_PAYLOADS[:3], paths[0])
    self._write([], paths[1])
    self._write(_PAYLOADS[3:], paths[2])
    self.assertEqual(list(recordio.Reader(paths)), _PAYLOADS)
    for index in (None, True):
      for n in (1, 2, 3, 20):
        parts = [
          list(recordio.Reader(paths, index=index, part=(i, n))) for i in range(n)
        ]
        self.assertEqual(sum(parts, []), _PAYLOADS)
        if index:
          most = -(-len(_PAYLOADS) // n)
          self.assertLessEqual(max(map(len, parts)), most)

  def test_append(self):
    self._write(_PAYLOADS[:3])
    self._write(_PAYLOADS[3:], append=True)
    reader = recordio.Reader(self.path, index=True)
    self.assertEqual(list(reader), _PAYLOADS)
    self.assertEqual(reader.keys, list(range(len(_PAYLOADS))))
    self._write([b"without"], append=True, index=None)
    with self.assertRaisesRegex(RecordIOError, "the last record of .*a.rec"):
      recordio.Writer(self.path, append=True)
    recordio.write_index(self.path)
    self._write([b"with"], append=True)
    self.assertEqual(recordio.Reader(self.path).read(9), b"with")

  def test_append_finds_a_large_last_record(self):
    large = np.random.default_rng(0).bytes(5 << 20)
    self._write([b"first", large])
    self._write([b"third"], append=True)
    self.assertEqual(list(recordio.Reader(self.path)), [b"first", large, b"third"])

  def test_append_to_a_damaged_file(self):
    self._write()
    for cut in (1, 4, 500):
      data = pathlib.Path(self.path).read_bytes()[:-cut]
      broken = self.folder / "broken.rec"
      broken.write_bytes(data)
      with self.assertRaisesRegex(RecordIOError, "cannot append.*offset"):
        recordio.Writer(broken, append=True, index=None)
      self.assertEqual(broken.read_bytes(), data)

  def test_an_error_leaves_everything_as_it_was(self):
    with self.assertRaises(ZeroDivisionError):
      with recordio.Writer(self.path) as writer:
        writer.write(b"x" * (5 << 20))
        raise ZeroDivisionError
    self.assertEmpty(os.listdir(self.folder))
    self._write()
    before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
    for append in (False, True):
      with self.assertRaises(ZeroDivisionError):
        with recordio.Writer(self.path, append=append) as writer:
          writer.write(b"x" * (5 << 20))
          raise ZeroDivisionError
      after = {path.name: path.read_bytes() for path in self.folder.iterdir()}
      self.assertEqual(after, before)

  def test_what_has_a_buffer_is_written_as_its_bytes(self):
    arrays = [np.arange(10, dtype=np.float32), np.ones([3, 5], np.uint8)]
    data = [*arrays, memoryview(np.arange(3, dtype=np.int32)), bytearray(b"tail")]
    with recordio.Writer(self.path) as writer:
      for one in data:
        writer.write(one)
    self.assertEqual(
      list(recordio.Reader(self.path)), [memoryview(one).tobytes() for one in data]
    )

  def test_a_write_that_was_refused_leaves_nothing(self):
    with recordio.Writer(self.path) as writer:
      writer.write(b"one")
      for data, key in (("two", None), (b"two", 1.5), (b"two", 0)):
        with self.assertRaises((TypeError, ValueError)):
          writer.write(data, key)
      writer.write(b"three")
    reader = recordio.Reader(self.path, index=True)
    self.assertEqual([reader.read(key) for key in (0, 1)], [b"one", b"three"])
    self.assertLen(list(reader), 2)

  def test_closed_once_and_for_all(self):
    with recordio.Writer(self.path) as writer:
      writer.write(b"one")
      writer.close()
      with self.assertRaisesRegex(ValueError, "is closed"):
        writer.write(b"two")
    writer.close()
    self.assertEqual(recordio.Reader(self.path, index=True).read(0), b"one")

  def test_no_old_index_stays_beside_new_records(self):
    with recordio.Writer(self.path) as writer:
      writer.write(b"one")
    with recordio.Writer(self.path, index=None) as writer:
      writer.write(b"two")
    with self.assertRaisesRegex(RecordIOError, "cannot read the index"):
      recordio.Reader(self.path, index=True)
    self.assertEqual(list(recordio.Reader(self.path)), [b"two"])

  def test_labels_that_float32_would_change(self):
    for label in (16777217, [3, -33554433], 2**60 + 1, 1e39, "3", 10**400):
      with self.assertRaisesRegex(ValueError, r"label \("):
        recordio.pack(recordio.Header(label), b"")
    for label in (16777216, 2.0**60, 0.1, np.int64(5), float("inf")):
      header, _ = recordio.unpack(recordio.pack(recordio.Header(label), b""))
      self.assertEqual(header.label, np.float32(label))

  def test_wrong_arguments(self):
    self._write()
    for part in ((1, 1), (-1, 2), (0, 0)):
      with self.assertRaisesRegex(ValueError, r"part \(.*0 <= i < n"):
        recordio.Reader(self.path, part=part)
    with self.assertRaisesRegex(ValueError, "local"):
      recordio.Writer("gs://bucket/a.rec")
    with self.assertRaisesRegex(ValueError, "no index|where there is no index"):
      recordio.Writer(self.path + "2", index=None).write(b"", 3)
    with self.assertRaisesRegex(ValueError, "one for each of 1"):
      recordio.Reader(self.path, index=["a", "b"])
    with self.assertRaisesRegex(RecordIOError, "absent.rec"):
      recordio.Reader(self.folder / "absent.rec")
    with self.assertRaisesRegex(RecordIOError, "absent.idx.*write_index"):
      recordio.Reader(self.path, index=self.folder / "absent.idx")

  def test_other_file_systems(self):
    path = "ram://recordio/a.rec"
    self._write()
    tf.io.gfile.makedirs("ram://recordio")
    tf.io.gfile.copy(self.path, path, overwrite=True)
    tf.io.gfile.copy(str(self.folder / "a.idx"), "ram://recordio/a.idx", overwrite=True)
    reader = recordio.Reader(path, index=True)
    self.assertEqual(list(reader), _PAYLOADS)
    self.assertEqual(reader.read(4), _PAYLOADS[4])

  def test_damaged_index(self):
    self._write()
    for text, message in (
      ("0\t0\n1 x\n", "line 2 .*1 x"),
      ("0\n", "line 1"),
      ("0\t-4\n", "line 1"),
      ("0\t0\t7\n", "line 1"),
      ("99999999999999999999\t0", "line 1"),
    ):
      (self.folder / "a.idx").write_text(text)
      with self.assertRaisesRegex(RecordIOError, f"a.idx: {message}"):
        recordio.Reader(self.path, index=True)
    (self.folder / "a.idx").write_text("0\t0\r\n\n  1   8 \r\n3\t4000000000")
    reader = recordio.Reader(self.path)
    self.assertEqual(reader.keys, [0, 1, 3])
    self.assertEqual(reader.read(1), b"a")
    with self.assertRaisesRegex(RecordIOError, "offset 4000000000.*ends at"):
      reader.read(3)
    with self.assertRaisesRegex(RecordIOError, "offset 4000000000"):
      recordio.Reader(self.path, index=True)

  def test_an_index_of_another_file(self):
    self._write()
    (self.folder / "a.idx").write_text("0\t0\n1\t20\n")
    with self.assertRaisesRegex(RecordIOError, "8 records.*a.idx has 2"):
      list(recordio.Reader(self.path, index=True))
    with self.assertRaisesRegex(
      RecordIOError, "a.rec: no RecordIO magic at offset 24, .*record 5"
    ):
      (self.folder / "a.idx").write_text("5\t24\n")
      recordio.Reader(self.path).read(5)


class HeaderTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    (3.0, 0, 0, "00000000 00004040 0000000000000000 0000000000000000"),
    (
      (1.0, -2.0),
      7,
      2**64 - 1,
      "02000000 00000000 0700000000000000 ffffffffffffffff 0000803f 000000c0",
    ),
    ((0.5,), 1, 0, "01000000 00000000 0100000000000000 0000000000000000 0000003f"),
  )
  def test_layout(self, label, id1, id2, expected):
    header = recordio.Header(label, id1, id2)
    packed = recordio.pack(header, b"data")
    self.assertEqual(packed, bytes.fromhex(expected) + b"data")
    self.assertEqual(recordio.unpack(packed), (header, b"data"))

  def test_arrays_are_labels_too(self):
    packed = recordio.pack(recordio.Header(np.arange(3), 1), b"")
    self.assertEqual(recordio.unpack(packed)[0].label, (0.0, 1.0, 2.0))

  @parameterized.parameters(
    ((), 0, "label"), ("cat", 0, "label"), ([[1.0]], 0, "label"), (1.0, -1, "id"),
    (1.0, 2**64, "id"),
  )  # fmt: skip
  def test_wrong_headers(self, label, id1, message):
    with self.assertRaisesRegex(ValueError, message):
      recordio.pack(recordio.Header(label, id1), b"")

  def test_tensors_are_taken_apart_in_a_map(self):
    labels = [3.0, (7.0,), (0.5, -1.0, 2.0), 0.0]
    path = f"{self.create_tempdir().full_path}/a.rec"
    with recordio.Writer(path) as writer:
      for i, label in enumerate(labels):
        writer.write(recordio.pack(recordio.Header(label, i), b"data" * i), i)
    data = recordio.dataset(path).map(recordio.unpack, tf.data.AUTOTUNE)
    spec = tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.string)
    self.assertEqual(data.element_spec, spec)
    found = [(label.tolist(), image) for label, image in data.as_numpy_iterator()]
    wanted = [([3.0], b""), ([7.0], b"data"), ([0.5, -1.0, 2.0], b"data" * 2)]
    self.assertEqual(found, [*wanted, ([0.0], b"data" * 3)])

  def test_damaged_tensors(self):
    for record in (b"", b"x" * 23, struct.pack("<IfQQ", 2, 0, 0, 0) + b"1234567"):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "record is shorter"):
        recordio.unpack(tf.constant(record))
      data = tf.data.Dataset.from_tensors(record).map(recordio.unpack)
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "record is shorter"):
        list(data)
    for flag in (b"\xff" * 4, b"\0\0\0\x80"):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "than its labels"):
        recordio.unpack(tf.constant(flag + bytes(40)))
    for wrong in (tf.constant(1), tf.constant(["a"])):
      with self.assertRaisesRegex(ValueError, "must be a scalar string"):
        recordio.unpack(wrong)

  def test_damaged_records(self):
    for record, message in (
      (b"x" * 23, "23 bytes is shorter"),
      (struct.pack("<IfQQ", 2, 0, 0, 0) + b"1234567", "2 labels"),
      (b"\xff" * 24, "4294967295 labels"),
    ):
      with self.assertRaisesRegex(RecordIOError, message):
        recordio.unpack(record)


class ListTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "a.lst"

  def test_round_trip(self):
    entries = [
      recordio.ListEntry(0, (1.0,), "class one/ä.jpg"),
      recordio.ListEntry(7, (0.1, -2.5e-7), os.fsdecode(b"\xff.jpg")),
    ]
    recordio.write_list(self.path, entries)
    self.assertEqual(recordio.read_list(self.path), entries)

  def test_errors(self):
    for text in (b"0\t1.0\n", b"x\t1.0\ta.jpg\n", b"0\tone\ta.jpg\n", b"0\t1\t \n"):
      self.path.write_bytes(b"5\t1.0\ta.jpg\n\n" + text)
      with self.assertRaisesRegex(RecordIOError, "a.lst, line 3"):
        recordio.read_list(self.path)
    with self.assertRaisesRegex(RecordIOError, "cannot read the list .*none"):
      recordio.read_list("none")
    for wrong in (((), "a"), ((1.0,), ""), ((1.0,), "a\tb"), ((1.0,), "a\nb")):
      with self.assertRaisesRegex(ValueError, "label, and a path"):
        recordio.write_list(self.path, [recordio.ListEntry(0, *wrong)])


if __name__ == "__main__":
  tf.test.main()
