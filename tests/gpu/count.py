"""Counts the instructions that the kernels of L3 take, without a GPU.

  PYTHONPATH=.:tests/gpu:tests/liquid_tf python tests/gpu/count.py --input=photo.png

One line for each kernel: instructions of warps for as many pixels as a patch of 64x64
has, and of PTX, which the last compiler makes fewer of.
"""

import fake_cupy
import interpreted
import numpy as np
import skimage.data
import timing
from absl import app, flags
from PIL import Image

from liquid_tf._gpu import batch as _gpu_batch

_INPUT = flags.DEFINE_string(
  "input", None, "an image; none: a portrait of scikit-image"
)
_SIDE = flags.DEFINE_integer("side", 128, "of the part from its middle, in pixels", 64)

_PATCH = 64 * 64
_MAX_PIXELS = 1 << 28
# Format, kernel, element of the result, and elements that it is misplaced by.
_CASES = (
  ("l3 v2", "u8_u8", np.uint8, 0),
  ("l3 v2", "u8_u8", np.uint8, 5),
  ("l3 v2", "u8_f32", np.float32, 0),
  ("l3 v2", "u8_bf16", np.uint16, 0),
  ("l3-compact", "u8_u8", np.uint8, 0),
  ("l3 v1", "u8_u8", np.uint8, 0),
  ("l3 v1", "u8_u8_unpack", np.uint8, 0),
  ("l3 v1", "u8_u8_predict", np.uint8, 0),
  ("l3 v1", "u8_u8_sequential", np.uint8, 0),
)


def _image() -> np.ndarray:
  """The middle of the image that was asked for, uint8 [side, side, 3]."""
  if _INPUT.value is None:
    image = skimage.data.astronaut()
  else:
    image = np.asarray(Image.open(_INPUT.value).convert("RGB"))
  side = _SIDE.value
  if min(image.shape[:2]) < side:
    raise app.UsageError(f"--input: {image.shape[1]}x{image.shape[0]} is under --side")
  y, x = ((length - side) // 2 for length in image.shape[:2])
  return image[y : y + side, x : x + side]


def main(argv):
  if len(argv) > 1:
    raise app.UsageError(f"{argv[1]}: flags are all that is taken")
  image = _image()
  for stored, kernel, element, misplaced in _CASES:
    kernels = interpreted.Kernels(misplaced)
    with fake_cupy.install(run=kernels) as modules:
      _gpu_batch._module.cache_clear()
      file = timing.encode(image, stored)
      plan = _gpu_batch.plan([file], None, _MAX_PIXELS)
      batch = _gpu_batch.DeviceBatch(plan, _gpu_batch.output(plan, False, [0], [1]))
      pixels = modules["cupy"].empty(plan.shape, element)
      batch.run(kernel, pixels)
      batch.check()
    # The first half of a bfloat16 is not the number.
    if element != np.uint16:
      np.testing.assert_array_equal(pixels[0], image)
    count = kernels.issued * _PATCH / image[..., 0].size
    print(
      f"{stored} {kernel} {count:,.0f}"
      + (f", {misplaced} elements off a multiple of 16 bytes" if misplaced else "")
    )


if __name__ == "__main__":
  app.run(main)
