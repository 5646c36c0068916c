"""Ways to read: which one is used is told, and none changes what is delivered."""

import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms

_READERS = ("auto", "io_uring", "threads", "buffered")


class ReaderTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    # Some of the raw ones are read in place, all others by way of staging memory.
    cls.path = runs.make(root, "png:1,raw:1", per_class=12, sides=(150, 300))
    cls.wanted = cls._two_epochs(cls._dataset("auto"))

  @classmethod
  def _dataset(cls, reader, **tuning):
    return liquid_tf.dataset(
      cls.path,
      8,
      transforms=[transforms.RandomCrop(64)],
      cache="30%",
      memory="64MiB",
      seed=5,
      tuning=liquid_tf.graph.Tuning(reader=reader, **tuning),
    )

  @staticmethod
  def _two_epochs(dataset):
    return [runs.digests(dataset) for _ in range(2)]

  @parameterized.parameters(*_READERS)
  def test_delivers_the_same(self, reader):
    dataset = self._dataset(reader)
    try:
      found = self._two_epochs(dataset)
    except tf.errors.UnimplementedError as error:
      self.assertEqual(reader, "io_uring")
      self.skipTest(str(error))
    self.assertEqual(found, self.wanted)
    reading = liquid_tf.stats(dataset).summary()["reading"]
    self.assertCountEqual(reading, ["png", "raw"])
    for how in reading.values():
      wanted = {
        "auto": r"(io_uring\+direct|threads\+(direct|buffered))$",
        "io_uring": r"io_uring\+(direct|buffered)$",
        "threads": r"threads\+(direct|buffered)$",
        "buffered": r"threads\+buffered$",
      }
      self.assertRegex(how, wanted[reader])

  def test_before_the_first_read_nothing_is_told(self):
    self.assertEqual(liquid_tf.stats(self._dataset("auto")).summary()["reading"], {})

  @parameterized.parameters(1, 3, 64)
  def test_the_depth_does_not_matter_to_the_order(self, threads):
    dataset = self._dataset("auto", threads=threads)
    self.assertEqual(self._two_epochs(dataset), self.wanted)

  def test_a_source_by_itself(self):
    source = liquid_tf.graph.format_dataset(self.path, "png", reader="threads")
    self.assertNotEmpty(list(source))

  def test_another_file_system_takes_no_reader(self):
    # Of TensorFlow's; its files have no descriptor.
    path = "ram://reader_test"
    tf.io.gfile.makedirs(path)
    for name in tf.io.gfile.listdir(self.path):
      tf.io.gfile.copy(f"{self.path}/{name}", f"{path}/{name}", overwrite=True)
    dataset = liquid_tf.dataset(path, 8, features=["id"])
    runs.ids(dataset)
    reading = liquid_tf.stats(dataset).summary()["reading"]
    self.assertEqual(set(reading.values()), {"tensorflow"})
    threads = liquid_tf.graph.Tuning(reader="threads")
    forced = liquid_tf.dataset(path, 8, features=["id"], tuning=threads)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "no local file"):
      runs.ids(forced)

  def test_an_unknown_one(self):
    with self.assertRaisesRegex(ValueError, r'reader \("mmap"\) must be one of auto'):
      self._dataset("mmap")


if __name__ == "__main__":
  tf.test.main()
