"""Runs the test modules of a room in one process, or in each of its shards.

TensorFlow takes seconds to import, and most tests of a room take less. A module runs by
itself too: `python tests/liquid_tf/store/files_test.py`. A shard gets whole modules, so
that what the cases of a module share is made once.
"""

import importlib
import os
import pathlib
import sys
import unittest

from absl import flags
from absl.testing import absltest

_MODULES = flags.DEFINE_list("modules", None, "test modules to run", required=True)


def _dealt(paths: list[str], shards: int) -> list[list[str]]:
  """The modules of each shard, by their length: the longest first, to the shortest."""
  dealt, lengths = [[] for _ in range(shards)], [0] * shards
  size = {path: pathlib.Path(path).stat().st_size for path in paths}
  for path in sorted(paths, key=lambda path: (-size[path], path)):
    shard = lengths.index(min(lengths))
    dealt[shard].append(path)
    lengths[shard] += size[path]
  return dealt


def _take_shard() -> tuple[int, int]:
  """(index, count) of Bazel's shards, of which absltest then knows nothing."""
  if "TEST_SHARD_STATUS_FILE" in os.environ:
    pathlib.Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
  index, count = (
    int(os.environ.pop(name, default))
    for name, default in (("TEST_SHARD_INDEX", "0"), ("TEST_TOTAL_SHARDS", "1"))
  )
  return index, count


def load_tests(
  loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None
) -> unittest.TestSuite:
  """Gives absltest the tests of all modules in the place of this one's."""
  del tests, pattern
  suite = unittest.TestSuite()
  for path in _dealt(_MODULES.value, _COUNT)[_INDEX]:
    folder, name = os.path.split(path)
    sys.path.insert(0, os.path.abspath(folder))
    module = importlib.import_module(name.removesuffix(".py"))
    suite.addTests(loader.loadTestsFromModule(module))
  return suite


if __name__ == "__main__":
  _INDEX, _COUNT = _take_shard()
  absltest.main()
