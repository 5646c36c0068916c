"""Builds the op library and tests the C++ with Bazel 7, in a clean Debian sid.

usage: bazel7_check.py HEADERS [--folder=build/roots] [--mirror=URL] [--jobs=N]

Needs root and debootstrap. HEADERS is a TensorFlow that `make wheels` fetched, such as
build/tensorflow/2.21.0. Debian's packages have the rules that Bazel 7 would download,
and Bazel runs without a network.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import release_check

_PACKAGES = """
bazel-bootstrap bazel-features bazel-platforms bazel-rules-cc bazel-rules-java
bazel-rules-license bazel-rules-proto bazel-rules-python bazel-skylib binutils g++
libbenchmark-dev libdeflate-dev libgmock-dev libgtest-dev libjpeg-dev libprotozero-dev
libssl-dev liburing-dev libwebp-dev libxxhash-dev openssl
""".split()
# Where `make setup` unpacks it.
_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
_CURL = _CACHE / "liquid_tf" / "curl"
# Repositories that are named in WORKSPACE mode, by their folders.
_RULES = {
  "bazel_features": "tools/features",
  "bazel_skylib": "tools/skylib",
  "platforms": "tools/platforms",
  "rules_cc": "rules/cc",
  "rules_java": "rules/java",
  "rules_license": "rules/license",
  "rules_proto": "rules/proto",
  "rules_python": "rules/python",
}

# The server lives in a network of its own, and ends with it.
_BAZEL = """
cd /src && bazel build "$@" //ops:_liquid_ops.so && bazel test "$@" \\
  --test_lang_filters=cc --build_tests_only //tests/ops/...
result=$?; bazel shutdown; exit $result
"""


def _install(root: pathlib.Path) -> None:
  done = release_check.enter(
    root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *_PACKAGES
  )
  if done.returncode:
    sys.exit(done.stderr)


def _lay_out(root: pathlib.Path, headers: pathlib.Path) -> None:
  """The last commit, the headers, and the source of curl."""
  source = root / "src"
  shutil.rmtree(source, ignore_errors=True)
  source.mkdir()
  words = ["git", "archive", "HEAD"]
  tree = subprocess.run(words, cwd=release_check.ROOT, capture_output=True, check=True)
  subprocess.run(["tar", "-x", "-C", str(source)], input=tree.stdout, check=True)
  for name, folder in (("headers", headers), ("curl", _CURL)):
    shutil.rmtree(root / name, ignore_errors=True)
    shutil.copytree(folder, root / name, symlinks=True)


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("headers", type=pathlib.Path)
  parser.add_argument("--folder", default="build/roots", help="where systems lie")
  parser.add_argument("--mirror", default="http://deb.debian.org/debian")
  parser.add_argument("--jobs", default=str(os.cpu_count()))
  flags = parser.parse_args()
  folder = pathlib.Path(flags.folder).absolute()
  folder.mkdir(parents=True, exist_ok=True)
  root = release_check.make_root(folder, "sid", flags.mirror)
  _install(root)
  _lay_out(root, flags.headers)
  options = ["--config=bazel7", f"--jobs={flags.jobs}"]
  options += [
    f"--override_repository={n}=/usr/share/bazel/{p}" for n, p in _RULES.items()
  ]
  env = {
    "USE_BAZEL_VERSION": "",
    "LIQUID_CURL": "/curl",
    "LIQUID_TENSORFLOW": "/headers",
    "PYTHON_BIN_PATH": "/usr/bin/python3",
    "NVCC": "none",
  }
  words = ["sh", "-c", _BAZEL, "sh", *options]
  return release_check.enter(
    root, *words, env=env, network=False, quiet=False
  ).returncode


if __name__ == "__main__":
  sys.exit(main())
