"""A conversion of a generator, killed at any moment and resumed, makes the same bytes.

The process that kills imports TensorFlow and runs nothing of it; see
convert_kill_test.py.
"""

import collections
import contextlib
import functools
import io
import os
import random
import shutil
import signal
import sqlite3
import tempfile
import time

import kills
import photos
from absl.testing import absltest, parameterized
from PIL import Image

from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import item_spool, items

# `make nightly` takes more.
_ITEMS = int(os.environ.get("LIQUID_TEST_ITEMS", "300"))
# Files of photographs, of which items repeat some: encoding them is no part of this.
_FILES = 64


# Decoded once: an item takes less than a millisecond.
_photo = functools.cache(photos.photo)


def _crop(number: int):
  """A crop of 16 x 20 pixels, another one for each of the first 100,000 numbers."""
  image = _photo("coffee")
  row, column = divmod(number, image.shape[1] - 20)
  return image[row : row + 16, column : column + 20]


def _file(number: int) -> bytes:
  file = io.BytesIO()
  Image.fromarray(_crop(number * 311)).save(file, "JPEG")
  return file.getvalue()


class IterableKillTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.files = [_file(number) for number in range(_FILES)]
    cls.made = {}

  def _items(self, kind: str, count: int, bright: int = 0):
    """Yields items, few of them so slowly that kills come while they are spooled."""
    for i in range(count):
      image = _crop(i) if kind == "arrays" else self.files[i % _FILES]
      if bright and i == 3:
        image = _crop(77)
      yield {
        "image": image,
        "label": f"class {i % 7}",
        "name": f"crop-{i}",
        "split": "val" if i % 5 == 0 else "train",
        "nth": i,
        "vector": [i, 0.5],
      }
      if count < 1000 and i % 100 == 99:
        time.sleep(0.1)

  def _convert(self, output: str, kind: str, count: int, bright: int = 0) -> None:
    # Few items are journaled often, so that kills find some of them.
    item_spool._SECONDS = 0.01 if count < 1000 else 0.2
    convert(
      Source.from_iterable(lambda: self._items(kind, count, bright), count),
      output,
      "png:3,raw:2,l3:1" if kind == "arrays" else "jpeg:3,raw:2",
      shard_size=200 * count,
      existing="resume",
      workers=2,
      progress=False,
    )

  def _finish(self, output: str, kind: str, count: int) -> None:
    status = kills.status(lambda: self._convert(output, kind, count))
    if status:
      raise AssertionError(f"the conversion ended with status {status}")

  def _made(self, kind: str, count: int) -> tuple[dict[str, bytes], float]:
    """Files of a conversion that nothing ends, and how long it takes; converts once."""
    if (kind, count) not in self.made:
      output, begin = f"{self.root}/wanted-{kind}-{count}", time.monotonic()
      self._finish(output, kind, count)
      self.made[kind, count] = photos.files(output), time.monotonic() - begin
    return self.made[kind, count]

  def _stage(self, output: str) -> str:
    """Names the pass that a killed conversion was in; "" where it had ended."""
    if os.path.exists(f"{output}/dataset.json"):
      return ""
    if not os.path.exists(f"{output}/_journal.db-items"):
      return "begin"
    with contextlib.closing(sqlite3.connect(f"{output}/_journal.db")) as journal:
      try:
        shards = journal.execute("SELECT COUNT(*) FROM shards").fetchone()[0]
      except sqlite3.OperationalError:
        return "spool"
    return "write" if shards else "scan"

  @parameterized.parameters("arrays", "files")
  def test_killed_again_and_again(self, kind):
    begin = time.monotonic()
    wanted, seconds = self._made(kind, _ITEMS)
    moments, stages = random.Random(kind), collections.Counter()
    output = f"{self.root}/killed-{kind}"
    # Of many items, so that ten kills come in all passes, and the work goes on.
    longest = seconds if _ITEMS < 1000 else seconds / 2
    while sum(stages.values()) < kills.COUNT or not stages["spool"] + stages["scan"]:
      child = kills.fork(lambda: self._convert(output, kind, _ITEMS))
      time.sleep(moments.uniform(0, longest))
      os.kill(child, signal.SIGKILL)
      os.waitpid(child, 0)
      stage = self._stage(output)
      if stage:
        stages[stage] += 1
      else:
        self.assertEqual(photos.files(output), wanted)
        shutil.rmtree(output)
    self._finish(output, kind, _ITEMS)
    self.assertEqual(photos.files(output), wanted)
    print(
      f"{_ITEMS} {kind}: {seconds:.1f} s; killed in {dict(stages)}; all "
      f"{time.monotonic() - begin:.1f} s",
      flush=True,
    )

  def test_killed_while_spooled_and_then_another(self):
    count = min(_ITEMS, 300)
    wanted, seconds = self._made("arrays", count)
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

    convert_all = lambda: self._convert(output, "arrays", count)  # noqa: E731
    for _ in kills.at_random(convert_all, seconds, begun):
      if begun():
        status = kills.status(lambda: self._convert(output, "arrays", count, 1))
        self.assertNotEqual(status, 0)
      self._finish(output, "arrays", count)
      self.assertEqual(photos.files(output), wanted)
      shutil.rmtree(output)


if __name__ == "__main__":
  absltest.main()
