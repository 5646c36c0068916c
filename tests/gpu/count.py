"""Counts the instructions that the kernels of L3 take, without a GPU.

  PYTHONPATH=.:tests/gpu:tests/liquid_tf python tests/gpu/count.py --input=photo.png

One line for each kernel, as compiled for compute capability 9.0: instructions of warps
for as many pixels as a patch of 64x64 has, in all and by the pipe that does them
(pipes.py), and the registers that a thread takes, with the bytes of its stack and of
what is spilled. They are those of PTX, of which machine code has fewer; with --nvdisasm
(PyPI has it as nvidia-cuda-nvdisasm), those of machine code, too.
"""

import functools
import pipes
from collections.abc import Sequence
from typing import NamedTuple

import interpreted
import numpy as np
import ptx
import skimage.data
import timing
from absl import app, flags
from PIL import Image

_INPUT = flags.DEFINE_string(
  "input", None, "an image; none: a portrait of scikit-image"
)
_SIDE = flags.DEFINE_integer(
  "side",
  128,
  "of the part from its middle, in pixels: a warp does up to four patches",
  64,
)
_NVDISASM = flags.DEFINE_string("nvdisasm", None, "the program, to read machine code")

PATCH = 64 * 64


class Case(NamedTuple):
  stored: str
  types: str  # as the kernel's name has them
  misplaced: int = 0  # elements that the result begins behind a multiple of 16 bytes
  verified: bool = True  # the host has checked the bytes, as those of datasets


CASES = (
  Case("l3 v2", "u8_u8"),
  Case("l3 v2", "u8_u8", verified=False),
  Case("l3 v2", "u8_u8", 5),
  Case("l3 v2", "u8_f32"),
  Case("l3 v2", "u8_bf16"),
  Case("l3-compact", "u8_u8"),
  Case("l3 v1", "u8_u8"),
  Case("l3 v1", "u8_u8_unpack"),
  Case("l3 v1", "u8_u8_predict"),
  Case("l3 v1", "u8_u8_sequential"),
)


def portrait(side: int) -> np.ndarray:
  """The middle of a photograph, uint8 [side, side, 3]."""
  return _middle(skimage.data.astronaut(), side)


def _middle(image: np.ndarray, side: int) -> np.ndarray:
  y, x = ((length - side) // 2 for length in image.shape[:2])
  return image[y : y + side, x : x + side]


@functools.cache
def compiled() -> tuple[pipes.Compiled, ptx.Program]:
  """The kernels as machine code, and what it was made of, to run."""
  code = pipes.Compiled(interpreted.source())
  return code, ptx.Program(code.ptx)


def run(image: np.ndarray, case: Case) -> interpreted.Kernels:
  """Decodes the image, which has to come out right; what did it has the counts."""
  _, program = compiled()
  kernels = interpreted.Kernels(case.misplaced, program=program)
  plan = interpreted.plan([timing.encode(image, case.stored)])
  pixels = interpreted.decode(plan, kernels, case.types, verified=case.verified)
  # They do an image in some hundred instructions.
  for kernel in [*kernels.counts]:
    if kernel.name in interpreted.BESIDE:
      del kernels.counts[kernel]
  # The first half of a bfloat16 is not the number.
  if not case.types.endswith("bf16"):
    np.testing.assert_array_equal(pixels[0], image)
  return kernels


def _text(totals, patches: float) -> str:
  parts = [f"{pipe} {totals[pipe] / patches:,.0f}" for pipe in pipes.PIPES]
  return f"{sum(totals.values()) / patches:,.0f} ({', '.join(parts)})"


def main(argv: Sequence[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"{argv[1]}: flags are all that is taken")
  side = _SIDE.value
  if _INPUT.value is None:
    image = portrait(side)
  else:
    image = np.asarray(Image.open(_INPUT.value).convert("RGB"))
    if min(image.shape[:2]) < side:
      raise app.UsageError(
        f"--input: {image.shape[1]}x{image.shape[0]} is under --side"
      )
    image = _middle(image, side)
  patches = image[..., 0].size / PATCH
  for case in CASES:
    kernels = run(image, case)
    code, _ = compiled()
    print(
      f"{case.stored} {case.types}"
      + (
        f", {case.misplaced} elements off a multiple of 16 bytes" * (case.misplaced > 0)
      )
      + ", with its checksum" * (not case.verified)
    )
    print(f"  PTX {kernels.issued / patches:,.0f}")
    print(f"  PTX by pipe {_text(pipes.of_ptx(kernels.counts), patches)}")
    if _NVDISASM.value:
      totals = code.of_machine_code(kernels.counts, _NVDISASM.value)
      print(f"  machine code {_text(totals, patches)}")
    for kernel in kernels.counts:
      print(f"  {kernel.name}: {code.resources[kernel.name]}")


if __name__ == "__main__":
  app.run(main)
