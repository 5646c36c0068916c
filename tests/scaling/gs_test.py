"""gs:// by TensorFlow's own file system, and a server on loopback in Google's place."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import gcs_server
import runs
import servers
import tensorflow as tf
from absl.testing import absltest

import liquid_tf
from liquid_tf import recordio, transforms
from liquid_tf._convert.convert import convert
from liquid_tf.errors import ConvertError, ManifestError, RecordIOError

_BATCH = 8
_OPTIONS = {
  "features": ["id", "image"],
  "transforms": [transforms.RandomCrop(16)],
  "memory": "256MiB",
}


@unittest.skipIf(shutil.which("openssl") is None, "needs openssl, for a certificate")
class GsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    certificate, key = f"{folder.name}/certificate.pem", f"{folder.name}/key.pem"
    names = ",".join(f"DNS:{host}" for host in gcs_server.HOSTS)
    subprocess.run(
      [
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", "/CN=liquid_tf's tests", "-addext", f"subjectAltName={names}"),
        *("-keyout", key, "-out", certificate),
      ],
      check=True,
      capture_output=True,
    )
    port = servers.free_port()
    cls.server = subprocess.Popen(
      [sys.executable, gcs_server.__file__, str(port), certificate, key],
      stdout=subprocess.PIPE,
    )
    cls.addClassCleanup(cls._stop)
    assert cls.server.stdout.readline() == b"ready\n"
    cls.url = f"http://127.0.0.1:{port}"
    # curl reads them when TensorFlow's file system first asks for something.
    for name in ("no_proxy", "NO_PROXY"):
      os.environ.pop(name, None)
    os.environ.update(
      https_proxy=cls.url,
      CURL_CA_BUNDLE=certificate,
      GOOGLE_AUTH_TOKEN_FOR_TESTING="a token",
      GCS_RETRY_CONFIG_INIT_DELAY_TIME_US="1000",
      GCS_RETRY_CONFIG_MAX_DELAY_TIME_US="10000",
    )
    cls.local = runs.make(folder.name, "png:5,raw:3", per_class=25, shard_size=65536)
    cls.source = f"{folder.name}/source"
    cls.remote = "gs://bucket/photos.liquid"
    report = convert(
      cls.source,
      cls.remote,
      "png:5,raw:3",
      shard_size=65536,
      staging=f"{folder.name}/staging",
      progress=False,
    )
    assert report.output == cls.remote, report
    cls.wanted = runs.digests(liquid_tf.dataset(cls.local, _BATCH, **_OPTIONS))

  @classmethod
  def _stop(cls):
    cls.server.kill()
    cls.server.wait()
    cls.server.stdout.close()

  def _faults(self, **faults) -> dict:
    data = json.dumps(faults).encode()
    request = urllib.request.Request(f"{self.url}/_faults", data, method="PUT")
    with urllib.request.urlopen(request) as answer:
      return json.loads(answer.read())

  def setUp(self):
    super().setUp()
    self.addCleanup(self._faults, deny=False, break_every=0)

  def test_two_epochs_with_a_cache(self):
    before = self._faults()
    there = liquid_tf.dataset(self.remote, _BATCH, cache="30%", **_OPTIONS)
    here = liquid_tf.dataset(self.local, _BATCH, cache="30%", **_OPTIONS)
    for _ in range(2):
      self.assertEqual(runs.digests(there), runs.digests(here))
    reading = liquid_tf.stats(there).summary()["reading"]
    self.assertEqual(set(reading.values()), {"tensorflow"})
    after = self._faults()
    self.assertGreater(after["reads"], before["reads"])
    self.assertEqual(after["tokens"], ["Bearer a token"])

  def test_a_connection_that_breaks(self):
    self._faults(break_every=5)
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS)
    self.assertEqual(runs.digests(dataset), self.wanted)
    self.assertGreater(self._faults()["broken"], 0)

  def test_wrong_credentials(self):
    self._faults(deny=True)
    with self.assertRaisesRegex(ManifestError, self.remote):
      liquid_tf.dataset(self.remote, _BATCH)
    with self.assertRaisesRegex(RecordIOError, "gs://bucket/a.rec"):
      recordio.Reader("gs://bucket/a.rec")

  def test_sources_are_local(self):
    folder = self.create_tempdir().full_path
    for source in (self.remote, liquid_tf.open(self.remote)):
      with self.assertRaisesRegex(ConvertError, "on a local disk.*liquid_tf.copy"):
        convert(source, f"{folder}/x", "png:1", progress=False)
      with self.assertRaisesRegex(ValueError, "must be a local folder: copy it first"):
        liquid_tf.export(source, f"{folder}/x", "rec", progress=False)
    with self.assertRaisesRegex(ValueError, "staging .*must be a local path"):
      convert(self.source, "gs://bucket/x", "png:1", staging="gs://bucket/y")

  def test_missing(self):
    with self.assertRaisesRegex(ManifestError, "is not a Liquid dataset"):
      liquid_tf.dataset("gs://bucket/nothing.liquid")
    with self.assertRaisesRegex(RecordIOError, "none.rec: there is no such file"):
      recordio.Reader("gs://bucket/none.rec")

  def test_copies(self):
    back = pathlib.Path(self.create_tempdir().full_path, "back")
    liquid_tf.copy(self.remote, back, progress=False)
    for name in os.listdir(self.local):
      file = pathlib.Path(self.local, name)
      self.assertEqual((back / name).read_bytes(), file.read_bytes(), name)
    other = "gs://bucket/other.liquid"
    liquid_tf.copy(back, other, progress=False)
    liquid_tf.copy(self.local, other, existing="replace", progress=False)
    self.assertCountEqual(tf.io.gfile.listdir(other), os.listdir(self.local))
    self.assertEqual(liquid_tf.verify(other, progress=False)["problems"], [])

  def test_records_and_lists(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, sizes in (("a", (90, 70000)), ("b", (4, 40, 4000, 9))):
      with recordio.Writer(folder / f"{name}.rec") as writer:
        for i, size in enumerate(sizes):
          writer.write(bytes([i]) * size)
    entries = [recordio.ListEntry(7, (1.0, 2.0), "cats/1.jpg")]
    recordio.write_list(folder / "a.lst", entries)
    for file in folder.iterdir():
      tf.io.gfile.copy(str(file), f"gs://bucket/records/{file.name}")
    self.assertEqual(recordio.read_list("gs://bucket/records/a.lst"), entries)
    there = "gs://bucket/records"
    for uri in (there, f"{there}/*.rec", f"{there}/a.rec;{there}/b.rec"):
      for index in (None, True):
        for i in range(2):
          wanted = list(recordio.Reader(str(folder), part=(i, 2), index=index))
          reader = recordio.Reader(uri, part=(i, 2), index=index)
          self.assertEqual(list(reader), wanted)
          dataset = recordio.dataset(uri, shard=(i, 2), index=index)
          self.assertEqual(list(dataset.as_numpy_iterator()), wanted)


if __name__ == "__main__":
  absltest.main()
