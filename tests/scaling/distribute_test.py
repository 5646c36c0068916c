"""Data-parallel training: what workers draw, and that they learn as one would."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import photos
import runs
import servers
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._convert.convert import convert

_EXAMPLES = pathlib.Path(__file__).parents[2] / "docs" / "examples"
_BATCH = 8
_SIDE = 16
_EPOCHS = 3


def _start(example: str, **flags) -> subprocess.Popen:
  values = [f"--{name}={value}" for name, value in flags.items()]
  return subprocess.Popen(
    [sys.executable, str(_EXAMPLES / example), *values, f"--side={_SIDE}"],
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    stdout=subprocess.PIPE,
    text=True,
  )


def _result(process: subprocess.Popen) -> dict:
  out, _ = process.communicate(timeout=200)
  if process.returncode != 0:
    raise AssertionError(f"{process.args} ended with {process.returncode}")
  return json.loads(out.splitlines()[-1])


def _train(path: str, workers: int, **flags) -> list[dict]:
  """Runs the example on loopback; a result for each worker."""
  hosts = ",".join(f"localhost:{servers.free_port()}" for _ in range(workers))
  processes = [
    _start(
      "multi_worker.py",
      dataset=path,
      workers=hosts,
      index=index,
      batch_size=_BATCH,
      classes=4,
      **flags,
    )
    for index in range(workers)
  ]
  return [_result(process) for process in processes]


def _losses(batches: list[tuple[np.ndarray, np.ndarray]], rate: float) -> list[float]:
  """Softmax regression by plain gradient descent, the example's model, in NumPy."""
  weights, losses = np.zeros([_SIDE * _SIDE * 3, 4]), []
  for images, labels in batches:
    pixels = images.reshape(len(images), -1) / 255
    logits = pixels @ weights
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = np.arange(len(labels)), labels
    losses.append(float(-np.log(share[right]).mean()))
    share[right] -= 1
    weights -= rate * pixels.T @ share / len(labels)
  return losses


class DistributeTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.root = folder.name
    cls.path = cls._make(101)

  @classmethod
  def _make(cls, samples: int) -> str:
    """A dataset of so many samples, at most 132."""
    source, output = (f"{cls.root}/{name}{samples}" for name in ("source", "set"))
    photos.class_folders(source, per_class=33, classes=4, sides=(24, 40))
    for path in sorted(pathlib.Path(source).rglob("*.png"))[samples:]:
      path.unlink()
    convert(source, output, "png:4,raw:3", progress=False)
    return output

  def test_two_workers_learn_as_one(self):
    results = _train(self.path, 2, epochs=_EPOCHS)
    for epoch in range(_EPOCHS):
      drawn = [set(runs.flat(result["ids"][epoch])) for result in results]
      self.assertEqual(drawn[0] | drawn[1], set(range(101)))
      # One sample fills the shorter part.
      self.assertEqual([len(part) for part in drawn], [51, 51])
      self.assertLen(drawn[0] & drawn[1], 1)
    orders = [json.dumps(order) for order in results[0]["ids"]]
    self.assertLen(set(orders), _EPOCHS)
    parts = [
      liquid_tf.dataset(
        self.path,
        _BATCH,
        shard=(i, 2),
        transforms=[transforms.RandomCrop(_SIDE)],
      )
      for i in range(2)
    ]
    joined = []
    for _ in range(_EPOCHS):
      for batches in zip(*parts):
        images, labels = zip(*[(x.numpy(), y.numpy()) for x, y in batches])
        joined.append((np.concatenate(images), np.concatenate(labels)))
    self.assertLen(joined, 7 * _EPOCHS)
    for result in results:
      np.testing.assert_allclose(result["loss"], _losses(joined, 1e-3), atol=1e-5)

  def test_one_worker_goes_on_where_two_stopped(self):
    folder = self.create_tempdir().full_path
    _train(self.path, 2, epochs=1, checkpoints=folder)
    [result] = _train(self.path, 1, epochs=2, checkpoints=folder, resume=True)
    alone = liquid_tf.dataset(self.path, _BATCH, features=["id"], start=(1, 0))
    self.assertEqual(result["ids"], [runs.ids(alone)])

  @parameterized.parameters((130, 16), (131, 2), (101, 3))
  def test_parts_are_the_epoch(self, samples, count):
    path = self.path if samples == 101 else self._make(samples)
    datasets = [
      liquid_tf.dataset(path, 4, shard=(i, count), features=["id"])
      for i in range(count)
    ]
    orders = set()
    for _ in range(_EPOCHS):
      parts = [runs.ids(dataset) for dataset in datasets]
      orders.add(json.dumps(parts))
      self.assertLen({len(batches) for batches in parts}, 1)
      seen = collections.Counter(i for part in parts for i in runs.flat(part))
      self.assertEqual(set(seen), set(range(samples)))
      self.assertEqual(sum(seen.values()), samples + -samples % count)
    self.assertLen(orders, _EPOCHS)

  def test_two_devices_learn_as_one(self):
    losses = []
    for cpus in (1, 2):
      process = _start(
        "mirrored.py", dataset=self.path, cpus=cpus, batch_size=_BATCH, epochs=2
      )
      result = _result(process)
      self.assertEqual(result["replicas"], cpus)
      losses.append(result["loss"])
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-5)


if __name__ == "__main__":
  absltest.main()
