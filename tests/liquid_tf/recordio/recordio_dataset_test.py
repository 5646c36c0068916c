"""RecordIO files as tf.data datasets: order, shards, checkpoints, damage."""

import hashlib
import itertools
import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import recordio
from liquid_tf.errors import RecordIOError

_MAGIC = bytes.fromhex("0a23d7ce")


def _payloads(seed: int, count: int, most: int) -> list[bytes]:
  random = np.random.default_rng(seed)
  payloads = []
  for size in random.integers(0, most, count):
    data = bytearray(random.bytes(size))
    for at in range(0, len(data) - 8, 1 + most // 3):
      data[at : at + 4] = _MAGIC
    payloads.append(bytes(data))
  return payloads


def _list(dataset) -> list[bytes]:
  return list(dataset.as_numpy_iterator())


def _short(records: list[bytes]) -> list[str]:
  """For messages that can be read."""
  return [hashlib.sha256(record).hexdigest()[:8] for record in records]


class RecordIODatasetTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.files = [
      _payloads(0, 200, 9000),
      [],
      _payloads(1, 3, 5),
      _payloads(2, 50, 400),
    ]
    self.paths = []
    for i, payloads in enumerate(self.files):
      self.paths.append(str(self.folder / f"{i}.rec"))
      with recordio.Writer(self.paths[-1]) as writer:
        for payload in payloads:
          writer.write(payload)
    self.all = sum(self.files, [])

  @parameterized.parameters("auto", "threads", "buffered")
  def test_stored_order(self, reader):
    dataset = recordio.dataset(self.paths, reader=reader, block_bytes=1 << 17)
    self.assertEqual(_list(dataset), self.all)
    self.assertEqual(_list(dataset), self.all)
    self.assertEqual(dataset.cardinality(), tf.data.UNKNOWN_CARDINALITY)
    self.assertEqual(dataset.element_spec, tf.TensorSpec([], tf.string))

  @parameterized.parameters(*itertools.product((None, True), (1, 2, 7)))
  def test_shards_are_the_readers_parts(self, index, n):
    shards = []
    for i in range(n):
      dataset = recordio.dataset(self.paths, index=index, shard=(i, n))
      shards.append(_list(dataset))
      part = recordio.Reader(self.paths, index=index, part=(i, n))
      self.assertEqual(shards[-1], list(part))
      if index:
        self.assertEqual(dataset.cardinality(), len(shards[-1]))
    self.assertEqual(sum(shards, []), self.all)

  @parameterized.parameters(*itertools.product((False, True), (None, True)))
  def test_checkpoints(self, symbolic, index):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def make():
      dataset = recordio.dataset(self.paths, index=index, block_bytes=1 << 17)
      return dataset.with_options(options)

    expected = _list(make())
    prefix = str(self.folder / "checkpoint")
    for position in (0, 1, 57, 200, 203, len(expected)):
      iterator = iter(make())
      for _ in range(position):
        next(iterator)
      if position == len(expected):
        self.assertEmpty(list(iterator))
      saved = tf.train.Checkpoint(iterator=iterator).save(prefix)
      for begun in (0, 5):
        restored = iter(make())
        for _ in range(begun):
          next(restored)
        tf.train.Checkpoint(iterator=restored).restore(saved)
        rest = [record.numpy() for record in restored]
        self.assertEqual(
          _short(rest), _short(expected[position:]), f"{position} {begun}"
        )

  # tf.data's own parallel interleave does not restore a symbolic one of any dataset.
  @parameterized.parameters((None, False), (None, True), (2, False))
  def test_checkpoints_below_interleave(self, parallel, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def make():
      records = recordio.dataset(self.paths, block_bytes=1 << 17)
      return (
        tf.data.Dataset.range(4)
        .interleave(
          lambda i: records.skip(60 * i).take(5),
          cycle_length=2,
          block_length=2,
          num_parallel_calls=parallel,
        )
        .with_options(options)
      )

    expected = _list(make())
    self.assertLen(expected, 20)
    prefix = str(self.folder / "checkpoint")
    for position in (0, 1, 3, 11, 20):
      iterator = iter(make())
      for _ in range(position):
        next(iterator)
      saved = tf.train.Checkpoint(iterator=iterator).save(prefix)
      restored = iter(make())
      tf.train.Checkpoint(iterator=restored).restore(saved)
      rest = [record.numpy() for record in restored]
      self.assertEqual(_short(rest), _short(expected[position:]), position)

  def test_damage(self):
    damaged = self.folder / "damaged.rec"
    data = bytearray(pathlib.Path(self.paths[3]).read_bytes())
    offsets = [one.offset for one in recordio.Reader(self.paths[3]).records()]
    data[offsets[7]] ^= 1
    data[offsets[30]] ^= 1
    damaged.write_bytes(data)
    paths = [self.paths[2], str(damaged), self.paths[2]]
    before = self.files[2] + self.files[3][:7]
    iterator = iter(recordio.dataset(paths))
    for expected in before:
      self.assertEqual(next(iterator).numpy(), expected)
    with self.assertRaisesRegex(
      tf.errors.DataLossError, f"damaged.rec: no RecordIO magic at offset {offsets[7]}"
    ):
      next(iterator)
    self.assertEqual(_list(recordio.dataset(paths).ignore_errors()), before)
    survivors = [p for i, p in enumerate(self.files[3]) if i not in (7, 30)]
    for n in (1, 2, 5):
      shards = [recordio.dataset(paths, repair=True, shard=(i, n)) for i in range(n)]
      self.assertEqual(
        sum(map(_list, shards), []), self.files[2] + survivors + self.files[2]
      )

  @parameterized.parameters(False, True)
  def test_a_checkpoint_behind_an_error_stands_before_it(self, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic
    sound = pathlib.Path(self.paths[3]).read_bytes()
    offsets = [one.offset for one in recordio.Reader(self.paths[3]).records()]
    data = bytearray(sound)
    data[offsets[7]] ^= 1
    pathlib.Path(self.paths[3]).write_bytes(data)

    def make():
      return iter(recordio.dataset([*self.paths, self.paths[2]]).with_options(options))

    iterator = make()
    delivered = []
    with self.assertRaisesRegex(tf.errors.DataLossError, "no RecordIO magic"):
      for record in iterator:
        delivered.append(record.numpy())
    prefix = str(self.folder / "checkpoint")
    saved = tf.train.Checkpoint(iterator=iterator).save(prefix)
    restored = make()
    tf.train.Checkpoint(iterator=restored).restore(saved)
    with self.assertRaisesRegex(tf.errors.DataLossError, f"at offset {offsets[7]}"):
      next(restored)
    pathlib.Path(self.paths[3]).write_bytes(sound)
    restored = make()
    tf.train.Checkpoint(iterator=restored).restore(saved)
    rest = [record.numpy() for record in restored]
    self.assertEqual(_short(delivered + rest), _short(self.all + self.files[2]))

  def test_a_wrong_index(self):
    (self.folder / "0.idx").write_text("0\t0\n")
    with self.assertRaisesRegex(
      tf.errors.DataLossError, "0.rec: at least 2 records .* has 1"
    ):
      _list(recordio.dataset(self.paths[0], index=True))

  def test_wrong_arguments(self):
    for options, message in (
      ({"depth": 0}, r"depth \(0\)"),
      ({"block_bytes": 4096}, r"block_bytes \(4096\)"),
      ({"shard": (2, 2)}, "shard"),
      ({"reader": "tape"}, "reader"),
      ({"index": ["a.idx"]}, "one for each of 4 files"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        recordio.dataset(self.paths, **options)
    with self.assertRaisesRegex(RecordIOError, "absent"):
      recordio.dataset("absent.rec")

  def test_other_file_systems(self):
    path = "ram://dataset/a.rec"
    tf.io.gfile.makedirs("ram://dataset")
    tf.io.gfile.copy(self.paths[0], path, overwrite=True)
    for n in (1, 3):
      shards = [_list(recordio.dataset(path, shard=(i, n))) for i in range(n)]
      self.assertEqual(sum(shards, []), self.files[0])

  def test_serialized(self):
    dataset = recordio.dataset(self.paths)
    below = tf.data.Dataset.from_tensors(0).flat_map(lambda _: dataset)
    self.assertEqual(_list(below), self.all)
    dispatcher = tf.data.experimental.service.DispatchServer()
    config = tf.data.experimental.service.WorkerConfig(
      dispatcher_address=dispatcher.target.split("://")[1]
    )
    worker = tf.data.experimental.service.WorkerServer(config)
    distributed = dataset.apply(
      tf.data.experimental.service.distribute("parallel_epochs", dispatcher.target)
    )
    self.assertEqual(_list(distributed), self.all)
    del worker


if __name__ == "__main__":
  tf.test.main()
