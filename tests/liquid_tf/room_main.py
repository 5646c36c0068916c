"""Runs the test modules of a room in one process.

TensorFlow takes seconds to import, and most tests of a room take less. A module runs by
itself too: `python tests/liquid_tf/store/files_test.py`.
"""

import importlib
import os
import sys
import unittest

from absl import flags
from absl.testing import absltest

_MODULES = flags.DEFINE_list("modules", None, "test modules to run", required=True)


def load_tests(
  loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None
) -> unittest.TestSuite:
  """Gives absltest the tests of all modules in the place of this one's."""
  del tests, pattern
  suite = unittest.TestSuite()
  for path in _MODULES.value:
    folder, name = os.path.split(path)
    sys.path.insert(0, os.path.abspath(folder))
    module = importlib.import_module(name.removesuffix(".py"))
    suite.addTests(loader.loadTestsFromModule(module))
  return suite


if __name__ == "__main__":
  absltest.main()
