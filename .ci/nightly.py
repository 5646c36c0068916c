"""Says whether the nightly tests have passed with the code as it is.

usage: nightly.py check | write

The tests of benchmarks, studies, the demo, simulated GPUs and long runs (`make
nightly`) take longer than a gate should. `write` puts a hash of all that they run into
.ci/nightly.sha256, once they have passed; `check` exits with 0 if the code still has
that hash, and with 1 if it has changed since: then .ci/run runs them, too.
"""

import hashlib
import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_STAMP = _ROOT / ".ci" / "nightly.sha256"
# The code that nightly tests run, and themselves.
_COVERED = ("liquid_tf", "ops", "tools", "requirements", "third_party")
_COVERED += (
  "tests/bench",
  "tests/gpu",
  "tests/liquid_tf",
  "tests/scaling",
  "tests/soak",
)
# What was measured before is no code.
_RESULTS = "tools/bench/results/"


def digest() -> str:
  """SHA-256 over the names and contents of all covered files."""
  listed = subprocess.run(
    ["git", "-C", _ROOT, "ls-files", "-z", "--", *_COVERED],
    capture_output=True,
    check=True,
    text=True,
  ).stdout
  whole = hashlib.sha256()
  for name in sorted(filter(None, listed.split("\0"))):
    if name.startswith(_RESULTS):
      continue
    path = _ROOT / name
    contents = path.read_bytes() if path.is_file() else b""
    whole.update(f"{name}\0{len(contents)}\0".encode() + contents)
  return whole.hexdigest()


def main(arguments: list[str]) -> int:
  if arguments == ["write"]:
    _STAMP.write_text(digest() + "\n")
    return 0
  if arguments != ["check"]:
    print(__doc__, file=sys.stderr)
    return 2
  return int(not _STAMP.is_file() or _STAMP.read_text().strip() != digest())


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
