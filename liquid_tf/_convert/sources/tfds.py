"""Datasets that TensorFlow Datasets prepared, read from their folder as it is.

TFDS itself is not needed: its folder says in JSON what the features are and which files
hold them.
"""

import json
import os
import re
from typing import Any

import numpy as np

from liquid_tf._convert.sources.examples import ExampleNames, ExampleSource
from liquid_tf._convert.sources.samples import SourceFile, stat_files
from liquid_tf._convert.sources.tfrecords import TFRecordSource, find_places
from liquid_tf._native import ops
from liquid_tf._store import text_file
from liquid_tf._store.mix import is_split_name
from liquid_tf._words import argument, few, said
from liquid_tf.errors import ConvertError

PREFIX = "tfds:"
INFO, FEATURES = "dataset_info.json", "features.json"

_TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\Z")


def is_folder(path: str) -> bool:
  """Whether a folder is a dataset that TFDS prepared."""
  return all(os.path.isfile(os.path.join(path, name)) for name in (INFO, FEATURES))


def find_folder(name: str, data_dir: str) -> str:
  """Finds the folder of NAME, NAME/CONFIG or either with :VERSION; the newest version.

  Raises:
    ConvertError: there is none, or a configuration must be chosen.
  """
  name, _, version = name.partition(":")
  folder = os.path.join(data_dir, *name.split("/"))
  if not name or ".." in name.split("/") or not os.path.isdir(folder):
    raise ConvertError(
      f"{argument('source', PREFIX + name)}: {folder} is no folder; prepare the "
      "dataset with "
      f'tfds.builder("{name}").download_and_prepare(), or say where it is with '
      f"{said('tfds_dir=…')}"
    )
  below = sorted(os.listdir(folder))
  versions = [entry for entry in below if _VERSION.match(entry)]
  if version and version not in versions:
    raise ConvertError(
      f"{folder} has no version {version}, but {', '.join(versions) or 'none'}"
    )
  if not versions:
    raise ConvertError(
      f"{folder} holds no version of a dataset: name its configuration, as "
      f"{PREFIX}{name}/{below[0] if below else 'CONFIG'}"
    )
  newest = max(versions, key=lambda entry: [int(n) for n in entry.split(".")])
  return os.path.join(folder, version or newest)


def _read_json(folder: str, name: str) -> dict[str, Any]:
  path = os.path.join(folder, name)
  try:
    found = json.loads(text_file.read(path))
  except (OSError, ValueError, RecursionError) as error:
    raise ConvertError(f"cannot read {path}: {ops.reason(error, path)}") from error
  if not isinstance(found, dict):
    raise ConvertError(f"{path} must hold an object")
  return found


