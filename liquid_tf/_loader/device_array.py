"""Images of a batch in a GPU's memory."""

import math
from typing import Any

from liquid_tf._native import direct_gpu
from liquid_tf._native.direct_gpu import Images


class DeviceArray:
  """Images of a batch in a GPU's memory, complete, for any library that takes DLPack.

  `torch.from_dlpack(array)` and `jax.dlpack.from_dlpack(array)` take them without a
  copy. Their memory is used for another batch once this array, those of the batch's
  other views, and all tensors made of them are gone, and the work given by then to the
  tensors' streams has ended. So work on the stream on which you took them, or keep them
  until what another stream does with them is complete.

  Attributes:
    shape: (n, height, width, channels), or with `ChannelsFirst` (n, channels, height,
      width).
    dtype: NumPy's name of it, or "bfloat16".
    device: number of the GPU, as CUDA numbers those that it shows the process.
  """

  def __init__(self, images: Images, shape: tuple[int, ...], dtype: str, device: int):
    self._images = images
    self.shape, self.dtype, self.device = shape, dtype, device

  def __len__(self) -> int:
    return self.shape[0]

  def __repr__(self) -> str:
    return f"<DeviceArray: {self.dtype}{list(self.shape)} on GPU {self.device}>"

  @property
  def ndim(self) -> int:
    """How many dimensions it has."""
    return len(self.shape)

  @property
  def size(self) -> int:
    """How many elements it has."""
    return math.prod(self.shape)

  def __dlpack_device__(self) -> tuple[int, int]:
    """The kind of device, CUDA, and its number."""
    return direct_gpu.CUDA, self.device

  def __dlpack__(
    self,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
  ) -> Any:
    """Hands the images over; `from_dlpack` of a library calls it.

    Args:
      stream: on which they are used: the address of a CUDA stream, or 1 or None for the
        legacy default stream. It must be there as long as what is made of them. -1, no
        synchronisation, and 2, the default stream of whichever thread, are refused:
        they do not say when the memory is free again.
      max_version: ignored; the capsule is of DLPack before 1.0, which all libraries
        take.
      dl_device: where they are wanted, which must be where they are.
      copy: must not be True.

    Returns:
      A capsule "dltensor".

    Raises:
      BufferError: an argument asks for what cannot be.
    """
    del max_version
    if stream is None:
      stream = 1
    if stream <= 0 or stream == 2:
      raise BufferError(
        f"stream ({stream}) must be None, 1 or the address of a stream: the memory of "
        "the images is used again once that has come so far"
      )
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
      raise BufferError(
        f"dl_device {tuple(dl_device)} must be {self.__dlpack_device__()}, where the "
        "images are"
      )
    if copy:
      raise BufferError("copy (True) must be False or None: the images are not copied")
    return self._images.capsule(stream)
