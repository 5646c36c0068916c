"""Lays out the package with its libraries, for setup.py to make a wheel of.

The engine and the op libraries are stripped, and these named for their TensorFlow.
Beside them goes the kit from which `liquid-tf build-ops` builds others, and a list of
the libraries that the engine contains. The same inputs give the same bytes, and modes
that no umask changes.
"""

import argparse
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_BESIDE = ("LICENSE", "NOTICE", "README.md", "pyproject.toml", "setup.py")
_MARKER = re.compile(rb"liquid_ops built for TensorFlow (\d+)\.(\d+)")
_ENGINE_ID = re.compile(rb"LIQUID_ENGINE_[0-9a-f]{16}")

# As Bazel knows the libraries: name, licence, and the site of its authors.
_PARTS = {
  "curl": ("curl", "curl", "https://curl.se"),
  "deflate": ("libdeflate", "MIT", "https://github.com/ebiggers/libdeflate"),
  "jpeg": (
    "libjpeg-turbo",
    "IJG AND BSD-3-Clause AND Zlib",
    "https://libjpeg-turbo.org",
  ),
  "protozero": (
    "protozero",
    "BSD-2-Clause AND Apache-2.0",
    "https://github.com/mapbox/protozero",
  ),
  "ssl": ("OpenSSL", "Apache-2.0", "https://www.openssl.org"),
  "uring": ("liburing", "MIT", "https://git.kernel.dk/cgit/liburing"),
  "webp": (
    "libwebp",
    "BSD-3-Clause",
    "https://chromium.googlesource.com/webm/libwebp",
  ),
  "xxhash": ("xxHash", "BSD-2-Clause", "https://github.com/Cyan4973/xxHash"),
}


def _component(name: str, package: str, version: str) -> dict:
  if not version:
    raise SystemExit(
      f"the version of {name} is not known: build wheels on Debian or Ubuntu, whose "
      "package database has it"
    )
  title, licence, site = _PARTS[name]
  purl = f"pkg:deb/debian/{package}@{version.replace(':', '%3A')}"
  return {
    "type": "library",
    "bom-ref": purl,
    "name": title,
    "version": version,
    "purl": purl,
    "licenses": [{"expression": licence}],
    "externalReferences": [{"type": "website", "url": site}],
  }


def bill_of_materials(libraries: dict[str, list[str]], version: str) -> dict:
  """A CycloneDX document of what the engine contains.

  Args:
    libraries: [package, version] of Debian by the names that Bazel gives them.
    version: of this package.
  """
  parts = [_component(name, *libraries[name]) for name in sorted(libraries)]
  root = f"pkg:pypi/liquid-tf@{version}"
  return {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "metadata": {
      "component": {
        "type": "library",
        "bom-ref": root,
        "name": "liquid-tf",
        "version": version,
        "purl": root,
        "licenses": [{"expression": "Apache-2.0"}],
      }
    },
    "components": parts,
    "dependencies": [{"ref": root, "dependsOn": [part["bom-ref"] for part in parts]}],
  }


def _copy_library(path: str, to: pathlib.Path) -> None:
  shutil.copyfile(path, to)
  subprocess.run([os.environ.get("STRIP", "strip"), "--strip-all", to], check=True)


def _copy_op_library(path: str, package: pathlib.Path) -> None:
  found = _MARKER.search(pathlib.Path(path).read_bytes())
  if not found:
    raise SystemExit(f"{path} is not an op library")
  name = f"_liquid_ops_tf{found[1].decode()}{found[2].decode()}.so"
  _copy_library(path, package / name)


def _check_ids(package: pathlib.Path) -> None:
  """Sees that all that is laid out is for one engine."""
  paths = [*sorted(package.glob("*.so")), package / "_kit" / "engine.lds"]
  ids = {path.name: _ENGINE_ID.findall(path.read_bytes())[:1] for path in paths}
  if len({tuple(found) for found in ids.values()}) != 1 or not all(ids.values()):
    raise SystemExit(f"these are of several engines: {ids}")


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--stage", required=True, help="folder to make")
  parser.add_argument("--kit", required=True, help="folder that //ops:kit made")
  parser.add_argument("--engine", required=True, help="libliquid_engine.so")
  parser.add_argument("libraries", nargs="+", help="op libraries")
  flags = parser.parse_args()
  stage = pathlib.Path(flags.stage)
  shutil.rmtree(stage, ignore_errors=True)
  package = stage / "liquid_tf"
  ignored = shutil.ignore_patterns("__pycache__", "BUILD", "*.so")
  shutil.copytree(_ROOT / "liquid_tf", package, ignore=ignored)
  shutil.copytree(flags.kit, package / "_kit")
  for path in package.rglob("*"):
    path.chmod(0o755 if path.is_dir() else 0o644)
  _copy_library(flags.engine, package / "libliquid_engine.so")
  for path in flags.libraries:
    _copy_op_library(path, package)
  _check_ids(package)
  for name in _BESIDE:
    shutil.copy(_ROOT / name, stage)
  version = runpy.run_path(str(package / "_version.py"))["__version__"]
  parts = json.loads((package / "_kit" / "libraries.json").read_text())
  bill = bill_of_materials(parts, version)
  (stage / "liquid_tf.cdx.json").write_text(json.dumps(bill, indent=2) + "\n")
  for path in stage.rglob("*"):
    path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)


if __name__ == "__main__":
  main()
