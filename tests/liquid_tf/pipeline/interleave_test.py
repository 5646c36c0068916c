"""The public parts make up `dataset`, and the interleave mixes plain datasets too."""

import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._graph.build import build
from liquid_tf._graph.decode import DecodeBatchDataset
from liquid_tf._graph.stages import find_stage
from liquid_tf._pipeline.arguments import Arguments


class PartsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root)
    cls.formats = list(liquid_tf.inspect(cls.path)["formats"])

  def _parts(self, snapshot, **options):
    sources = [liquid_tf.graph.format_dataset(self.path, name) for name in self.formats]
    blocks = liquid_tf.graph.interleave(
      sources, snapshot=snapshot, batch_size=8, seed=11, **options
    )
    return liquid_tf.graph.decode_and_batch(
      blocks,
      features=["id", "image", "label"],
      transforms=[transforms.RandomCrop((16, 20))],
    )

  def test_parts_give_the_batches_of_dataset(self):
    whole = liquid_tf.dataset(
      self.path,
      8,
      seed=11,
      cache="30%",
      transforms=[transforms.RandomCrop((16, 20))],
      features=["id", "image", "label"],
    )
    parts = self._parts(liquid_tf.graph.Snapshot(cache="30%"))
    for _ in range(3):
      wanted = runs.digests(whole)
      self.assertLen(wanted, 13)
      self.assertEqual(runs.digests(parts), wanted)

  def test_a_snapshot_is_needed_only_for_a_cache(self):
    parts = self._parts(None)
    whole = liquid_tf.dataset(
      self.path,
      8,
      seed=11,
      cache=0,
      transforms=[transforms.RandomCrop((16, 20))],
      features=["id", "image", "label"],
    )
    self.assertEqual(runs.digests(parts), runs.digests(whole))

  def test_policies(self):
    steps = [transforms.RandomCrop((16, 20))]
    names = ["id", "image", "label"]
    whole = build(
      Arguments(
        self.path,
        8,
        seed=11,
        cache="30%",
        transforms=steps,
        features=names,
        cache_policy="minio",
      )
    )
    parts = self._parts(liquid_tf.graph.Snapshot(cache="30%"), policy="minio")
    self.assertEqual(runs.digests(parts), runs.digests(whole))
    with self.assertRaisesRegex(ValueError, r'policy \("page"\) must be "liquid"'):
      self._parts(None, policy="page")

  def test_a_snapshot_of_another_plan_is_refused(self):
    snapshot = liquid_tf.graph.Snapshot(cache="30%")
    self._parts(snapshot)
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, "snapshot belongs to a dataset with another plan"
    ):
      self._parts(snapshot, shuffle=False)

  def test_equal_datasets_have_equal_graphs(self):
    # tf.data service finds by its graph that a dataset is there already.
    snapshot = liquid_tf.graph.Snapshot(name="equal")
    parts = [self._parts(snapshot, epoch=epoch) for epoch in (0, 0, 1)]
    # Without the map on top, whose function has a number of its own.
    ours = [find_stage(one, DecodeBatchDataset) for one in parts]
    graphs = [
      tf.compat.v1.GraphDef.FromString(one._as_serialized_graph().numpy())
      for one in ours
    ]
    self.assertEqual(graphs[0], graphs[1])
    self.assertNotEqual(graphs[0], graphs[2])

  @parameterized.parameters(
    ({"threads": 0}, r"threads \(0\) must be in 1\.\.256"),
    ({"threads": 257}, r"threads \(257\) must be in 1\.\.256"),
    ({"lookahead_bytes": -1}, r"lookahead_bytes \(-1\) must be at least 0"),
  )
  def test_a_source_with_a_wrong_number(self, options, message):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
      liquid_tf.graph.format_dataset(self.path, self.formats[0], **options)

  @parameterized.parameters(
    ((-2, 0, 1), r"range: epoch \(-2\) must be at least -1"),
    ((0, -1, 1), r"range: first_step \(-1\) must be at least 0"),
    ((0, 0, -2), r"range: steps \(-2\) must be at least -1"),
    ((-1, 0, 1), "range: first_step and steps need an epoch"),
  )
  def test_a_wrong_range_that_a_graph_computes(self, numbers, message):
    epoch, first, steps = (tf.constant(number, tf.int64) for number in numbers)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
      build(Arguments(self.path, 8, epoch=epoch, steps=(first, steps), features=["id"]))

  def test_a_source_by_itself_reads_in_stored_order(self):
    source = liquid_tf.graph.format_dataset(self.path, "png")
    found = runs.flat(
      runs.ids(liquid_tf.graph.decode_and_batch(source, features=["id", "image"]))
    )
    self.assertEqual(found, source.rows["sample"].tolist())
    self.assertGreater(len(found), 10)

  def test_sources_that_do_not_fit_together(self):
    source = liquid_tf.graph.format_dataset(self.path, "png")
    with self.assertRaisesRegex(ValueError, "all format_dataset"):
      liquid_tf.graph.interleave([source, tf.data.Dataset.range(3)])
    with self.assertRaisesRegex(ValueError, 'format \\("gif"\\) must be one of'):
      liquid_tf.graph.format_dataset(self.path, "gif")


class PlainTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters((30, 10, 8), (7, 0, 4), (1, 1, 1), (5, 13, 32))
  def test_batches_have_one_composition(self, a, b, batch_size):
    first = tf.data.Dataset.range(a)
    second = tf.data.Dataset.range(1000, 1000 + b)
    mixed = liquid_tf.graph.interleave([first, second], batch_size=batch_size, seed=2)
    found = [int(x) for x in mixed]
    # Each in its own order, and to its end.
    self.assertEqual([x for x in found if x < 1000], list(range(a)))
    self.assertEqual([x for x in found if x >= 1000], list(range(1000, 1000 + b)))
    full = [
      sum(x < 1000 for x in found[i : i + batch_size])
      for i in range(0, (a + b) // batch_size * batch_size, batch_size)
    ]
    if full:
      self.assertLessEqual(max(full) - min(full), 1)

  def test_the_order_is_mixed_and_pinned_by_the_seed(self):
    parts = [tf.data.Dataset.range(20), tf.data.Dataset.range(100, 120)]
    orders = [
      [int(x) for x in liquid_tf.graph.interleave(parts, batch_size=10, seed=seed)]
      for seed in (1, 1, 2)
    ]
    self.assertEqual(orders[0], orders[1])
    self.assertNotEqual(orders[0], orders[2])

  def test_what_cannot_be_mixed(self):
    endless = tf.data.Dataset.range(3).repeat()
    with self.assertRaisesRegex(ValueError, r"datasets\[0\] must have a known, finite"):
      liquid_tf.graph.interleave([endless])
    with self.assertRaisesRegex(ValueError, "at least one dataset"):
      liquid_tf.graph.interleave([])
    with self.assertRaisesRegex(ValueError, "batch_size .*at least 1"):
      liquid_tf.graph.interleave([tf.data.Dataset.range(3)], batch_size=0)
    with self.assertRaisesRegex(ValueError, "snapshot needs format_dataset"):
      liquid_tf.graph.interleave(
        [tf.data.Dataset.range(3)], snapshot=liquid_tf.graph.Snapshot()
      )
    with self.assertRaisesRegex(ValueError, r'last_batch \("drop"\) must be "short"'):
      liquid_tf.graph.interleave([tf.data.Dataset.range(3)], last_batch="drop")
    with self.assertRaisesRegex(ValueError, "last_batch .*must be one of short, drop"):
      liquid_tf.graph.interleave([tf.data.Dataset.range(3)], last_batch="repeat")


if __name__ == "__main__":
  tf.test.main()
