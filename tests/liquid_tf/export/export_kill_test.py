"""An export killed at any moment leaves the old files or the new, whole.

The process that kills runs nothing of TensorFlow, so that it can fork children that do.
"""

import os
import signal

import kills
import photos
from absl.testing import absltest

import liquid_tf
from liquid_tf._export import output

# What touches the disk for good: a kill between two of these is another state.
_STEPS = [
  (os, name) for name in ("rename", "makedirs", "sync", "fsync", "rmdir", "unlink")
]
_STEPS.append((output, "exchange"))


class ExportKillTest(absltest.TestCase):
  def test_killed_at_every_step(self):
    root = self.create_tempdir().full_path
    source, dataset = f"{root}/source", f"{root}/dataset"
    target = f"{root}/output"
    photos.class_folders(source, per_class=2, classes=2)

    def export(to, folder):
      liquid_tf.export(dataset, folder, to, existing="replace", progress=False)

    def prepare():
      liquid_tf.convert(source, dataset, "png", progress=False)
      export("rec", f"{root}/rec")
      export("folder", f"{root}/folder")
      export("rec", target)

    self.assertEqual(kills.status(prepare), 0)
    whole = {to: photos.tree(f"{root}/{to}") for to in ("rec", "folder")}
    held, seen = "rec", set()
    # LIQUID_TEST_KILLS=50 takes every step.
    for step in range(1, 100, max(1, 50 // kills.COUNT)):
      # Each kind takes the place of the other.
      to = "folder" if held == "rec" else "rec"
      status = kills.status(
        lambda step=step, to=to: (kills.die_at(step, _STEPS), export(to, target))
      )
      found = photos.tree(target)
      self.assertIn(found, (whole[held], whole[to]))
      held = to if found == whole[to] else held
      seen.add(held == to)
      if not status:
        break
      self.assertEqual(status, signal.SIGKILL)
    self.assertGreater(step, 12)
    self.assertEqual(seen, {False, True})
    self.assertEqual(photos.tree(target), whole[to])
    self.assertCountEqual(
      os.listdir(root), ["source", "dataset", "rec", "folder", "output"]
    )


if __name__ == "__main__":
  absltest.main()
