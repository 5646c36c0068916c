"""Checks an installed wheel: `make wheel-test` runs this outside the checkout.

usage: wheel_check.py WHEEL
"""

import importlib.metadata
import json
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import numpy as np
import tensorflow as tf

import liquid_tf
from liquid_tf import codecs
from liquid_tf._native import library

_MOST_BYTES = 25 << 20


def _check_wheel(path: pathlib.Path) -> None:
  """What is in the file, whatever of it is installed."""
  name, version, python, abi, platform = path.stem.split("-")
  assert (name, python, abi) == ("liquid_tf", "py3", "none"), path.name
  assert "+" not in version, path.name
  assert platform.startswith("manylinux_2_34_"), path.name
  assert path.stat().st_size <= _MOST_BYTES, f"{path}: {path.stat().st_size} bytes"
  with zipfile.ZipFile(path) as wheel:
    names = wheel.namelist()
    wrong = [n for n in names if n.endswith((".pyc", "BUILD")) or ".libs/" in n]
    assert not wrong, wrong
    metadata = f"liquid_tf-{version}.dist-info"
    bill = json.loads(wheel.read(f"{metadata}/sboms/liquid_tf.cdx.json"))
    notice = wheel.read(f"{metadata}/licenses/NOTICE").decode()
  libraries = {name for name in names if name.endswith(".so")}
  engines = {name for name in libraries if name.endswith("/libliquid_engine.so")}
  ops = libraries - engines
  assert len(engines) == 1 and ops, libraries
  assert all("/_liquid_ops_tf2" in name for name in ops), libraries
  parts = {part["name"]: part["version"] for part in bill["components"]}
  assert "libjpeg-turbo" in parts and all(parts.values()), parts
  lacking = [part for part in parts if f"\n{part}\n" not in notice]
  assert not lacking, f"NOTICE lacks {lacking}"
  kit = {name.partition("_kit/")[2] for name in names if "/_kit/" in name}
  assert {"engine.lds", "kit.json", "exports.lds", "ops/kernel/version.cc"} <= kit, kit
  assert not [name for name in kit if name.endswith(".a")], kit
  print(f"{path.name}: {path.stat().st_size} bytes, {len(ops)} op libraries")


def _check_metadata() -> None:
  metadata = importlib.metadata.metadata("liquid_tf")
  extras = set(metadata.get_all("Provides-Extra"))
  libraries = {"s3", "parquet", "tiff", "beam", "gpu", "plot"}
  assert extras == {"tensorflow", "cpu"} | libraries, extras
  needed = [line for line in metadata.get_all("Requires-Dist") if "extra" not in line]
  assert not [line for line in needed if line.startswith("tensorflow")], needed
  assert metadata["License-Expression"] == "Apache-2.0", metadata["License-Expression"]


def _check_package() -> None:
  site_packages = pathlib.Path(sysconfig.get_path("purelib"))
  package = pathlib.Path(liquid_tf.__file__).parent
  assert package.parent == site_packages, f"{package} is not in {site_packages}"
  minor = "".join(tf.__version__.split(".")[:2])
  for name in ("py.typed", "__init__.pyi", library.ENGINE, f"_liquid_ops_tf{minor}.so"):
    assert (package / name).is_file(), f"{package} has no {name}"
  pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
  png = codecs.encode(pixels, "png")
  assert png.numpy().startswith(b"\x89PNG"), png.numpy()[:8]
  np.testing.assert_array_equal(codecs.decode(png).numpy(), pixels)
  print(f"{package}: imported, encoded and decoded")


def _check_refusal() -> None:
  """What another TensorFlow is told."""
  code = (
    "import tensorflow as tf; tf.__version__ = '2.99.0'; "
    "from liquid_tf import codecs; codecs.peek(b'')"
  )
  done = subprocess.run(
    [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=240
  )
  served = ", ".join(library.packaged())
  version = importlib.metadata.version("liquid_tf")
  expected = (
    f"ImportError: liquid_tf {version} serves TensorFlow {served}, and this is "
    "TensorFlow 2.99.0: install one of those, or run `liquid-tf build-ops`, which "
    "builds the ops for this one"
  )
  assert done.stderr.splitlines()[-1] == expected, done.stderr
  print(expected)


def _run(*words: str) -> str:
  """Runs the console script; returns what it prints to stdout."""
  script = pathlib.Path(sys.executable).with_name("liquid-tf")
  command = [sys.executable, "-I", script, *words]
  done = subprocess.run(command, capture_output=True, text=True, timeout=240)
  assert done.returncode == 0, f"{command}: {done.stderr}"
  return done.stdout


def _check_commands(folder: pathlib.Path) -> None:
  assert "liquid-tf convert" in _run("--help")
  for command in "convert edit export profile inspect service demo build-ops".split():
    assert "Flags:" in _run(command, "--help"), command
  random = np.random.default_rng(0)
  photos = folder / "photos" / "a"
  photos.mkdir(parents=True)
  for i in range(16):
    pixels = random.integers(0, 256, (32, 32, 3), np.uint8)
    (photos / f"{i}.png").write_bytes(codecs.encode(pixels, "png").numpy())
  dataset, profile = str(folder / "photos.liquid"), str(folder / "profile.json")
  source = f"--input={photos.parent}"
  _run("convert", source, f"--output={dataset}", "--mix=png:1,raw:1")
  found = json.loads(_run("inspect", dataset, "--verify", "--json"))
  assert found["samples"] == found["verified"] == 16, found
  script = pathlib.Path(sys.executable).with_name("liquid-tf")
  words = ["profile", source, f"--output={profile}", "--formats=png,raw"]
  quick = ["--trials=2", "--seconds=.05", "--batch_size=4"]
  done = subprocess.run([sys.executable, "-I", script, *words, *quick], timeout=240)
  # A busy machine gets no advice.
  assert done.returncode in (0, 3), done
  measured = json.loads(
    _run(
      "measure",
      f"--dataset={dataset}",
      "--batch_size=4",
      "--epochs=2",
      "--rounds=1",
      "--json",
    )
  )
  assert measured["images_per_s"] > 0, measured
  print("liquid-tf: convert, inspect, profile and measure run")


def main(wheel: str) -> None:
  _check_wheel(pathlib.Path(wheel))
  _check_metadata()
  _check_package()
  _check_refusal()
  with tempfile.TemporaryDirectory() as folder:
    _check_commands(pathlib.Path(folder))


if __name__ == "__main__":
  main(*sys.argv[1:])
