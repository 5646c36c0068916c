"""Downloads a wheel of TensorFlow and unpacks what op libraries are built against.

usage: fetch.py VERSION FOLDER [PLATFORM]

FOLDER gets TensorFlow's headers, its two libraries and its metadata, as site-packages
would have them. Nothing is installed, and the wheel may be one for another Python or
PLATFORM (manylinux_2_17_x86_64), since its C++ does not depend on that Python.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

_PYTHON = "3.11"
_LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")


def _download(version: str, platform: str, folder: str) -> pathlib.Path:
  # Newer wheels are for a newer glibc.
  platforms = [platform, platform.replace("_17_", "_27_")]
  words = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
  words += ["--quiet", "--no-deps", "--only-binary=:all:", f"--dest={folder}"]
  words += [f"--python-version={_PYTHON}"]
  words += [f"--platform={name}" for name in platforms]
  name = "tensorflow-cpu" if platform.endswith("x86_64") else "tensorflow"
  subprocess.run([*words, f"{name}=={version}"], check=True)
  [wheel] = pathlib.Path(folder).glob("*.whl")
  return wheel


def _wanted(name: str) -> bool:
  first, _, rest = name.partition("/")
  return (
    first.endswith(".dist-info")
    or name.startswith("tensorflow/include/")
    or rest in _LIBRARIES
  )


def main(version: str, target: str, platform: str = "manylinux_2_17_x86_64") -> None:
  with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(_download(version, platform, folder)) as wheel:
      names = [name for name in wheel.namelist() if _wanted(name)]
      wheel.extractall(target, names)
  print(f"{target}: TensorFlow {version}, {len(names)} files")


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  main(*sys.argv[1:])
