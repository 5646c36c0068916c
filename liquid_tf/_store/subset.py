"""Manifest of a dataset that has only some of the samples of another."""

from typing import Any

import numpy as np

from liquid_tf._store.index_rows import pixel_bytes
from liquid_tf._store.manifest import FORMATS, Manifest


def subset(
  manifest: Manifest, rows: np.ndarray, labels: np.ndarray | None
) -> dict[str, Any]:
  """The manifest's data for some rows of its index.

  Args:
    manifest: of the dataset.
    rows: of its index, with all rows of each sample that they have; INDEX_DTYPE.
    labels: of all samples, by number; None where there are none to count.

  Returns:
    The data with other counts of samples, bytes and classes; the entry of the index is
    that of the whole one.
  """
  data = dict(manifest.data)
  data["samples"] = len(np.unique(rows["sample"]))
  data["splits"] = {
    name: split | {"samples": len(np.unique(rows["sample"][rows["split"] == number]))}
    for name, split in data["splits"].items()
    for number in [split["index"]]
  }
  data["formats"] = {
    name: entry | _totals(manifest, rows[rows["format"] == FORMATS.index(name)])
    for name, entry in data["formats"].items()
  }
  label = data["features"].get("label")
  counted = labels is not None and labels.dtype.kind == "i"
  if counted and label is not None and "classes" in label:
    values = labels[np.unique(rows["sample"])]
    counts = np.bincount(values[values >= 0], minlength=len(label["classes"]))
    label = label | {"class_counts": counts.tolist()}
    data["features"] = data["features"] | {"label": label}
  return data


def _totals(manifest: Manifest, rows: np.ndarray) -> dict[str, int]:
  """Totals of the rows of one format, as the manifest has them."""
  if len(rows) and rows["format"][0] == FORMATS.index("pcr"):
    # Whole records are read.
    size = sum(manifest.shards[number].bytes for number in np.unique(rows["shard"]))
  else:
    size = int(rows["length"].sum())
  return {"samples": len(rows), "bytes": size, "pixel_bytes": pixel_bytes(rows)}
