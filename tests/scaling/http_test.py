"""Datasets and RecordIO files on a server of HTTP, which our own client reads."""

import os
import pathlib
import subprocess
import tempfile
import time
from unittest import mock

import http_server
import photos
import runs
import tensorflow as tf
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import recordio, transforms
from liquid_tf._convert.convert import convert
from liquid_tf._store import schemes
from liquid_tf.errors import ManifestError, RecordIOError

_BATCH = 8
_OPTIONS = {
  "features": ["id", "image"],
  "transforms": [transforms.RandomCrop(16)],
  "memory": "256MiB",
}
_PRIVATE = "?signature=secret"


class HttpTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.local = runs.make(folder.name, "png:5,raw:3,pcr:2", shard_size=65536)
    cls.server = cls.enterClassContext(http_server.HttpServer(folder.name))
    cls.remote = f"{cls.server.url}/dataset"
    cls.wanted = runs.digests(liquid_tf.dataset(cls.local, _BATCH, **_OPTIONS))

  def setUp(self):
    super().setUp()
    self.enterContext(mock.patch.object(self.server, "failure", lambda again: None))

  def _dataset(self, **options) -> tf.data.Dataset:
    return liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS, **options)

  def test_epochs_are_those_of_a_disk(self):
    there = self._dataset(cache="30%")
    here = liquid_tf.dataset(self.local, _BATCH, cache="30%", **_OPTIONS)
    for _ in range(2):
      self.assertEqual(runs.digests(there), runs.digests(here))
    stats = liquid_tf.stats(there)
    self.assertEqual(set(stats.summary()["reading"].values()), {"http"})
    first, second = (epoch["disk_bytes"] for epoch in stats.epochs)
    self.assertLess(second, 0.9 * first)

  def test_a_loader_gives_what_a_dataset_gives(self):
    with liquid_tf.loader(self.remote, _BATCH, cache="30%", **_OPTIONS) as there:
      here = liquid_tf.dataset(self.local, _BATCH, cache="30%", **_OPTIONS)
      for _ in range(2):
        self.assertEqual(runs.digests(there), runs.digests(here))
      self.assertEqual(set(there.stats.summary()["reading"].values()), {"http"})

  def test_a_loader_says_what_a_server_did(self):
    tuning = liquid_tf.graph.Tuning(patience=1)
    with liquid_tf.loader(self.remote, _BATCH, tuning=tuning, **_OPTIONS) as there:
      with mock.patch.object(self.server, "failure", lambda again: 503):
        with self.assertRaisesRegex(OSError, "503"):
          list(there)
      self.assertEqual(runs.digests(there), self.wanted)

  def test_a_tier_on_a_disk(self):
    folder = self.create_tempdir().full_path
    local = runs.make(folder, "png:1,raw:1", sides=(96, 96), shard_size=1 << 18)
    disk = liquid_tf.Cache(0, disk=folder, disk_size="1MiB")
    with http_server.HttpServer(folder) as server:
      there = liquid_tf.dataset(f"{server.url}/dataset", _BATCH, cache=disk, **_OPTIONS)
      here = liquid_tf.dataset(local, _BATCH, cache=0, **_OPTIONS)
      for _ in range(3):
        self.assertEqual(runs.digests(there), runs.digests(here))
    stats = liquid_tf.stats(there)
    tier = stats.summary()["tier"]
    self.assertEqual((tier["failed"], tier["off"]), (0, ""))
    first, *later = (epoch["disk_bytes"] for epoch in stats.epochs)
    for epoch in later:
      self.assertLess(epoch, first - 0.85 * (1 << 20))

  def test_it_is_inspected_verified_and_viewed(self):
    there, here = (liquid_tf.inspect(path) for path in (self.remote, self.local))
    self.assertEqual(there.pop("path"), self.remote)
    here.pop("path")
    self.assertEqual(there, here)
    self.assertEmpty(liquid_tf.verify(self.remote)["problems"])
    view = liquid_tf.open(self.remote)
    for number in (0, 7, 99):
      self.assertEqual(
        runs.digest(view[number]), runs.digest(liquid_tf.open(self.local)[number])
      )

  def test_it_is_copied(self):
    copied = f"{self.create_tempdir().full_path}/copy"
    liquid_tf.copy(self.remote, copied, progress=False)
    self.assertEqual(photos.files(copied), photos.files(self.local))

  def test_the_newest_version(self):
    folder = self.create_tempdir().full_path
    path = runs.make(folder, "png:1", per_class=3)
    with http_server.HttpServer(folder) as server:
      url = f"{server.url}/dataset"
      for number, left in enumerate((11, 10, 9)):
        liquid_tf.remove(liquid_tf.open(path).take([number]))
        self.assertLen(liquid_tf.open(url), left)
      self.assertLen(liquid_tf.open(url, version=1), 12)
      with self.assertRaisesRegex(ManifestError, "version .5. of .* is not there"):
        liquid_tf.open(url, version=5)
      liquid_tf.compact(path, forget=[2, 3], progress=False)
      self.assertLen(liquid_tf.open(url), 9)
      with self.assertRaisesRegex(ManifestError, "version .2. .*versions 1, 4 and 5"):
        liquid_tf.open(url, version=2)
      liquid_tf.compact(path, forget="older", progress=False)
      self.assertLen(liquid_tf.open(url), 9)
      liquid_tf.copy(url, f"{folder}/copy", progress=False)
      self.assertLen(liquid_tf.open(f"{server.url}/copy"), 9)

  def test_a_version_that_a_kill_left_out(self):
    folder = self.create_tempdir().full_path
    path = runs.make(folder, "png:1", per_class=3)
    liquid_tf.remove(liquid_tf.open(path).take([0]))
    os.remove(f"{path}/dataset-2.json")
    with http_server.HttpServer(folder) as server:
      self.assertLen(liquid_tf.open(f"{server.url}/dataset"), 12)
      liquid_tf.remove(liquid_tf.open(path).take([0, 1]))
      self.assertLen(liquid_tf.open(f"{server.url}/dataset"), 10)

  @parameterized.parameters(b"", b"[]", b'{"versions": []}', b'{"versions": [0]}')
  def test_a_wrong_list_of_versions(self, listed):
    folder = self.create_tempdir().full_path
    path = runs.make(folder, "png:1", per_class=3)
    pathlib.Path(f"{path}/versions.json").write_bytes(listed)
    with http_server.HttpServer(folder) as server:
      with self.assertRaisesRegex(ManifestError, "versions.json must be a list of"):
        liquid_tf.open(f"{server.url}/dataset")

  @parameterized.parameters(503, 429, "break", "flip")
  def test_failures_that_pass(self, failure):
    dataset = self._dataset()
    self.server.requests.clear()
    self.server.failure = lambda again: None if again else failure
    self.assertEqual(runs.digests(dataset), self.wanted)
    self.assertGreater(liquid_tf.stats(dataset).summary()["retries"], 0)

  def test_a_server_that_goes_away(self):
    tuning = liquid_tf.graph.Tuning(patience=2)
    dataset = self._dataset(cache=0, tuning=tuning)
    self.assertLen(runs.digests(dataset), len(self.wanted))
    self.server.failure = lambda again: 503
    begin = time.monotonic()
    with self.assertRaisesRegex(
      tf.errors.OpError,
      rf"{self.remote}/\S+: .*503.* \(the last of \d+ attempts in [12] s\)",
    ):
      runs.digests(dataset)
    self.assertLess(time.monotonic() - begin, 20)

  def test_a_file_that_goes_away(self):
    [png, *_] = sorted(pathlib.Path(self.local).glob("png-*.rec"))
    dataset = self._dataset()
    png.rename(f"{png}.away")
    self.addCleanup(pathlib.Path(f"{png}.away").rename, png)
    url = f"{self.remote}/{png.name}"
    with self.assertRaisesRegex(tf.errors.OpError, f"{url}: .*404: there is no such"):
      runs.digests(dataset)
    with self.assertRaisesRegex(ManifestError, f"{url} is missing"):
      self._dataset()

  def test_no_dataset(self):
    with self.assertRaisesRegex(ManifestError, "nothing is not a Liquid dataset"):
      liquid_tf.dataset(f"{self.server.url}/nothing")
    self.server.failure = lambda again: 403
    with self.assertRaisesRegex(
      ManifestError, "cannot be read: dataset.json: .*refuses"
    ):
      self._dataset()

  def test_an_address_with_a_secret(self):
    for url in (f"{self.remote}{_PRIVATE}", self.remote.replace("//", "//me:secret@")):
      with self.assertRaisesRegex(ValueError, "must be .*without a user") as caught:
        liquid_tf.dataset(url)
      self.assertNotIn("secret", str(caught.exception))

  def test_nothing_is_written_there(self):
    for call in (
      lambda: liquid_tf.copy(self.local, f"{self.server.url}/new"),
      lambda: convert("source", f"{self.server.url}/new", "png:1", staging="there"),
    ):
      with self.assertRaisesRegex(ValueError, "new cannot be written: http://"):
        call()


class RecordsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.server = self.enterContext(http_server.HttpServer(str(self.root)))
    self.payloads = {}
    for name, sizes in (("a", (90, 700000)), ("b", (4, 40, 400000, 9))):
      payloads = [bytes([i]) * size for i, size in enumerate(sizes)]
      with recordio.Writer(self.root / f"{name}.rec") as writer:
        for payload in payloads:
          writer.write(payload)
      self.payloads[name] = payloads

  def _url(self, name: str) -> str:
    return f"{self.server.url}/{name}"

  def test_records(self):
    uri = f"{self._url('b.rec')};{self._url('a.rec')}"
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
    self.assertEqual(recordio.read_list(self._url("a.lst")), entries)

  def test_an_address_with_a_signature(self):
    url = self._url(f"a.rec{_PRIVATE}")
    self.assertEqual(list(recordio.Reader(url)), self.payloads["a"])
    self.assertEqual(
      list(recordio.dataset(url).as_numpy_iterator()), self.payloads["a"]
    )
    self.assertEqual(set(self.server.requests), {f"/a.rec{_PRIVATE}"})

  def test_errors_show_no_secret(self):
    (self.root / "a.rec").write_bytes(b"damage" * 100)
    for name, what in (("none.rec", "there is no such file"), ("a.rec", "offset 0")):
      url = self._url(f"{name}{_PRIVATE}")
      for call in (
        lambda url=url: list(recordio.Reader(url)),
        lambda url=url: list(recordio.dataset(url)),
      ):
        with self.assertRaisesRegex(
          (RecordIOError, tf.errors.OpError), f"{name}: .*{what}"
        ) as caught:
          call()
        self.assertNotIn("secret", str(caught.exception))
    with self.assertRaisesRegex(RecordIOError, "cannot read the list .*none.lst: "):
      recordio.read_list(self._url("none.lst"))

  def test_a_connection_that_breaks(self):
    reader = recordio.Reader(self._url("a.rec"))
    dataset = recordio.dataset(self._url("a.rec"))
    self.server.failure = lambda again: None if again else "break"
    for records in (reader, dataset.as_numpy_iterator()):
      self.server.requests.clear()
      self.assertEqual(list(records), self.payloads["a"])


