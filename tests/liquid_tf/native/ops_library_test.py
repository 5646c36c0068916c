"""The op library is found, recognised and loaded once."""

import os
import pathlib
import threading
from unittest import mock

import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import _version
from liquid_tf._native import library, ops

_MINOR = ".".join(tf.__version__.split(".")[:2])
_ENGINE = "LIQUID_ENGINE_0123456789abcdef"


def _content(version: str, engine: str = _ENGINE) -> bytes:
  """What is read of an op library."""
  return f"\0liquid_ops built for TensorFlow {version}\0{engine}\0".encode()


class OpsLibraryTest(parameterized.TestCase, tf.test.TestCase):
  def _library(self, content: bytes) -> str:
    """An op library beside an engine."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    path = folder / "_liquid_ops.so"
    path.write_bytes(content)
    (folder / library.ENGINE).write_text(_ENGINE)
    return str(path)

  def _unset(self):
    """Leaves the libraries to be found."""
    named = ("LIQUID_ENGINE_LIBRARY", "LIQUID_OPS_LIBRARY")
    environment = {k: v for k, v in os.environ.items() if k not in named}
    self.enter_context(mock.patch.dict(os.environ, environment, clear=True))

  def _with_library(self, path: str):
    self._unset()
    return mock.patch.dict(os.environ, {"LIQUID_OPS_LIBRARY": path})

  def test_built_library_carries_the_running_version(self):
    path = library.find(tf.__version__)
    self.assertEqual(library.built_for(path), (_MINOR, tf.__version__))

  def test_patch_version_does_not_matter(self):
    self.assertEqual(library.find(f"{_MINOR}.99"), library.find(tf.__version__))

  def test_library_of_another_version_is_refused_before_loading(self):
    path = self._library(_content("1.15.5"))
    with self._with_library(path):
      with self.assertRaisesRegex(
        ImportError, rf"TensorFlow 2\.16 .*{path}.* TensorFlow 1\.15\.5.*make setup"
      ):
        library.find("2.16.2")
      self.assertEqual(library.find("1.15.0"), path)

  def test_minor_versions_are_compared_whole(self):
    path = self._library(_content("2.160.2"))
    with self._with_library(path), self.assertRaises(ImportError):
      library.find("2.16.2")

  @parameterized.parameters("LIQUID_ENGINE_0123456789abcdee", "")
  def test_library_of_another_engine_is_refused_before_loading(self, engine):
    path = self._library(_content("2.16.2", engine))
    beside = path.replace("_liquid_ops.so", library.ENGINE)
    with self._with_library(path), self.assertRaises(ImportError) as caught:
      library.find("2.16.1")
    self.assertEqual(
      str(caught.exception),
      f'the op library "{path}" was built for another engine than "{beside}": run '
      "`liquid-tf build-ops`, or `make setup TF_VERSION=2.16.1` in a checkout, which "
      "build it for this one",
    )

  def test_other_file_is_refused(self):
    path = self._library(b"\x7fELF")
    with self._with_library(path):
      with self.assertRaisesRegex(ImportError, "is not a liquid_tf op library"):
        library.find(tf.__version__)

  def test_missing_library_names_the_places(self):
    with self._with_library("/nowhere/_liquid_ops.so"):
      with self.assertRaisesRegex(ImportError, '"/nowhere/_liquid_ops.so".*make setup'):
        library.find(tf.__version__)

  def test_checkout_offers_one_library_per_version(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    for lane, version in (("bazel", "2.16.2"), ("bazel-2.21.0", "2.21.0")):
      folder = root / "build" / lane / "bin" / "ops"
      folder.mkdir(parents=True)
      (folder / "_liquid_ops.so").write_bytes(_content(version))
      (folder / library.ENGINE).write_text(_ENGINE)
    self._unset()
    package_file = str(root / "liquid_tf" / "_native" / "library.py")
    with mock.patch.object(library, "__file__", package_file):
      self.assertIn("/bazel/", library.find("2.16.2"))
      self.assertIn("/bazel-2.21.0/", library.find("2.21.0"))
      with self.assertRaisesRegex(ImportError, "2.16.2; .*2.21.0"):
        library.find("2.19.0")

  def _package(self, *versions: str):
    """A package with an engine and an op library for each, away from any checkout."""
    package = pathlib.Path(self.create_tempdir().full_path) / "liquid_tf"
    package.mkdir()
    for version in versions:
      (package / library.packaged_name(version)).write_bytes(_content(version))
    (package / library.ENGINE).write_text(_ENGINE)
    self._unset()
    self.enter_context(mock.patch.object(library, "package", lambda: package))
    return package

  def test_wheel_offers_one_library_per_version(self):
    package = self._package("2.9.1", "2.16.2", "2.21.0")
    self.assertEqual(library.packaged(), ["2.9", "2.16", "2.21"])
    self.assertEqual(
      library.find("2.16.1"), os.fspath(package / "_liquid_ops_tf216.so")
    )
    self.assertEqual(
      library.find("2.21.0-rc1"), os.fspath(package / "_liquid_ops_tf221.so")
    )

  @parameterized.parameters("2.15.1", "2.22.0")
  def test_wheel_refuses_another_version_in_one_sentence(self, version):
    self._package("2.16.2", "2.17.1", "2.21.0")
    with self.assertRaises(ImportError) as caught:
      library.find(version)
    self.assertEqual(
      str(caught.exception),
      f"liquid_tf {_version.__version__} serves TensorFlow 2.16, 2.17, 2.21, and this "
      f"is TensorFlow {version}: install one of those, or run `liquid-tf build-ops`, "
      "which builds the ops for this one",
    )

  def test_library_that_build_ops_made_is_taken(self):
    package = self._package("2.16.2", "2.22.0")
    self.assertEqual(
      library.find("2.22.0"), os.fspath(package / "_liquid_ops_tf222.so")
    )

  def test_library_of_an_older_build_does_not_hide_a_fitting_one(self):
    package = self._package()
    stale = package / library.packaged_name("2.16.2")
    stale.write_bytes(_content("2.16.2", "LIQUID_ENGINE_0000000000000000"))
    fitting = package.parent / "ops" / "_liquid_ops.so"
    fitting.parent.mkdir()
    fitting.write_bytes(_content("2.16.2"))
    self.assertEqual(library.find("2.16.2"), os.fspath(fitting))

  def test_no_kit(self):
    package = self._package("2.16.2")
    with self.assertRaisesRegex(ImportError, f'"{package}/_kit".*make setup'):
      library.kit()

  def test_kit_is_of_the_engine(self):
    package = self._package("2.16.2")
    older, own = package / "_kit", package.parent / "ops" / "kit"
    for folder, engine in ((older, "LIQUID_ENGINE_0000000000000000"), (own, _ENGINE)):
      folder.mkdir(parents=True)
      (folder / "kit.json").touch()
      (folder / "engine.lds").write_text(engine)
    self.assertEqual(library.kit(), own)

  def test_threads_load_one_module(self):
    modules = []
    threads = [
      threading.Thread(target=lambda: modules.append(ops.lib())) for _ in range(8)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertLen(modules, 8)
    self.assertLen({id(module) for module in modules}, 1)


if __name__ == "__main__":
  tf.test.main()
