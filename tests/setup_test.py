"""tools/setup.sh says what is missing, and who may install it."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from absl.testing import absltest

_TOOL = pathlib.Path(__file__).resolve().parents[1] / "tools" / "setup.sh"
_NOBODY = 65534


class SetupTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Others cannot enter the folders of tests where these are root's.
    self.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    self.addCleanup(shutil.rmtree, self.folder)
    self.folder.chmod(0o755)
    for name in ("bash", "env", "dirname", "uname"):
      (self.folder / name).symlink_to(shutil.which(name))
    self._script("python3", "echo Python 3.12.1")
    self._script("apt-get", "echo apt-get ran; exit 0")
    self.tool = shutil.copy(_TOOL, self.folder)

  def _script(self, name: str, text: str) -> None:
    path = self.folder / name
    path.write_text(f"#!{self.folder}/bash\n{text}\n")
    path.chmod(0o755)

  def _refusal(self, **more: str) -> str:
    """The lines of a run by a user who has no rights, without the program's name."""
    done = subprocess.run(
      [self.folder / "bash", self.tool, "venv", "requirements.txt"],
      env={"PATH": str(self.folder), "HOME": "/nonexistent", **more},
      cwd=self.folder,
      user=_NOBODY if os.geteuid() == 0 else None,
      capture_output=True,
      text=True,
    )
    self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
    return done.stderr

  def test_who_is_not_root_and_has_no_sudo_gets_the_command(self):
    self.assertRegex(
      self._refusal(),
      r"setup: missing system packages: (.*)\n"
      r"setup: you are not root, and there is no sudo; as root, run: "
      r"apt-get install \1\n\Z",
    )

  def test_who_may_not_use_sudo_gets_it_too(self):
    self._script("sudo", "echo sudo: not in the sudoers file >&2; exit 1")
    self.assertRegex(
      self._refusal(),
      r"\nsudo: not in the sudoers file\n"
      r"setup: they were not installed; as root, run: apt-get install .*\bbazel\S*\b",
    )

  def test_a_system_without_apt(self):
    (self.folder / "apt-get").unlink()
    self.assertIn("setup: there is no apt-get here", self._refusal())

  def test_a_python_that_will_not_do_comes_first(self):
    self._script("python3", '[[ "$1" == --version ]] && echo Python 3.13.1')
    self.assertRegex(
      self._refusal(),
      r"\Asetup: python3 is Python 3.13.1, and the pinned TensorFlow needs Python 3.11 "
      r"or 3.12: .* PYTHON=\S+ make setup\n\Z",
    )


if __name__ == "__main__":
  absltest.main()
