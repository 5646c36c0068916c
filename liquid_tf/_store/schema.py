"""Schema of `dataset.json`: types, values, and keys that agree."""

import json
import re
from typing import Any

from liquid_tf._native.encoders import JPEG_INDEX
from liquid_tf._store.formats import FORMATS
from liquid_tf.errors import ManifestError

SCHEMA = 3

# Of labels, without their sign: no other whole number becomes this one in float32,
# and larger ones may.
LARGEST_LABEL = (1 << 24) - 1

# The list of a tf.train.Feature that holds a type.
LISTS = {"int64": "int64_list", "float32": "float_list", "string": "bytes_list"}

# Of a vector, or of one box's value, such as its keypoints.
_MOST_SIDE = 1 << 20

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")


def _is_side(value: Any) -> bool:
  return value is None or (type(value) is int and 0 < value < 2**31)


# What a value must be, and how to see that it is.
_COUNT = "a whole number in [0, 2^63)"
_SEED = "a whole number in [0, 2^64)"
_NUMBER = "a number > 0"
_PCR_BYTES = "a whole number in [0, 2^31)"
_CRC = "a number in [0, 2^32)"
_SIDE = "a whole number in [1, 2^31)"
_VALUE = "a finite number, true, false or text"
_FILE = "a plain file name"
_CHECKS = {
  _COUNT: lambda v: type(v) is int and 0 <= v < 2**63,
  _SEED: lambda v: type(v) is int and 0 <= v < 2**64,
  _PCR_BYTES: lambda v: type(v) is int and 0 <= v < 2**31,
  _NUMBER: lambda v: type(v) in (int, float) and 0 < v < float("inf"),
  _CRC: lambda v: type(v) is int and 0 <= v < 2**32,
  _SIDE: lambda v: type(v) is int and 0 < v < 2**31,
  "[height, width]": lambda v: (
    isinstance(v, list) and len(v) == 2 and None not in v and all(map(_is_side, v))
  ),
  "text": lambda v: isinstance(v, str),
  _VALUE: lambda v: (
    isinstance(v, (bool, str)) or (type(v) in (int, float) and abs(v) < 2**63)
  ),
  "true or false": lambda v: isinstance(v, bool),
  "one of " + ", ".join(FORMATS): lambda v: v in FORMATS,
  "fast, default or best": lambda v: v in ("fast", "default", "best"),
  "row, 16, 8 or none": lambda v: type(v) in (str, int) and v in JPEG_INDEX,
  "keep or baseline": lambda v: v in ("keep", "baseline"),
  "uint8 or uint16": lambda v: v in ("uint8", "uint16"),
  "checked or unchecked": lambda v: v in PIXELS.values(),
  "int64 or float32": lambda v: v in ("int64", "float32"),
  "int64, float64, float32, bool or string": lambda v: (
    v in ("int64", "float64", "float32", "bool", "string")
  ),
  "[a number]": lambda v: (
    isinstance(v, list) and len(v) == 1 and type(v[0]) is int and 0 < v[0] <= _MOST_SIDE
  ),
  "int64, float32 or string": lambda v: v in ("int64", "float32", "string"),
  "[] or [a number or null]": lambda v: (
    v == [] or (isinstance(v, list) and len(v) == 1 and _is_side(v[0]))
  ),
  "[], [null], [sides] or [null, sides]": lambda v: (
    isinstance(v, list)
    and len(v) <= 3
    and all(
      type(side) is int and 0 < side <= _MOST_SIDE
      for side in (v[1:] if v[:1] == [None] else v)
    )
  ),
  "[height or null, width or null, channels]": lambda v: (
    isinstance(v, list)
    and len(v) == 3
    and all(map(_is_side, v[:2]))
    and type(v[2]) is int
    and 1 <= v[2] <= 4
  ),
  "a number or null": lambda v: v is None or type(v) is int,
  "a list of numbers or null": lambda v: (
    v is None or (isinstance(v, list) and all(type(n) is int for n in v))
  ),
  "a number in [-1, 1] or null": lambda v: (
    v is None or (type(v) in (int, float) and -1 <= v <= 1)
  ),
  _FILE: lambda v: isinstance(v, str) and bool(_FILE_NAME.match(v)),
}
# By what a conversion checks: `pixels` of the manifest.
PIXELS = {"pixels": "checked", "headers": "unchecked"}

