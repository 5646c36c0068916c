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
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import recordio, transforms
from liquid_tf._convert.convert import convert
from liquid_tf._convert.stores import publish
from liquid_tf._convert.stores.sender import Sender
from liquid_tf._native import credentials
from liquid_tf._store import manifest, s3, storage
from liquid_tf.errors import ConvertError, ManifestError, RecordIOError

try:
  import moto
except ImportError:
  moto = None

_BATCH = 8
_SHARD = 8192  # bytes: some two dozen objects, each of them a read
_SECRET = "a/secret+of/tests"
# What the server does where a test says nothing.
_RIGHT = {
  **{"delay": 0, "deny": False, "keys": {"testing": [_SECRET, ""]}, "lasts": 0},
  **{"break_every": 0, "busy_every": 0, "wrong_every": 0},
}
_OPTIONS = {
  "features": ["id", "image"],
  "transforms": [transforms.RandomCrop(16)],
  "memory": "256MiB",
}


# Reads, copies, keeps a checkpoint, and prints an error: into a folder, from a URL.
_USES_ALL = """
import sys
import tensorflow as tf
import liquid_tf
from liquid_tf._native import credentials
from liquid_tf._store import s3, storage

folder, url = sys.argv[1:]
dataset = liquid_tf.dataset(url, 8)
iterator = iter(dataset)
next(iterator)
tf.train.Checkpoint(iterator=iterator).save(f"{folder}/iterator")
list(iterator)
liquid_tf.copy(url, f"{folder}/copy", progress=False)
open(f"{folder}/graph", "wb").write(dataset._as_serialized_graph().numpy())
print(liquid_tf.inspect(url), liquid_tf.stats(dataset).summary())
print(credentials.access("bucket"))
for call in (lambda: storage.read_file(f"{url}/none"), lambda: s3.size("s3://no/a")):
  try:
    print(call())
  except OSError as error:
    print(repr(error))
"""


def _paths() -> dict[str, str]:
  return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


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
    hidden = {"botocore": None, "botocore.session": None}
    for call in (
      lambda: liquid_tf.dataset("s3://bucket/photos.liquid"),
      lambda: convert("source", "s3://bucket/photos.liquid", "png:1", staging="there"),
      lambda: recordio.Reader("s3://bucket/a.rec"),
    ):
      with mock.patch.dict(sys.modules, hidden):
        with self.assertRaisesRegex(ImportError, 'pip install "botocore>='):
          call()

  def test_an_unknown_file_system(self):
    with self.assertRaisesRegex(ImportError, "nowhere://"):
      liquid_tf.dataset("nowhere://bucket/photos.liquid")


class _Server:
  """A process of s3_server.py, of which all requests must be signed."""

  def __init__(self):
    port = servers.free_port()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3_server.py")
    self._process = subprocess.Popen(
      [sys.executable, script, str(port)],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
    )
    self._process.stdout.readline()
    self.url = f"http://127.0.0.1:{port}"

  def stop(self) -> None:
    self._process.kill()
    self._process.wait()
    self._process.stdout.close()

  def faults(self, **faults) -> dict:
    data = json.dumps(faults).encode()
    request = urllib.request.Request(f"{self.url}/_faults", data, method="POST")
    with urllib.request.urlopen(request) as answer:
      return json.loads(answer.read())


def _environment(server: _Server) -> dict[str, str]:
  """Of a process that reads from it."""
  return {
    "AWS_ENDPOINT_URL": server.url,
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": _SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
  }


