"""The op library takes nothing of its own from TensorFlow, and gives nothing.

TensorFlow exports the names of libraries that the op library contains too. Had one been
bound to the other's copy, a codec would run with another version's structures.
"""

import os
import pathlib
import subprocess
import sys

import elf
import tensorflow as tf

from liquid_tf._native import library

# manylinux_2_34 allows these libraries and versions; TensorFlow has loaded its own.
_LIBRARIES = {
  "ld-linux-aarch64.so.1",
  "ld-linux-x86-64.so.2",
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "libstdc++.so.6",
  "libtensorflow_cc.so.2",
  "libtensorflow_framework.so.2",
}
_VERSIONS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
# Names of each library that is linked statically.
_STATIC = ("libdeflate_crc32", "jpeg_start_decompress", "io_uring_queue_init_params")
_STATIC += ("WebPEncode", "curl_multi_perform", "SSL_connect")

_USE = """
import sys
import numpy as np
from liquid_tf import codecs
from liquid_tf._native import ops
ops.lib()
pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
for name in ("png", "jpeg", "webp", "l3", "bmp", "raw"):
  codecs.decode(codecs.encode(pixels, name), format=name)
"""


def _bound_elsewhere(symbols: set[str], own: set[str]) -> set[str]:
  """Symbols of ours among those that a library takes from others."""
  return {name for name in symbols if name in own or "liquid" in name}


class SymbolsTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.path = library.find(tf.__version__)
    cls.own = elf.defined(str(library.kit() / "core.a"))

  def test_the_core_has_the_libraries(self):
    self.assertContainsSubset(_STATIC, self.own)

  def test_exports_what_python_calls_by_name(self):
    names = elf.exported(self.path)
    self.assertContainsSubset({"liquid_direct_decode"}, names)
    self.assertEmpty([name for name in names if not name.startswith("liquid_direct_")])

  def test_takes_nothing_of_its_own_from_others(self):
    imported = elf.imported(self.path)
    self.assertContainsSubset({"malloc"}, imported)
    self.assertEmpty(_bound_elsewhere(imported, self.own))

  def test_needs_only_what_every_system_has(self):
    dynamic = elf.dynamic(self.path)
    self.assertContainsSubset(dynamic["NEEDED"], _LIBRARIES)
    for tag in ("RPATH", "RUNPATH", "TEXTREL"):
      self.assertNotIn(tag, dynamic)

  def test_versions_are_those_of_the_tag(self):
    wanted = elf.wanted_versions(self.path)
    self.assertContainsSubset({"GLIBC", "GLIBCXX"}, wanted)
    for name, most in _VERSIONS.items():
      self.assertLessEqual(wanted.get(name, ()), most, name)

  def test_nothing_is_bound_elsewhere_at_run_time(self):
    folder = self.create_tempdir().full_path
    done = subprocess.run(
      [sys.executable, "-c", _USE],
      env={
        **os.environ,
        "LD_BIND_NOW": "1",
        "LD_DEBUG": "bindings",
        "LD_DEBUG_OUTPUT": f"{folder}/log",
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
      },
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    ours = os.path.realpath(self.path)
    taken, given = [], []
    for log in pathlib.Path(folder).iterdir():
      for line in log.open(errors="replace"):
        if "liquid_ops" not in line:
          continue
        for found in elf.bindings(line):
          file, provider = map(os.path.realpath, (found.file, found.provider))
          if file == provider:
            continue  # What Python calls by name is looked up in the library itself.
          if file == ours:
            taken.append(found)
          elif provider == ours:
            given.append(found)
    providers = {pathlib.Path(found.provider).name for found in taken}
    self.assertContainsSubset({"libtensorflow_framework.so.2"}, providers)
    self.assertEmpty(given)
    self.assertEmpty(_bound_elsewhere({found.symbol for found in taken}, self.own))

  def test_a_library_that_breaks_the_rules_is_found(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / "bad.cc").write_text(
      'extern "C" int jpeg_start_decompress(void*);\n'
      'extern "C" int visible(void* p) { return jpeg_start_decompress(p); }\n'
    )
    bad = str(folder / "bad.so")
    command = ["g++", "-shared", "-fPIC", "-Wl,-rpath,/x", "-o", bad]
    subprocess.run([*command, str(folder / "bad.cc")], check=True)
    self.assertIn("visible", elf.exported(bad))
    self.assertEqual(
      _bound_elsewhere(elf.imported(bad), self.own), {"jpeg_start_decompress"}
    )
    self.assertContainsSubset({"RUNPATH"}, elf.dynamic(bad))
    line = "  77:\tbinding file a.so [0] to b.so [0]: normal symbol `inflate' [V_1]\n"
    self.assertEqual(elf.bindings(line), [("a.so", "b.so", "inflate")])


if __name__ == "__main__":
  tf.test.main()
