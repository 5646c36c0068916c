"""Where a user's images are, and what belongs to each."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from liquid_tf._convert.arguments import local_path_of, path_of
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.items import WHAT
from liquid_tf._convert.sources.iterable import Items, check_items
from liquid_tf._convert.sources.mask_names import SAME_NAMES, MaskNames
from liquid_tf._store import schemes
from liquid_tf._view.mixture import refuse_mixture
from liquid_tf._view.view import View
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument

__all__ = ["Source"]


@dataclasses.dataclass(frozen=True)
class Source:
  """Images to convert or to profile. A path alone means `Source(path)`.

  Attributes:
    path: one of

      - a folder of class folders; or of images without labels; or with `masks`, of
        images with masks. If all folders in it are named train, val, valid, validation
        or test, these are its splits; folders named only like splits are an error. A
        `metadata.csv`, .jsonl or .parquet of Hugging Face's imagefolder is found there.
      - RecordIO files, as "train.rec", "data/*.rec" or "a.rec;b.rec", with their
        labels. Class names come from a .lst beside them. If every name begins or ends
        with that of a split, as flowers_val.rec, these are the splits.
      - TFRecord files of tf.train.Examples, as "data/train-*"; splits likewise. They
        may be compressed by gzip, zlib, bzip2 or xz.
      - ZIP or tar archives of such a folder, as "photos.zip"; or tar archives of
        webdataset, as "data-{000..099}.tar", with labels and columns. Tar archives may
        be compressed so, too.
      - Parquet files of rows with images, as "data/*.parquet"; splits likewise; or
        Arrow files on a local disk.
      - files of NumPy, with arrays of images and of labels: "images.npy", "mnist.npz".
      - "tfds:NAME", "tfds:NAME/CONFIG" or either with ":VERSION": a dataset that TFDS
        prepared, with its splits and class names; or the path of its folder.
      - "hf:NAME", "hf:ORG/NAME" or either with "/CONFIG": a dataset in a cache of
        Hugging Face's libraries, where HF_HOME or their other variables say that it is.
      - a dataset directory. Labels, splits, features and sample numbers stay; where
        samples were removed, the others are numbered anew in their order.
      - a view, of whose samples that holds likewise; it must have no weights.

      All but "tfds:", "hf:" and Arrow files may be of S3, as "s3://bucket/photos";
      datasets, archives and files of records or rows of "https://server/…" as well.
      Images come from there when they are needed, several at once.
    masks: a folder, local or of S3, with a mask for each image at the same path, any
      extension: gray, or with a palette, whose indices are kept.
    mask_suffix: what a mask's name has after the image's, as "_mask"; or both ends, as
      "_leftImg8bit:_gtFine_labelIds". Other files among the masks are left alone. Of
      webdataset, whose archives hold the masks, ".seg" of KEY.seg.png; by default
      ".mask".
    lossy_masks: whether masks are taken from JPEG, or another format that may have
      changed their numbers, as they are. Else these are no masks.
    annotations: labels, boxes and other things that belong to the images of a folder,
      or of an archive of one: a COCO file, a folder of VOC's or YOLO's files, or a
      table (CSV, JSON Lines, Parquet) with a column of the images' names;
      docs/convert.md tells what becomes of each. Or the .lst of im2rec, of a folder
      alone, whose images alone are samples then, with its labels. Or a list of these,
      no two of which give the same. Files may be of S3.
    name_column: the column of tables that names images. None: the first one there of
      `file_name`, `filename`, `path`, `image`, `image_id`, `name` and `id`.
    label_column: the column of a table of images that is their label, or a list of
      columns, whose numbers are a vector; "" for none. None: the first one there of
      `label`, `target` and `class`.
    image_feature: the feature of Examples that holds an encoded image, the column of
      rows with images, or the array of images. None: "image/encoded", the one that TFDS
      or Hugging Face names, or the one whose name says so.
    label_feature: likewise that of labels, class numbers or other numbers, of rows and
      arrays also texts; "" for none.
    features: other features to keep, for `dataset(features=[…])`; of rows, none means
      all.
    tfds_dir: the folder of TFDS datasets. None: TFDS_DATA_DIR or ~/tensorflow_datasets.

    view: the view that was given as `path`, which is then its dataset's; or None.
    items: those of `from_iterable`; or None.
    length: how many items there are, where that was given.

  Raises:
    ValueError: a value is wrong.
  """

  path: str | os.PathLike | View
  masks: str | os.PathLike | None = None
  mask_suffix: str | None = None
  lossy_masks: bool = False
  annotations: str | os.PathLike | Sequence[str | os.PathLike] = ()
  name_column: str | None = None
  label_column: str | Sequence[str] | None = None
  image_feature: str | None = None
  label_feature: str | None = None
  features: Sequence[str] = ()
  tfds_dir: str | os.PathLike | None = None
  view: View | None = dataclasses.field(default=None, init=False)
  items: Items | None = dataclasses.field(default=None, init=False, repr=False)
  length: int | None = dataclasses.field(default=None, init=False)

  def __post_init__(self):
    if isinstance(self.path, View):
      self.path.check_no_weights("a source")
      for name in ("masks", "annotations"):
        if getattr(self, name):
          raise WrongArgument(
            name,
            getattr(self, name),
            f"are of a folder of images, and {argument('source', self.path)} is a view",
          )
      object.__setattr__(self, "view", self.path)
      object.__setattr__(self, "path", self.path.path)
    refuse_mixture("source", self.path)
    object.__setattr__(self, "path", path_of("source", self.path))
    if self.masks is not None:
      object.__setattr__(self, "masks", _masks_path(self.masks))
    object.__setattr__(self, "annotations", _annotations_paths(self.annotations))
    if self.tfds_dir is not None:
      object.__setattr__(self, "tfds_dir", local_path_of("tfds_dir", self.tfds_dir))
    _check_columns(self)
    if isinstance(self.features, str):
      raise WrongArgument(
        "features", self.features, f'must be a list: ["{self.features}"]'
      )
    object.__setattr__(self, "features", tuple(self.features))
    self.names.check()
    _ = self.mask_names

  @classmethod
  def from_iterable(cls, items: Items, length: int | None = None) -> "Source":
    """Makes a source for `convert` of what Python code gives, one mapping a sample.

    Each has these keys, and `image` always:

    - `image`: the bytes of an image file; the path of a local one, which stays where
      it is; a NumPy array [height, width] or [height, width, 1 to 4] of uint8 or
      uint16; or an image of Pillow. Arrays are stored with these pixels.
    - `label`: the name of a class, a number, or a vector of numbers; the same kind in
      all items. Classes are sorted by their names.
    - `name`: a text that no other item has, and that is the same in another run. By
      default the path, or else the item's number.
    - `split`: the name of its split, as "train"; in all items or in none.
    - `mask`: the bytes of a mask's file, or its path; class numbers as a NumPy array
      [height, width] of uint8 or uint16, or as an image of Pillow. In all items or in
      none.
    - `boxes`: numbers [n, 4], y0, x0, y1, x1 of each in pixels of the image, of a file
      before its EXIF turns it. Items without it have no boxes.
    - `box_labels`: names of the boxes' classes, or class numbers, [n].
    - `keypoints`: numbers [n, k, 3], y, x and v of each; v is 0 for one that is not
      there.
    - every other key is a metadata column, of numbers, true and false, texts, or lists
      of equally many numbers.

    Args:
      items: a sequence (`__len__`, `__getitem__`), whose items are read by position,
        by several threads, whenever they are needed; they must stay the same. Or an
        iterable, or a function that returns one, which is run once: encoded images and
        arrays are kept in the output's folder until the conversion ends. A run that
        resumes goes through all items again, and compares them.
      length: how many items an iterable has. None: it is not known.

    Raises:
      ValueError: `items` can give none, or `length` is no number of items.
    """
    check_items(items, length)
    result = cls(WHAT)
    object.__setattr__(result, "items", items)
    object.__setattr__(result, "length", length)
    return result

  @property
  def record(self) -> dict[str, Any]:
    """The part of a conversion's arguments that tells of the images."""
    return {
      "masks": self.masks is not None,
      "mask_suffix": self.mask_suffix,
      "lossy_masks": self.lossy_masks,
      "annotations": len(self.annotations),
      "name_column": self.name_column,
      "label_column": self.label_column,
      "view": None if self.view is None else self.view.fingerprint,
      "examples": dataclasses.asdict(self.names),
    }

  @property
  def names(self) -> ExampleNames:
    """Names of the features of tf.train.Examples."""
    return ExampleNames(self.image_feature, self.label_feature, self.features)

  @property
  def mask_names(self) -> MaskNames:
    """Rule by which masks belong to images."""
    if self.mask_suffix is None:
      return SAME_NAMES
    return MaskNames.parse(self.mask_suffix)


