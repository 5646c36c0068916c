"""`liquid-tf` alone: versions, and words that are no command."""

import pathlib
import subprocess
import sys
from unittest import mock

import commands
import tensorflow as tf
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf._native import library
from liquid_tf.cli import main


class VersionTest(parameterized.TestCase):
  def test_names_the_package_tensorflow_and_its_op_library(self):
    done = commands.run("--version")
    self.assertEqual(done, (0, done.stdout, ""))
    folder = pathlib.Path(tf.__file__).parent
    first, second, third = done.stdout.splitlines()
    self.assertEqual(first, f"liquid_tf {liquid_tf.__version__}")
    self.assertEqual(second, f"TensorFlow {tf.__version__}, {folder}")
    self.assertEqual(third, f"op library {library.find(tf.__version__)}")

  def test_imports_no_tensorflow(self):
    code = (
      "import sys; from liquid_tf.cli import main\n"
      "try: main.LIQUID_TF.run(['--version'])\n"
      "finally: assert 'tensorflow' not in sys.modules"
    )
    paths = f"sys.path[:0] = {sys.path}\n"
    done = subprocess.run(
      [sys.executable, "-c", f"import sys; {paths}{code}"],
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertStartsWith(done.stdout, "liquid_tf ")

  def test_says_where_there_is_no_tensorflow_or_no_op_library_for_it(self):
    with mock.patch.object(library, "installed", return_value=None):
      self.assertEndsWith(commands.run("--version").stdout, "\nno TensorFlow\n")
    newer = ("/a/tensorflow", "2.99.0")
    with mock.patch.object(library, "installed", return_value=newer):
      done = commands.run("--version")
    self.assertEqual(done.returncode, 0)
    self.assertRegex(done.stdout, "\nTensorFlow 2.99.0, /a/.*\nliquid_tf .* 2.99")

  @parameterized.parameters("version.h", "release_version.h")
  def test_a_version_is_read_from_the_headers(self, name):
    root = pathlib.Path(self.create_tempdir().full_path)
    package = root / "tensorflow"
    header = package / "include/tensorflow/core/public" / name
    header.parent.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError")
    defined = {"MAJOR": 3, "MINOR": 1, "PATCH": 4}
    lines = (f"#define TF_{key}_VERSION {value}" for key, value in defined.items())
    header.write_text("\n".join(lines))
    hidden = {"tensorflow": None}
    with mock.patch.object(sys, "path", [str(root)]):
      with mock.patch.dict(sys.modules, hidden):
        del sys.modules["tensorflow"]
        self.assertEqual(library.installed(), (str(package), "3.1.4"))
        header.unlink()
        self.assertEqual(library.installed(), (str(package), "?"))


class WrongWordsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("--versoin", "did you mean --version?"),
    ("--hlep", "did you mean --help?"),
    ("version", "did you mean `liquid-tf --version`?"),
    ("help", "did you mean `liquid-tf --help`?"),
    ("exprot --to=rec", "did you mean `liquid-tf export`?"),
    ("mesure", "did you mean `liquid-tf measure`?"),
    ("--thumbnails=3 inspect", "is a flag of `liquid-tf inspect`, not of `liquid-tf`"),
    ("service --versions", "is a flag of `liquid-tf inspect`, not of `liquid-tf serv"),
    ("--json convert", "`liquid-tf edit`, `liquid-tf export` and others, not"),
    ("image x --seed 3", "--seed is a flag of"),
    ("inspect x --verfy", "--verfy is no flag of `liquid-tf inspect`: did you mean"),
    ("inspect x --noverfy", "did you mean --verify?"),
    ("inspect x --sample", "Missing value for flag --sample"),
  )
  def test_get_one_sentence_with_the_nearest_name(self, words, sentence):
    done = commands.run(*words.split())
    self.assertEqual((done.returncode, done.stdout), (2, ""))
    said, advice = done.stderr.splitlines()
    self.assertIn(sentence, said)
    self.assertStartsWith(advice, "Try `liquid-tf ")

  def test_others_get_the_list(self):
    done = commands.run("frobnicate")
    self.assertEqual(done.returncode, 2)
    self.assertStartsWith(done.stderr, 'liquid-tf: "frobnicate" is no command\n')
    for name in main.LIQUID_TF.commands:
      self.assertIn(f"liquid-tf {name} ", done.stderr)

  def test_values_are_not_taken_for_flags(self):
    for words in (["--output", "--none"], ["--output=x", "--", "--none"]):
      done = commands.run("export", "--input=/nowhere", "--to=rec", *words)
      self.assertNotIn("no flag of", done.stderr, words)


if __name__ == "__main__":
  absltest.main()
