"""The README's example runs as printed, and its links lead somewhere."""

import os
import pathlib
import re
import subprocess
import sys

from absl.testing import absltest

from liquid_tf.cli.demo import images

# The checkout, whose other files the links name.
_ROOT = pathlib.Path(__file__).resolve().parent.parent


class ReadmeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.text = (_ROOT / "README.md").read_text()

  def test_example_runs_as_printed(self):
    [example] = re.findall(r"```python\n(.*?)```", self.text, re.DOTALL)
    lines = [line for line in example.splitlines() if line.strip()]
    self.assertLessEqual(len(lines), 12)
    folder = pathlib.Path(self.create_tempdir().full_path)
    images.make(folder / "demo_data" / "photos", side=128, count=160)
    done = subprocess.run(
      [sys.executable, "-c", example],
      cwd=folder,
      env={
        **os.environ,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
      },
      capture_output=True,
      text=True,
      timeout=240,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("Epoch 3/3", done.stdout)
    # Three epochs of each format's samples.
    self.assertIn("'samples': 288", done.stdout)
    self.assertIn("'samples': 192", done.stdout)

  def test_what_has_not_run_on_a_gpu_is_not_claimed(self):
    # Each place that speaks of decoding there says so.
    lines = [line for line in self.text.splitlines() if "on a GPU" in line]
    self.assertNotEmpty(lines)
    for line in lines:
      self.assertIn("not yet run on", line)

  def test_links_lead_to_files(self):
    links = re.findall(r"\]\(([^)#]+)\)", self.text)
    self.assertNotEmpty(links)
    self.assertEmpty([link for link in links if not (_ROOT / link).exists()])

  def test_named_tools_and_flags_exist(self):
    rows = re.findall(r"^\| `tools\.(\w+)[^|]*\|[^|]*\| ([^|]*)\|", self.text, re.M)
    self.assertNotEmpty(rows)
    for tool, flags in rows:
      # A tool's flags may be defined in a module that it imports.
      files = [_ROOT / "tools" / f"{tool}.py", *(_ROOT / "tools").glob(f"_{tool}_*.py")]
      source = "".join(path.read_text() for path in files)
      for flag in re.findall(r"--(\w+)", flags):
        self.assertRegex(source, rf'DEFINE_\w+\(\s*"{flag}"', f"{tool} --{flag}")


if __name__ == "__main__":
  absltest.main()
