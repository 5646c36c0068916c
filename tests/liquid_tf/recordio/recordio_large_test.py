"""A file beyond 4 GiB, most of it a hole."""

import os
import pathlib
import shutil
import struct
import tempfile
import unittest

import tensorflow as tf

from liquid_tf import recordio
from liquid_tf.errors import RecordIOError

_MAGIC = bytes.fromhex("0a23d7ce")
_PART = (1 << 29) - 8  # with its header, 512 MiB
_LARGE = 9
_SMALL = [b"record %i" % i * 50 for i in range(100)]


class RecordIOLargeTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, folder)
    cls.path = pathlib.Path(folder) / "a.rec"
    with open(cls.path, "wb") as file:
      for _ in range(_LARGE):
        file.write(_MAGIC + struct.pack("<I", _PART))
        file.seek(_PART, os.SEEK_CUR)
      cls.begin = file.tell()
      file.truncate()
    if cls.path.stat().st_blocks * 512 > 1 << 30:
      raise unittest.SkipTest("the file system has no holes")
    index = cls.path.with_suffix(".idx")
    index.write_text("".join(f"{i}\t{i << 29}\n" for i in range(_LARGE)))
    with recordio.Writer(cls.path, append=True) as writer:
      for payload in _SMALL:
        writer.write(payload)
    cls.size = cls.path.stat().st_size
    cls.index = [int(line.split()[1]) for line in index.read_text().splitlines()]

  def test_by_key(self):
    self.assertGreater(self.begin, 1 << 32)
    reader = recordio.Reader(self.path)
    self.assertLen(reader.keys, _LARGE + len(_SMALL))
    for i in (0, 1, 99):
      self.assertEqual(reader.read(_LARGE + i), _SMALL[i])

  def test_parts(self):
    offsets = self.index[_LARGE:]
    step = -(-self.size // 1000000)
    step += -step % 4
    by_bytes = self.begin // step  # Begins in the hole.
    cases = {(by_bytes, 1000000): None, (by_bytes + 1, 1000000): None, (10, 12): True}
    for part, index in cases.items():
      if index:
        most = -(-len(self.index) // part[1])
        expected = _SMALL[most * part[0] - _LARGE :][:most]
      else:
        begin = step * part[0]
        expected = [
          data for data, at in zip(_SMALL, offsets) if begin <= at < begin + step
        ]
      self.assertNotEmpty(expected)
      found = list(recordio.Reader(self.path, index=index, part=part))
      self.assertEqual(found, expected)
      dataset = recordio.dataset(self.path, index=index, shard=part)
      self.assertEqual(list(dataset.as_numpy_iterator()), expected)

  def test_damage_is_told_with_its_offset(self):
    number = len(_SMALL) - 2
    at = self.index[_LARGE + number]
    for byte in (b"x", _MAGIC[:1]):
      with open(self.path, "r+b") as file:
        file.seek(at)
        file.write(byte)
      reader = recordio.Reader(self.path)
      if byte == b"x":
        with self.assertRaisesRegex(RecordIOError, f"no RecordIO magic at offset {at}"):
          reader.read(_LARGE + number)
      else:
        self.assertEqual(reader.read(_LARGE + number), _SMALL[number])


if __name__ == "__main__":
  tf.test.main()
