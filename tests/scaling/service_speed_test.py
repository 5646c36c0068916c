"""Two workers of the tf.data service do nearly twice what one does."""

import os
import pathlib
import statistics
import time

import servers
import tensorflow as tf
from absl.testing import absltest

import liquid_tf
from liquid_tf import transforms
from tools.bench import photographs

_BATCH = 8
_EPOCHS = 40
_ROUNDS = 5


def _distribute(dataset: tf.data.Dataset, service: servers.Service) -> tf.data.Dataset:
  return dataset.apply(
    tf.data.experimental.service.distribute(
      processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
      service=service.address,
    )
  )


class ServiceSpeedTest(absltest.TestCase):
  def test_two_workers_decode_nearly_twice_as_much(self):
    """By processor time, which is what the clock shows of workers on machines apart.

    Here client and workers share the processors, so the clock is printed only.
    """
    folder = pathlib.Path(self.create_tempdir().full_path)
    photographs.make(folder, 24, 640, None, 2, ["png"])
    path = os.fspath(folder / "dataset")
    liquid_tf.convert(folder / "png", path, "png", progress=False)
    # Whole images are decoded, and hardly anything is sent.
    epochs = liquid_tf.graph.epochs(
      path,
      _EPOCHS,
      parts=3,
      batch_size=_BATCH,
      features=["id", "image"],
      memory="64MiB",
      transforms=[transforms.Resize((32, 32), antialias=False)],
    )
    spent, clock = {1: [], 2: []}, {1: [], 2: []}
    with servers.Service(1) as single, servers.Service(2) as double:
      for _ in range(_ROUNDS):
        for service in (single, double):
          before = [worker.cpu_seconds() for worker in service.workers]
          images, came = 0, []
          for batch in _distribute(epochs, service):
            images += len(batch["id"])
            came.append(time.monotonic())
          # Without the ends: the last one is told by a heartbeat, a second later.
          clock[len(before)].append(round(came[-20] - came[20], 2))
          after = [worker.cpu_seconds() for worker in service.workers]
          spent[len(before)].append([b - a for a, b in zip(before, after)])
          self.assertEqual(images, _EPOCHS * 24)
    print(f"seconds of processors {spent}, by the clock {clock}")
    # Each does its part.
    least = statistics.median(min(each) / sum(each) for each in spent[2])
    self.assertGreater(least, 0.25)
    # Within a round, as the speed of processors changes from one minute to the next.
    speedups = [2 * sum(a) / sum(b) for a, b in zip(spent[1], spent[2])]
    self.assertGreaterEqual(statistics.median(speedups), 1.8)


if __name__ == "__main__":
  absltest.main()
