"""Which CUDA compiler a build takes; Starlark is near enough to Python to be run."""

import pathlib
import types

from absl.testing import absltest, parameterized

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_USUAL = "/usr/local/cuda/bin/nvcc"


class _FailError(Exception):
  """What `fail` does."""


class _Path(str):
  exists = True


class _Machine:
  """A repository_ctx on a machine with these compilers.

  Args:
    releases: of CUDA, by path; None for a compiler that does not work.
    named: the variable NVCC.
  """

  def __init__(self, releases: dict[str, str | None], named: str | None = None):
    self.os = types.SimpleNamespace(environ={} if named is None else {"NVCC": named})
    self.config = None
    self._releases = releases

  def path(self, name):
    found = _Path(name)
    found.exists = name in self._releases
    return found

  def which(self, name):
    path = f"/usr/bin/{name}"
    return self.path(path) if path in self._releases else None

  def execute(self, command):
    release = self._releases[command[0]]
    return types.SimpleNamespace(
      return_code=1 if release is None else 0,
      stdout=f"Cuda compilation tools, release {release}, V{release}.0",
      stderr="cannot run",
    )

  def file(self, name, content):
    if name == "config.bzl":
      self.config = content


def _run(machine: _Machine) -> list[str]:
  """Configures a machine; returns what was printed."""

  def fail(message):
    raise _FailError(message)

  printed = []
  names = {"fail": fail, "print": printed.append, "repository_rule": lambda **_: None}
  exec((_ROOT / "third_party/cuda_configure.bzl").read_text(), names)
  names["_cuda_configure_impl"](machine)
  return printed


class CudaConfigureTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, ""),
    ({"/usr/bin/nvcc": "12.4"}, "/usr/bin/nvcc"),
    ({_USUAL: "13.0"}, _USUAL),
    ({"/usr/bin/nvcc": "12.4", _USUAL: "13.0"}, "/usr/bin/nvcc"),
  )
  def test_the_machines_compiler_is_taken(self, releases, taken):
    machine = _Machine(releases)
    self.assertEmpty(_run(machine))
    self.assertEqual(machine.config, f"NVCC = {taken!r}\n")

  @parameterized.parameters(
    ({"/usr/bin/nvcc": "11.8"}, "", "is of CUDA 11, and must be of CUDA 12 or 13"),
    ({"/usr/bin/nvcc": "11.8", _USUAL: "13.0"}, _USUAL, "is of CUDA 11,"),
    ({"/usr/bin/nvcc": None}, "", "--version does not work:\ncannot run"),
  )
  def test_one_that_does_not_do_is_passed_over(self, releases, taken, message):
    machine = _Machine(releases)
    (printed,) = _run(machine)
    self.assertStartsWith(printed, f"/usr/bin/nvcc {message}")
    self.assertEqual(machine.config, f"NVCC = {taken!r}\n")

  @parameterized.parameters(
    ("/opt/nvcc", r'NVCC \("/opt/nvcc"\) must be the path of nvcc'),
    ("/usr/bin/nvcc", "/usr/bin/nvcc is of CUDA 11, .*; set NVCC to another one"),
  )
  def test_one_that_is_named_must_do(self, named, message):
    with self.assertRaisesRegex(_FailError, message):
      _run(_Machine({"/usr/bin/nvcc": "11.8"}, named))

  def test_none_leaves_it_out(self):
    machine = _Machine({"/usr/bin/nvcc": "12.4"}, "none")
    self.assertEmpty(_run(machine))
    self.assertEqual(machine.config, "NVCC = ''\n")


if __name__ == "__main__":
  absltest.main()
