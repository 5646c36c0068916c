"""Datasets in object storage: a real S3 server on loopback, and its faults."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from unittest import mock

import runs
import servers
import tensorflow as tf
from absl.testing import absltest

import liquid_tf
from liquid_tf import recordio, transforms
from liquid_tf._convert.convert import convert
from liquid_tf._convert.stores import publish
from liquid_tf._convert.stores.sender import Sender
from liquid_tf._store import manifest, schemes
from liquid_tf.errors import ConvertError, RecordIOError

try:
  import moto
except ImportError:
  moto = None

_BATCH = 8
_OPTIONS = {
  "features": ["id", "image"],
  "transforms": [transforms.RandomCrop(16)],
  "memory": "256MiB",
}


def _has_s3() -> bool:
  try:
    schemes.require("s3://bucket")
  except ImportError:
    return False
  return True


def _interrupted_at(count: int):
  """A patch that interrupts the sending of files, after so many."""
  add, calls = Sender.add, itertools.count()

  def add_or_stop(*arguments):
    if next(calls) == count:
      raise KeyboardInterrupt
    add(*arguments)

  return mock.patch.object(Sender, "add", add_or_stop)


class WithoutS3Test(absltest.TestCase):
  def test_says_what_to_install(self):
    if _has_s3():
      self.skipTest("TensorFlow has s3:// here")
    for call in (
      lambda: liquid_tf.dataset("s3://bucket/photos.liquid"),
      lambda: convert("source", "s3://bucket/photos.liquid", "png:1", staging="there"),
    ):
      with self.assertRaisesRegex(ImportError, "s3://.*pip install tensorflow==2.16"):
        call()

  def test_an_unknown_file_system(self):
    with self.assertRaisesRegex(ImportError, "nowhere://"):
      liquid_tf.dataset("nowhere://bucket/photos.liquid")


@unittest.skipIf(moto is None or not _has_s3(), "needs moto, and s3:// in TensorFlow")
class S3Test(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    port = servers.free_port()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3_server.py")
    cls.server = subprocess.Popen(
      [sys.executable, script, str(port)],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
    )
    cls.addClassCleanup(cls._stop)
    cls.server.stdout.readline()
    cls.url = f"http://127.0.0.1:{port}"
    os.environ.update(
      AWS_ENDPOINT_URL=cls.url,
      S3_ENDPOINT=cls.url,
      S3_USE_HTTPS="0",
      S3_VERIFY_SSL="0",
      AWS_REGION="us-east-1",
      AWS_ACCESS_KEY_ID="testing",
      AWS_SECRET_ACCESS_KEY="testing",
      AWS_EC2_METADATA_DISABLED="true",
    )
    cls._request("bucket", method="PUT")
    cls.local = runs.make(folder.name, "png:5,raw:3", per_class=25, shard_size=65536)
    cls.remote = "s3://bucket/photos.liquid"
    cls.source = f"{folder.name}/source"
    report = convert(
      cls.source,
      cls.remote,
      "png:5,raw:3",
      shard_size=65536,
      staging=f"{folder.name}/staging",
      progress=False,
    )
    assert report.output == cls.remote, report
    assert not os.path.exists(f"{folder.name}/staging")
    cls.wanted = runs.digests(liquid_tf.dataset(cls.local, _BATCH, **_OPTIONS))

  @classmethod
  def _stop(cls):
    cls.server.kill()
    cls.server.wait()
    cls.server.stdout.close()

  @classmethod
  def _request(cls, path: str, method: str = "GET", data: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"{cls.url}/{path}", data, method=method)
    with urllib.request.urlopen(request) as answer:
      return answer.read()

  def _faults(self, **faults) -> dict:
    data = json.dumps(faults).encode()
    return json.loads(self._request("_faults", "POST", data))

  def setUp(self):
    super().setUp()
    self.addCleanup(self._faults, delay=0, deny=False, break_every=0)

  def _digests(self, **options) -> list[str]:
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS, **options)
    return runs.digests(dataset)

  def test_three_epochs_with_a_cache(self):
    there = liquid_tf.dataset(self.remote, _BATCH, cache="30%", **_OPTIONS)
    here = liquid_tf.dataset(self.local, _BATCH, cache="30%", **_OPTIONS)
    for _ in range(3):
      self.assertEqual(runs.digests(there), runs.digests(here))
    stats = liquid_tf.stats(there)
    self.assertEqual(set(stats.summary()["reading"].values()), {"tensorflow"})
    first, second = (epoch["disk_bytes"] for epoch in stats.epochs[:2])
    self.assertBetween(second / first, 0.6, 0.85)

  def test_a_connection_that_breaks(self):
    self._faults(break_every=5)
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS)
    self.assertEqual(runs.digests(dataset), self.wanted)
    self.assertGreater(liquid_tf.stats(dataset).summary()["retries"], 0)

  def test_a_slow_one(self):
    self._faults(delay=0.05)
    self.assertEqual(self._digests(), self.wanted)

  def test_wrong_keys(self):
    self._faults(deny=True)
    begun = time.monotonic()
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, self.remote):
      liquid_tf.dataset(self.remote, _BATCH)
    self.assertLess(time.monotonic() - begun, 60)

  def test_keys_that_become_wrong(self):
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS)
    self._faults(deny=True)
    with self.assertRaisesRegex(Exception, self.remote):
      runs.digests(dataset)

  def test_missing_keys(self):
    with self.assertRaisesRegex(
      liquid_tf.errors.ManifestError, "is not a Liquid dataset"
    ):
      liquid_tf.dataset("s3://bucket/nothing.liquid")
    liquid_tf.copy(self.remote, "s3://bucket/torn.liquid", progress=False)
    name = next(
      n
      for n in os.listdir(self.local)
      if n.startswith("png-00001") and n.endswith(".rec")
    )
    tf.io.gfile.remove(f"s3://bucket/torn.liquid/{name}")
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, f"{name} is missing"):
      liquid_tf.dataset("s3://bucket/torn.liquid")

  def test_copies(self):
    """Back to a folder: the same bytes; and over a broken copy, with resume."""
    folder = self.create_tempdir().full_path
    liquid_tf.copy(self.remote, f"{folder}/back", progress=False)
    for name in os.listdir(self.local):
      with (
        open(f"{self.local}/{name}", "rb") as a,
        open(f"{folder}/back/{name}", "rb") as b,
      ):
        self.assertEqual(a.read(), b.read(), name)
    with self.assertRaisesRegex(ConvertError, "already holds a dataset"):
      liquid_tf.copy(self.remote, f"{folder}/back", progress=False)
    torn = f"{folder}/torn"
    os.mkdir(torn)
    name = next(n for n in sorted(os.listdir(self.local)) if n.endswith(".rec"))
    with open(f"{torn}/{name}", "wb") as file:
      file.write(bytes(os.path.getsize(f"{self.local}/{name}")))
    with self.assertRaisesRegex(ConvertError, "must not exist"):
      liquid_tf.copy(self.remote, torn, progress=False)
    # What a copy that was killed leaves, and what is somebody's.
    open(f"{torn}/_journal.db", "wb").close()
    with open(f"{torn}/index.npy.tmp", "wb") as file:
      file.write(b"half")
    with open(f"{torn}/letter.txt", "w") as file:
      file.write("mine")
    with self.assertRaisesRegex(ConvertError, "but holds letter.txt"):
      liquid_tf.copy(self.remote, torn, existing="resume", progress=False)
    os.unlink(f"{torn}/letter.txt")
    liquid_tf.copy(self.remote, torn, existing="resume", progress=False)
    self.assertFalse(os.path.exists(f"{torn}/index.npy.tmp"))
    self.assertEqual(liquid_tf.verify(torn, progress=False)["problems"], [])

  def test_a_dataset_that_is_there(self):
    """It is kept, or replaced; never mixed with another one, nor what is not of it."""
    folder = self.create_tempdir().full_path
    convert(self.source, f"{folder}/other", "raw:1", progress=False)
    copy = f"{folder}/copy"
    liquid_tf.copy(self.remote, copy, progress=False)
    liquid_tf.copy(self.remote, copy, existing="resume", progress=False)
    with self.assertRaisesRegex(ConvertError, "already holds another dataset"):
      liquid_tf.copy(f"{folder}/other", copy, existing="resume", progress=False)
    with open(f"{copy}/letter.txt", "w") as file:
      file.write("mine")
    with self.assertRaisesRegex(ConvertError, "but holds letter.txt"):
      liquid_tf.copy(f"{folder}/other", copy, existing="replace", progress=False)
    self.assertEqual(liquid_tf.inspect(copy)["samples"], 100)
    os.unlink(f"{copy}/letter.txt")
    liquid_tf.copy(f"{folder}/other", copy, existing="replace", progress=False)
    self.assertCountEqual(os.listdir(copy), os.listdir(f"{folder}/other"))

  def test_a_conversion_asks_before_it_works(self):
    options = {"shard_size": 65536, "progress": False}
    staging = f"{self.create_tempdir().full_path}/staging"
    with self.assertRaisesRegex(ConvertError, "already holds a dataset"):
      convert(self.source, self.remote, "png:5,raw:3", staging=staging, **options)
    self.assertFalse(os.path.exists(staging))
    report = convert(
      self.source,
      self.remote,
      "png:5,raw:3",
      staging=staging,
      existing="resume",
      **options,
    )
    self.assertEqual((report.output, report.samples), (self.remote, 100))
    self.assertFalse(os.path.exists(staging))

  def test_a_replacement_that_is_killed_goes_on(self):
    """At every object that is written: there is no dataset, or one that is right."""
    folder = self.create_tempdir().full_path
    new, remote = f"{folder}/new", "s3://bucket/replaced.liquid"
    convert(self.source, new, "raw:1", shard_size=65536, progress=False)
    liquid_tf.copy(self.local, remote, progress=False)
    for count in range(0, 40, 5):
      with _interrupted_at(count), self.assertRaises(KeyboardInterrupt):
        liquid_tf.copy(new, remote, existing="replace", progress=False)
      with self.assertRaisesRegex(liquid_tf.errors.ManifestError, "unfinished"):
        manifest.load(remote)
      if count >= len(os.listdir(new)) - 6:
        break
    liquid_tf.copy(new, remote, existing="resume", progress=False)
    self.assertCountEqual(tf.io.gfile.listdir(remote), os.listdir(new))
    # A source that is damaged takes nothing away.
    shard = pathlib.Path(self.local, manifest.load(self.local).shards[0].path)
    good = shard.read_bytes()
    self.addCleanup(shard.write_bytes, good)
    shard.write_bytes(good[:-1] + b"?")
    with self.assertRaisesRegex(liquid_tf.errors.ManifestError, "is damaged"):
      liquid_tf.copy(self.local, remote, existing="replace", progress=False)
    self.assertEqual(manifest.load(remote)["mix"], {"raw": 1})

  def test_a_staged_replacement_that_is_interrupted_goes_on(self):
    staging = f"{self.create_tempdir().full_path}/staging"
    remote = "s3://bucket/staged.liquid"
    liquid_tf.copy(self.local, remote, progress=False)

    def replace(**options):
      return convert(
        self.source, remote, "raw:1", staging=staging, progress=False, **options
      )

    with _interrupted_at(0), self.assertRaises(KeyboardInterrupt):
      replace(existing="replace")
    with mock.patch.object(publish, "end", side_effect=KeyboardInterrupt):
      with self.assertRaises(KeyboardInterrupt):
        replace(existing="resume")
    self.assertEqual(replace(existing="resume").output, remote)
    self.assertEqual(manifest.load(remote)["mix"], {"raw": 1})
    self.assertEqual(os.listdir(os.path.dirname(staging)), [])

  def test_records_and_lists(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name in ("a", "b"):
      with recordio.Writer(folder / f"{name}.rec") as writer:
        for i in range(9):
          writer.write(name.encode() * 1000 * i)
    entries = [recordio.ListEntry(7, (1.0, 2.0), "cats/1.jpg")]
    recordio.write_list(folder / "a.lst", entries)
    for file in folder.iterdir():
      tf.io.gfile.copy(str(file), f"s3://bucket/records/{file.name}")
    self.assertEqual(recordio.read_list("s3://bucket/records/a.lst"), entries)
    there = "s3://bucket/records"
    wanted = list(recordio.Reader(str(folder), part=(1, 2)))
    self.assertNotEmpty(wanted)
    for uri in (there, f"{there}/*.rec", f"{there}/a.rec;{there}/b.rec"):
      self.assertEqual(list(recordio.Reader(uri, part=(1, 2))), wanted)
      dataset = recordio.dataset(uri, shard=(1, 2))
      self.assertEqual(list(dataset.as_numpy_iterator()), wanted)
    with self.assertRaisesRegex(RecordIOError, "none.rec: there is no such file"):
      recordio.Reader(f"{there}/none.rec")


if __name__ == "__main__":
  try:
    absltest.main()
  except SystemExit as done:
    # tensorflow-io's file systems may abort while a process ends.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(done.code))