@unittest.skipIf(moto is None, "needs moto")
class S3Test(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.server = _Server()
    cls.addClassCleanup(cls.server.stop)
    cls.enterClassContext(mock.patch.dict(os.environ, _environment(cls.server)))
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
      os.environ.pop(name, None)
    credentials.renew()
    cls.server.faults(**_RIGHT)
    s3.client().create_bucket(Bucket="bucket")
    cls.local = runs.make(folder.name, "png:5,raw:3", per_class=25, shard_size=_SHARD)
    cls.remote = "s3://bucket/photos.liquid"
    cls.source = f"{folder.name}/source"
    report = convert(
      cls.source,
      cls.remote,
      "png:5,raw:3",
      shard_size=_SHARD,
      staging=f"{folder.name}/staging",
      progress=False,
    )
    assert report.output == cls.remote, report
    assert not os.path.exists(f"{folder.name}/staging")
    cls.wanted = runs.digests(liquid_tf.dataset(cls.local, _BATCH, **_OPTIONS))

  def setUp(self):
    super().setUp()
    self.addCleanup(self.server.faults, **_RIGHT)

  def _digests(self, **options) -> list[str]:
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS, **options)
    return runs.digests(dataset)

  def test_three_epochs_with_a_cache(self):
    there = liquid_tf.dataset(self.remote, _BATCH, cache="30%", **_OPTIONS)
    here = liquid_tf.dataset(self.local, _BATCH, cache="30%", **_OPTIONS)
    for _ in range(3):
      self.assertEqual(runs.digests(there), runs.digests(here))
    stats = liquid_tf.stats(there)
    self.assertEqual(set(stats.summary()["reading"].values()), {"s3"})
    first, second = (epoch["disk_bytes"] for epoch in stats.epochs[:2])
    self.assertBetween(second / first, 0.6, 0.85)

  @parameterized.parameters("break_every", "busy_every", "wrong_every")
  def test_one_answer_in_ten_fails(self, fault):
    self.server.faults(**{fault: 10})
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS)
    self.assertEqual(runs.digests(dataset), self.wanted)
    self.assertGreater(liquid_tf.stats(dataset).summary()["retries"], 0)

  def test_a_slow_one(self):
    self.server.faults(delay=0.05)
    self.assertEqual(self._digests(), self.wanted)

  def test_wrong_keys(self):
    self.server.faults(deny=True)
    begun = time.monotonic()
    with self.assertRaisesRegex(ManifestError, f"{self.remote}.*InvalidAccessKeyId"):
      liquid_tf.dataset(self.remote, _BATCH)
    self.assertLess(time.monotonic() - begun, 60)

  def test_keys_that_become_wrong(self):
    dataset = liquid_tf.dataset(self.remote, _BATCH, **_OPTIONS)
    self.server.faults(deny=True)
    with self.assertRaisesRegex(
      tf.errors.OpError, f"{self.remote}/.*InvalidAccessKeyId.*renew them"
    ) as caught:
      runs.digests(dataset)
    self.assertNotIn(_SECRET, str(caught.exception))

  def test_a_wrong_secret(self):
    with mock.patch.dict(os.environ, AWS_SECRET_ACCESS_KEY="another"):
      credentials.renew()
      with self.assertRaisesRegex(ManifestError, "SignatureDoesNotMatch"):
        liquid_tf.dataset(self.remote, _BATCH)
    credentials.renew()

  def test_no_credentials(self):
    with mock.patch.dict(os.environ):
      del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
      credentials.renew()
      with self.assertRaisesRegex(ManifestError, "there are no credentials: set AWS_"):
        liquid_tf.dataset(self.remote, _BATCH)
      # Of a bucket that the op library has not asked for.
      with self.assertRaisesRegex(OSError, "s3://other/a: there are no credentials"):
        storage.read_file("s3://other/a")
    credentials.renew()

  def test_credentials_that_expire_in_an_epoch(self):
    """botocore has them from a command, as from a metadata server: for an hour."""
    folder = self.create_tempdir().full_path
    url = f"{self.server.url}/_keys"
    ask = f"import urllib.request as r; print(r.urlopen('{url}').read().decode())"
    with open(f"{folder}/config", "w") as file:
      file.write(f'[default]\ncredential_process = {sys.executable} -c "{ask}"\n')
    with mock.patch.dict(os.environ, AWS_CONFIG_FILE=f"{folder}/config"):
      del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
      self.addCleanup(credentials.renew)
      credentials.renew()
      # Few reads at once: after those that are under way, a token has expired again.
      dataset = liquid_tf.dataset(
        self.remote, _BATCH, tuning=liquid_tf.graph.Tuning(threads=2), **_OPTIONS
      )
      self.server.faults(lasts=8)
      self.assertEqual(runs.digests(dataset), self.wanted)
      self.assertGreater(liquid_tf.stats(dataset).summary()["retries"], 0)
      token = self.server.faults()["token"]
      self.assertGreaterEqual(int(token.removeprefix("token")), 2)

  def test_keys_of_any_characters(self):
    for key in ("a b+c&d=e;f", "x?y#z%20", "../up/./here//twice", "\u00e9/\u4e2d"):
      path = f"s3://bucket/odd/{key}"
      s3.write(path, key.encode())
      self.assertEqual(storage.read_file(path), key.encode())
      self.assertEqual(storage.file_size(path), len(key.encode()))
      s3.remove(path)
      self.assertIsNone(storage.file_size(path))

  def test_many_names(self):
    for number in range(1005):
      s3.write(f"s3://bucket/many/{number}", b"")
    self.assertLen(storage.names_in("s3://bucket/many"), 1005)
    self.assertLen(storage.names_in("s3://bucket/many/"), 1005)
    self.assertEqual(storage.names_in("s3://bucket/none"), set())
    with self.assertRaisesRegex(OSError, "s3://none/a: there is no such bucket"):
      storage.names_in("s3://none/a")

  def test_a_store_that_is_gone(self):
    """A process has not read there before: nothing is kept of it."""
    gone = _Server()
    gone.stop()
    begun = time.monotonic()
    code = "import liquid_tf; liquid_tf.dataset('s3://bucket/x.liquid', 8)"
    done = subprocess.run(
      [sys.executable, "-c", code],
      env={**_paths(), **_environment(gone)},
      capture_output=True,
      text=True,
    )
    self.assertLess(time.monotonic() - begun, 90)
    self.assertRegex(
      done.stderr.splitlines()[-1], "ManifestError: s3://bucket/x.liquid.*connect"
    )

  def test_a_fork_reads_too(self):
    view = liquid_tf.open(self.remote)
    wanted = runs.digest(view[3])
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
      os.write(writes, runs.digest(liquid_tf.open(self.remote)[3]).encode())
      os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as found:
      self.assertEqual(found.read(), wanted)
    self.assertEqual(os.waitpid(child, 0)[1], 0)

  def test_no_secret_is_left_anywhere(self):
    folder = self.create_tempdir().full_path
    token = "a/token+of/tests"
    self.server.faults(keys={"testing": [_SECRET, token]}, busy_every=7)
    environment = {
      **_paths(),
      **_environment(self.server),
      "AWS_SESSION_TOKEN": token,
      "TF_CPP_MIN_LOG_LEVEL": "0",
      "TF_CPP_MAX_VLOG_LEVEL": "1",
    }
    done = subprocess.run(
      [sys.executable, "-c", _USES_ALL, folder, self.remote],
      env=environment,
      capture_output=True,
    )
    self.assertEqual(done.returncode, 0, done.stderr[-3000:])
    files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    self.assertNotEmpty([path for path in files if path.name == "dataset.json"])
    self.assertNotEmpty([path for path in files if path.name.startswith("iterator")])
    # TensorFlow's log shows tensors of bytes as they are, so it is no text.
    texts = [done.stdout, done.stderr]
    texts += [path.read_bytes() for path in files]
    for text in texts:
      self.assertNotIn(_SECRET.encode(), text)
      self.assertNotIn(token.encode(), text)

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
    s3.remove(f"s3://bucket/torn.liquid/{name}")
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
    options = {"shard_size": _SHARD, "progress": False}
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
    self.assertEqual(s3.names_in(remote), set(os.listdir(new)))
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
      s3.write(f"s3://bucket/records/{file.name}", file.read_bytes())
    self.assertEqual(recordio.read_list("s3://bucket/records/a.lst"), entries)
    there = "s3://bucket/records"
    wanted = list(recordio.Reader(str(folder), part=(1, 2)))
    self.assertNotEmpty(wanted)
    for uri in (
      *(there, f"{there}/", f"{there}/*.rec", f"{there}/a.rec;{there}/b.rec"),
      *("s3://bucket/rec*/[ab].rec", f"{there}/a*.rec;{there}/b.r*"),
    ):
      self.assertEqual(list(recordio.Reader(uri, part=(1, 2))), wanted)
      dataset = recordio.dataset(uri, shard=(1, 2))
      self.assertEqual(list(dataset.as_numpy_iterator()), wanted)
    with self.assertRaisesRegex(RecordIOError, "none.rec: there is no such file"):
      recordio.Reader(f"{there}/none.rec")


if __name__ == "__main__":
  absltest.main()
