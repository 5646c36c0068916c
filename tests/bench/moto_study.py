"""Reads from moto's store of S3, whose answers come at once, or late.

  python tests/bench/moto_study.py --delay_ms=50

moto is a server in Python: its own processor time bounds the rates. What is asked for
is how much of them late answers leave: .95 with images of 1 MB, and .8 with those of
50 KB. The exit code is 1 where less is left. Each side runs in a fresh process, in
turn; the first epoch of each does not count, and nothing is cached.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from typing import Any
from unittest import mock

from absl import app, flags

from liquid_tf._convert.convert import convert
from liquid_tf._measure import fresh
from liquid_tf._store import s3
from tools.bench import photographs, remote, turns

_IMAGES = flags.DEFINE_integer("images", 400, "photographs of 1 MB", 1)
_SMALL_IMAGES = flags.DEFINE_integer("small_images", 4000, "of 50 KB", 1)
_DELAY = flags.DEFINE_integer("delay_ms", 50, "before each late answer", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 3, "processes of each side", 1)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "images in a batch", 1)

_SERVER = pathlib.Path(__file__).parents[1] / "scaling" / "s3_server.py"


class _Store:
  """A process of moto's server.

  Attributes:
    environment: variables of a process that reads from it.
  """

  def __init__(self, port: int):
    self._url = f"http://127.0.0.1:{port}"
    self.environment = {
      "AWS_ENDPOINT_URL": self._url,
      "AWS_ACCESS_KEY_ID": "testing",
      "AWS_SECRET_ACCESS_KEY": "testing",
      "AWS_EC2_METADATA_DISABLED": "true",
      "AWS_CONFIG_FILE": "/nowhere",
      "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    }

  def answer_after(self, seconds: float) -> None:
    data = json.dumps({"delay": seconds}).encode()
    request = urllib.request.Request(f"{self._url}/_faults", data, method="POST")
    urllib.request.urlopen(request).close()


@contextlib.contextmanager
def _store() -> Iterator[_Store]:
  with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
  process = subprocess.Popen(
    [sys.executable, _SERVER, str(port)],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
  )
  try:
    process.stdout.readline()
    store = _Store(port)
    with mock.patch.dict(os.environ, store.environment):
      yield store
  finally:
    process.kill()
    process.wait()
    process.stdout.close()


def _kept(store: _Store, folder: pathlib.Path, name: str, images: int) -> float:
  """Of the rate without a delay, what is left with it."""
  threads = len(os.sched_getaffinity(0))
  source = folder / name
  photographs.make(source, images, remote.SIDES[name], None, threads, ["png"])
  path = f"s3://bucket/{name}.liquid"
  staging = folder / f"{name}.staging"
  convert(source / "png", path, "raw:1", staging=staging, progress=False)

  def after(seconds: float) -> dict[str, Any]:
    store.answer_after(seconds)
    request = {
      **{
        "function": fresh.OURS,
        "path": path,
        "epochs": 2,
        "threads": threads,
      },
      **{"batch_size": _BATCH_SIZE.value, "cache": 0, "memory": "4GiB"},
    }
    return fresh.run(request, store.environment)

  sides = {
    "soon": lambda: after(0),
    "late": lambda: after(_DELAY.value / 1e3),
  }
  rates, _ = turns.alternate(sides, _ROUNDS.value, f"{name}, ", print)
  store.answer_after(0)
  return rates["late"]["median"] / rates["soon"]["median"]


def main(argv: list[str]) -> int:
  del argv
  missed = False
  with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder, _store() as store:
    s3.client().create_bucket(Bucket="bucket")
    for name, images in (("large", _IMAGES.value), ("small", _SMALL_IMAGES.value)):
      kept = _kept(store, pathlib.Path(folder), name, images)
      promised = remote.PROMISED[name]
      print(f"{name} images: {kept:.2f} of the rate is left, {promised:.2f} promised")
      missed |= kept < promised
  return int(missed)


if __name__ == "__main__":
  app.run(main)
