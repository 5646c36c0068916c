"""A conversion killed at any moment, and started again, makes the same bytes.

The process that kills imports TensorFlow and runs nothing of it, so that it can fork
children that do, without the seconds of an import each.
"""

import json
import os
import random
import shutil
import signal
import tempfile
import time

import kills
import photos
from absl.testing import absltest

from liquid_tf._convert import output as outputs
from liquid_tf._convert.convert import convert

# What touches the disk for good: a kill between two of these is another state.
_STEPS = [(os, name) for name in ("fsync", "rename", "unlink", "open")]
_STEPS.append((outputs, "exchange"))


class KillTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.source = f"{cls.root}/source"
    photos.class_folders(cls.source, per_class=25, sides=(48, 96))
    with open(f"{cls.source}/coffee/notes.txt", "w") as file:
      file.write("not an image")
    begin = time.monotonic()
    cls._finish(f"{cls.root}/wanted")
    cls.seconds = time.monotonic() - begin
    cls.wanted = photos.files(f"{cls.root}/wanted")

  @classmethod
  def _convert(cls, output: str) -> None:
    convert(
      cls.source,
      output,
      "png:3,raw:2,webp:1,pcr:1",
      shard_size=100_000,
      existing="resume",
      on_error="skip:100%",
      encoders={"pcr": {"images": 4}},
      workers=2,
      progress=False,
    )

  @classmethod
  def _finish(cls, output: str) -> None:
    status = kills.status(lambda: cls._convert(output))
    if status:
      raise AssertionError(f"the conversion ended with status {status}")

  def _check_nothing_is_half_visible(self, output: str) -> set[str]:
    """Returns the names of the files that are there."""
    if not os.path.exists(output):
      return set()
    found = photos.files(output)
    for name, data in found.items():
      if not name.endswith(".tmp") and not name.startswith("_journal.db"):
        self.assertEqual(data, self.wanted[name], name)
    if "dataset.json" in found:
      self.assertContainsSubset(self.wanted, found)
    return set(found)

  def _check_resumed(self, output: str) -> None:
    self._finish(output)
    self.assertEqual(photos.files(output), self.wanted)
    shutil.rmtree(output)

  def test_the_undisturbed_one_is_of_many_files(self):
    self.assertGreater(len([name for name in self.wanted if ".rec" in name]), 8)
    self.assertGreater(len([name for name in self.wanted if ".pcr" in name]), 1)
    self.assertLen(json.loads(self.wanted["dataset.json"])["skipped"], 1)

  def test_killed_at_random_moments(self):
    output = f"{self.root}/killed"

    def interrupted():
      found = self._check_nothing_is_half_visible(output)
      return bool(found) and "dataset.json" not in found

    for _ in kills.at_random(lambda: self._convert(output), self.seconds, interrupted):
      self._check_resumed(output)

  def test_killed_again_and_again_it_still_ends(self):
    output = f"{self.root}/again"
    os.makedirs(output)
    for step in range(8, 1000, 8):
      child = kills.fork(
        lambda step=step: (kills.die_at(step, _STEPS), self._convert(output))
      )
      _, status = os.waitpid(child, 0)
      self._check_nothing_is_half_visible(output)
      if not status:
        break
      self.assertEqual(status, signal.SIGKILL)
    self.assertEqual(photos.files(output), self.wanted)

  def test_killed_between_any_two_steps(self):
    output = f"{self.root}/stepped"
    # LIQUID_TEST_KILLS=480 takes every step.
    stride = max(1, 480 // kills.COUNT)
    for step in range(random.Random(6).randint(1, stride), 1000, stride):
      child = kills.fork(
        lambda step=step: (kills.die_at(step, _STEPS), self._convert(output))
      )
      _, status = os.waitpid(child, 0)
      if not status:
        break
      self.assertEqual(status, signal.SIGKILL, f"step {step}")
      self._check_nothing_is_half_visible(output)
      self._check_resumed(output)
    self.assertGreater(step, 60)

  def test_killed_while_replacing_it_leaves_the_old_one_or_the_new(self):
    source, output = f"{self.root}/few", f"{self.root}/replaced"
    photos.class_folders(source, per_class=2, classes=2)
    options = {"workers": 1, "progress": False}

    def make(folder, mix, **more):
      child = kills.fork(lambda: convert(source, folder, mix, **options, **more))
      self.assertEqual(os.waitpid(child, 0)[1], 0)
      return photos.files(folder)

    def replace(step):
      kills.die_at(step, _STEPS)
      convert(source, output, "raw", existing="replace", **options)

    old = make(output, "png:1,bmp:1")
    new = make(f"{self.root}/new", "raw")
    seen = set()
    for step in range(1, 1000, max(5, 44 // kills.COUNT)):
      status = kills.status(lambda step=step: replace(step))
      found = photos.files(output)
      kept = {n: data for n, data in found.items() if not n.startswith("_journal.db")}
      self.assertIn(kept, (old, new))
      if not status:
        break
      self.assertEqual(status, signal.SIGKILL)
      begun = outputs.is_begun(output)
      seen.add((kept == new, begun))
      # As the tool advises, in turns with the same once more.
      way = "resume" if begun and step % 10 == 1 else "replace"
      self.assertEqual(make(output, "raw", existing=way), new)
      self.assertFalse(os.path.exists(outputs.beside(output)))
      self.assertEqual(make(output, "png:1,bmp:1", existing="replace"), old)
    self.assertContainsSubset({(False, False), (False, True), (True, True)}, seen)
    self.assertEqual(photos.files(output), new)


if __name__ == "__main__":
  absltest.main()
