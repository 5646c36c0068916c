"""`liquid_tf.gpu.decode`: stored bytes to images in a GPU's memory."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from typing import TYPE_CHECKING

import numpy as np

from liquid_tf._gpu.finishing import finishing
from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._native import direct_gpu, whole
from liquid_tf._native import limits as _limits
from liquid_tf._native.limits import Limits
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Step

if TYPE_CHECKING:
  from liquid_tf._tensorflow import tf


def problem(device: int = 0) -> str | None:
  """The reason why this process cannot decode on a GPU.

  Args:
    device: the GPU, as CUDA numbers those that it shows the process.

  Returns:
    A sentence with what to do, or None where nothing does.

  Raises:
    ValueError: `device` is no number.
  """
  return direct_gpu.problem(whole.number(device, "device", 0))


def available(device: int = 0) -> bool:
  """Says whether `decode` works here; `problem` gives the reason if not."""
  return problem(device) is None


def decode(
  contents: "Sequence[bytes] | np.ndarray | tf.Tensor",
  *,
  windows: "Sequence[Sequence[int]] | np.ndarray | tf.Tensor | None" = None,
  transforms: Sequence[Step] = (),
  limits: Limits = Limits(),
  device: int = 0,
) -> DeviceArray:
  """Decodes a batch of L3 and raw images, or a window of each, on a GPU.

  It waits for the batch, so that damage is told here; other threads of Python run
  meanwhile. L3 of version 2 is checked against its checksums before it is decoded. A
  window sends only the patches that it meets over the bus. The driver provides the
  memory, in the GPU's primary context; the process keeps that of two batches, beside
  those that you hold.

  Args:
    contents: the bytes of n files of L3, of either version and profile, or raw: a
      sequence, an array [n] of objects or a tensor [n] of strings, as a loader or a
      dataset gives "bytes". All have the same channels and bits, and windows of one
      size.
    windows: integers [n, 4], a (y, x, height, width) in pixels for each image, neither
      side 0; None for all of each.
    transforms: `Normalize` with numbers, `Cast` to float32 or bfloat16, and
      `ChannelsFirst`, of `liquid_tf.transforms`; without the first two images are uint8
      or uint16, as stored.
    limits: the largest whole image that is decoded.
    device: the GPU, as CUDA numbers those that it shows the process.

  Returns:
    A `DeviceArray` [n, height, width, channels] or [n, channels, height, width], which
    every library takes by DLPack without a copy.

  Raises:
    ValueError: an argument is wrong; a file is damaged, larger than `limits` or of
      another format, a window does not fit, or images are of different sizes, channels
      or bits. The message names the image, and of damage the patch and the offset.
    OSError: the GPU has no memory for the batch.
    RuntimeError: there is no such GPU, or it or its driver is too old, see `problem`;
      or the driver reports an error.
  """
  device = whole.number(device, "device", 0)
  _limits.check(limits)
  recipe = finishing(transforms, "gpu.decode")
  found = problem(device)
  if found is not None:
    raise RuntimeError(f"liquid_tf.gpu.decode needs a GPU: {found}")
  files = _files(contents)
  made = direct_gpu.decode(
    files,
    None if windows is None else _windows(windows, len(files)),
    dtype=recipe.dtype,
    mean=recipe.mean or (0,),
    std=recipe.std or (1,),
    planar=recipe.channels_first,
    max_pixels=limits.pixels,
    number=device,
  )
  return DeviceArray(*made, device)


def _files(contents: "Sequence[bytes] | np.ndarray | tf.Tensor") -> list[bytes]:
  # TensorFlow's tensors of strings become arrays of objects.
  if hasattr(contents, "numpy"):
    contents = contents.numpy()
  if isinstance(contents, np.ndarray) and (contents.ndim, contents.dtype) != (1, "O"):
    what = Shown(f"{contents.dtype} {list(contents.shape)}")
    if contents.dtype.kind == "S":
      raise WrongArgument("contents", what, _PADDED)
    raise WrongArgument("contents", what, "must be an array [n] of the bytes of files")
  # Neither the bytes of one file, nor what has no order.
  is_several = isinstance(contents, Iterable) and not isinstance(
    contents, (str, bytes, bytearray, memoryview, Mapping, AnySet)
  )
  files = list(contents) if is_several else []
  if not files:
    what = Shown(f"of {type(contents).__name__}")
    raise WrongArgument("contents", what, "must be a list of the bytes of files")
  for i, file in enumerate(files):
    what = Shown(f"of {type(file).__name__}")
    if isinstance(file, np.bytes_):
      raise WrongArgument(f"contents[{i}]", what, _PADDED)
    if not isinstance(file, bytes):
      raise WrongArgument(f"contents[{i}]", what, "must be the bytes of a file")
  return files


# NumPy's fixed-width strings have no other end than zeros.
_PADDED = (
  "must be Python's bytes, in a list or an array of objects: strings of NumPy lose the "
  "zeros that a file ends with"
)


def _windows(
  windows: "Sequence[Sequence[int]] | np.ndarray | tf.Tensor", n: int
) -> np.ndarray:
  try:
    array = np.asarray(windows)
  except ValueError:  # of unequal rows
    array = np.empty(0, object)
  if array.shape != (n, 4) or array.dtype.kind not in "iu":
    what = Shown(f"{array.dtype} {list(array.shape)}")
    raise WrongArgument("windows", what, f"must be integers [{n}, 4], as files are {n}")
  is_wrong = (array < [0, 0, 1, 1]) | (array > np.iinfo(np.int32).max)
  for i in np.flatnonzero(is_wrong.any(axis=1))[:1]:
    raise WrongArgument(
      f"windows[{i}]",
      tuple(array[i].tolist()),
      "must be a (y, x, height, width) inside of the image",
    )
  return array
