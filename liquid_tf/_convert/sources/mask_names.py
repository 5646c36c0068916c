"""Which mask is whose: by the names of files."""

import array
import dataclasses
import os

from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf.errors import ConvertError


@dataclasses.dataclass(frozen=True)
class MaskNames:
  """How the name of a mask follows from that of its image, extensions aside.

  Attributes:
    image: what an image's name ends with; it is taken off.
    mask: what is put there for the mask's name.
  """

  image: bytes = b""
  mask: bytes = b""

  @classmethod
  def parse(cls, suffix: str) -> "MaskNames":
    """Reads MASK_SUFFIX or IMAGE_SUFFIX:MASK_SUFFIX.

    Raises:
      ValueError: it is neither.
    """
    image, _, mask = suffix.rpartition(":")
    if not suffix.strip(":") or ":" in image or "/" in suffix:
      raise ValueError(
        f'mask_suffix ("{suffix}") must be what masks\' names have after their '
        'images\', as "_mask", or both ends, as "_leftImg8bit:_gtFine_labelIds"'
      )
    return cls(os.fsencode(image), os.fsencode(mask))

  def mask_of(self, image: bytes) -> bytes | None:
    """Path of the mask of an image, without extension; None for what is no image."""
    stem = os.path.splitext(image)[0]
    if not stem.endswith(self.image):
      return None
    return stem.removesuffix(self.image) + self.mask

  def stem_of(self, mask: bytes) -> bytes | None:
    """Path of a mask without extension; None for a file that is no mask."""
    stem = os.path.splitext(mask)[0]
    return stem if stem.endswith(self.mask) else None


SAME_NAMES = MaskNames()


def pair(
  images: FileTable,
  masks: FileTable,
  folder: str,
  names: MaskNames,
  skipped: list[tuple[str, str]],
) -> PairTable:
  """Gives each image its mask.

  Args:
    images: the files of the source.
    masks: the files of the folder of masks. One without the suffix of masks is none,
      and left alone.
    folder: of the masks.
    names: which belong together.
    skipped: gets (path, reason) of images without a mask, and of masks without an
      image.

  Raises:
    ConvertError: an image has two masks, or none has any.
  """
  by_stem: dict[bytes, int] = {}
  for number in range(len(masks)):
    stem = names.stem_of(masks.path(number))
    if stem is None:
      continue
    if stem in by_stem:
      raise ConvertError(
        f'masks ("{folder}") must hold one mask an image, but has '
        f"{masks[by_stem[stem]].path} and {masks[number].path}"
      )
    by_stem[stem] = number
  used = bytearray(len(masks))
  image_of, mask_of = array.array("q"), array.array("q")
  for number in range(len(images)):
    wanted = names.mask_of(images.path(number))
    mask = by_stem.get(wanted)
    if wanted is None:
      skipped.append(
        (images[number].path, f"does not end in {os.fsdecode(names.image)}")
      )
    elif mask is None:
      skipped.append((images[number].path, "has no mask"))
    else:
      image_of.append(number)
      mask_of.append(mask)
      used[mask] = True
  if len(images) and not image_of:
    raise ConvertError(_nothing_fits(images, masks, folder, names))
  name = os.path.basename(os.path.abspath(folder))
  for number in by_stem.values():
    if not used[number]:
      skipped.append((f"{name}/{masks[number].path}", "is a mask without an image"))
  return PairTable(images, masks, image_of, mask_of)


def _nothing_fits(
  images: FileTable, masks: FileTable, folder: str, names: MaskNames
) -> str:
  image = images.path(0)
  wanted = names.mask_of(image)
  looked_for = (
    f"does not end in {os.fsdecode(names.image)}"
    if wanted is None
    else f"would have {os.fsdecode(wanted)} with any extension"
  )
  paths = (masks.path(number) for number in range(len(masks)))
  nearest = max(
    paths, key=lambda path: len(os.path.commonprefix([path, image])), default=None
  )
  there = "holds no files" if nearest is None else f"has {os.fsdecode(nearest)}"
  return (
    f'masks ("{folder}") fit none of the {len(images)} images: {os.fsdecode(image)} '
    f"{looked_for}, and the folder {there}; say how names differ, with "
    'mask_suffix="_mask", or both ends: mask_suffix="_leftImg8bit:_gtFine_labelIds"'
  )
