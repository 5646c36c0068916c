"""The steps that finish stored images on a GPU."""

from collections.abc import Iterable

from liquid_tf._pipeline.recipe import Recipe
from liquid_tf.transforms import Cast, ChannelsFirst, Normalize, Step, by_slot


def finishing(transforms: Iterable[Step], where: str) -> Recipe:
  """Checks the steps that finish images on a GPU: normalising, type and layout.

  Args:
    transforms: Normalize, Cast and ChannelsFirst.
    where: who takes them, as an error says it.

  Raises:
    ValueError: a step is wrong, or none that the kernels do.
  """
  found = by_slot(transforms, (Normalize, Cast, ChannelsFirst), where)
  cast = found.get("cast")
  if cast == Cast("float16"):
    raise ValueError(f"transforms: {cast} must be float32 or bfloat16 on a GPU")
  normalize = found.get("normalize")
  if normalize is not None and normalize.mean_image is not None:
    raise ValueError(
      f"transforms: {normalize} must have a mean, not an image, on a GPU"
    )
  return Recipe.parse(found.values())
