"""The flags of `liquid_tf.Source`, and of what all stored images have alike."""

from collections.abc import Sequence
from typing import Any

from absl import flags

from liquid_tf.transforms import Bits, Channels, Step

_MORE = ("masks", "mask_suffix", "label_feature", "features")


def define(values: flags.FlagValues, *, whole: bool) -> None:
  """Defines the flags; masks, labels and features too where they are `whole`."""
  flags.DEFINE_string(
    "input",
    None,
    "folder of images, files of records as data/*.rec, tfds:NAME, or a dataset",
    required=True,
    flag_values=values,
  )
  flags.DEFINE_string(
    "image_feature",
    None,
    "Example feature that holds the image (default: image/encoded)",
    flag_values=values,
  )
  flags.DEFINE_string(
    "tfds_dir",
    None,
    "folder of TFDS datasets (default: ~/tensorflow_datasets)",
    flag_values=values,
  )
  flags.DEFINE_integer(
    "channels", None, "1 to 4, of every image, if the images differ", flag_values=values
  )
  flags.DEFINE_enum(
    "bits",
    None,
    ["8", "16", "skip"] if whole else ["8", "16"],
    "bits of every image, if the images differ"
    + ("; skip leaves out the less common depth" if whole else ""),
    flag_values=values,
  )
  if not whole:
    return
  flags.DEFINE_string(
    "masks", None, "folder with a mask for each image", flag_values=values
  )
  flags.DEFINE_string(
    "mask_suffix",
    None,
    "end of a mask's name, as _mask; or the image's and the mask's, as "
    "_leftImg8bit:_gtFine_labelIds",
    flag_values=values,
  )
  flags.DEFINE_string(
    "label_feature",
    None,
    "Example feature that holds the label (default: image/class/label); empty for none",
    flag_values=values,
  )
  flags.DEFINE_list(
    "features", [], "other Example features to keep", flag_values=values
  )


def read(values: flags.FlagValues) -> Any:
  """The `Source` that the flags say.

  Raises:
    ValueError: one is wrong.
  """
  from liquid_tf._convert.source import Source

  more = {name: values[name].value for name in _MORE if name in values}
  return Source(
    values.input,
    image_feature=values.image_feature,
    tfds_dir=values.tfds_dir,
    **more,
  )


def steps(values: flags.FlagValues, defaults: Sequence[Step] = ()) -> list[Step]:
  """`Channels` and `Bits`: a flag's where it is given, else among `defaults`.

  Raises:
    ValueError: --channels is out of its range.
  """
  found = {type(step): step for step in defaults}
  if values.channels is not None:
    found[Channels] = Channels(values.channels)
  if values.bits is not None:
    found[Bits] = Bits(values.bits if values.bits == "skip" else int(values.bits))
  return [found[kind] for kind in (Channels, Bits) if kind in found]
