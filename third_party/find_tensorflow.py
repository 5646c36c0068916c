"""Prints where TensorFlow lies and its version, as JSON, without importing it.

usage: find_tensorflow.py [FOLDER]

FOLDER holds the package `tensorflow` beside its metadata, as site-packages does, and so
does a wheel that was unpacked. Without it, the TensorFlow of this Python is meant.
"""

import importlib.metadata
import importlib.util
import json
import pathlib
import sys


def main(arguments: list[str]) -> None:
  if arguments:
    site = pathlib.Path(arguments[0]).resolve()
  else:
    spec = importlib.util.find_spec("tensorflow")
    if spec is None:
      sys.exit(f"{sys.executable} has no TensorFlow")
    site = pathlib.Path(spec.origin).parents[1]
  # It is installed under several names, such as tensorflow-cpu.
  for found in importlib.metadata.distributions(path=[str(site)]):
    files = (found.read_text("RECORD") or "").splitlines()
    if any(line.startswith("tensorflow/__init__.py,") for line in files):
      place = str(site / "tensorflow")
      print(json.dumps({"package": place, "version": found.version}))
      return
  sys.exit(f"{site} has no TensorFlow with its metadata")


if __name__ == "__main__":
  main(sys.argv[1:])
