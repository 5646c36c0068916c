"""What is not installed is named by its users, with the command that installs it."""

import importlib
import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import _extras
from liquid_tf._convert import beam
from liquid_tf._store import schemes
from liquid_tf.cli import main

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_TENSORFLOW = re.escape(_extras.sentence("tensorflow"))

# Hides a module as if it were not installed.
_WITHOUT = """
import sys

class Hide:
  def find_spec(self, name, path=None, target=None):
    if name.partition(".")[0] in {hidden}:
      raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide())
"""


def _run_without(hidden: set[str], code: str) -> subprocess.CompletedProcess:
  path = os.pathsep.join(os.path.abspath(path) for path in sys.path)
  return subprocess.run(
    [sys.executable, "-c", _WITHOUT.format(hidden=hidden) + code],
    env={**os.environ, "PYTHONPATH": path},
    capture_output=True,
    text=True,
  )


class WithoutTensorflowTest(parameterized.TestCase):
  def _run(self, code: str) -> subprocess.CompletedProcess:
    return _run_without({"tensorflow", "keras"}, code)

  def test_package_imports(self):
    done = self._run("import liquid_tf; print(len(dir(liquid_tf)))")
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_a_gpu_needs_none(self):
    done = self._run("from liquid_tf.gpu import available, decode, problem")
    self.assertEqual(done.returncode, 0, done.stderr)

  @parameterized.parameters(
    "import liquid_tf; liquid_tf.dataset",
    "from liquid_tf import convert",
    "from liquid_tf import append",
    "import liquid_tf; liquid_tf.open('gs://bucket/photos')",
    "import liquid_tf; liquid_tf.codecs.decode",
    "from liquid_tf.codecs import peek_l3",
    "from liquid_tf.graph import Snapshot",
    "from liquid_tf.gpu import Decode",
    "import liquid_tf.keras",
    "import liquid_tf.pcr",
    "import liquid_tf.pil",
    "import liquid_tf.recordio",
  )
  def test_use_says_what_to_install(self, code):
    done = self._run(code)
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr.splitlines()[-1], _TENSORFLOW)

  def test_command_says_it_in_one_line(self):
    code = (
      "from liquid_tf.cli import main; main.LIQUID_TF.run(['convert', *sys.argv[1:]])"
    )
    words = "sys.argv[1:] = ['--input=/', '--output=/tmp/x.liquid', '--mix=png']\n"
    done = self._run(words + code)
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, rf"\Aliquid-tf convert: {_TENSORFLOW}.*\n\Z")

  def test_every_command_has_help(self):
    code = "\n".join(
      [
        "from liquid_tf.cli import main, tool",
        f"for name in {list(main.LIQUID_TF.commands)}:",
        "  print(tool.usage(main.LIQUID_TF.load(name))[:1])",
      ]
    )
    done = self._run(code)
    self.assertEqual(done.returncode, 0, done.stderr)


class WithoutExtrasTest(tf.test.TestCase):
  def test_beam(self):
    with mock.patch.dict(sys.modules, {"apache_beam": None}):
      with self.assertRaisesRegex(ImportError, 'pip install "apache-beam>='):
        beam.require_beam()

  def test_s3(self):
    with mock.patch.dict(sys.modules, {"botocore": None, "botocore.session": None}):
      with self.assertRaisesRegex(ImportError, 'pip install "botocore>='):
        schemes.require("s3://bucket/photos")

  def test_other_file_systems(self):
    with mock.patch.dict(sys.modules, {"tensorflow_io": None}):
      with self.assertRaisesRegex(ImportError, "pip install .*tensorflow-io"):
        schemes.require("nowhere://bucket/photos")

  def test_plot(self):
    module = importlib.import_module("liquid_tf._profile.profile")
    result = module.Profile.__new__(module.Profile)
    hidden = {"matplotlib": None, "matplotlib.axes": None, "matplotlib.figure": None}
    for name in ("figures", "report"):
      sys.modules.pop(f"liquid_tf._profile.{name}", None)
      if hasattr(sys.modules["liquid_tf._profile"], name):
        delattr(sys.modules["liquid_tf._profile"], name)
    with mock.patch.dict(sys.modules, hidden):
      for draw in (result.plot, lambda: result.report("/nowhere")):
        with self.assertRaisesRegex(ImportError, 'pip install "matplotlib>='):
          draw()

  def test_parquet(self):
    with mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.parquet": None}):
      with self.assertRaisesRegex(ImportError, 'pip install "pyarrow>='):
        liquid_tf.export("/nowhere", "/nowhere/out", "parquet")

  def test_other_missing_modules_keep_their_error(self):
    with self.assertRaisesRegex(ModuleNotFoundError, "No module named 'no_such'"):
      with _extras.explained():
        importlib.import_module("no_such")

  def test_sentences_name_what_the_extras_bring(self):
    text = (_ROOT / "pyproject.toml").read_text()
    table = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    brought = set(re.findall(r"\"([a-z][\w<>=.,-]+)", table))
    self.assertIn("matplotlib>=3.6", brought)
    sentences = " ".join(map(_extras.sentence, _extras.modules()))
    words = sentences.replace("[and-cuda]", "").split()
    brought -= {"nvidia-cuda-nvrtc-cu12"}  # which the engine asks for
    self.assertContainsSubset(brought, {word.strip('",:') for word in words})


if __name__ == "__main__":
  tf.test.main()
