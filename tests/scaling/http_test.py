"""What http:// is good for: RecordIO files and lists, by tensorflow-io. No datasets."""

import functools
import http.server
import os
import pathlib
import re
import sys
import threading
import unittest

import tensorflow as tf
from absl.testing import absltest

import liquid_tf
from liquid_tf import recordio
from liquid_tf._convert.convert import convert
from liquid_tf._store import schemes
from liquid_tf.errors import RecordIOError


def _has_http() -> bool:
  try:
    schemes.require("http://host")
  except ImportError:
    return False
  return True


class WithoutFoldersTest(absltest.TestCase):
  def test_no_dataset_lies_there(self):
    url = "https://host/photos.liquid"
    for call in (
      lambda: liquid_tf.dataset(url),
      lambda: liquid_tf.inspect(url),
      lambda: liquid_tf.copy(url, "here"),
      lambda: liquid_tf.copy("here", url),
      lambda: convert("source", url, "png:1", staging="there"),
    ):
      with self.assertRaisesRegex(ValueError, f"{url} cannot be a dataset.*wget"):
        call()

  def test_says_what_to_install(self):
    if _has_http():
      self.skipTest("TensorFlow has http:// here")
    for call in (recordio.Reader, recordio.dataset, recordio.read_list):
      with self.assertRaisesRegex(ImportError, "http://.*pip install tensorflow==2.16"):
        call("http://host/a.rec")


class _Server(http.server.BaseHTTPRequestHandler):
  """Files of a folder, in ranges; some answers end too early."""

  protocol_version = "HTTP/1.1"
  breaks = False

  def __init__(self, root: pathlib.Path, *args):
    self._root = root
    super().__init__(*args)

  def log_message(self, *_):
    pass

  def do_GET(self):
    try:
      data = (self._root / self.path.lstrip("/")).read_bytes()
    except OSError:
      self.send_error(404)
      return
    wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
    part = data[int(wanted[1]) : int(wanted[2]) + 1] if wanted else data
    self.send_response(206 if wanted else 200)
    self.send_header("Content-Length", str(len(part)))
    self.end_headers()
    if wanted and type(self).breaks:
      part, self.close_connection = part[: len(part) // 2], True
    self.wfile.write(part)


@unittest.skipIf(not _has_http(), "needs http:// in TensorFlow")
class HttpTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    server = http.server.ThreadingHTTPServer(
      ("127.0.0.1", 0), functools.partial(_Server, self.root)
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    self.addCleanup(server.server_close)
    self.addCleanup(thread.join)
    self.addCleanup(server.shutdown)
    self.url = f"http://127.0.0.1:{server.server_port}"
    self.payloads = {}
    for name, sizes in (("a", (90, 700000)), ("b", (4, 40, 400000, 9))):
      payloads = [bytes([i]) * size for i, size in enumerate(sizes)]
      with recordio.Writer(self.root / f"{name}.rec") as writer:
        for payload in payloads:
          writer.write(payload)
      self.payloads[name] = payloads

  def test_records(self):
    uri = f"{self.url}/b.rec;{self.url}/a.rec"
    together = self.payloads["b"] + self.payloads["a"]
    self.assertEqual(list(recordio.Reader(uri)), together)
    here = [str(self.root / "b.rec"), str(self.root / "a.rec")]
    for index in (None, True):
      for i in range(3):
        wanted = list(recordio.Reader(here, part=(i, 3), index=index))
        there = recordio.dataset(uri, shard=(i, 3), index=index)
        self.assertEqual(list(there.as_numpy_iterator()), wanted)
    self.assertEqual(recordio.Reader(uri, index=True).read(3), self.payloads["b"][3])

  def test_lists(self):
    entries = [recordio.ListEntry(7, (1.0, 2.0), "cats/1.jpg")]
    recordio.write_list(self.root / "a.lst", entries)
    self.assertEqual(recordio.read_list(f"{self.url}/a.lst"), entries)

  def test_errors(self):
    for uri in (f"{self.url}/none.rec", f"{self.url}/a.rec;{self.url}/none.rec"):
      with self.assertRaisesRegex(RecordIOError, "none.rec: there is no such file"):
        recordio.Reader(uri)
    with self.assertRaisesRegex(RecordIOError, "cannot read the list .*none.lst"):
      recordio.read_list(f"{self.url}/none.lst")

  def test_a_connection_that_breaks(self):
    reader = recordio.Reader(f"{self.url}/a.rec")
    _Server.breaks = True
    self.addCleanup(setattr, _Server, "breaks", False)
    with self.assertRaisesRegex(RecordIOError, "a.rec"):
      list(reader)
    with self.assertRaisesRegex(tf.errors.OpError, "a.rec"):
      list(recordio.dataset(f"{self.url}/a.rec"))


if __name__ == "__main__":
  try:
    absltest.main()
  except SystemExit as done:
    # tensorflow-io's file systems may abort while a process ends.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(done.code))
