"""tf.data service: what each way of sharding gives, and what a failure costs."""

import collections
import tempfile

import runs
import servers
import tensorflow as tf
from absl.testing import absltest
from tensorflow.python.data.experimental.ops import testing

import liquid_tf

_BATCH = 8
_EPOCHS = 3


class ServiceTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # 130 of png and 70 of raw: composition 5.2 and 2.8 of a batch of 8.
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.path = runs.make(folder.name, "png:13,raw:7", per_class=50)
    cls.service = servers.Service(2)
    cls.addClassCleanup(cls.service.__exit__)
    cls.service.__enter__()

  def _epochs(self, parts: int = 5, **options) -> tf.data.Dataset:
    return liquid_tf.graph.epochs(
      self.path,
      _EPOCHS,
      parts=parts,
      batch_size=_BATCH,
      features=["id", "format", "image"],
      memory="64MiB",
      **options,
    )

  def _distribute(
    self, dataset: tf.data.Dataset, service: servers.Service, policy: str
  ) -> tf.data.Dataset:
    return dataset.apply(
      tf.data.experimental.service.distribute(
        processing_mode=getattr(tf.data.experimental.service.ShardingPolicy, policy),
        service=service.address,
      )
    )

  def _check_batches(self, batches: list[dict]) -> None:
    """Whole batches have the composition of the plan, and right pixels."""
    local = {}
    for batch in liquid_tf.dataset(
      self.path, _BATCH, features=["id", "image"], shuffle=False
    ):
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        local[sample] = image
    for batch in batches:
      formats = collections.Counter(batch["format"].numpy().tolist())
      self.assertIn(formats[b"png"], (5, 6))
      self.assertIn(formats[b"raw"], (2, 3))
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        self.assertTrue((local[sample] == image).all())

  def test_dynamic_gives_every_sample_once_per_epoch(self):
    batches = list(self._distribute(self._epochs(), self.service, "DYNAMIC"))
    self._check_batches(batches)
    seen = collections.Counter(i for b in batches for i in b["id"].numpy().tolist())
    self.assertEqual(seen, {i: _EPOCHS for i in range(200)})
    # The same batches as without the service, from two workers in any order.
    plan = [runs.digest(batch) for batch in self._epochs()]
    self.assertCountEqual([runs.digest(batch) for batch in batches], plan)
    per_epoch = len(plan) // _EPOCHS
    orders = [tuple(plan[i * per_epoch : (i + 1) * per_epoch]) for i in range(_EPOCHS)]
    self.assertLen(set(orders), _EPOCHS)

  def test_off_gives_every_worker_all(self):
    batches = list(self._distribute(self._epochs(), self.service, "OFF"))
    seen = collections.Counter(i for b in batches for i in b["id"].numpy().tolist())
    self.assertEqual(seen, {i: 2 * _EPOCHS for i in range(200)})

  def test_data_gives_each_worker_its_batches(self):
    with servers.Service(2, static=True) as service:
      batches = list(self._distribute(self._epochs(), service, "DATA"))
    self._check_batches(batches)
    seen = collections.Counter(i for b in batches for i in b["id"].numpy().tolist())
    self.assertEqual(seen, {i: _EPOCHS for i in range(200)})

  def test_a_killed_worker_loses_only_its_ranges(self):
    """DYNAMIC promises at most once: what a dead worker had begun may be lost.

    The client waits for the worker, for an hour: another must take its address.
    """
    slow = self._epochs(parts=25).apply(testing.sleep(20_000))
    with servers.Service(2) as service:
      batches = []
      for batch in self._distribute(slow, service, "DYNAMIC"):
        batches.append(batch)
        if len(batches) == 15:
          service.workers[0].kill()
          service.workers[0].start()
    self._check_batches(batches)
    seen = collections.Counter(i for b in batches for i in b["id"].numpy().tolist())
    self.assertLessEqual(max(seen.values()), _EPOCHS)
    lost = 200 * _EPOCHS - sum(seen.values())
    print(f"lost {lost} of {200 * _EPOCHS} samples")
    # A range is one batch here; a worker has one begun, and some not yet fetched.
    self.assertLess(lost, 20 * _BATCH)

  def test_a_worker_that_has_ended_is_waited_for(self):
    """TensorFlow's dispatcher gives a new job a task of it: a worker takes it up."""
    with servers.Service(2) as service:
      ended = service.workers[0]
      said = ended.end()
      self.assertIn(
        f"wait until a worker listens at localhost:{ended.port} again", said
      )
      batches = self._distribute(self._epochs(), service, "DYNAMIC")
      seen = collections.Counter()
      for batch in batches:
        if not seen:
          ended.start()
        seen.update(batch["id"].numpy().tolist())
    # It had begun nothing of this job.
    self.assertEqual(seen, {i: _EPOCHS for i in range(200)})

  def test_a_restarted_dispatcher_goes_on(self):
    slow = self._epochs(parts=25).apply(testing.sleep(20_000))
    with servers.Service(2, f"--work_dir={self.create_tempdir().full_path}") as service:
      batches = []
      for batch in self._distribute(slow, service, "DYNAMIC"):
        batches.append(batch)
        if len(batches) == 15:
          service.dispatcher.kill()
          service.dispatcher.start()
    self._check_batches(batches)
    seen = collections.Counter(i for b in batches for i in b["id"].numpy().tolist())
    self.assertEqual(seen, {i: _EPOCHS for i in range(200)})

  def test_sigterm_ends_a_server(self):
    server = servers.Server("dispatcher")
    server.wait()
    self.assertNotIn("wait", server.end())


if __name__ == "__main__":
  absltest.main()
