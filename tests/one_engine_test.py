"""A process has one engine, whichever library or function comes first."""

import os
import pathlib
import shutil
import subprocess
import sys

import http_server
import tensorflow as tf

from liquid_tf._native import library

_PATH = os.pathsep.join(os.path.abspath(path) for path in sys.path)

# Each reads a file from the server that the first argument names.
_READS = """
import ctypes, sys
import numpy as np
url, copy, *order = sys.argv[1:]

def by_python():
  from liquid_tf._native import http_file
  assert http_file.HttpFile(f"{url}/a").read(0, 64) == bytes(64)

def by_op():
  from liquid_tf._native import ops
  place = (f"{url}/b", np.int64(0), np.int64(64))
  read = ops.lib().liquid_read_sample(*place, foreign=False)
  assert "magic" in read.error.numpy().decode(), read.error

def by_a_second_engine():
  from liquid_tf._native import direct, http_file
  direct.functions = lambda: ctypes.CDLL(copy)
  http_file._functions.cache_clear()
  by_python()

for name in order:
  globals()[name]()
with open("/proc/self/maps") as maps:
  engines = {line.split()[-1] for line in maps if "libliquid_engine.so" in line}
print(len(engines))
"""

_WITHOUT_TENSORFLOW = """
import ctypes, sys
sys.modules["tensorflow"] = None  # An import of it fails.
from liquid_tf._native import engine

class Bytes(ctypes.Structure):
  _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint64)]

crc32c = engine.load().liquid_direct_crc32c
crc32c.argtypes, crc32c.restype = [Bytes, ctypes.c_uint32], ctypes.c_uint32
assert crc32c(Bytes(b"123456789", 9), 0) == 0xE3069283
with open("/proc/self/maps") as maps:
  files = {line.split()[-1] for line in maps}
assert any(name.endswith("libliquid_engine.so") for name in files)
print([name for name in files if "tensorflow" in name or "liquid_ops" in name])
"""

# Loads an op library as TensorFlow does by itself.
_LOAD = """
import ctypes, sys
import tensorflow as tf
engine, ops = sys.argv[1:]
ctypes.CDLL(engine)
tf.load_op_library(ops)
"""


class OneEngineTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    for name in "ab":
      (self.folder / name).write_bytes(bytes(64))

  def _run(self, code: str, *arguments: str, **environment: str):
    return subprocess.run(
      [sys.executable, "-c", code, *arguments],
      env={**os.environ, "PYTHONPATH": _PATH, **environment},
      capture_output=True,
      text=True,
    )

  def _read(self, *order: str) -> tuple[int, int]:
    """Engines of a process that reads in an order, and connections that it makes."""
    copy = shutil.copyfile(library.engine(), self.folder / library.ENGINE)
    with http_server.HttpServer(str(self.folder)) as server:
      done = self._run(_READS, server.url, str(copy), *order)
      self.assertEqual(done.returncode, 0, done.stderr)
    return int(done.stdout), server.connections

  def test_python_then_tensorflow(self):
    self.assertEqual(self._read("by_python", "by_op"), (1, 1))

  def test_tensorflow_then_python(self):
    self.assertEqual(self._read("by_op", "by_python"), (1, 1))

  def test_a_second_engine_is_found(self):
    self.assertEqual(self._read("by_python", "by_a_second_engine"), (2, 2))

  def test_the_engine_needs_no_tensorflow(self):
    done = self._run(_WITHOUT_TENSORFLOW)
    self.assertEqual((done.returncode, done.stdout), (0, "[]\n"), done.stderr)

  def _another_engine(self) -> str:
    """The engine with another id."""
    content = pathlib.Path(library.engine()).read_bytes()
    path = self.folder / library.ENGINE
    own = library.engine_id(library.engine()).encode()
    path.write_bytes(content.replace(own, b"0" * len(own)))
    return str(path)

  def test_another_engine_is_refused(self):
    other, ops = self._another_engine(), library.find(tf.__version__)
    code = "from liquid_tf import codecs; codecs.peek(b'')"
    done = self._run(code, LIQUID_ENGINE_LIBRARY=other)
    self.assertEqual(done.returncode, 1)
    self.assertIn(
      f'ImportError: the op library "{ops}" was built for another engine than '
      f'"{other}": run `liquid-tf build-ops`',
      done.stderr.splitlines()[-1],
    )

  def test_another_engine_is_refused_by_the_loader(self):
    ops = library.find(tf.__version__)
    done = self._run(_LOAD, library.engine(), ops)
    self.assertEqual(done.returncode, 0, done.stderr)
    done = self._run(_LOAD, self._another_engine(), ops)
    self.assertEqual(done.returncode, 1)
    self.assertIn(f"LIQUID_ENGINE_{library.engine_id(ops)}", done.stderr)


if __name__ == "__main__":
  tf.test.main()
