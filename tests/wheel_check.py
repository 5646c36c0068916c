"""Checks an installed wheel: `make wheel-test` runs this outside the checkout."""

import pathlib
import sysconfig

import numpy as np

import liquid_tf
from liquid_tf._native import ops as _ops


def main() -> None:
  site_packages = pathlib.Path(sysconfig.get_path("purelib"))
  package = pathlib.Path(liquid_tf.__file__).parent
  assert package.parent == site_packages, f"{package} is not in {site_packages}"
  assert (package / "py.typed").is_file(), f"{package} has no py.typed"

  ops = _ops.lib()
  pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
  png = ops.liquid_encode_image(pixels, format="png")
  decoded = ops.liquid_decode_image(png, window=[0, 0, 0, 0])
  assert png.numpy().startswith(b"\x89PNG"), png.numpy()[:8]
  np.testing.assert_array_equal(decoded.numpy(), pixels)
  print(f"{package}: imported, encoded and decoded")


if __name__ == "__main__":
  main()
