"""A change killed at any moment leaves the last whole version, and can be made again.

The process that kills imports TensorFlow and runs nothing of it, so that it can fork
children that do, without the seconds of an import each.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable

import kills
import living
import numpy as np
import photos
from absl.testing import absltest, parameterized

from liquid_tf._convert.convert import convert
from liquid_tf._edit.annotate import annotate
from liquid_tf._edit.append import append
from liquid_tf._edit.compact import compact
from liquid_tf._edit.edit import WORK
from liquid_tf._edit.remove import remove
from liquid_tf._store import versions
from liquid_tf._view import inspection
from liquid_tf._view.view import open as open_view

# What touches the disk for good: a kill between two of these is another state.
_STEPS = [
  (os, name) for name in ("fsync", "rename", "unlink", "open", "link", "mkdir", "rmdir")
]


def _run(work: Callable[[], object]) -> None:
  status = kills.status(work)
  if status:
    raise AssertionError(f"a child ended with status {status}")


class EditKillTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    make = np.random.default_rng(4)
    for name, counts in (("source", {"a": 12, "b": 12}), ("more", {"b": 9, "c": 9})):
      living.images(f"{cls.root}/{name}", make, counts, side=24)
    cls.path = f"{cls.root}/dataset"
    cls.base = f"{cls.root}/base"
    _run(cls._make_base)

  @classmethod
  def _make_base(cls) -> None:
    """A dataset of three versions, of which the last lacks samples."""
    convert(
      f"{cls.root}/source",
      cls.base,
      "png:2,raw:1,pcr:1,jpeg:1",
      shard_size=4096,
      encoders={"pcr": {"images": 3}},
      progress=False,
    )
    annotate(cls.base, {"sample": range(24), "x": np.arange(24) / 2})
    remove(open_view(cls.base).take([0, 1, 7, 13]))

  def _change(self, what: str) -> None:
    if what == "append":
      append(self.path, f"{self.root}/more", shard_size=4096, workers=2, progress=False)
    elif what == "remove":
      remove(open_view(self.path).take([2, 14]))
    elif what == "annotate":
      annotate(self.path, {"sample": [2], "x": [0.25], "t": ["a"]})
    elif what == "compact":
      compact(self.path, jpeg_index="row", progress=False)
    else:
      compact(self.path, forget="older", progress=False)

  def _start(self) -> None:
    shutil.rmtree(self.path, ignore_errors=True)
    shutil.copytree(self.base, self.path)

  def _check(self) -> None:
    """In a child: every version that is there is whole."""
    found = inspection.verify(self.path)
    assert found["problems"] == [], found["problems"]
    for version in versions.in_directory(self.path):
      living.held(self.path, version)

  def _check_killed(self, what: str, wanted: dict[str, bytes]) -> bool:
    """Checks what a killed change left, and ends it; whether it was there already."""
    _run(self._check)
    newest = versions.in_directory(self.path)[-1]
    before = photos.tree(self.base)
    # It may list the version that is to come.
    del before[versions.LIST]
    if what != "forget":
      found = photos.tree(self.path)
      self.assertEqual({name: found.get(name) for name in before}, before)
    done = newest == 4
    if done and what != "forget":
      # Nothing is to be made again; the next writer clears up.
      found = photos.tree(self.path)
      found = {name: data for name, data in found.items() if ".tmp" not in name}
    else:
      _run(lambda: self._change(what))
      found = photos.tree(self.path)
    self.assertEqual(found, wanted)
    return done

  @parameterized.parameters("append", "remove", "annotate", "compact", "forget")
  def test_killed_between_any_two_steps(self, what):
    self._start()
    _run(lambda: self._change(what))
    wanted = photos.tree(self.path)
    # LIQUID_TEST_KILLS=200 takes every step.
    stride = max(1, 200 // max(10, kills.COUNT))
    seen = set()
    for step in range(random.Random(what).randint(1, stride), 2000, stride):
      self._start()
      child = kills.fork(
        lambda step=step: (kills.die_at(step, _STEPS), self._change(what))
      )
      _, status = os.waitpid(child, 0)
      if not status:
        break
      self.assertEqual(status, signal.SIGKILL, f"step {step}")
      seen.add(self._check_killed(what, wanted))
    self.assertIn(False, seen)

  def test_an_append_killed_at_random_moments(self):
    self._start()
    begin = time.monotonic()
    _run(lambda: self._change("append"))
    seconds = time.monotonic() - begin
    wanted = photos.tree(self.path)

    def ended():
      return versions.in_directory(self.path)[-1] == 4

    def begun():
      return not ended() and os.path.exists(f"{self.path}/{WORK}")

    self._start()
    for _ in kills.at_random(lambda: self._change("append"), seconds, begun):
      _run(self._check)
      if not ended():
        _run(lambda: self._change("append"))
        self.assertEqual(photos.tree(self.path), wanted)
      self._start()

  def test_killed_again_and_again_an_append_still_ends(self):
    self._start()
    _run(lambda: self._change("append"))
    wanted = photos.tree(self.path)
    self._start()
    for step in range(12, 2000, 12):
      child = kills.fork(
        lambda step=step: (kills.die_at(step, _STEPS), self._change("append"))
      )
      _, status = os.waitpid(child, 0)
      _run(self._check)
      if not status or versions.in_directory(self.path)[-1] == 4:
        break
      self.assertEqual(status, signal.SIGKILL)
    found = {n: d for n, d in photos.tree(self.path).items() if ".tmp" not in n}
    self.assertEqual(found, wanted)


if __name__ == "__main__":
  absltest.main()
