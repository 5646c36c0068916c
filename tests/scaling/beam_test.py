"""Conversion by Apache Beam: the bytes of a conversion without it, whatever happens."""

import pathlib
import tempfile
import unittest
from unittest import mock

import photos
from absl.testing import absltest, parameterized

from liquid_tf._convert import plan
from liquid_tf._convert.convert import convert
from liquid_tf.errors import ConvertError

try:
  import apache_beam
except ImportError:
  apache_beam = None

MIX = "png:5,raw:3,pcr:1"
_OPTIONS = {
  "shard_size": 65536,
  "encoders": {"pcr": {"images": 8}},
  "on_error": "skip",
  "progress": False,
}


def _direct(workers: int, mode: str) -> list[str]:
  return [
    "--runner=DirectRunner",
    f"--direct_num_workers={workers}",
    f"--direct_running_mode={mode}",
  ]


def make(folder: str) -> tuple[str, dict[str, bytes]]:
  """Makes images, one of them damaged; returns where, and a conversion's files."""
  source, wanted = f"{folder}/source", f"{folder}/wanted"
  photos.class_folders(source, per_class=60, classes=4, sides=(24, 40))
  pathlib.Path(source, "coffee", "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nbad")
  convert(source, wanted, MIX, **_OPTIONS)
  return source, photos.files(wanted)


class WithoutBeamTest(absltest.TestCase):
  def test_says_what_to_install(self):
    if apache_beam is not None:
      self.skipTest("Apache Beam is there")
    with self.assertRaisesRegex(ImportError, 'pip install "apache-beam>='):
      convert("nowhere", "nothing", MIX, workers=[])


class ArgumentsTest(parameterized.TestCase):
  @parameterized.parameters("--runner=DirectRunner", 2.5, ([2],), 0)
  def test_workers_are_a_number_or_flags(self, workers):
    with self.assertRaisesRegex(ValueError, r"workers \(.*\) must be"):
      convert("nowhere", "nothing", MIX, workers=workers)


@unittest.skipIf(apache_beam is None, "Apache Beam is not installed")
class BeamTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.source, cls.wanted = make(folder.name)

  @parameterized.parameters((1, "in_memory"), (4, "multi_threading"))
  def test_the_same_bytes(self, workers, mode):
    output = self.create_tempdir().full_path
    report = convert(
      self.source, output, MIX, workers=_direct(workers, mode), **_OPTIONS
    )
    self.assertEqual(photos.files(output), self.wanted)
    self.assertLen(report.skipped, 1)

  def test_what_a_worker_says_is_the_error(self):
    """A file that changes between the passes, which a worker sees."""
    output, source = (self.create_tempdir().full_path for _ in range(2))
    photos.class_folders(source, per_class=4, classes=1, sides=(24, 24))
    [first, second, *_] = sorted(pathlib.Path(source).rglob("*.png"))
    plan_shards = plan.plan_shards

    def change(*arguments):
      first.write_bytes(second.read_bytes())
      return plan_shards(*arguments)

    with mock.patch.object(plan, "plan_shards", change):
      with self.assertRaisesRegex(ConvertError, f"{first.name} has changed since"):
        convert(source, output, MIX, workers=_direct(1, "in_memory"), **_OPTIONS)


if __name__ == "__main__":
  absltest.main()
