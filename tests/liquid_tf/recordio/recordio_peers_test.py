"""What we write, MXNet and DALI read, record for record, and the other way round.

LIQUID_MXNET_PYTHON and LIQUID_DALI_PYTHON name an interpreter that has mxnet 1.9.1 or
nvidia-dali; the tests of the one that is not named are skipped.
"""

import hashlib
import io
import json
import os
import pathlib
import random
import subprocess

import numpy as np
import photos
import tensorflow as tf
from PIL import Image

from liquid_tf import recordio

_MXNET = os.environ.get("LIQUID_MXNET_PYTHON")
_DALI = os.environ.get("LIQUID_DALI_PYTHON")
_MAGIC = bytes.fromhex("0a23d7ce")


def _sha(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()


def _ask(python: str | None, script: str, request: dict) -> dict:
  path = pathlib.Path(__file__).with_name(script)
  done = subprocess.run(
    [python, "-I", str(path)],
    input=json.dumps(request),
    capture_output=True,
    text=True,
  )
  if done.returncode != 0:
    raise AssertionError(f"{script}: {done.stderr}")
  return json.loads(done.stdout.splitlines()[-1])


def _jpeg(seed: int) -> bytes:
  source = np.random.default_rng(seed)
  pixels = photos.crop(photos.photo(photos.COLOUR[seed % 4]), (32, 32), source)
  file = io.BytesIO()
  Image.fromarray(pixels).save(file, "jpeg", quality=90)
  return file.getvalue()


class RecordIOPeersTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = str(self.folder / "a.rec")
    self.index = str(self.folder / "a.idx")

  def _mxnet(self, **request) -> dict:
    if not _MXNET:
      self.skipTest("LIQUID_MXNET_PYTHON names no Python with MXNet")
    return _ask(_MXNET, "recordio_peer_mxnet.py", request)

  def _write_images(self, count: int, width: int) -> list[tuple]:
    """Images with labels; those of odd numbers end with bytes that are split."""
    written = []
    with recordio.Writer(self.path) as writer:
      for i in range(count):
        # Behind a JPEG's end decoders read nothing.
        data = _jpeg(i) + (_MAGIC * 9)[i % 4 :] * (i % 2)
        label = float(i) if width == 1 else tuple(float(i + k) for k in range(width))
        header = recordio.Header(label, id=i, id2=i % 3)
        writer.write(recordio.pack(header, data), key=count - i)
        written.append((header, data))
    return written

  def test_mxnet_reads_any_payload(self):
    source = random.Random(3)
    payloads = [b"", _MAGIC, _MAGIC * 5, b"a" + _MAGIC, b"abcd" + _MAGIC]
    for _ in range(300):
      pieces = [source.randbytes(source.randrange(40)), _MAGIC]
      payloads.append(b"".join(source.choices(pieces, k=source.randrange(6))))
    for begin in range(0, len(payloads), 100):
      with recordio.Writer(self.path, append=begin > 0) as writer:
        for payload in payloads[begin : begin + 100]:
          writer.write(payload)
    found = self._mxnet(path=self.path, index=self.index, unpack=False)
    expected = [_sha(payload) for payload in payloads]
    self.assertEqual(found["records"], expected)
    self.assertEqual(found["keyed"], {str(i): sha for i, sha in enumerate(expected)})

  def test_we_read_what_mxnet_writes(self):
    source = random.Random(4)
    payloads = [
      (_MAGIC * source.randrange(3)).join(
        source.randbytes(source.randrange(30)) for _ in range(source.randrange(1, 5))
      )
      for _ in range(300)
    ]
    hexadecimal = [payload.hex() for payload in payloads]
    self._mxnet(write=self.path, index=self.index, payloads=hexadecimal)
    reader = recordio.Reader(self.path, index=True)
    self.assertEqual(list(reader), payloads)
    self.assertEqual([reader.read(key) for key in reader.keys], payloads)
    ours = self.folder / "ours.rec"
    with recordio.Writer(ours) as writer:
      for payload in payloads:
        writer.write(payload)
    self.assertEqual(ours.read_bytes(), pathlib.Path(self.path).read_bytes())
    self.assertEqual(
      ours.with_suffix(".idx").read_bytes(), pathlib.Path(self.index).read_bytes()
    )

  def test_mxnet_reads_headers(self):
    for width in (1, 3):
      written = self._write_images(12, width)
      found = self._mxnet(path=self.path, index=self.index, unpack=True)
      expected = [
        [
          0 if width == 1 else width,
          one.label if width == 1 else list(one.label),
          one.id,
          one.id2,
          _sha(data),
        ]
        for one, data in written
      ]
      self.assertEqual(found["headers"], expected)

  def test_parts_are_those_of_mxnet(self):
    written = self._write_images(40, 1)
    for parts in (1, 2, 3, 7):
      for index in (None, True):
        found = self._mxnet(
          path=self.path,
          index=self.index if index else None,
          parts=parts,
          label_width=1,
        )["labels"]
        ours = []
        for i in range(parts):
          part = recordio.Reader(self.path, part=(i, parts), index=index)
          ours.append([[recordio.unpack(record)[0].label] for record in part])
        # With an index it goes by the order of the keys.
        self.assertEqual([sorted(one) for one in found], ours)
        self.assertLen(sum(ours, []), len(written))

  def test_parts_of_several_files_are_those_of_mxnet(self):
    paths = []
    for name, numbers in (("a", range(3)), ("b", range(3, 20)), ("c", range(20, 24))):
      paths.append(str(self.folder / f"{name}.rec"))
      with recordio.Writer(paths[-1], index=None) as writer:
        for i in numbers:
          writer.write(recordio.pack(recordio.Header(float(i)), _jpeg(i)))
    for uri in (";".join(paths), ";".join(paths[::-1])):
      for parts in (1, 2, 3, 7):
        found = self._mxnet(path=uri, index=None, parts=parts, label_width=1)["labels"]
        ours = []
        for i in range(parts):
          part = recordio.Reader(uri, part=(i, parts))
          ours.append([[recordio.unpack(record)[0].label] for record in part])
        self.assertEqual(found, ours)
        self.assertLen(sum(ours, []), 24)

  def test_image_record_iter_reads_vectors(self):
    written = self._write_images(6, 3)
    found = self._mxnet(path=self.path, index=None, parts=1, label_width=3)["labels"]
    self.assertEqual(found, [[list(one.label) for one, _ in written]])

  def test_dali_reads_images(self):
    if not _DALI:
      self.skipTest("LIQUID_DALI_PYTHON names no Python with NVIDIA DALI")
    for width in (1, 3):
      written = self._write_images(24, width)
      for shards in (1, 3):
        found = _ask(
          _DALI,
          "recordio_peer_dali.py",
          {"path": self.path, "index": self.index, "count": 24, "shards": shards},
        )["shards"]
        labels = [[one.label] if width == 1 else list(one.label) for one, _ in written]
        expected = [[_sha(data), one] for (_, data), one in zip(written, labels)]
        self.assertEqual(sum(found, []), expected)


if __name__ == "__main__":
  tf.test.main()
