"""The engine is found without a framework, and is the one that the op library needs."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest

from liquid_tf._native import library


class EngineLibraryTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.package = self.root / "liquid_tf"
    self.package.mkdir()
    self.enter_context(mock.patch.object(library, "package", lambda: self.package))
    self._installed("2.16.2")
    named = ("LIQUID_ENGINE_LIBRARY", "LIQUID_OPS_LIBRARY")
    self.environment = {k: v for k, v in os.environ.items() if k not in named}
    self.enter_context(mock.patch.dict(os.environ, self.environment, clear=True))

  def _installed(self, version: str | None):
    found = version and ("/nowhere/tensorflow", version)
    self.enter_context(mock.patch.object(library, "installed", lambda: found))

  def _engine(self, *folder: str, built_for: str = "") -> str:
    """An engine in a folder; an op library beside it, if it is built for one."""
    path = self.root.joinpath(*folder) / "libliquid_engine.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    if built_for:
      marker = f"liquid_ops built for TensorFlow {built_for}"
      path.with_name("_liquid_ops.so").write_text(marker)
    return os.fspath(path)

  def test_wheel_has_one(self):
    installed = self._engine("liquid_tf")
    self._engine("build", "bazel", "bin", "ops")
    self.assertEqual(library.engine(), installed)

  def test_checkout_has_that_of_the_installed_tensorflow(self):
    default = self._engine("build", "bazel", "bin", "ops", built_for="2.16.2")
    newer = self._engine("build", "bazel-2.21.0", "bin", "ops", built_for="2.21.0")
    self.assertEqual(library.engine(), default)
    self._installed("2.21.1")
    self.assertEqual(library.engine(), newer)
    self._installed("2.19.0")
    self.assertEqual(library.engine(), default)
    self._installed(None)
    self.assertEqual(library.engine(), default)

  def test_runfiles_have_it_beside_the_package(self):
    self._engine("build", "bazel", "bin", "ops")
    beside = self._engine("ops")
    self.assertEqual(library.engine(), beside)

  def test_a_named_op_library_has_its_own(self):
    installed = self._engine("liquid_tf")
    own = self._engine("elsewhere", built_for="2.16.2")
    os.environ["LIQUID_OPS_LIBRARY"] = f"{self.root}/elsewhere/_liquid_ops.so"
    self.assertEqual(library.engine(), own)
    os.environ["LIQUID_OPS_LIBRARY"] = f"{self.root}/empty/_liquid_ops.so"
    self.assertEqual(library.engine(), installed)

  def test_a_named_engine_rules_out_all_others(self):
    self._engine("liquid_tf")
    named = self._engine("elsewhere")
    os.environ["LIQUID_ENGINE_LIBRARY"] = named
    self.assertEqual(library.engine(), named)
    os.environ["LIQUID_ENGINE_LIBRARY"] = "/nowhere/engine.so"
    with self.assertRaisesRegex(ImportError, r'ENGINE_LIBRARY \("/nowhere/engine.so"'):
      library.engine()

  def test_a_missing_one_names_the_places(self):
    with self.assertRaisesRegex(ImportError, f'"{self.package}".*make setup'):
      library.engine()


if __name__ == "__main__":
  absltest.main()
