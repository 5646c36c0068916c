"""L3 decoded on a GPU.

Compressed bytes cross the bus, and pixels are made in the GPU's memory, by a kernel
for each format of a batch: patches, and the pixels of a row, in parallel (L3, ECCV
'22, 4.4). `decode` works through CuPy, with any build of TensorFlow, and
gives an array that every library takes by DLPack:

    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
      steps = [Normalize(127.5, 127.5), ChannelsFirst()]
      images = liquid_tf.gpu.decode(files, transforms=steps)
    step(torch.from_dlpack(images))

The stream is that of the step, since when the last reference to the images goes, CuPy
may give their memory to the next batch, in the order of its own current stream alone.
Code that decodes on another stream keeps the images until the step that reads them has
ended:

    loss = step(jax.dlpack.from_dlpack(images))
    jax.block_until_ready(loss)

`liquid_tf.loader(..., decode="gpu")` gives PyTorch and JAX images without CuPy.
In a TensorFlow that has a GPU, `liquid_tf.dataset(..., decode="gpu")` decodes under the
training step, and the layer `Decode` inside of it.

All need a GPU of compute capability 7.5 (Turing) or later, with a driver as new as the
CUDA that compiled the kernels, and `decode` needs `cupy-cuda12x` or `cupy-cuda13x`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from liquid_tf import _extras
from liquid_tf._gpu import batch as _gpu_batch
from liquid_tf._gpu.layer import Decode
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf
from liquid_tf.transforms import Step

if TYPE_CHECKING:
  import cupy

__all__ = ["Decode", "available", "decode", "problem"]

_OLDEST = 75  # compute capability
_STORED = {8: tf.uint8, 16: tf.uint16}
_KERNEL = {tf.uint8: "u8", tf.uint16: "u16", tf.float32: "f32", tf.bfloat16: "bf16"}


def problem() -> str | None:
  """The reason why this process cannot decode on a GPU.

  Returns:
    A sentence with what to do, or None where nothing does.
  """
  try:
    import cupy
  except ImportError as error:
    needed = _extras.sentence("cupy")
    return f"{needed}, or install cupy-cuda13x, as the driver needs ({error})"
  try:
    count = cupy.cuda.runtime.getDeviceCount()
  except cupy.cuda.runtime.CUDARuntimeError as error:
    return f"CUDA finds no GPU ({error}): nvidia-smi must show one"
  if count == 0:
    return "CUDA finds no GPU: CUDA_VISIBLE_DEVICES may hide it"
  device = cupy.cuda.Device()
  if int(device.compute_capability) < _OLDEST:
    return (
      f"GPU {device.id} has compute capability {device.compute_capability}, and must "
      f"have {_OLDEST} or more"
    )
  return None


def available() -> bool:
  """Says whether `decode` works here; `problem` gives the reason if not."""
  return problem() is None


def decode(
  contents: tf.Tensor | Sequence[bytes],
  *,
  windows: tf.Tensor | Sequence[Sequence[int]] | None = None,
  transforms: Sequence[Step] = (),
  limits: Limits = Limits(),
) -> "cupy.ndarray":
  """Decodes a batch of L3 and raw images, or a window of each, on the current GPU.

  It runs on CuPy's current device and stream, and waits for that stream, so that damage
  is told here. What reads the images on another stream must have ended when the last
  reference to them goes, since CuPy uses their memory again without waiting for it. L3
  of version 2 is checked against its checksums before it is decoded. A window sends
  only the patches that it meets over the bus.

  Args:
    contents: string [n], the bytes of n files of L3, of either version and profile, or
      raw. All have the same channels and bits, and windows of one size.
    windows: int32 [n, 4], a (y, x, height, width) in pixels for each image; None for
      all of each.
    transforms: `Normalize`, `Cast` to float32 or bfloat16, and `ChannelsFirst`, of
      `liquid_tf.transforms`; without the first two images are uint8 or uint16, as
      stored. Most releases of CuPy give other libraries bfloat16 only as its bits,
      `images.view("int16")`.
    limits: the largest whole image that is decoded.

  Returns:
    A cupy.ndarray [n, height, width, channels] or [n, channels, height, width].

  Raises:
    RuntimeError: there is no GPU, or no CuPy, see `problem`; or the driver is older
      than the CUDA that compiled the kernels.
    ValueError: a step is wrong.
    tf.errors.DataLossError: an image is damaged; the message names it, the patch and
      the offset.
    tf.errors.InvalidArgumentError: a file of another format, a window that does not
      fit, or images of different sizes, channels or bits.
    tf.errors.ResourceExhaustedError: an image is larger than `limits`.
  """
  recipe = _gpu_batch.finishing(transforms, "gpu.decode")
  found = problem()
  if found is not None:
    raise RuntimeError(f"liquid_tf.gpu.decode needs a GPU: {found}")
  import cupy

  plan = _gpu_batch.plan(contents, windows, limits.pixels)
  n, height, width, channels = plan.shape
  stored = _STORED[plan.bits]
  recipe.check_channels(channels)
  chosen = tf.as_dtype(recipe.dtype) if recipe.dtype else stored
  planar = recipe.channels_first
  output = _gpu_batch.output(plan, planar, recipe.mean or (0,), recipe.std or (1,))
  batch = _gpu_batch.DeviceBatch(plan, output)
  shape = (n, channels, height, width) if planar else (n, height, width, channels)
  # CuPy makes no array of bfloat16, but shows one as it.
  made = np.uint16 if chosen == tf.bfloat16 else chosen.as_numpy_dtype
  pixels = cupy.empty(shape, made)
  batch.run(f"{_KERNEL[stored]}_{_KERNEL[chosen]}", pixels)
  batch.check()
  return pixels.view(chosen.as_numpy_dtype) if chosen == tf.bfloat16 else pixels
