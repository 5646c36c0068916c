"""`liquid-tf build-ops` makes an op library of the kit for the running TensorFlow."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from unittest import mock

import commands
import tensorflow as tf

from liquid_tf._native import build, library
from liquid_tf.errors import BuildError

# What encodes and decodes images, as one source; all of the ops would take minutes.
_CODECS = "".join(
  f'#include "ops/codecs/codec_{name}.cc"\n' for name in ("kernels", "ops")
)
_SOURCES = ["ops/few.cc", "ops/kernel/version.cc"]

_USE = """
import sys
import numpy as np
from liquid_tf import codecs
pixels = np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)
for name in ("png", "webp"):
  encoded = codecs.encode(pixels, name)
  np.testing.assert_array_equal(codecs.decode(encoded, format=name), pixels)
"""


class BuildTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.kit = self.folder / "kit"
    shutil.copytree(library.kit(), self.kit)
    for path in (self.kit, *self.kit.rglob("*")):
      path.chmod(0o755)
    self.enter_context(mock.patch.object(library, "kit", lambda: self.kit))
    self.recipe = json.loads((self.kit / "kit.json").read_text())
    (self.kit / "ops" / "few.cc").write_text(_CODECS)
    self._set_sources(_SOURCES)
    self.output = self.folder / "ops.so"

  def _set_sources(self, sources: list[str]) -> None:
    # Nothing here is fast.
    copts = [{"-O3": "-O0"}.get(flag, flag) for flag in self.recipe["copts"]]
    path = self.kit / "kit.json"
    path.write_text(json.dumps({**self.recipe, "sources": sources, "copts": copts}))

  def test_kit_has_every_source_that_faces_tensorflow(self):
    self.assertIn("-DNDEBUG", self.recipe["copts"])
    compiled = "".join((self.kit / path).read_text() for path in self.recipe["sources"])
    for suffix in ("kernels", "ops", "dataset_op"):
      paths = list(self.kit.rglob(f"*_{suffix}.cc"))
      self.assertNotEmpty(paths)
      for path in paths:
        self.assertIn(f'"{path.relative_to(self.kit)}"', compiled)

  def test_built_library_works(self):
    done = commands.run("build-ops", f"--output={self.output}", "--jobs=2")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn(f"TensorFlow {tf.__version__}", done.stderr)
    self.assertIn("2 of 2 sources compiled", done.stderr)
    self.assertIn(f"export LIQUID_OPS_LIBRARY={self.output}", done.stderr)
    self.assertEqual(library.built_for(str(self.output))[1], tf.__version__)
    self.assertEqual(
      library.engine_id(str(self.output)), library.engine_id(library.engine())
    )
    environment = {
      **os.environ,
      "LIQUID_OPS_LIBRARY": str(self.output),
      "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
    }
    # TensorFlow alone finds the engine too, which Python otherwise loads before.
    by_itself = f"import tensorflow as tf; tf.load_op_library({str(self.output)!r})"
    for code in (_USE, by_itself):
      used = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
      )
      self.assertEqual(used.returncode, 0, used.stderr)

  def test_no_compiler(self):
    with mock.patch.dict(os.environ, {"CXX": "no-such-g++"}):
      done = commands.run("build-ops", f"--output={self.output}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("the compiler (no-such-g++) was not found: install", done.stderr)

  def test_source_that_does_not_compile(self):
    (self.kit / "ops" / "bad.cc").write_text("int x = nothing_like_this;\n")
    self._set_sources(["ops/bad.cc"])
    with self.assertRaisesRegex(
      BuildError, "(?s)compiling ops/bad.cc.*nothing_like_this"
    ):
      build.build(build.running(), str(self.output), 1)
    self.assertFalse(self.output.exists())

  def test_library_that_does_not_link(self):
    (self.kit / "ops" / "bad.cc").write_text("void f(); void g() { f(); }\n")
    self._set_sources(["ops/bad.cc"])
    with self.assertRaisesRegex(BuildError, "linking failed"):
      build.build(build.running(), str(self.output), 1)
    self.assertFalse(self.output.exists())

  def test_folder_that_cannot_be_written(self):
    with mock.patch.object(os, "access", return_value=False):
      done = commands.run("build-ops")
    self.assertEqual(done.returncode, 2)
    self.assertIn("cannot be written: give --output=FILE", done.stderr)


if __name__ == "__main__":
  tf.test.main()
