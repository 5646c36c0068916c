"""Every benchmark can be imported, and says what it does."""

import importlib
import pkgutil

from absl.testing import absltest, parameterized

from liquid_tf.cli import tool
from tools import bench
from tools.bench.commands import BENCH

# Scripts for interpreters of other loaders, which import those.
_OF_PEERS = ("peer_dali", "peer_ffcv", "peer_grain", "peer_spdl", "peer_torchvision")


class SmokeTest(parameterized.TestCase):
  @parameterized.parameters(*BENCH.commands)
  def test_help(self, command):
    page = tool.usage(BENCH.load(command))
    self.assertIn(f"python -m tools.bench {command}", page)
    self.assertIn("Flags:\n", page)

  def test_every_module_is_whole(self):
    modules = pkgutil.walk_packages(bench.__path__, "tools.bench.")
    names = [
      module.name
      for module in modules
      if module.name.rpartition(".")[2] not in (*_OF_PEERS, "__main__")
    ]
    self.assertGreater(len(names), 50)
    for name in names:
      with self.subTest(name):
        importlib.import_module(name)


if __name__ == "__main__":
  absltest.main()
