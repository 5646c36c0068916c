"""The libraries take nothing of their own from TensorFlow, and give it nothing.

TensorFlow exports the names of libraries that the engine contains too. Had one been
bound to the other's copy, a codec would run with another version's structures. The op
library takes all that is ours from the engine: state is there once.
"""

import os
import pathlib
import re
import subprocess
import sys

import elf
import tensorflow as tf

from liquid_tf._native import library

# manylinux_2_34 allows these libraries and versions.
_LIBRARIES = {
  "ld-linux-aarch64.so.1",
  "ld-linux-x86-64.so.2",
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "libstdc++.so.6",
}
# Those that TensorFlow has loaded.
_TENSORFLOW = {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2"}
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
  """Symbols of the engine among those that a library takes from others."""
  return {name for name in symbols if name in own or "liquid" in name}


class SymbolsTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.path = library.find(tf.__version__)
    cls.engine = library.engine()
    # Of C++ and inline functions, standard ones are in every library.
    cls.own = {n for n in elf.defined(cls.engine) if not n.startswith("_ZNSt")}
    cls.shown = elf.exported(cls.engine)

  def test_the_engine_has_the_libraries(self):
    self.assertContainsSubset(_STATIC, self.own)
    self.assertEmpty(self.shown.intersection(_STATIC))

  def test_the_engine_shows_what_is_ours(self):
    self.assertContainsSubset({"liquid_direct_decode"}, self.shown)
    number = f"LIQUID_ENGINE_{library.engine_id(self.engine)}"
    ours = re.compile(rf"liquid_\w+|_Z\w*N[KO]?6liquid\w+|{number}")
    self.assertEmpty([name for name in self.shown if not ours.fullmatch(name)])

  def test_the_op_library_shows_nothing(self):
    self.assertEmpty(elf.exported(self.path))

  def test_the_engine_takes_nothing_of_its_own_from_others(self):
    imported = elf.imported(self.engine)
    self.assertContainsSubset({"malloc"}, imported)
    self.assertEmpty(_bound_elsewhere(imported, self.own))

  def test_the_op_library_takes_what_is_ours_from_the_engine(self):
    taken = _bound_elsewhere(elf.imported(self.path), self.own)
    self.assertNotEmpty(taken)
    self.assertContainsSubset(taken, self.shown)

  def test_state_is_in_one_library(self):
    variables = [elf.variables(path) for path in (self.path, self.engine)]
    ours = [{name for name in names if "6liquid" in name} for names in variables]
    self.assertNotEmpty(ours[0])
    self.assertNotEmpty(ours[1])
    self.assertEmpty(ours[0] & ours[1])

  def test_needs_only_what_every_system_has(self):
    dynamic = elf.dynamic(self.engine)
    self.assertEqual(dynamic["SONAME"], [library.ENGINE])
    self.assertContainsSubset(dynamic["NEEDED"], _LIBRARIES)
    for tag in ("RPATH", "RUNPATH", "TEXTREL"):
      self.assertNotIn(tag, dynamic)
    dynamic = elf.dynamic(self.path)
    self.assertContainsSubset(
      dynamic["NEEDED"], _LIBRARIES | _TENSORFLOW | {library.ENGINE}
    )
    self.assertEqual(dynamic["RUNPATH"], ["$ORIGIN"])
    for tag in ("RPATH", "TEXTREL"):
      self.assertNotIn(tag, dynamic)

  def test_versions_are_those_of_the_tag(self):
    for path in (self.engine, self.path):
      wanted = elf.wanted_versions(path)
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
    ours = [os.path.realpath(path) for path in (self.path, self.engine)]
    taken, given = {path: [] for path in ours}, {path: [] for path in ours}
    for log in pathlib.Path(folder).iterdir():
      for line in log.read_text(errors="replace").splitlines():
        if "liquid" not in line:
          continue
        for found in elf.bindings(line):
          file, provider = map(os.path.realpath, (found.file, found.provider))
          if file == provider:
            continue  # What Python calls by name is looked up in the library itself.
          if file in ours:
            taken[file].append(found._replace(provider=provider))
          if provider in ours:
            given[provider].append(found._replace(file=file))
    ops, engine = ours
    self.assertEmpty(given[ops])
    self.assertEqual({found.file for found in given[engine]}, {ops})
    self.assertEmpty(
      _bound_elsewhere({found.symbol for found in taken[engine]}, self.own)
    )
    foreign = [found for found in taken[ops] if found.provider != engine]
    providers = {pathlib.Path(found.provider).name for found in foreign}
    self.assertContainsSubset({"libtensorflow_framework.so.2"}, providers)
    self.assertEmpty(_bound_elsewhere({found.symbol for found in foreign}, self.own))

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