_FORMAT = "one of " + ", ".join(FORMATS)
_SHAPE = "[height or null, width or null, channels]"
_ARRAY = {"path": _FILE, "crc32c": _CRC}
_TEXT = {"path": _FILE, "bytes": _COUNT, "crc32c": _CRC}
# A text is a key of _CHECKS, [x] a list of x, a dict an object of these keys; "?" ends
# an optional one, and "*" is any other one.
_MANIFEST = {
  "schema": _COUNT,
  "created_by": "text",
  "version": _SIDE,
  "made_by": "text",
  "features": {
    "image": {"dtype": "uint8 or uint16", "shape": _SHAPE},
    "label?": {
      "dtype": "int64 or float32",
      "shape": "[] or [a number or null]",
      "classes?": ["text"],
      "class_counts?": [_COUNT],
    },
    "mask?": {"dtype": "uint8 or uint16", "shape": _SHAPE, "example": "text"},
    "*": {
      "dtype": "int64, float32 or string",
      "shape": "[], [null], [sides] or [null, sides]",
      "example": "text",
      "classes?": ["text"],
    },
  },
  "supervised": ["text"],
  "splits": {"*": {"samples": _COUNT, "index": _COUNT}},
  "seed": _SEED,
  "mix": {"*": _NUMBER},
  "targets": ["text"],
  "replicated": "true or false",
  "encoding": {
    "channels": "a number or null",
    "bits": "a number or null",
    "jpeg_quality": _COUNT,
    "jpeg_index": "row, 16, 8 or none",
    "jpeg_progressive": "keep or baseline",
    "png_level": _COUNT,
    "webp_quality": _COUNT,
    "l3_effort": "fast, default or best",
  },
  "geometry": {
    "orient": "true or false",
    "resize?": {
      "size?": "[height, width]",
      "shorter?": _SIDE,
      "longer?": _SIDE,
      "interpolation": "text",
      "antialias": "true or false",
    },
  },
  "pixels": "checked or unchecked",
  "samples": _COUNT,
  "next_sample": _COUNT,
  "formats": {
    "*": {
      "samples": _COUNT,
      "bytes": _COUNT,
      "pixel_bytes": _COUNT,
      "lossless": "true or false",
    }
  },
  "shards": [
    {
      "path": _FILE,
      "format": _FORMAT,
      "split": "text",
      "records": _COUNT,
      "bytes": _COUNT,
      "crc32c": _CRC,
      "indexed?": _COUNT,
      "index_bytes?": _COUNT,
    }
  ],
  "source": {"kind": "text", "fingerprint": "text", "by_pillow": _COUNT},
  "skipped": [{"path": "text", "reason": "text"}],
  "index": {"path": _FILE, "rows": _COUNT, "crc32c": _CRC},
  "labels?": _ARRAY | {"corrected?": "true or false"},
  "names": {"ends": _ARRAY, "text": _TEXT},
  "columns": {
    "*": {
      "dtype": "int64, float64, float32, bool or string",
      "shape?": "[a number]",
      "default?": _VALUE,
      "values?": _ARRAY,
      "ends?": _ARRAY,
      "text?": _TEXT,
    }
  },
  "pcr?": {
    "path": _FILE,
    "images": _COUNT,
    "groups": "a list of numbers or null",
    "index_bytes": _PCR_BYTES,
    "index_crc32c": _CRC,
    "fidelity": [{"bytes": _COUNT, "mssim": "a number in [-1, 1] or null"}],
  },
}


