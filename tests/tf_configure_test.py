"""Bazel reads of TensorFlow, without importing it, what TensorFlow says of itself."""

import ast
import json
import pathlib
import re
import subprocess
import sys

import tensorflow as tf

_THIRD_PARTY = pathlib.Path(__file__).resolve().parent.parent / "third_party"


class TfConfigureTest(tf.test.TestCase):
  def _find(self, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(_THIRD_PARTY / "find_tensorflow.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)

  def test_finds_the_pythons_own(self):
    found = json.loads(self._find().stdout)
    self.assertEqual(found["version"], tf.__version__)
    self.assertEqual(found["package"], tf.sysconfig.get_lib())
    self.assertEqual(found["package"] + "/include", tf.sysconfig.get_include())

  def test_finds_another_in_a_folder(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, file in (("tf_nightly-2.99.0", "__init__"), ("tensorflow_io-1.0", "io")):
      metadata = folder / f"{name}.dist-info"
      metadata.mkdir()
      version = name.rpartition("-")[2]
      (metadata / "METADATA").write_text(f"Name: x\nVersion: {version}\n")
      (metadata / "RECORD").write_text(f"tensorflow/{file}.py,,\nx/tensorflow,,\n")
    found = json.loads(self._find(str(folder)).stdout)
    self.assertEqual(found["version"], "2.99.0")
    self.assertEqual(found["package"], str(folder.resolve() / "tensorflow"))

  def test_says_where_there_is_none(self):
    folder = self.create_tempdir().full_path
    done = self._find(folder)
    self.assertEqual(done.returncode, 1)
    self.assertIn(f"{folder} has no TensorFlow", done.stderr)

  def test_flags_are_tensorflows(self):
    text = (_THIRD_PARTY / "tf_configure.bzl").read_text()
    [defines] = re.findall(r"^_DEFINES = (\[.*\])$", text, re.MULTILINE)
    flags = [flag for flag in tf.sysconfig.get_compile_flags() if flag[:2] != "-I"]
    expected = [f"-D{define}" for define in ast.literal_eval(defines)]
    self.assertCountEqual(flags, [*expected, "--std=c++17"])


if __name__ == "__main__":
  tf.test.main()
