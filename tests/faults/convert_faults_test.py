"""A disk that is full or fails while a conversion writes to it."""

import os
import shutil
import subprocess
import tempfile

import faults
import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._convert.convert import convert
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError


def _convert(source: str, output: str, **options) -> str:
  """Converts; returns the error's message, or nothing."""
  try:
    convert(
      source,
      output,
      "png:3,raw:2",
      shard_size=60_000,
      workers=2,
      progress=False,
      **options,
    )
  except ConvertError as error:
    return str(error)
  return ""


def _fail_and_resume(source: str, root: str, cases: dict[str, str]) -> dict:
  """For each rule: the error, the files after it, and those after `resume`."""
  rules, found = faults.Rules(), {}
  for name, rule in cases.items():
    output = os.path.join(root, name)
    rules.set(rule)
    message = _convert(source, output, existing="resume")
    left = sorted(os.listdir(output))
    rules.set()
    found[name] = {
      "message": message,
      "left": left,
      "faults": len(rules.done()),
      "resumed": _convert(source, output, existing="resume"),
    }
  return found


class ConvertFaultsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.source = photos.class_folders(
      f"{cls.root}/source", per_class=20, sides=(48, 96)
    )
    cls.earlier = f"{cls.root}/earlier"
    cls._check(_convert(cls.source, cls.earlier))
    cls.wanted = photos.files(cls.earlier)

  @staticmethod
  def _check(message: str) -> None:
    if message:
      raise AssertionError(message)

  def _check_left(self, left: list[str]) -> None:
    """What is there is whole, and says that it is not finished."""
    self.assertNotIn(manifest.MANIFEST, left)
    self.assertEqual([name for name in left if name.endswith(".tmp")], [])

  def test_calls_that_fail(self):
    cases = {
      "journal": "write /_journal.db enospc skip=2",
      "journal_sync": "sync /_journal.db eio skip=1",
      "first_shard": "write .rec. enospc",
      "later_shard": "write .rec. enospc skip=4",
      "sync": "sync .rec. eio skip=2",
      "index": "write index.npy. enospc",
      "manifest": "write dataset.json. enospc",
    }
    ended = faults.run(
      _fail_and_resume, source=self.source, root=self.root, cases=cases
    )
    self.assertEqual(list(ended.value), list(cases))
    before = 0
    for name, found in ended.value.items():
      with self.subTest(name):
        self.assertGreater(found["faults"], before, "no fault")
        before = found["faults"]
        self.assertRegex(found["message"], "^cannot (write|use) .*existing=.resume")
        self.assertRegex(
          found["message"], "No space left|Input/output error|disk is full|disk I/O"
        )
        self._check_left(found["left"])
        self.assertEqual(found["resumed"], "")
        self.assertEqual(photos.files(f"{self.root}/{name}"), self.wanted)

  def test_a_disk_that_is_full(self):
    disk = f"{self.root}/disk"
    os.makedirs(disk)
    # Room for one and a half, journal included.
    size = int(1.5 * sum(len(data) for data in self.wanted.values())) + (64 << 10)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk]
    if subprocess.run(mount, capture_output=True).returncode:
      self.skipTest("mounting a file system is not permitted")
    self.addCleanup(subprocess.run, ["umount", disk], check=True)
    earlier, output = f"{disk}/earlier", f"{disk}/dataset"
    self._check(_convert(self.source, earlier, on_error="raise"))
    message = _convert(self.source, output)
    self.assertRegex(message, "cannot .*(No space left on device|disk is full)")
    self._check_left(os.listdir(output))
    # Neither that of the same disk, nor one that is in the way.
    self.assertEqual(photos.files(earlier), self.wanted)
    self.assertRegex(_convert(self.source, earlier), "already holds a dataset")
    self.assertEqual(photos.files(earlier), self.wanted)
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    self._check(_convert(self.source, output, existing="resume"))
    self.assertEqual(photos.files(output), self.wanted)


if __name__ == "__main__":
  tf.test.main()
