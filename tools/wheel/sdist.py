"""Makes the source distribution, the same bytes for the same commit.

usage: sdist.py FOLDER

SOURCE_DATE_EPOCH is the time of all its files.
"""

import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def _repack(path: pathlib.Path, to: pathlib.Path, time: int) -> None:
  """Copies a .tar.gz with its files in order and without owners and times."""
  data = io.BytesIO()
  with (
    tarfile.open(path) as source,
    tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as target,
  ):
    for member in sorted(source.getmembers(), key=lambda member: member.name):
      if member.isdir():
        continue
      clean = tarfile.TarInfo(member.name)
      clean.size, clean.mtime = member.size, time
      clean.mode = 0o755 if member.mode & 0o100 else 0o644
      target.addfile(clean, source.extractfile(member))
  with open(to, "wb") as file:
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=time) as packed:
      packed.write(data.getvalue())


def main(folder: str) -> None:
  with tempfile.TemporaryDirectory() as scratch:
    command = [sys.executable, "setup.py", "--quiet", "sdist", f"--dist-dir={scratch}"]
    subprocess.run(command, cwd=_ROOT, check=True)
    [made] = pathlib.Path(scratch).iterdir()
    to = pathlib.Path(folder) / made.name
    _repack(made, to, int(os.environ["SOURCE_DATE_EPOCH"]))
  print(to)


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(sys.argv[1])
