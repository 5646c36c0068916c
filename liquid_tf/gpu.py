"""L3 and raw images decoded on a GPU, from their stored bytes.

Compressed bytes cross the bus, and pixels are made in the GPU's memory, by a kernel
for each format of a batch: patches, and the pixels of a row, in parallel (L3, ECCV
'22, 4.4). `decode` needs a driver and no other library, and gives an array that every
library takes by DLPack:

    steps = [Normalize(127.5, 127.5), ChannelsFirst()]
    images = liquid_tf.gpu.decode(files, transforms=steps)
    step(torch.from_dlpack(images))

`liquid_tf.loader(..., decode="gpu")` gives PyTorch and JAX the batches of a dataset,
decoded while the step before runs, of JPEG too and with all transforms. In a TensorFlow
that has a GPU, `liquid_tf.dataset(..., decode="gpu")` decodes under the training step,
and the layer `Decode` inside of it.

All need a GPU of compute capability 7.5 (Turing) or later, with a driver as new as the
CUDA that compiled the kernels.
"""

from typing import TYPE_CHECKING

import lazy_loader

from liquid_tf import _extras

if TYPE_CHECKING:
  from liquid_tf._gpu.decode import available, decode, problem
  from liquid_tf._gpu.layer import Decode

__all__ = ["Decode", "available", "decode", "problem"]

# `Decode` alone needs TensorFlow.
_attribute, __dir__, _ = lazy_loader.attach(
  "liquid_tf",
  submod_attrs={
    "_gpu.decode": ["available", "decode", "problem"],
    "_gpu.layer": ["Decode"],
  },
)


def __getattr__(name: str) -> object:
  with _extras.explained():
    return _attribute(name)