class TlsTest(absltest.TestCase):
  def test_the_server_is_checked(self):
    folder = self.create_tempdir().full_path
    recordio.write_list(f"{folder}/a.lst", [recordio.ListEntry(1, (0.0,), "x")])
    certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    both = pathlib.Path(folder, "both.pem")
    both.write_bytes(b"".join(pathlib.Path(p).read_bytes() for p in (certificate, key)))
    with http_server.HttpServer(folder, str(both)) as server:
      url = f"{server.url}/a.lst"
      with mock.patch.dict(os.environ, SSL_CERT_FILE=certificate):
        self.assertLen(recordio.read_list(url), 1)
      with mock.patch.dict(os.environ, SSL_CERT_FILE=f"{folder}/none.pem"):
        with self.assertRaisesRegex(RecordIOError, "SSL_CERT_FILE .*none.pem"):
          recordio.read_list(url)


class SchemesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("https://host/a.rec", "https://host/a.rec"),
    (f"https://me:sec@ret@host:1/a@b.rec{_PRIVATE}", "https://host:1/a@b.rec"),
    ("https://host/a#secret?x", "https://host/a"),
    ("/data/a#1?b", "/data/a#1?b"),
    ("s3://bucket/a?b", "s3://bucket/a?b"),
  )
  def test_what_messages_show(self, path, shown):
    self.assertEqual(schemes.shown(path), shown)


if __name__ == "__main__":
  absltest.main()
