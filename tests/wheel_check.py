"""Checks an installed wheel: `make wheel-test` runs this outside the checkout."""

import json
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np

import liquid_tf
from liquid_tf import codecs


def _check_package() -> None:
  site_packages = pathlib.Path(sysconfig.get_path("purelib"))
  package = pathlib.Path(liquid_tf.__file__).parent
  assert package.parent == site_packages, f"{package} is not in {site_packages}"
  for name in ("py.typed", "__init__.pyi"):
    assert (package / name).is_file(), f"{package} has no {name}"
  pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
  png = codecs.encode_png(pixels)
  assert png.numpy().startswith(b"\x89PNG"), png.numpy()[:8]
  np.testing.assert_array_equal(codecs.decode_png(png).numpy(), pixels)
  print(f"{package}: imported, encoded and decoded")


def _run(*words: str) -> str:
  """Runs the console script; returns what it prints to stdout."""
  script = pathlib.Path(sys.executable).with_name("liquid-tf")
  command = [sys.executable, "-I", script, *words]
  done = subprocess.run(command, capture_output=True, text=True, timeout=240)
  assert done.returncode == 0, f"{command}: {done.stderr}"
  return done.stdout


def _check_commands(folder: pathlib.Path) -> None:
  assert "liquid-tf convert" in _run("--help")
  for command in ("convert", "export", "profile", "inspect", "service", "demo"):
    assert "Flags:" in _run(command, "--help"), command
  random = np.random.default_rng(0)
  photos = folder / "photos" / "a"
  photos.mkdir(parents=True)
  for i in range(16):
    pixels = random.integers(0, 256, (32, 32, 3), np.uint8)
    (photos / f"{i}.png").write_bytes(codecs.encode_png(pixels).numpy())
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
  bench = json.loads(
    _run(
      "bench",
      "pipeline",
      f"--dataset={dataset}",
      "--batch_size=4",
      "--epochs=2",
      "--rounds=1",
      "--json",
    )
  )
  assert bench["images_per_s"] > 0, bench
  print("liquid-tf: convert, inspect, profile and bench run")


def main() -> None:
  _check_package()
  with tempfile.TemporaryDirectory() as folder:
    _check_commands(pathlib.Path(folder))


if __name__ == "__main__":
  main()
