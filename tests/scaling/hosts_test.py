"""Two hosts, as network namespaces: one converts and serves, the other one trains.

What they share is a wire: the trainer's host has no route but to the other one, and the
trainer reads over S3, and over tf.data service.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import uuid

import photos
import servers
from absl.testing import absltest

try:
  import moto
except ImportError:
  moto = None

_SERVER, _TRAINER = "10.198.51.1", "10.198.51.2"
_S3_PORT, _DISPATCHER_PORT, _WORKER_PORT = 5000, 5050, 5051

_TRAIN = """
import json, sys
import keras
import tensorflow as tf
import liquid_tf
from liquid_tf._store import schemes

url, dispatcher = sys.argv[1:]
schemes.require(url)
crop = [liquid_tf.transforms.RandomCrop(16)]
dataset = liquid_tf.dataset(url, 8, features=["id", "image", "label"], transforms=crop)
ids = [[int(i) for batch in dataset for i in batch["id"]] for _ in range(2)]
model = keras.Sequential([
  keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(4)])
model.compile(
  "sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
fit = model.fit(
  liquid_tf.dataset(url, 8, transforms=crop).map(
    lambda image, label: (tf.cast(image, tf.float32) / 255, label)),
  epochs=2, verbose=0)
service = liquid_tf.graph.epochs(
  url, 2, parts=4, batch_size=8, features=["id", "image"], transforms=crop,
  memory="64MiB")
service = service.apply(tf.data.experimental.service.distribute(
  processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
  service=dispatcher))
served = [int(i) for batch in service for i in batch["id"]]
print(json.dumps({"ids": ids, "loss": fit.history["loss"], "served": served}))
"""


def _ip(*arguments: str) -> None:
  subprocess.run(["ip", *arguments], check=True)


@unittest.skipIf(os.geteuid() != 0 or shutil.which("ip") is None, "needs root and `ip`")
@unittest.skipIf(moto is None, "needs moto")
class HostsTest(absltest.TestCase):
  def _hosts(self) -> tuple[list[str], list[str]]:
    """Two namespaces with a wire between them: commands that run others there."""
    mark = uuid.uuid4().hex[:6]
    names = [f"liquid-{mark}-{i}" for i in range(2)]
    for name in names:
      _ip("netns", "add", name)
      self.addCleanup(_ip, "netns", "del", name)
    wires = [f"lq{mark}{i}" for i in range(2)]
    _ip("link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
    for name, wire, address in zip(names, wires, (_SERVER, _TRAINER)):
      _ip("link", "set", wire, "netns", name)
      inside = ("netns", "exec", name, "ip")
      _ip(*inside, "addr", "add", f"{address}/24", "dev", wire)
      _ip(*inside, "link", "set", wire, "up")
      _ip(*inside, "link", "set", "lo", "up")
    return tuple(["ip", "netns", "exec", name] for name in names)

  def _environment(self) -> dict[str, str]:
    return {
      **os.environ,
      "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
      "AWS_ENDPOINT_URL": f"http://{_SERVER}:{_S3_PORT}",
      "AWS_ACCESS_KEY_ID": "testing",
      "AWS_SECRET_ACCESS_KEY": "testing",
      "AWS_EC2_METADATA_DISABLED": "true",
    }

  def _start_s3(self, prefix: list[str]) -> None:
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3_server.py")
    process = subprocess.Popen(
      [*prefix, sys.executable, script, str(_S3_PORT), _SERVER],
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
    )
    self.addCleanup(process.wait)
    self.addCleanup(process.kill)
    self.addCleanup(process.stdout.close)
    process.stdout.readline()
    make = (
      "import sys, urllib.request as u;"
      "u.urlopen(u.Request(sys.argv[1], method='PUT')).read()"
    )
    url = f"http://{_SERVER}:{_S3_PORT}/bucket"
    subprocess.run([*prefix, sys.executable, "-c", make, url], check=True)

  def test_one_serves_and_the_other_trains(self):
    server, trainer = self._hosts()
    environment = self._environment()
    os.environ.update(environment)
    self._start_s3(server)
    dispatcher = servers.Server(
      "dispatcher", "--filesystems=s3", port=_DISPATCHER_PORT, prefix=server
    )
    self.addCleanup(dispatcher.kill)
    worker = servers.Server(
      "worker",
      "--filesystems=s3",
      f"--dispatcher={_SERVER}:{_DISPATCHER_PORT}",
      f"--address={_SERVER}:{_WORKER_PORT}",
      port=_WORKER_PORT,
      prefix=server,
    )
    self.addCleanup(worker.kill)
    with tempfile.TemporaryDirectory() as folder:
      photos.class_folders(f"{folder}/source", per_class=15, classes=4, sides=(24, 24))
      converted = subprocess.run(
        [
          *server,
          *(sys.executable, "-m", "tools.convert"),
          f"--input={folder}/source",
          "--output=s3://bucket/photos.liquid",
          f"--staging={folder}/staging",
          "--mix=png:3,raw:2",
        ],
        env=environment,
        capture_output=True,
        text=True,
      )
      self.assertEqual(converted.returncode, 0, converted.stderr)
    dispatcher.wait()
    worker.wait()
    url, service = "s3://bucket/photos.liquid", f"grpc://{_SERVER}:{_DISPATCHER_PORT}"
    trained = subprocess.run(
      [*trainer, sys.executable, "-c", _TRAIN, url, service],
      env=environment,
      capture_output=True,
      text=True,
      timeout=200,
    )
    self.assertEqual(trained.returncode, 0, trained.stderr)
    result = json.loads(trained.stdout.splitlines()[-1])
    for ids in result["ids"]:
      self.assertEqual(sorted(ids), list(range(60)))
    self.assertNotEqual(result["ids"][0], result["ids"][1])
    self.assertLess(result["loss"][1], result["loss"][0])
    served = collections.Counter(result["served"])
    self.assertEqual(served, {i: 2 for i in range(60)})


if __name__ == "__main__":
  absltest.main()
