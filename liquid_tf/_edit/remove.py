"""Samples that a new version of a dataset has no more."""

import numpy as np

from liquid_tf._convert.finish import pixel_bytes
from liquid_tf._edit.edit import Edit, EditReport, editing, report
from liquid_tf._store import arrays, labels
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import FORMATS
from liquid_tf._view.view import View
from liquid_tf.errors import ConvertError, ManifestError

__all__ = ["remove"]


def remove(view: View) -> EditReport:
  """Removes the samples of a view, in a new version that has none of them.

  No shard is written: the records of the samples stay until `compact`, and so do older
  versions. The view may be of an older version; those of its samples that were removed
  since do not matter.

  Args:
    view: of a local dataset, as `liquid_tf.open(path).where(…)`.

  Returns:
    What the new version is; that of the last one where nothing was to be removed.

  Raises:
    ManifestError: the directory is no sound dataset, or another one than the view's.
    ConvertError: no sample would stay; or the dataset cannot be written, or is being
      written by another process.
    ValueError: the view is none, or its dataset is not local.
  """
  if not isinstance(view, View):
    raise ValueError(
      f"view ({view!r}) must be a view: liquid_tf.open(path) gives one of all samples, "
      "and .where, .split and .take choose among them"
    )
  with editing(view.path) as edit:
    check_same(view)
    index = manifests.load_index(edit.manifest)
    removed = np.intersect1d(view.numbers, index["sample"].astype(np.int64))
    if len(removed) == edit.manifest["samples"]:
      raise ConvertError(
        f"view ({view!r}) must leave at least one sample of {edit.directory}"
      )
    made = edit.manifest
    if len(removed):
      made = edit.publish("remove", _without(edit, index, removed))
    return report(made, len(removed))


def check_same(view: View) -> None:
  """Raises ManifestError unless a view is of the dataset that is there now."""
  there = manifests.load(view.path, view.version, check_files=False)
  if there["index"] != view.manifest["index"]:
    raise ManifestError(
      f"{view.path} is another dataset than when its view was opened: open it again"
    )


def _without(edit: Edit, index: np.ndarray, removed: np.ndarray) -> dict:
  """Writes the index without samples; returns the manifest with it."""
  rows = index[~np.isin(index["sample"], removed)]
  name = edit.name(manifests.INDEX)
  crc = arrays.write(edit.path(name), rows)
  data = dict(edit.manifest.data)
  data["index"] = {"path": name, "rows": len(rows), "crc32c": crc}
  data["samples"] -= len(removed)
  data["splits"] = {
    name: split | {"samples": len(np.unique(rows["sample"][rows["split"] == number]))}
    for name, split in data["splits"].items()
    for number in [split["index"]]
  }
  data["formats"] = {
    name: entry | _totals(edit, rows[rows["format"] == FORMATS.index(name)])
    for name, entry in data["formats"].items()
  }
  label = data["features"].get("label")
  if label is not None and "classes" in label:
    values = labels.load(edit.manifest)[np.unique(rows["sample"])]
    counts = np.bincount(values, minlength=len(label["classes"])).tolist()
    label = label | {"class_counts": counts}
    data["features"] = data["features"] | {"label": label}
  return data


def _totals(edit: Edit, rows: np.ndarray) -> dict[str, int]:
  """What the manifest says of the rows of one format."""
  if len(rows) and rows["format"][0] == FORMATS.index("pcr"):
    # Whole records are read.
    shards = edit.manifest.shards
    size = sum(shards[number].bytes for number in np.unique(rows["shard"]))
  else:
    size = int(rows["length"].sum())
  return {"samples": len(rows), "bytes": size, "pixel_bytes": pixel_bytes(rows)}
