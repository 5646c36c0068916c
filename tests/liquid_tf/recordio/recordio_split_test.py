"""Splits beside a plain InputSplit: parts of every number over files of every kind."""

import pathlib
import random
import struct

import tensorflow as tf

from liquid_tf import recordio

_MAGIC = bytes.fromhex("0a23d7ce")
_FILES = 100
_SPLITS = 10  # of each set of files


def _payload(source: random.Random) -> bytes:
  """Of any size from 0 on, with magics and their halves anywhere and at the end."""
  pieces = []
  for _ in range(source.randrange(7)):
    kind = source.randrange(5)
    if kind == 0:
      pieces.append(_MAGIC)
    elif kind == 1:
      pieces.append(_MAGIC[: source.randrange(4)])
    elif kind == 2:
      pieces.append(_MAGIC[source.randrange(4) :])
    else:
      pieces.append(source.randbytes(source.randrange(9)))
  if source.randrange(20) == 0:
    pieces.append(source.randbytes(source.randrange(3000)))
  return b"".join(pieces) + source.choice((b"", _MAGIC))


def _parts(payload: bytes) -> list[bytes]:
  parts, begin = [], 0
  for at in range(0, len(payload) - 3, 4):
    if payload[at : at + 4] == _MAGIC:
      parts.append(payload[begin:at])
      begin = at + 4
  return [*parts, payload[begin:]]


def _frame(payload: bytes) -> bytes:
  parts, framed = _parts(payload), b""
  for i, part in enumerate(parts):
    flag = 0 if len(parts) == 1 else 1 if i == 0 else 3 if i == len(parts) - 1 else 2
    framed += _MAGIC + struct.pack("<I", flag << 29 | len(part)) + part
    framed += b"\0" * (-len(part) % 4)
  return framed


def _head_from(file: bytes, at: int) -> int:
  """The first head from a place on, or the file's end."""
  while at < len(file):
    word = struct.unpack_from("<I", file, at + 4)[0] if at + 8 <= len(file) else 0
    if file[at : at + 4] == _MAGIC and word >> 29 in (0, 1):
      return at
    at += 4
  return len(file)


def _unframe(data: bytes) -> list[bytes]:
  payloads, at, joined = [], 0, b""
  while at < len(data):
    magic, word = struct.unpack_from("<4sI", data, at)
    assert magic == _MAGIC
    flag, size = word >> 29, word & (1 << 29) - 1
    part = data[at + 8 : at + 8 + size]
    joined = part if flag in (0, 1) else joined + _MAGIC + part
    if flag in (0, 3):
      payloads.append(joined)
    at += 8 + size + -size % 4
  return payloads


def _input_split(files: list[bytes], rank: int, parts: int) -> list[bytes]:
  """The payloads of one part."""
  total = sum(map(len, files))
  step = -(-total // parts)
  step += -step % 4
  begin, end = min(step * rank, total), min(step * (rank + 1), total)
  payloads, before = [], 0
  for file in files:
    bounds = []
    for bound in (begin, end):
      at = min(max(bound - before, 0), len(file))
      # Where a file begins or ends, so does a record.
      bounds.append(_head_from(file, at) if 0 < at < len(file) else at)
    payloads += _unframe(file[bounds[0] : bounds[1]])
    before += len(file)
  return payloads


class RecordIOSplitTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, files: list[bytes]) -> list[str]:
    paths = []
    for i, data in enumerate(files):
      paths.append(str(self.folder / f"{i}.rec"))
      pathlib.Path(paths[-1]).write_bytes(data)
    return paths

  def _split(self, paths: list[str], parts: int, index=None) -> list[list[bytes]]:
    return [
      list(recordio.Reader(paths, part=(i, parts), index=index)) for i in range(parts)
    ]

  def test_golden_counts(self):
    paths = self._write([b"".join(map(_frame, [b"x" * 100] + [b"1234"] * 9))])
    for counts in ((10,), (1, 9), (1, 3, 6), (1, 1, 4, 4), (1, 0, 0, 1, 2, 2, 3, 1)):
      self.assertEqual(tuple(map(len, self._split(paths, len(counts)))), counts)

  def test_golden_over_files(self):
    files = [b"".join(map(_frame, one)) for one in ([b"1", b"2", b"3"], [b"4"], [])]
    self.assertEqual(self._split(self._write(files), 3), [[b"1", b"2"], [b"3"], [b"4"]])

  def test_random_splits(self):
    source, splits, several = random.Random(6), 0, 0
    for _ in range(_FILES):
      payloads = [
        [_payload(source) for _ in range(source.choice((0, 1, 3, 12)))]
        for _ in range(source.randrange(1, 5))
      ]
      files = [b"".join(map(_frame, one)) for one in payloads]
      paths = self._write(files)
      for _ in range(_SPLITS):
        parts = source.choice((1, 2, 3, 5, 9))
        found = self._split(paths, parts)
        self.assertEqual(found, [_input_split(files, i, parts) for i in range(parts)])
        self.assertEqual(sum(found, []), sum(payloads, []))
        splits += 1
        several += sum(map(bool, found)) > 1
    self.assertEqual(splits, 1000)
    self.assertGreater(several, 500)

  def test_random_splits_by_count(self):
    source = random.Random(7)
    for _ in range(30):
      paths, payloads = [], []
      for i in range(source.randrange(1, 4)):
        paths.append(str(self.folder / f"{i}.rec"))
        payloads.append([_payload(source) for _ in range(source.randrange(8))])
        keys = source.sample(range(1000), len(payloads[-1]))
        with recordio.Writer(paths[-1]) as writer:
          for payload, key in zip(payloads[-1], keys):
            writer.write(payload, key)
        index = pathlib.Path(paths[-1]).with_suffix(".idx")
        lines = index.read_text().splitlines(keepends=True)
        source.shuffle(lines)
        index.write_text("".join(lines))
      together = sum(payloads, [])
      for parts in (1, 2, 5, 40):
        step = -(-len(together) // parts)
        expected = [together[step * i : step * (i + 1)] for i in range(parts)]
        self.assertEqual(self._split(paths, parts, index=True), expected)


if __name__ == "__main__":
  tf.test.main()