def _flatten(feature: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
  """Features by the names that they have in an example: a/b for b of a."""
  result = {}
  for name, below in feature.get("featuresDict", {}).get("features", {}).items():
    if "featuresDict" in below:
      result |= _flatten(below, f"{prefix}{name}/")
    else:
      result[prefix + name] = below
  return result


def _supervised(info: dict[str, Any]) -> list[str]:
  items = info.get("supervisedKeys", {}).get("tuple", {}).get("items", [])
  return [item["featureKey"] for item in items if "featureKey" in item]


def _choose(folder: str, names: ExampleNames, info, features) -> ExampleNames:
  """Chooses the features image and label: those asked for, or TFDS's own."""
  supervised = _supervised(info)
  images = [name for name, feature in features.items() if "image" in feature]
  labels = [name for name, feature in features.items() if "classLabel" in feature]
  images = [name for name in supervised if name in images] or images
  labels = [name for name in supervised if name in labels] or labels
  if (names.image is None and len(images) != 1) or (
    names.label is None and len(labels) > 1
  ):
    raise ConvertError(
      f"{folder} has images {images} and classes {labels}: choose one of each with "
      f"{said('image_feature=…')} and {said('label_feature=…')}"
    )
  return names.or_else(images[0] if images else "", labels[0] if labels else "")


def _class_names(folder: str, name: str, feature: dict[str, Any]) -> list[str] | None:
  """Names of the classes of a ClassLabel; None where it is none, or has no names."""
  path = os.path.join(folder, f"{name.replace('/', '-')}.labels.txt")
  if "classLabel" not in feature or not os.path.isfile(path):
    return None
  return text_file.read_names(path)


def _shards(
  folder: str, info: dict[str, Any], file_format: str
) -> tuple[list[str], list[str], list[int]]:
  """Names of the splits, paths of the shards, and the split of each."""
  splits, paths, split_of = [], [], []
  for split in info.get("splits", []):
    lengths = split.get("shardLengths", [])
    template = split.get("filepathTemplate") or _TEMPLATE
    if not lengths or not sum(int(n) for n in lengths):
      continue
    for i in range(len(lengths)):
      values = {
        "DATASET": info.get("name", ""),
        "SPLIT": split.get("name", ""),
        "FILEFORMAT": file_format,
        "SHARD_X_OF_Y": f"{i:05}-of-{len(lengths):05}",
        "SHARD_INDEX": f"{i:05}",
        "NUM_SHARDS": f"{len(lengths):05}",
      }
      # The template is data of the folder: it may name these values and no others.
      name = template
      for key, value in values.items():
        name = name.replace("{" + key + "}", value)
      paths.append(os.path.join(folder, os.path.basename(name)))
      split_of.append(len(splits))
    name = split.get("name", "")
    if not is_split_name(name):
      raise ConvertError(f'{folder}: split "{name}" of {INFO} is no name for files')
    splits.append(name)
  if not paths:
    raise ConvertError(f"{folder}: its {INFO} lists no records")
  return splits, paths, split_of


class ArrayRecordSource(ExampleSource):
  """Samples in ArrayRecord files of tf.train.Examples, in their order.

  Args:
    names: of the features.
    root: folder of the files.
    kind: what the manifest calls it.
    files: as of `SampleSource`.
    split_of_file: the split of each file.
    **options: of `SampleSource`.

  Raises:
    ConvertError: the package array_record is missing, or cannot read a file.
  """

  def __init__(self, names, root, kind, files, split_of_file, **options):
    self._readers = [_open_array_record(root, file) for file in files]
    counts = [reader.num_records() for reader in self._readers]
    file_of = np.repeat(np.arange(len(files)), counts)
    sizes = np.repeat([f.size // max(n, 1) for f, n in zip(files, counts)], counts)
    split_of = np.array(split_of_file, np.uint8)[file_of]
    super().__init__(names, root, kind, files, file_of, split_of, sizes, **options)

  def path(self, position: int) -> str:
    file, record = self.place(position)
    return f"{self.files[file].path}, record {record}"

  def serialized(self, position: int) -> bytes:
    file, record = self.place(position)
    try:
      return self._readers[file].read([record])[0]
    except (ValueError, IndexError, RuntimeError) as error:
      raise OSError(f"cannot be read: {error}") from error


def _open_array_record(root: str, file: SourceFile) -> Any:
  try:
    from array_record.python import array_record_module
  except ImportError as error:
    raise ConvertError(
      f"{file.path} is an ArrayRecord, which needs a package: pip install array-record"
    ) from error
  path = os.path.join(root, file.path)
  try:
    return array_record_module.ArrayRecordReader(path)
  except (ValueError, RuntimeError) as error:
    raise ConvertError(f"cannot read {path}: {error}") from error


def list_tfds(folder: str, names: ExampleNames, skips: bool) -> ExampleSource:
  """Lists a dataset that TFDS prepared.

  Args:
    folder: of one version, with its JSON files.
    names: of the features; TFDS knows image and class.
    skips: whether damage is passed over, and reported.

  Raises:
    ConvertError: it cannot be read, or has no image.
  """
  info, features = _read_json(folder, INFO), _flatten(_read_json(folder, FEATURES))
  if not features:
    raise ConvertError(
      f"{os.path.join(folder, FEATURES)} lists no features that this version knows: "
      "prepare the dataset again with TFDS 4.5 or later"
    )
  names = _choose(folder, names, info, features)
  for name in filter(None, (names.image, names.label, *names.more)):
    if name not in features and not any(name.startswith(f + "/") for f in features):
      raise ConvertError(f'{folder} has no feature "{name}", but {", ".join(features)}')
  file_format = info.get("fileFormat", "tfrecord")
  if file_format not in ("tfrecord", "array_record"):
    raise ConvertError(
      f"{folder} holds files of the format {file_format}; prepare it as tfrecord or "
      "array_record"
    )
  splits, paths, split_of_file = _shards(folder, info, file_format)
  absent = [path for path in paths if not os.path.exists(path)]
  if absent:
    raise ConvertError(
      f"cannot read {few(absent)}: there are no such files, of the {len(paths)} that "
      f"{INFO} names; prepare the dataset again"
    )
  root, files = stat_files(paths)
  options = {
    "splits": splits,
    "classes": _class_names(folder, names.label, features.get(names.label, {})),
  }
  if file_format == "array_record":
    return ArrayRecordSource(names, root, "tfds", files, split_of_file, **options)
  places, skipped = find_places(paths, files, folder, skips)
  return TFRecordSource(
    names,
    root,
    "tfds",
    paths,
    places,
    files,
    split_of_file,
    skipped=skipped,
    **options,
  )