def _check(value: Any, schema: Any, key: str) -> None:
  """Raises ManifestError unless `value` is what `schema` says."""
  if isinstance(schema, str):
    if not _CHECKS[schema](value):
      raise ManifestError(f"{key} ({json.dumps(value)[:80]}) must be {schema}")
  elif isinstance(schema, list):
    if not isinstance(value, list):
      raise ManifestError(f"{key} must be a list")
    for i, element in enumerate(value):
      _check(element, schema[0], f"{key}[{i}]")
  else:
    if not isinstance(value, dict):
      raise ManifestError(f"{key} must be an object")
    for name, below in schema.items():
      if name == "*":
        named = {name.rstrip("?") for name in schema}
        for found in sorted(value.keys() - named):
          _check(value[found], below, f'{key}["{found}"]')
        continue
      wanted = name.rstrip("?")
      if wanted in value:
        _check(value[wanted], below, f"{key}.{wanted}" if key else wanted)
      elif wanted == name:
        raise ManifestError(f"{key + '.' if key else ''}{wanted} is missing")


def _check_consistency(data: dict[str, Any]) -> None:
  """Raises ManifestError where two keys contradict each other."""
  for i, feature in enumerate(data["supervised"]):
    if feature not in data["features"]:
      raise ManifestError(
        f'supervised[{i}] ("{feature}") must be one of '
        f"{', '.join(data['features'])}, the features"
      )
  for key in ("mix", "formats"):
    for name in data[key]:
      _check(name, _FORMAT, key)
  if len(data["targets"]) != len(data["mix"]):
    raise ManifestError(
      f"targets ({len(data['targets'])}) must have a name for each format of mix "
      f"({len(data['mix'])})"
    )
  indices = sorted(split["index"] for split in data["splits"].values())
  if indices != list(range(len(indices))) or len(indices) > 256:
    raise ManifestError(f"splits[*].index ({indices}) must count from 0, at most 256")
  total = sum(split["samples"] for split in data["splits"].values())
  if total != data["samples"]:
    raise ManifestError(
      f"samples ({data['samples']}) must be the sum over splits, {total}"
    )
  _check_features(data)
  if data["next_sample"] < data["samples"]:
    raise ManifestError(
      f"next_sample ({data['next_sample']}) must be at least samples "
      f"({data['samples']}), since each has a number of its own"
    )
  _check_beside(data)
  most = {name: [0, 0] for name in data["formats"]}
  names = set()
  for i, shard in enumerate(data["shards"]):
    if shard["path"] in names:
      raise ManifestError(f'shards[{i}].path ("{shard["path"]}") is there twice')
    names.add(shard["path"])
    if shard["split"] not in data["splits"]:
      raise ManifestError(f'shards[{i}].split ("{shard["split"]}") is not in splits')
    if shard["format"] not in most:
      raise ManifestError(f'shards[{i}].format ("{shard["format"]}") is not in formats')
    for key in ("indexed", "index_bytes"):
      if (key in shard) != (shard["format"] == "jpeg"):
        raise ManifestError(
          f"shards[{i}].{key} must be there where, and only where, format is jpeg"
        )
    if shard["format"] == "jpeg" and shard["indexed"] > shard["records"]:
      raise ManifestError(
        f"shards[{i}].indexed ({shard['indexed']}) must be at most its records, "
        f"{shard['records']}"
      )
    most[shard["format"]][0] += shard["records"]
    most[shard["format"]][1] += shard["bytes"]
  for name, (records, size) in most.items():
    entry = data["formats"][name]
    # Shards keep the records of samples that were removed.
    if entry["samples"] > records or entry["bytes"] > size:
      raise ManifestError(
        f"formats.{name} ({entry['samples']} samples, {entry['bytes']} bytes) must be "
        f"at most the sum over its shards, {records} and {size}"
      )
  if data["replicated"] and data["pixels"] == PIXELS["headers"]:
    raise ManifestError("replicated must be false where pixels are unchecked")
  if ("pcr" in data["formats"]) != ("pcr" in data):
    raise ManifestError("pcr must be there where, and only where, formats has it")
  rows = sum(entry["samples"] for entry in data["formats"].values())
  if data["index"]["rows"] != rows:
    raise ManifestError(
      f"index.rows ({data['index']['rows']}) must be the sum over formats, {rows}"
    )


