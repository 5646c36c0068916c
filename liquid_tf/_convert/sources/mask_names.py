"""Pairs masks with images by the names of files."""

import dataclasses
import os

import numpy as np

from liquid_tf._convert.sources import alike
from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._words import argument, few, setting
from liquid_tf.errors import ConvertError, WrongArgument


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
      raise WrongArgument(
        "mask_suffix",
        suffix,
        "must be what masks' names have after their images', as \"_mask\", or both "
        'ends, as "_leftImg8bit:_gtFine_labelIds"',
      )
    return cls(os.fsencode(image), os.fsencode(mask))

  def of_image(self, path: bytes, spelled: bool = False) -> bytes | None:
    """The path that an image shares with its mask, without the end; None for none.

    Args:
      path: of the image.
      spelled: whether names that are spelled alike are to have it in common.
    """
    return _base(path, self.image, spelled)

  def of_mask(self, path: bytes, spelled: bool = False) -> bytes | None:
    """The path that a mask shares with its image; None for a file that is no mask."""
    return _base(path, self.mask, spelled)


def _base(path: bytes, end: bytes, spelled: bool) -> bytes | None:
  stem = os.path.splitext(path)[0]
  if spelled:
    stem, end = (os.fsencode(alike.spelling(os.fsdecode(n))) for n in (stem, end))
  return stem.removesuffix(end) if stem.endswith(end) else None


SAME_NAMES = MaskNames()


def pair(
  images: FileTable,
  masks: FileTable,
  folder: str,
  names: MaskNames,
  skipped: list[LeftOut],
) -> PairTable:
  """Gives each image its mask.

  Names belong together as they are; or else, where it is clear which two are meant, as
  they are spelled.

  Args:
    images: the files of the source.
    masks: the masks.
    folder: of the masks.
    names: which belong together.
    skipped: gets images without a mask, and masks without an image.

  Raises:
    ConvertError: an image has two masks, or may have either, or none has any.
  """
  by_base: dict[bytes, int] = {}
  for number in range(len(masks)):
    base = names.of_mask(masks.path(number))
    if base is None:
      continue
    if base in by_base:
      raise ConvertError(
        f"{argument('masks', folder)} must hold one mask an image, but has "
        f"{masks[by_base[base]].path} and {masks[number].path}"
      )
    by_base[base] = number
  mask_of = np.full(len(images), -1, np.int64)
  for number in range(len(images)):
    base = names.of_image(images.path(number))
    mask_of[number] = -1 if base is None else by_base.get(base, -1)
  _pair_spelled(images, masks, folder, names, mask_of)
  without = np.flatnonzero(mask_of < 0).tolist()
  if len(images) == len(without) > 0:
    raise ConvertError(_nothing_fits(images, masks, folder, names))
  for number in without:
    named = names.of_image(images.path(number), spelled=True) is not None
    reason = "has no mask" if named else f"does not end in {os.fsdecode(names.image)}"
    skipped.append(LeftOut(images[number].path, reason, 1))
  name = os.path.basename(os.path.abspath(folder))
  for number in np.setdiff1d(np.arange(len(masks)), mask_of).tolist():
    reason = "is a mask without an image"
    skipped.append(LeftOut(f"{name}/{masks[number].path}", reason))
  image_of = np.flatnonzero(mask_of >= 0)
  return PairTable(images, masks, image_of, mask_of[image_of])


def _pair_spelled(
  images: FileTable,
  masks: FileTable,
  folder: str,
  names: MaskNames,
  mask_of: np.ndarray,
) -> None:
  """Pairs the rest of images and masks by how their names are spelled.

  Raises:
    ConvertError: it is not clear which two are meant.
  """
  found: dict[bytes, tuple[list[int], list[int]]] = {}
  for number in np.flatnonzero(mask_of < 0).tolist():
    base = names.of_image(images.path(number), spelled=True)
    if base is not None:
      found.setdefault(base, ([], []))[0].append(number)
  for number in np.setdiff1d(np.arange(len(masks)), mask_of).tolist():
    base = names.of_mask(masks.path(number), spelled=True)
    if base in found:
      found[base][1].append(number)
  for of_images, of_masks in found.values():
    if len(of_images) == len(of_masks) == 1:
      mask_of[of_images[0]] = of_masks[0]
    elif of_masks:
      raise ConvertError(
        f"{argument('masks', folder)}: {few([masks[i].path for i in of_masks])} may "
        f"be of {few([images[i].path for i in of_images])}: names differ in the case "
        "of letters, in Unicode form or in blanks, and not clearly; give each mask "
        "the name of its image"
      )


def _nothing_fits(
  images: FileTable, masks: FileTable, folder: str, names: MaskNames
) -> str:
  image = images.path(0)
  base = names.of_image(image)
  looked_for = (
    f"does not end in {os.fsdecode(names.image)}"
    if base is None
    else f"would have {os.fsdecode(base + names.mask)} with any extension"
  )
  paths = (masks.path(number) for number in range(len(masks)))
  nearest = max(
    paths, key=lambda path: len(os.path.commonprefix([path, image])), default=None
  )
  there = "holds no files" if nearest is None else f"has {os.fsdecode(nearest)}"
  return (
    f"{argument('masks', folder)} fit none of the {len(images)} images: "
    f"{os.fsdecode(image)} {looked_for}, and the folder {there}; say how names "
    f"differ, with {setting('mask_suffix', '_mask')}, or both ends: "
    f"{setting('mask_suffix', '_leftImg8bit:_gtFine_labelIds')}"
  )
