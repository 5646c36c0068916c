"""Files that are on their way to the disk while they are written."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest, parameterized

from liquid_tf import recordio
from liquid_tf._store.files import SteadyFile

_STRETCH = 16 << 20


class SteadyFileTest(parameterized.TestCase):
  @parameterized.parameters(0, 1000)
  def test_the_disk_is_told_of_every_stretch_once(self, before):
    path = self.create_tempfile(content=b"x" * before).full_path
    told = []

    def advise(descriptor, offset, length, advice):
      # What is told is in the file.
      self.assertEqual(os.fstat(descriptor).st_size, offset + length)
      self.assertEqual(advice, os.POSIX_FADV_DONTNEED)
      told.append((offset, length))

    pieces = [bytes([i]) * size for i, size in enumerate((5, 3 << 20, 1 << 20) * 11)]
    with mock.patch.object(os, "posix_fadvise", advise):
      file = SteadyFile(path, append=before > 0)
      for piece in pieces:
        file.write(piece)
      self.assertEqual(file.size, before + sum(map(len, pieces)))
      file.sync()
      file.close()
    self.assertLen(told, 2)
    end = before
    for offset, length in told:
      self.assertEqual(offset, end)
      self.assertBetween(length, _STRETCH, _STRETCH + (3 << 20))
      end += length
    written = pathlib.Path(path).read_bytes()
    self.assertEqual(written, b"x" * before + b"".join(pieces))

  def test_pieces_of_any_size_and_kind(self):
    path = os.path.join(self.create_tempdir().full_path, "a")
    file = SteadyFile(path)
    changing = bytearray(b"abc")
    expected = b""
    for i in range(5000):
      changing[0] = i % 251
      file.write(changing)
      file.write(b"" if i % 2 else memoryview(b"0123")[1:3])
      expected += bytes(changing) + (b"" if i % 2 else b"12")
    file.write(bytes(5 << 20))
    file.sync()
    file.close()
    self.assertTrue(file.closed)
    self.assertEqual(pathlib.Path(path).read_bytes(), expected + bytes(5 << 20))

  def test_what_the_system_takes_in_parts(self):
    path = os.path.join(self.create_tempdir().full_path, "a")
    whole = os.writev
    with mock.patch.object(os, "writev", lambda fd, p: whole(fd, [b"".join(p)[:7]])):
      file = SteadyFile(path)
      for i in range(3):
        file.write(bytes([i]) * 10)
      file.sync()
    self.assertEqual(
      pathlib.Path(path).read_bytes(), bytes(10) + b"\1" * 10 + b"\2" * 10
    )
    file.close()

  def test_records_go_there_before_their_file_is_closed(self):
    path = os.path.join(self.create_tempdir().full_path, "a.rec")
    payload = bytes(1 << 20)
    with mock.patch.object(os, "posix_fadvise", wraps=os.posix_fadvise) as advise:
      with recordio.Writer(path) as writer:
        for _ in range(40):
          writer.write(payload)
        self.assertEqual(advise.call_count, 2)
    self.assertEqual(list(recordio.Reader(path)), [payload] * 40)


if __name__ == "__main__":
  absltest.main()