def is_of(dtype: str, value: Any) -> bool:
  """Whether a plain value is of the type of a column."""
  kinds = {"int64": int, "float64": (int, float), "bool": bool, "string": str}
  return isinstance(value, kinds.get(dtype, ())) and isinstance(value, bool) == (
    dtype == "bool"
  )


def _check_beside(data: dict[str, Any]) -> None:
  """Raises ManifestError where labels or columns lack a file, or have one too many."""
  label = data["features"].get("label")
  if (label is not None and None not in label["shape"]) != ("labels" in data):
    raise ManifestError(
      "labels must be there where, and only where, every sample has equally many"
    )
  for name, column in data["columns"].items():
    default = column.get("default")
    if default is not None and not is_of(column["dtype"], default):
      raise ManifestError(
        f'columns["{name}"].default ({json.dumps(default)[:80]}) must be of '
        f"{column['dtype']}"
      )
    if ("shape" in column) != (column["dtype"] == "float32"):
      raise ManifestError(
        f'columns["{name}"].shape must be there where, and only where, dtype is float32'
      )
    if name in data["features"]:
      raise ManifestError(f'columns["{name}"] must not have the name of a feature')
    wanted = {"ends", "text"} if column["dtype"] == "string" else {"values"}
    if {"ends", "text", "values"} & column.keys() != wanted:
      raise ManifestError(
        f'columns["{name}"] of {column["dtype"]} must have {", ".join(sorted(wanted))}'
      )


def _check_features(data: dict[str, Any]) -> None:
  """Raises ManifestError where features contradict each other or the samples."""
  features = data["features"]
  image, mask, label = (features.get(name) for name in ("image", "mask", "label"))
  if mask is not None and mask["shape"] != [*image["shape"][:2], 1]:
    raise ManifestError(
      f"features.mask.shape ({mask['shape']}) must be {[*image['shape'][:2], 1]}, as "
      "features.image.shape"
    )
  if label is None:
    return
  if (label["dtype"] == "int64") != (label["shape"] == []):
    raise ManifestError("features.label must be int64 of shape [], or float32 of [k]")
  if label["dtype"] != "int64" and "pcr" in data["formats"]:
    raise ManifestError("features.label must be int64 where a format is pcr")
  if "classes" in label and label["dtype"] != "int64":
    raise ManifestError("features.label.classes must be there for int64 only")
  classes, counts = label.get("classes"), label.get("class_counts")
  if (classes is None) != (counts is None) or len(classes or ()) != len(counts or ()):
    raise ManifestError(
      "features.label.class_counts must have a number for each of "
      f"features.label.classes ({len(classes or ())})"
    )
  if counts is not None and sum(counts) != data["samples"]:
    raise ManifestError(
      f"features.label.class_counts (sum {sum(counts)}) must count every one of "
      f"samples ({data['samples']})"
    )


def check(data: Any) -> None:
  """Checks a manifest by itself, without looking at files.

  Args:
    data: what the JSON of `dataset.json` decodes to.

  Raises:
    ManifestError: the message begins with the key that is wrong.
  """
  if not isinstance(data, dict):
    raise ManifestError("the top must be an object")
  found = data.get("schema")
  if found != SCHEMA:
    is_older = type(found) is int and found < SCHEMA
    by = "made by an older version of liquid_tf: convert again"
    raise ManifestError(
      f"schema ({json.dumps(found)}) must be {SCHEMA}: the dataset was "
      f"{by if is_older else 'written by another version of liquid_tf'}"
    )
  _check(data, _MANIFEST, "")
  _check_consistency(data)
