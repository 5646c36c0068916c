"""Conversions from S3 to S3, by a real server on loopback: killed, and with faults.

The process that kills imports TensorFlow and runs nothing of it, so that it can fork
children that do, without the seconds of an import each.
"""

import glob
import gzip
import io
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import unittest
import urllib.parse
import urllib.request

import http_server
import kills
import numpy as np
import photos
import servers
from absl.testing import absltest

from liquid_tf._convert.convert import convert
from liquid_tf._convert.copy import copy
from liquid_tf._convert.source import Source
from liquid_tf._convert.stores.open import staging_folder
from liquid_tf._store import s3
from liquid_tf._view import view as views
from liquid_tf.errors import ConvertError

try:
  import botocore  # noqa: F401
  import moto
except ImportError:
  moto = None

try:
  import pyarrow
  from pyarrow import parquet
except ImportError:
  parquet = None

_SECRET = "a-very-secret-key"
# Of a shard: a few parts of 8 MiB.
_SHARD = 20 << 20
# Shards that are sent or wait, the one that is being made, and room for the journal.
_MOST_STAGED = 6 * _SHARD


@unittest.skipIf(moto is None, "needs moto and botocore")
class ConvertS3Test(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    port = servers.free_port()
    folder = os.path.dirname(os.path.abspath(__file__))
    cls.server = subprocess.Popen(
      [sys.executable, os.path.join(folder, "s3_log_server.py"), str(port)],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
    )
    cls.addClassCleanup(cls._stop)
    cls.server.stdout.readline()
    cls.url = f"http://127.0.0.1:{port}"
    os.environ.update(
      AWS_ENDPOINT_URL=cls.url,
      AWS_REGION="us-east-1",
      AWS_ACCESS_KEY_ID="an-identifier",
      AWS_SECRET_ACCESS_KEY=_SECRET,
      AWS_EC2_METADATA_DISABLED="true",
      XDG_CACHE_HOME=f"{cls.root}/cache",
    )
    s3.client().create_bucket(Bucket="bucket")
    cls.source = f"{cls.root}/source"
    for name in photos.COLOUR[:4]:
      _write_large(cls.source, name, 10)
    cls._upload(cls.source, "photos")
    begin = time.monotonic()
    cls._in_child(lambda: cls._convert(cls.source, f"{cls.root}/wanted"))
    cls.seconds = time.monotonic() - begin
    cls.wanted = photos.files(f"{cls.root}/wanted")

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

  @classmethod
  def _upload(cls, folder: str, key: str) -> None:
    for name, data in photos.tree(folder).items():
      cls._put(f"{key}/{name}", data)

  @classmethod
  def _put(cls, key: str, data: bytes) -> None:
    s3.client().put_object(Bucket="bucket", Key=key, Body=data)

  @classmethod
  def _in_child(cls, work, said: str | None = None) -> int:
    """Runs `work` in a child; returns the most memory it had, in bytes.

    Args:
      work: may raise if `said` is a file, that gets what the child says.
      said: for stdout and stderr of the child.
    """

    def run():
      if said is not None:
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        try:
          work()
        except Exception:
          traceback.print_exc()
      else:
        work()

    _, status, used = os.wait4(kills.fork(run), 0)
    if status:
      raise AssertionError(f"the child ended with status {status}")
    return used.ru_maxrss << 10

  @classmethod
  def _convert(cls, source, output: str, **options) -> None:
    options = {"existing": "resume", "shard_size": _SHARD, "workers": 2} | options
    # Of everything, so that most of the time goes into sending.
    options = {"mix": "raw:1,bmp:1,pcr:1", "replicate": True} | options
    convert(source, output, progress=False, **options)

  def _faults(self, **faults) -> None:
    self._request("_faults", "POST", json.dumps(faults).encode())

  def setUp(self):
    super().setUp()
    self.addCleanup(
      self._faults, delay=0, deny=False, break_every=0, fail_every=0, drop_every=0
    )

  def _log(self) -> dict:
    return json.loads(self._request("_log"))

  def _again(self, key: str) -> list:
    """What was sent to a folder of the bucket though it had been acknowledged."""
    return [
      sent for sent in self._log()["again"] if sent[0].startswith(f"/bucket/{key}/")
    ]

  def _files(self, key: str) -> dict[str, bytes]:
    """What a folder of the bucket holds."""
    client = s3.client()
    pages = client.get_paginator("list_objects_v2")
    return {
      entry["Key"].removeprefix(f"{key}/"): client.get_object(
        Bucket="bucket", Key=entry["Key"]
      )["Body"].read()
      for page in pages.paginate(Bucket="bucket", Prefix=f"{key}/")
      for entry in page.get("Contents", ())
    }

  def _uploads(self, key: str) -> list:
    """What was begun to be sent to a folder, and not ended."""
    found = s3.client().list_multipart_uploads(Bucket="bucket", Prefix=f"{key}/")
    return found.get("Uploads", [])

  def _check_whole(self, key: str) -> None:
    found = self._files(key)
    self.assertCountEqual(found, self.wanted)
    for name, data in found.items():
      self.assertEqual(data, self.wanted[name], name)
    self.assertEqual(self._uploads(key), [])
    self.assertEqual(self._again(key), [])

  def _kill(self, output: str, seconds: float, sends: bool) -> tuple[bool, int]:
    """Kills a conversion at a random moment.

    Args:
      output: of it.
      seconds: in which that moment is.
      sends: whether they are counted from the next part that is sent, and are fewer.

    Returns:
      Whether it had not ended, and the most bytes that were staged.
    """
    staging, parts, most = staging_folder(output, None), self._log()["parts"], 0
    child = kills.fork(lambda: self._convert("s3://bucket/photos", output))
    ended, end = False, time.monotonic() + seconds
    while not ended and (sends or time.monotonic() < end):
      if sends and self._log()["parts"] > parts:
        sends, end = False, time.monotonic() + seconds / 20
      most = max(most, _bytes_in(staging))
      time.sleep(0.01)
      ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    self.assertIn(status, (0, signal.SIGKILL))
    return status != 0, most

  def test_a_table_of_labels(self):
    """Beside the images in S3, or on the local disk."""
    local = f"{self.root}/labelled"
    for name in "xy":
      photos.save(f"{local}/{name}.png", np.full((4, 4, 3), ord(name), np.uint8))
    self._upload(local, "labelled")
    table = f"{self.root}/labelled.csv"
    pathlib.Path(table).write_text("id,label\nx,owl\ny,bat\n")
    self._put("labelled.csv", pathlib.Path(table).read_bytes())
    for i, path in enumerate(("s3://bucket/labelled.csv", table)):
      source = Source("s3://bucket/labelled", annotations=path)
      output = f"{self.root}/labelled{i}.liquid"
      self._in_child(lambda: convert(source, output, "png", progress=False))  # noqa: B023
      samples = [one["label"].tolist() for one in views.open(output)]
      self.assertEqual(samples, [1, 0])
      self.assertEqual(views.open(output).classes, ["bat", "owl"])

  def test_the_log_knows_what_was_acknowledged(self):
    """Not what came from a client that was killed before it had an answer."""
    for waits, wanted in ((True, 1), (False, 0)):
      key = f"waits-{waits}"
      signed = s3.client().generate_presigned_url(
        "put_object", {"Bucket": "bucket", "Key": f"{key}/object"}
      )
      place = urllib.parse.urlsplit(signed)
      request = (
        f"PUT {place.path}?{place.query} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Content-Length: 5\r\n\r\nbytes"
      )
      before = self._log()["uses"].get("PUT", 0)
      self._faults(delay=0.5)
      with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(request.encode())
        while self._log()["uses"].get("PUT", 0) == before:
          time.sleep(0.02)
        if waits:
          self.assertStartsWith(connection.recv(1 << 16), b"HTTP/1.1 200 ")
      self._faults(delay=0)
      while not self._files(key):
        time.sleep(0.02)
      self._put(f"{key}/object", b"bytes")
      self.assertLen(self._again(key), wanted)

  def test_killed_at_random_moments(self):
    """It ends in the same bytes, and sends nothing again that was acknowledged."""
    self._faults(delay=0.1)
    moments, done, staged, begun = random.Random(3), 0, 0, 0
    left = kills.COUNT
    # Some kill has to come while parts are under way.
    while left > 0 or (not begun and done < 50):
      # A new one where the last came to its end.
      key = f"killed-{done}.liquid"
      seconds = moments.uniform(0, 2 * self.seconds)
      killed, most = self._kill(f"s3://bucket/{key}", seconds, left % 2 == 0)
      left, done = left - killed, done + (not killed)
      staged = max(staged, most)
      begun += bool(self._uploads(key))
      found = self._files(key)
      if "dataset.json" in found:
        self.assertContainsSubset(self.wanted, found)
      elif found:
        self.assertIn("_journal.db", found)
      if not killed:
        self._check_whole(key)
    key = f"killed-{done}.liquid"
    output = f"s3://bucket/{key}"
    self._in_child(lambda: self._convert("s3://bucket/photos", output))
    self._check_whole(key)
    self.assertFalse(os.path.exists(staging_folder(output, None)))
    self.assertGreater(begun, 0)
    self.assertBetween(staged, 1, _MOST_STAGED)

  def test_without_its_journal_it_sends_nothing_again_either(self):
    """As from another machine."""
    output, key = "s3://bucket/moved.liquid", "moved.liquid"
    before = self._log()["parts"]
    self._faults(delay=0.1)
    child = kills.fork(lambda: self._convert("s3://bucket/photos", output))
    while self._log()["parts"] < before + 5:
      self.assertEqual(os.waitpid(child, os.WNOHANG), (0, 0))
      time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    shutil.rmtree(staging_folder(output, None))
    self._in_child(lambda: self._convert("s3://bucket/photos", output))
    self._check_whole(key)

  def test_a_server_that_fails(self):
    output, key = "s3://bucket/failing.liquid", "failing.liquid"
    self._faults(fail_every=7, drop_every=11, break_every=5)
    self._in_child(lambda: self._convert("s3://bucket/photos", output))
    self._faults(fail_every=0, drop_every=0, break_every=0)
    self._check_whole(key)

  def test_a_replacement(self):
    """Until the first shard comes the old dataset is there."""
    output, key = "s3://bucket/replaced.liquid", "replaced.liquid"
    few = f"{self.root}/few"
    photos.class_folders(few, per_class=2, classes=2)
    self._in_child(lambda: self._convert(few, output, mix="bmp:1,webp:1"))
    old = set(self._files(key))
    said = f"{self.root}/said"
    self._in_child(
      lambda: self._convert(few, output, mix="webp:1", existing="refuse"), said
    )
    self.assertIn("already holds a dataset", pathlib.Path(said).read_text())
    # The scan fails, and nothing is touched.
    pathlib.Path(few, "coffee", "bad.png").write_bytes(b"none")
    self._in_child(
      lambda: self._convert(few, output, mix="webp:1", existing="replace"), said
    )
    self.assertIn("bad.png", pathlib.Path(said).read_text())
    self.assertEqual(set(self._files(key)), old)
    # It goes on by resume, which remembers what it replaces.
    self._in_child(lambda: self._convert("s3://bucket/photos", output), said)
    self.assertIn("the source is not the same", pathlib.Path(said).read_text())
    self._in_child(
      lambda: self._convert("s3://bucket/photos", output, existing="replace")
    )
    self._check_whole(key)

  def test_a_source_that_changes(self):
    self._upload(f"{self.source}/coffee", "changing/coffee")
    output, said = "s3://bucket/changing.liquid", f"{self.root}/said"
    before = self._log()["parts"]
    self._faults(delay=0.05)
    child = kills.fork(lambda: self._convert("s3://bucket/changing", output))
    while self._log()["parts"] == before:
      self.assertEqual(os.waitpid(child, os.WNOHANG), (0, 0))
      time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    name = sorted(os.listdir(f"{self.source}/coffee"))[0]
    other = sorted(os.listdir(f"{self.source}/coffee"))[1]
    data = pathlib.Path(self.source, "coffee", other).read_bytes()
    self._put(f"changing/coffee/{name}", data)
    self._in_child(lambda: self._convert("s3://bucket/changing", output), said)
    text = pathlib.Path(said).read_text()
    self.assertIn(f"changed: coffee/{name}", text)
    self.assertNotIn("dataset.json", self._files("changing.liquid"))

  def test_no_secret_is_said(self):
    self._upload(f"{self.source}/coffee", "secret/coffee")
    self._put("secret/coffee/bad.png", b"no image")
    output, said = "s3://bucket/secret.liquid", f"{self.root}/said"
    for faults in ({}, {"deny": True}):
      self._faults(**faults)
      for source in ("s3://bucket/secret", "s3://bucket/none", "s3://nowhere/none"):
        self._in_child(lambda source=source: self._convert(source, output), said)
        text = pathlib.Path(said).read_text()
        self.assertIn("ConvertError: ", text)
        for word in (_SECRET, "Signature", "X-Amz"):
          self.assertNotIn(word, text)

  def test_memory(self):
    """A source three times as large needs hardly more of it."""
    rng = np.random.default_rng(5)
    folder = f"{self.root}/large"
    for i in range(300):
      pixels = rng.integers(0, 256, (640, 640, 3), np.uint8)
      photos.save(f"{folder}/{'third' if i < 100 else 'rest'}/noise/{i:03}.bmp", pixels)
    self._upload(folder, "large")
    used = [
      self._in_child(
        lambda name=name, source=source: self._convert(
          f"s3://bucket/{source}",
          f"s3://bucket/{name}.liquid",
          mix="raw:1",
          replicate=False,
        )
      )
      for name, source in (("a-third", "large/third"), ("all", "large"))
    ]
    more = 200 * 640 * 640 * 3
    self.assertLess(used[1] - used[0], more // 3)

  def test_records_and_datasets(self):
    """Every kind of source gives what it gives from a disk."""
    folder = pathlib.Path(self.root, "kinds")
    photos.class_folders(folder / "images", per_class=4, classes=3)
    for i in range(4):
      image = photos.photo("coffee")[: 40 + i, : 50 + i]
      photos.save(folder / f"masked/images/{i}.png", image)
      photos.save(folder / f"told/{i}.png", image)
      photos.save(folder / f"masked/masks/{i}.png", image[..., 0] // 64)
    rows = "".join(f"{i}.png,{i % 2},caption {i}\n" for i in range(4))
    (folder / "told/metadata.csv").write_text("file_name,label,text\n" + rows)
    self._in_child(lambda: _make_kinds(folder))
    [examples] = (folder / "examples").glob("train*")
    archives = _make_archives(folder, examples)
    names = ("images", "masked", "records", "examples", "dataset", "arrays", "rows")
    for name in (*names, "told", "archives"):
      self._upload(str(folder / name), f"kinds/{name}")
    kinds = ["images", "dataset", "examples/train*", "records/*.rec", *archives]
    kinds += ["records/val.rec;{}/records/train.rec", "arrays/a.npz"]
    kinds.append("told")
    kinds += ["rows/*.parquet"] * (parquet is not None)
    for kind in kinds:
      self._compare(kind, str(folder), "s3://bucket/kinds")
    masks = [f"{place}/masked/masks" for place in (folder, "s3://bucket/kinds")]
    self._compare("masked/images", str(folder), "s3://bucket/kinds", masks=masks)
    with http_server.HttpServer(str(folder)) as server:
      one = f"examples/{examples.name}"
      for kind in ("dataset", one, "records/train.rec", *archives[:2]):
        self._compare(kind, str(folder), server.url)

  def _compare(self, kind: str, here: str, there: str, masks=(None, None)) -> None:
    found = []
    for place, mask in zip((here, there), masks):
      output = f"{self.root}/compared"
      source = Source(f"{place}/{kind.format(place)}", masks=mask)
      self._in_child(lambda s=source, o=output: self._convert(s, o, mix="png:1,raw:1"))
      found.append(photos.files(output))
      shutil.rmtree(output)
    self.assertEqual(found[0], found[1], kind)

  def test_copies(self):
    """A copy that is killed sends nothing again, and a copy back is the same."""
    local, there = f"{self.root}/wanted", "s3://bucket/copied.liquid"
    self._faults(delay=0.02)
    for moment in (0.2, 0.5, 1):
      child = kills.fork(lambda: copy(local, there, existing="resume", progress=False))
      time.sleep(moment)
      os.kill(child, signal.SIGKILL)
      os.waitpid(child, 0)
    self._in_child(lambda: copy(local, there, existing="resume", progress=False))
    self._check_whole("copied.liquid")
    other = "s3://bucket/again.liquid"
    self._in_child(lambda: copy(there, other, progress=False))
    self._check_whole("again.liquid")
    back = f"{self.root}/back"
    self._in_child(lambda: copy(there, back, progress=False))
    self.assertEqual(photos.files(back), self.wanted)

  def test_wrong_places(self):
    wanted = f"{self.root}/wanted"
    for options, why in (
      ({"staging": wanted}, "holds a dataset: choose another"),
      ({"output": "s3://bucket/photos/x.liquid"}, "must not be inside source"),
      ({"output": "s3://bucket/photos"}, "is of no dataset: choose another"),
    ):
      options = {"output": "s3://bucket/wrong.liquid"} | options
      with self.subTest(why), self.assertRaisesRegex(ConvertError, why):
        self._convert("s3://bucket/photos", **options)
    with self.assertRaisesRegex(ValueError, "staging .* must be None"):
      self._convert(self.source, f"{self.root}/x", staging=f"{self.root}/y")


def _write_large(root: str, name: str, count: int) -> None:
  """Makes a class of images of more than a MB of pixels, each another one."""
  photo = np.tile(photos.photo(name), (3, 3, 1))
  for i in range(count):
    pixels = photo[5 * i :, 7 * i :][:640, : 640 + i]
    photos.save(f"{root}/{name}/{i:03}.png", pixels, compress_level=1)


def _make_archives(folder: pathlib.Path, examples: pathlib.Path) -> list[str]:
  """Packs images and records; returns the paths of archives below the folder."""
  place = folder / "archives"
  shutil.make_archive(str(place / "photos"), "zip", folder, "images")
  with tarfile.open(place / "photos.tar", "w") as archive:
    for number, path in enumerate(sorted((folder / "images").rglob("*.png"))):
      archive.add(path, f"{number}.png")
      info = tarfile.TarInfo(f"{number}.cls")
      info.size = 1
      archive.addfile(info, io.BytesIO(b"%d" % (number % 3)))
  (place / "records.gz").write_bytes(gzip.compress(examples.read_bytes()))
  return [f"archives/{name}" for name in ("photos.zip", "photos.tar", "records.gz")]


def _make_kinds(folder: pathlib.Path) -> None:
  """Makes a dataset, and RecordIO and TFRecord files of it."""
  import liquid_tf

  convert(
    folder / "images",
    folder / "dataset",
    "png:2,pcr:1,raw:1",
    splits="train:.7,val:.3",
    encoders={"pcr": {"images": 3}},
    progress=False,
  )
  for kind, name in (("rec", "records"), ("tfrecord", "examples")):
    liquid_tf.export(folder / "dataset", folder / name, kind, progress=False)
  for name in ("arrays", "rows"):
    (folder / name).mkdir()
  images = np.stack([photos.photo("coffee")[i : i + 32, :48] for i in range(6)])
  arrays = {"x_train": images[:4], "x_val": images[4:]}
  arrays |= {"y_train": np.arange(4), "y_val": np.arange(2)}
  np.savez_compressed(folder / "arrays/a.npz", **arrays)
  paths = sorted((folder / "images").glob("*/*"))
  for split, some in (("train", paths[:8]), ("val", paths[8:])) if parquet else ():
    files = [path.read_bytes() for path in some]
    table = pyarrow.table(
      {"image": files, "label": [path.parent.name for path in some]}
    )
    parquet.write_table(table, folder / f"rows/{split}.parquet", row_group_size=3)


def _bytes_in(folder: str) -> int:
  """Bytes of all files below a folder, some of which may go meanwhile."""
  total = 0
  # Unlike pathlib's, this one passes over folders that go.
  for path in glob.glob(f"{glob.escape(folder)}*/*"):
    try:
      total += os.path.getsize(path)
    except FileNotFoundError:
      continue
  return total


if __name__ == "__main__":
  absltest.main()
