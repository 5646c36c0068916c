"""Makes a wheel of the package, and of the engine and op libraries that lie in it.

`make wheels` lays them out. A wheel has an op library for each minor version of
TensorFlow that it serves, and serves any Python 3 of the package. An editable install
(`pip install -e .`) finds the libraries that Bazel built, and needs none here.
"""

import os
import pathlib
import runpy
import shutil
import struct

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel

_ROOT = pathlib.Path(__file__).parent
_PACKAGE = _ROOT / "liquid_tf"
_BILL = _ROOT / "liquid_tf.cdx.json"
# Of an ELF header, after 18 bytes.
_MACHINES = {62: "x86_64", 183: "aarch64"}


def _libraries() -> list[pathlib.Path]:
  return sorted(_PACKAGE.glob("*.so"))


def _machine(library: pathlib.Path) -> str:
  (number,) = struct.unpack("<H", library.read_bytes()[18:20])
  return _MACHINES[number]


class _NativeDistribution(setuptools.Distribution):
  """Holds native code, although setuptools compiles none."""

  def has_ext_modules(self):
    return True


class _Wheel(bdist_wheel):
  """Tags the wheel for its libraries, and adds what they contain."""

  def get_tag(self):
    machines = {_machine(library) for library in _libraries()}
    if not machines:
      return super().get_tag()  # of an editable install
    [machine] = machines
    # tests/symbols_test.py holds the libraries to this.
    return "py3", "none", f"manylinux_2_34_{machine}"

  def run(self):
    if not _libraries() or not _BILL.exists():
      raise SystemExit(
        "no library lies in liquid_tf/: install a wheel of liquid_tf, or run "
        "`make wheels` in a checkout or an unpacked source distribution, which builds "
        "them with Bazel and makes a wheel."
      )
    super().run()

  def egg2dist(self, egginfo_path, distinfo_path):
    super().egg2dist(egginfo_path, distinfo_path)
    if not _BILL.exists():
      return  # An editable install, which holds no library.
    bills = pathlib.Path(distinfo_path) / "sboms"
    bills.mkdir()
    shutil.copyfile(_BILL, bills / _BILL.name)


# setuptools' copies take their modes from the umask, and the wheel takes them along.
os.umask(0o022)
setuptools.setup(
  version=runpy.run_path(str(_PACKAGE / "_version.py"))["__version__"],
  distclass=_NativeDistribution,
  cmdclass={"bdist_wheel": _Wheel},
)
