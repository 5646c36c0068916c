"""Training from progressive compressed records: order, fidelity, checkpoints, bytes."""

import os
import shutil
import subprocess
import tempfile
import unittest

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import pcr, transforms
from liquid_tf._graph.build import build
from liquid_tf._native import image_ops
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest

_BATCH = 10
_IMAGES = 7  # a record


def _late(epoch: int, batch: int) -> int:
  """Two groups in epoch 0; later ones begin with one and go up to all."""
  return 2 if epoch == 0 else 1 if batch < 4 else 99


# Every way of reading that a checkpoint must survive.
_PIPELINES = {
  "pcr": {"path": "only"},
  "pcr, symbolic": {"path": "only", "symbolic": True},
  "pcr beside raw": {"path": "mixed", "fidelity": 2},
  "pcr beside raw, symbolic": {"path": "mixed", "symbolic": True},
  "a schedule": {"path": "only", "fidelity": _late},
  "stored order": {"path": "mixed", "shuffle": False},
  "second shard": {"path": "mixed", "shard": (1, 2)},
}


def _dataset(path: str, **options) -> tf.data.Dataset:
  options = {"cache": "40%", "seed": 5, "features": ["id", "image", "label"], **options}
  return build(Arguments(path, _BATCH, **options))


def _pipeline(paths: dict[str, str], name: str) -> tf.data.Dataset:
  """Two epochs."""
  options = dict(_PIPELINES[name])
  symbolic = options.pop("symbolic", False)
  shuffled = options.get("shuffle", True)
  crop = transforms.RandomCrop(16) if shuffled else transforms.CenterCrop(16)
  dataset = _dataset(paths[options.pop("path")], transforms=[crop], **options)
  tf_options = tf.data.Options()
  tf_options.experimental_symbolic_checkpoint = symbolic
  return dataset.repeat(2).with_options(tf_options)


def _restored(paths: dict[str, str], checkpoints: dict[str, list]) -> dict[str, list]:
  """What is left after each checkpoint, for [position, prefix] by pipeline."""
  found = {}
  for name, saved in checkpoints.items():
    found[name] = []
    for position, prefix in saved:
      iterator = iter(_pipeline(paths, name))
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      found[name].append([position, runs.digests(iterator)])
  return found


class PcrDatasetTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {
      name: runs.make(
        os.path.join(cls.root, name),
        mix,
        extension="jpg",
        sides=(40, 40),
        encoders={"pcr": {"images": _IMAGES}},
      )
      for name, mix in (("only", "pcr:1"), ("mixed", "pcr:3,raw:1"))
    }

  def _ids(self, name: str, epochs: int = 1, **options) -> list:
    dataset = _dataset(self.paths[name], **options)
    return [runs.ids(dataset) for _ in range(epochs)]

  @parameterized.product(name=("only", "mixed"), cache=(0, "40%", "100%"))
  def test_every_image_once_an_epoch(self, name, cache):
    for epoch in self._ids(name, 3, cache=cache):
      self.assertEqual(sorted(runs.flat(epoch)), list(range(100)))
      self.assertEqual([len(batch) for batch in epoch], [_BATCH] * 10)

  def test_shards_have_every_image_and_equally_many_batches(self):
    for count in (2, 3):
      parts = [self._ids("mixed", shard=(i, count))[0] for i in range(count)]
      self.assertLen({len(part) for part in parts}, 1)
      self.assertEqual(
        set(runs.flat([*parts[0], *parts[1], *parts[-1]])), set(range(100))
      )

  def test_the_order_depends_on_the_epoch_alone(self):
    orders = self._ids("mixed", 4)
    self.assertEqual(
      self._ids("mixed", 4, memory="80KB", tuning=liquid_tf.graph.Tuning(threads=1)),
      orders,
    )
    self.assertEqual(self._ids("mixed", 4, fidelity=1), orders)
    self.assertEqual(self._ids("mixed", epoch=3)[0], orders[3])
    self.assertEqual(self._ids("mixed", start=(2, 4))[0], orders[2][4:])
    dataset = _dataset(self.paths["mixed"])
    for i, _ in enumerate(dataset):
      if i == 5:
        break
    self.assertEqual(runs.ids(dataset), orders[0])
    self.assertLen({str(order) for order in orders}, 4)

  @parameterized.parameters("only", "mixed")
  def test_every_batch_costs_the_same_to_one_record(self, name):
    dataset = _dataset(self.paths[name])
    for _ in range(4):
      runs.ids(dataset)
    stats = liquid_tf.stats(dataset)
    self.assertLen(stats.epochs, 4)
    records = {"only": 15, "mixed": 11}[name]
    kept = int(0.4 * records)
    for epoch in stats.epochs:
      self.assertEqual(epoch["hits"]["pcr"], kept)
      self.assertEqual(epoch["loads"]["pcr"], records - kept)
      batches = [b for b in stats.batches if b["epoch"] == epoch["epoch"]]
      for key in ("samples", "hits", "loads"):
        for form in batches[0][key]:
          counts = [batch[key][form] for batch in batches]
          self.assertLessEqual(max(counts) - min(counts), 1, f"{key} of {form}")

  def test_pixels_are_those_of_the_prefix(self):
    path = self.paths["only"]
    rows = manifest.load_index(manifest.load(path))
    for groups in (1, 3, 5, 10, 99):
      reader = pcr.Reader(path, fidelity=groups)
      wanted = {
        int(row["sample"]): reader[int(row["shard"])].images[row["offset"]]
        for row in rows
      }
      stored = _dataset(path, fidelity=groups, features=["id", "bytes"])
      found = {int(one["id"]): one["bytes"].numpy() for one in stored.unbatch()}
      self.assertEqual(found, wanted)
      drawn = list(_dataset(path, fidelity=groups).unbatch().take(20))
      self.assertLen(drawn, 20)
      for one in drawn:
        image = image_ops.decode(wanted[int(one["id"])], format="jpeg")
        self.assertAllEqual(one["image"], image)

  @unittest.skipIf(shutil.which("djpeg") is None, "there is no djpeg here")
  @parameterized.parameters(1, 3, 5, 10)
  def test_pixels_are_those_of_djpeg(self, groups):
    path, options = self.paths["only"], {"fidelity": groups, "shuffle": False}
    stored = _dataset(path, **options, features=["id", "bytes"])
    compared = 0
    for one, drawn in zip(
      stored.unbatch().take(20), _dataset(path, **options).unbatch()
    ):
      self.assertEqual(one["id"], drawn["id"])
      ppm = subprocess.run(
        ["djpeg", "-ppm"], input=one["bytes"].numpy(), capture_output=True, check=True
      ).stdout
      image = drawn["image"].numpy()
      self.assertEqual(ppm[-image.size :], image.tobytes())
      compared += 1
    self.assertEqual(compared, 20)

  def test_labels_and_a_source_by_itself(self):
    path = self.paths["only"]
    images = liquid_tf.graph.decode_and_batch(
      liquid_tf.graph.format_dataset(path, "pcr"), features=["id", "label"]
    )
    labels = {
      int(x["id"]): int(x["label"]) for x in images.unbatch().as_numpy_iterator()
    }
    self.assertEqual(labels, {i: i // 25 for i in range(100)})
    drawn = _dataset(path, features=["id", "label"]).unbatch()
    self.assertEqual({int(x["id"]): int(x["label"]) for x in drawn}, labels)

  @parameterized.parameters(*_PIPELINES)
  def test_checkpoints(self, name):
    iterator = iter(_pipeline(self.paths, name))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    saved, wanted = [], []
    while True:
      if len(wanted) in (0, 1, 5, 10, 13):
        prefix = checkpoint.write(os.path.join(folder, str(len(wanted))))
        saved.append([len(wanted), prefix])
      element = next(iterator, None)
      if element is None:
        break
      wanted.append(runs.digest(element))
    for position, rest in _restored(self.paths, {name: saved})[name]:
      self.assertEqual(rest, wanted[position:], f"saved after {position}")

  def test_checkpoints_in_a_new_process(self):
    name = "pcr beside raw"
    iterator = iter(_pipeline(self.paths, name))
    for _ in range(13):
      next(iterator)
    prefix = tf.train.Checkpoint(iterator=iterator).write(
      os.path.join(self.create_tempdir().full_path, "saved")
    )
    found, _ = runs.in_new_process(
      _restored, paths=self.paths, checkpoints={name: [[13, prefix]]}
    )
    self.assertEqual(found[name][0][1], runs.digests(iterator))

  def _steps(self, dataset: tf.data.Dataset) -> list:
    return [epoch["fidelity"] for epoch in liquid_tf.stats(dataset).epochs]

  def test_a_schedule_is_asked_for_every_batch_of_an_epoch(self):
    asked = []

    def schedule(epoch, batch):
      asked.append((epoch, batch))
      return _late(epoch, batch)

    dataset = _dataset(self.paths["only"], fidelity=schedule)
    runs.ids(dataset)
    runs.ids(dataset)
    self.assertEqual(asked, [(e, b) for e in range(2) for b in range(10)])
    self.assertEqual(self._steps(dataset), [[[0, 2]], [[0, 1], [4, 99]]])
    groups = liquid_tf.stats(dataset).epochs[1]["bytes_by_group"]
    self.assertContainsSubset(["1", "10"], list(groups))

  def test_a_variable_is_read_once_an_epoch(self):
    fidelity = tf.Variable(1)
    dataset = _dataset(self.paths["only"], fidelity=fidelity)
    for epoch, groups in enumerate((1, 3, 2)):
      fidelity.assign(groups)
      for i, _ in enumerate(dataset):
        if i == 2:
          fidelity.assign(7)  # of no effect until the next epoch
      self.assertEqual(self._steps(dataset)[epoch], [[0, groups]])
      read = liquid_tf.stats(dataset).epochs[epoch]["bytes_by_group"]
      self.assertEqual(list(read), [str(groups)])

  def test_a_variable_changes_the_fidelity_between_epochs_of_one_fit(self):
    fidelity = tf.Variable(1)
    dataset = _dataset(self.paths["only"], fidelity=fidelity, features=None)
    model = tf.keras.Sequential(
      [
        tf.keras.layers.Input((40, 40, 3)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(4),
      ]
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(True))
    raise_it = tf.keras.callbacks.LambdaCallback(
      on_epoch_begin=lambda epoch, logs: fidelity.assign(1 + 4 * epoch)
    )
    model.fit(dataset, epochs=3, callbacks=[raise_it], verbose=0)
    self.assertEqual(self._steps(dataset), [[[0, 1]], [[0, 5]], [[0, 9]]])

  def test_what_is_in_memory_is_read_again_for_more_groups_only(self):
    fidelity = tf.Variable(5)
    dataset = _dataset(self.paths["only"], fidelity=fidelity, cache="100%")
    read = []
    for groups in (5, 2, 5, 10, 99):
      fidelity.assign(groups)
      runs.ids(dataset)
      read.append(liquid_tf.stats(dataset).epochs[-1]["bytes_by_group"])
    self.assertEqual([list(r) for r in read], [["5"], [], [], ["10"], []])

  def test_bad_fidelities(self):
    path = self.paths["only"]
    for wrong in (0, -1, True, 1.5, "2", tf.Variable(1.0), tf.Variable([1])):
      with self.assertRaisesRegex(ValueError, "fidelity .* must be"):
        _dataset(path, fidelity=wrong)
    wrong = tf.Variable(0)
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, r"fidelity \(0 in batch 0\) must be at least 1"
    ):
      runs.ids(_dataset(path, fidelity=wrong))
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, r"fidelity \(0 in batch 3\) must be at least 1"
    ):
      runs.ids(_dataset(path, fidelity=lambda epoch, batch: batch != 3))
    raw = runs.make(os.path.join(self.root, "raw"), "raw:1", per_class=3)
    with self.assertRaisesRegex(ValueError, "needs the format pcr"):
      _dataset(raw, fidelity=1)

  def test_a_mix_has_a_fidelity(self):
    path = runs.make(
      os.path.join(self.root, "replicated"),
      "jpeg:1,pcr:1",
      per_class=5,
      sides=(64, 64),
      extension="jpg",
      replicate=True,
      encoders={"pcr": {"images": _IMAGES}},
    )
    read = []
    for fidelity in (2, None):
      dataset = _dataset(path, mix={"jpeg": 2, "pcr": 3}, fidelity=fidelity, cache=0)
      self.assertCountEqual(runs.flat(runs.ids(dataset)), range(20))
      read.append(liquid_tf.stats(dataset).epochs[0]["disk_bytes"])
    self.assertLess(read[0], read[1])

  def _damage(self, group: int) -> str:
    """A copy with one byte changed in a scan group of the second record."""
    output = os.path.join(self.create_tempdir().full_path, "damaged")
    shutil.copytree(self.paths["only"], output)
    loaded = manifest.load(output)
    entry = manifest.load_pcr_index(loaded)[1]
    with open(loaded.path(loaded.shards[1].path), "r+b") as file:
      file.seek(entry.prefix_bytes(group) - 1)
      byte = file.read(1)
      file.seek(-1, os.SEEK_CUR)
      file.write(bytes([byte[0] ^ 1]))
    return output

  def test_damage_is_found_by_scan_group(self):
    path = self._damage(3)
    self.assertLen(runs.flat(runs.ids(_dataset(path, fidelity=2))), 100)
    with self.assertRaisesRegex(
      tf.errors.DataLossError, r"\.pcr, scan groups 1 to 3: .*scan group 3"
    ):
      runs.ids(_dataset(path, fidelity=3))
    dataset = _dataset(path, fidelity=3, on_error="skip")
    self.assertLen(runs.flat(runs.ids(dataset)), 100 - _IMAGES)
    self.assertEqual(liquid_tf.stats(dataset).summary()["skipped"]["count"], _IMAGES)


if __name__ == "__main__":
  tf.test.main()