def _masks_path(path: str | os.PathLike) -> str:
  """A folder of masks, local or of S3; raises ValueError if it is neither."""
  text = path_of("masks", path)
  return text if schemes.is_s3(text) else local_path_of("masks", text)


def _annotations_paths(
  given: str | os.PathLike | Sequence[str | os.PathLike] | None,
) -> tuple[str, ...]:
  """Paths of annotations; raises ValueError if one is neither local nor of S3."""
  if given is None:
    return ()
  every = [given] if isinstance(given, (str, os.PathLike)) else list(given)
  paths = [path_of("annotations", one) for one in every]
  for i, path in enumerate(paths):
    if not schemes.is_s3(path):
      local_path_of("annotations", path)
    if path in paths[:i]:
      raise WrongArgument("annotations", path, "must be given once")
  return tuple(paths)


def _check_columns(source: Source) -> None:
  """Checks the columns of tables that are named; lists become tuples."""
  label = source.label_column
  if label is not None and not isinstance(label, str):
    label = tuple(label)
    if not label or not all(isinstance(name, str) and name for name in label):
      raise WrongArgument("label_column", list(label), "must be names of columns")
    if len(set(label)) < len(label):
      raise WrongArgument("label_column", list(label), "must be different names")
    object.__setattr__(source, "label_column", label)
  for name, value in (("name_column", source.name_column), ("label_column", label)):
    if value is not None and not source.annotations:
      raise WrongArgument(name, value, "needs annotations")
  if source.name_column == "":
    raise WrongArgument("name_column", "", "must name a column")


def source_of(source: str | os.PathLike | View | Source) -> Source:
  """A path as a `Source`; one as it is."""
  return source if isinstance(source, Source) else Source(source)
