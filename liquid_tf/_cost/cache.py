"""Cache that lasts between epochs, in memory, on a GPU and on a local disk."""

import dataclasses
import os
from typing import Any

from liquid_tf._cost import budget
from liquid_tf._store import storage
from liquid_tf.errors import WrongArgument

FORMS = ("encoded", "pixels")

_LEAST_DISK = 1 << 20


@dataclasses.dataclass(frozen=True)
class Cache:
  """Cache that lasts between epochs, in memory, on a GPU and on a local disk.

  With `disk`, of the records that memory does not keep, a part lies in a file on a
  local disk: a *tier* between the dataset's storage and memory. Which ones, a plan
  says, so that every batch takes as much from the storage as any other
  (docs/explain/tier.md). The order of samples never depends on it.

  With `gpu`, of the records that stay between epochs, as many as fit lie in the memory
  of the GPU that decodes them, compressed, and the others in the host's: from the
  second epoch on no byte of their images crosses the bus (docs/gpu.md). Nor does the
  order of samples depend on that, unless the size is "auto": then more are kept.

  Attributes:
    size: a share of the dataset ("30%"), bytes ("2GiB"), 0, or "auto" for what fits
      into `memory`, and beside it into `gpu`.
    form: "encoded" keeps the stored bytes. "pixels" keeps whole decoded images, and
      masks where these are among the features: a kept sample is decoded once and then
      copied, so epochs cost less processor time; but the same bytes hold fewer samples.
      `Profile.cache_form` says which is faster. Not with the format pcr, nor where the
      features have no decoded image.
    disk: a folder on a local disk for the tier; None for none. Its file has no name and
      goes with the process. Not with the format pcr, weights, mixtures or `epochs`.
    disk_size: most bytes of the tier ("200GiB"), of each process and dataset by itself;
      it takes no more than the dataset has.
    gpu: most bytes of the GPU's memory ("40GB"), of each process and dataset by itself;
      it takes no more than what is kept. Only with decode="gpu" and the form "encoded";
      not with a disk, weights, mixtures or `epochs`.

  Raises:
    ValueError: the form is unknown, the disk is wrong, or `gpu` is no bytes, or given
      with another form or a disk. A wrong size is told by `dataset`.
  """

  size: int | str = "auto"
  form: str = "encoded"
  disk: str | os.PathLike | None = None
  disk_size: int | str = 0
  gpu: int | str = 0

  def __post_init__(self):
    if self.form not in FORMS:
      raise WrongArgument(
        "Cache: form", self.form, f"must be one of {', '.join(FORMS)}"
      )
    if self.disk is None and self.disk_size != 0:
      raise WrongArgument(
        "Cache: disk_size", self.disk_size, "needs disk, the folder to take it in"
      )
    if self.disk is not None:
      object.__setattr__(self, "disk", storage.absolute(self.disk))
    if self.disk is not None and self.disk_bytes < _LEAST_DISK:
      raise WrongArgument(
        "Cache: disk_size",
        self.disk_size,
        'must be at least 1MiB, such as "200GiB", with disk',
      )
    if self.gpu_bytes and self.form != "encoded":
      raise WrongArgument("Cache: form", self.form, 'must be "encoded" with gpu')
    if self.gpu_bytes and self.disk is not None:
      raise WrongArgument("Cache: disk", self.disk, "must be None with gpu")

  @property
  def disk_bytes(self) -> int:
    """Most bytes of the tier."""
    try:
      return budget.parse_bytes(self.disk_size, "disk_size")
    except ValueError:
      raise WrongArgument(
        "Cache: disk_size", self.disk_size, 'must be bytes, such as "200GiB"'
      ) from None

  @property
  def gpu_bytes(self) -> int:
    """Most bytes of the GPU's memory."""
    try:
      return budget.parse_bytes(self.gpu, "gpu")
    except ValueError:
      raise WrongArgument(
        "Cache: gpu", self.gpu, 'must be bytes, such as "40GB"'
      ) from None


def of(cache: Any) -> Cache:
  """An argument that is a `Cache` or its size."""
  return cache if isinstance(cache, Cache) else Cache(cache)
