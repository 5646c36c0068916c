"""A conversion of a generator, killed at any moment and resumed, makes the same bytes.

The process that kills imports TensorFlow and runs nothing of it; see
convert_kill_test.py.
"""

import os
import shutil
import tempfile
import time

import kills
import numpy as np
import photos
from absl.testing import absltest

from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import item_spool, items

# `make nightly` takes more.
_ITEMS = int(os.environ.get("LIQUID_TEST_ITEMS", "300"))


def _items(bright: int = 0):
  """Yields crops, slowly enough that kills come while they are spooled."""
  random = np.random.default_rng(0)
  image = photos.photo("coffee")
  for i in range(_ITEMS):
    pixels = photos.crop(image, (16, 20), random)
    yield {
      "image": pixels + np.uint8(bright * (i == 3)),
      "label": f"class {i % 7}",
      "name": f"crop-{i}",
      "split": "val" if i % 5 == 0 else "train",
      "number": i,
    }
    if i % 100 == 99:
      time.sleep(0.1)


class IterableKillTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    begin = time.monotonic()
    cls._finish(f"{cls.root}/wanted")
    cls.seconds = time.monotonic() - begin
    cls.wanted = photos.files(f"{cls.root}/wanted")

  @staticmethod
  def _convert(output: str, bright: int = 0) -> None:
    # Items are journaled often, so that kills find some of them.
    item_spool._SECONDS = 0.01
    convert(
      Source.from_iterable(lambda: _items(bright), _ITEMS),
      output,
      "png:3,raw:2,l3:1",
      shard_size=50_000,
      existing="resume",
      workers=2,
      progress=False,
    )

  @classmethod
  def _finish(cls, output: str) -> None:
    status = kills.status(lambda: cls._convert(output))
    if status:
      raise AssertionError(f"the conversion ended with status {status}")

  def test_killed_at_random_moments(self):
    output = f"{self.root}/killed"

    def interrupted():
      has_journal = os.path.exists(f"{output}/_journal.db-items")
      return has_journal and not os.path.exists(f"{output}/dataset.json")

    for _ in kills.at_random(lambda: self._convert(output), self.seconds, interrupted):
      self._finish(output)
      self.assertEqual(photos.files(output), self.wanted)
      shutil.rmtree(output)

  def test_killed_while_spooled_and_then_another(self):
    output = f"{self.root}/changed"
    database = f"{output}/_journal.db-items/items.db"

    def begun():
      if not os.path.exists(database):
        return False
      # A rollback journal that a kill left is used when the table is opened.
      probe = f"{self.root}/probe"
      shutil.copytree(os.path.dirname(database), probe)
      spool = item_spool.Spool(probe, items.Origin())
      spool.close()
      shutil.rmtree(probe)
      return spool.known > 3 and not os.path.exists(f"{output}/dataset.json")

    for _ in kills.at_random(lambda: self._convert(output), self.seconds, begun):
      if begun():
        self.assertNotEqual(kills.status(lambda: self._convert(output, 1)), 0)
      self._finish(output)
      self.assertEqual(photos.files(output), self.wanted)
      shutil.rmtree(output)


if __name__ == "__main__":
  absltest.main()
