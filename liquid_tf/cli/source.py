"""The flags of `liquid_tf.Source`, and of what all stored images have alike."""

from collections.abc import Sequence
from typing import Any

from liquid_tf.cli import common_flags
from liquid_tf.cli.flag_values import Flags
from liquid_tf.transforms import Bits, Channels, Step

_MORE = (
  "masks",
  "mask_suffix",
  "lossy_masks",
  "annotations",
  "name_column",
  "label_feature",
  "features",
)
# Flags that `define_added` defines.
ADDED = ("image_feature", "tfds_dir", "label_column", *_MORE)


def define(values: Flags, *, whole: bool) -> None:
  """Defines the flags; masks, labels and features too where they are `whole`."""
  values.string(
    "input",
    None,
    "folder of images, files as data/*.rec, data/*.parquet or 'a.rec;b.rec', "
    "tfds:NAME, hf:NAME, or a dataset",
    required=True,
  )
  values.integer("channels", None, "1 to 4, of every image, if the images differ")
  values.choice(
    "bits",
    None,
    ["8", "16", "skip"] if whole else ["8", "16"],
    "bits of every image, if the images differ"
    + ("; skip leaves out the less common depth" if whole else ""),
  )
  common_flags.define_selection(values)
  _define_places(values)
  if whole:
    _define_more(values)


def _define_places(values: Flags) -> None:
  values.string(
    "image_feature",
    None,
    "feature of Examples, or column of Parquet, that holds the image (default: "
    "image/encoded)",
  )
  values.string(
    "tfds_dir", None, "folder of TFDS datasets (default: ~/tensorflow_datasets)"
  )


def define_added(values: Flags) -> None:
  """Defines the flags of a source whose path another flag has."""
  _define_places(values)
  _define_more(values)


def _define_more(values: Flags) -> None:
  """Defines what belongs to images: masks, labels and features."""
  values.string("masks", None, "folder with a mask for each image")
  values.string(
    "mask_suffix",
    None,
    "end of a mask's name, as _mask; or the image's and the mask's, as "
    "_leftImg8bit:_gtFine_labelIds",
  )
  values.switch(
    "lossy_masks",
    "take the numbers of masks as they are in JPEG and other formats that may have "
    "changed them",
  )
  values.strings(
    "annotations",
    [],
    "labels, boxes and more of the images: a table, .csv, .jsonl or .parquet, COCO's "
    ".json, a folder of VOC's .xml or YOLO's .txt files, or a .lst of im2rec; may be "
    "given several times",
  )
  values.string(
    "name_column",
    None,
    "column of tables that names images (default: file_name, filename, path, image, "
    "image_id, name or id)",
  )
  values.string(
    "label_column",
    None,
    "column of a table that is the label, or several, as a,b (default: label, target "
    "or class); empty for none",
  )
  values.string(
    "label_feature",
    None,
    "feature or column that holds the label (default: image/class/label); empty for "
    "none",
  )
  values.words("features", [], "other features or columns to keep")


def read(values: Flags, path: str | None = None) -> Any:
  """The `Source` that the flags say.

  Args:
    values: the flags.
    path: of the source; None for --input.

  Raises:
    ValueError: one is wrong.
  """
  from liquid_tf._convert.source import Source

  more = {name: values[name].value for name in _MORE if name in values}
  if "label_column" in values:
    label = values.label_column
    more["label_column"] = label.split(",") if label and "," in label else label
  return Source(
    common_flags.selection(values, values.input) if path is None else path,
    image_feature=values.image_feature,
    tfds_dir=values.tfds_dir,
    **more,
  )


def steps(values: Flags, defaults: Sequence[Step] = ()) -> list[Step]:
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
