"""The label of every sample, beside the index (docs/formats/liquid.md)."""

from typing import Any

import numpy as np

from liquid_tf._store import arrays, contents
from liquid_tf._store.manifest import Manifest

# The label of a sample number that no sample has, where labels are classes.
NONE = -1


def empty(label: dict[str, Any] | None, count: int) -> np.ndarray | None:
  """Labels of sample numbers that no sample has yet.

  Args:
    label: the manifest's feature, or None.
    count: of sample numbers.

  Returns:
    Shape [count], int64, -1; or [count, k], float32, NaN; or None where there are no
    labels, or samples have unequal numbers of them.
  """
  layout = contents.label_layout(label, count)
  if layout is None:
    return None
  dtype, shape = layout
  return np.full(shape, NONE if dtype.kind == "i" else np.nan, dtype)


def are_corrected(manifest: Manifest) -> bool:
  """Whether labels beside the index are others than those of records, and count."""
  return manifest.data.get("labels", {}).get("corrected", False)


def load(manifest: Manifest) -> np.ndarray | None:
  """Reads the labels of a dataset and checks every byte of them.

  Returns:
    By sample number: shape [next_sample], int64, -1 for none; or [next_sample, k],
    float32, NaN for none. Read-only; of a local dataset they are mapped. None where
    there are no labels, or samples have unequal numbers of them.

  Raises:
    ManifestError: the file is missing or damaged.
  """
  layout = contents.label_layout(
    manifest["features"].get("label"), manifest["next_sample"]
  )
  if layout is None:
    return None
  entry = manifest["labels"]
  return arrays.load(
    manifest.path(entry["path"]),
    *layout,
    entry["crc32c"],
    manifest.says("next_sample", "labels.crc32c"),
  )
