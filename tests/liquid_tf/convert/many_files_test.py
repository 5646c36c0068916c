"""Converting a folder of very many files: time and memory.

LIQUID_TEST_FILES=200000 PYTHONPATH=tests/liquid_tf python \\
  tests/liquid_tf/convert/many_files_test.py
"""

import os
import shutil
import time

import numpy as np
import photos
import tensorflow as tf

from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import folders

_FILES = int(os.environ.get("LIQUID_TEST_FILES", 8000))
# So many names a file can have with every file system of Linux.
_LINKS = 10_000


def _status(key: str) -> int:
  with open("/proc/self/status") as file:
    line = next(line for line in file if line.startswith(key))
  return int(line.split()[1]) << 10


def _forget_peak() -> None:
  with open("/proc/self/clear_refs", "w") as file:
    file.write("5")


def _make(root: str, count: int) -> None:
  random = np.random.default_rng(0)
  for first in range(0, count, _LINKS):
    folder = f"{root}/class_{first:08}"
    pixels = random.integers(0, 256, (8, 8, 3), np.uint8)
    photos.save(f"{folder}/photograph_{0:08}.png", pixels)
    for i in range(1, min(_LINKS, count - first)):
      os.link(f"{folder}/photograph_{0:08}.png", f"{folder}/photograph_{i:08}.png")


class ManyFilesTest(tf.test.TestCase):
  def test_each_takes_little_memory(self):
    root = self.create_tempdir().full_path
    few, many, output = f"{root}/few", f"{root}/many", f"{root}/dataset"
    _make(few, 500)
    _make(many, _FILES)
    try:
      _forget_peak()
    except OSError as error:
      self.skipTest(f"the peak of memory cannot be measured here: {error}")
    options = {"workers": 2, "progress": False}
    convert(few, output, "raw:1,png:1", **options)
    shutil.rmtree(output)

    _forget_peak()
    before, begin = _status("VmRSS"), time.monotonic()
    listed = folders.list_folder(many)
    self.assertLen(listed, _FILES)
    seconds, held = time.monotonic() - begin, (_status("VmHWM") - before) / _FILES
    print(f"{_FILES} files listed: {seconds:.1f} s, {held:.0f} bytes a file")
    del listed

    begin = time.monotonic()
    convert(many, output, "raw:1,png:1", **options)
    seconds, held = time.monotonic() - begin, (_status("VmHWM") - before) / _FILES
    print(f"{_FILES} files converted: {seconds:.1f} s, {held:.0f} bytes a file")
    self.assertLess(held, 1200)


if __name__ == "__main__":
  tf.test.main()
