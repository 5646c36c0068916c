"""Samples that a new version of a dataset has no more."""

import numpy as np

from liquid_tf._edit.edit import Edit, EditReport, editing, report
from liquid_tf._store import labels
from liquid_tf._store import manifest as manifests
from liquid_tf._store.subset import subset
from liquid_tf._view.view import View
from liquid_tf.errors import ConvertError, WrongArgument

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
    raise WrongArgument(
      "view",
      view,
      "must be a view: liquid_tf.open(path) gives one of all samples, and .where, "
      ".split and .take choose among them",
    )
  with editing(view.path) as edit:
    view.check_there()
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


def _without(edit: Edit, index: np.ndarray, removed: np.ndarray) -> dict:
  """Writes the index without samples; returns the manifest with it."""
  rows = index[~np.isin(index["sample"], removed)]
  data = subset(edit.manifest, rows, labels.load(edit.manifest))
  return data | {"index": edit.write_index(rows)}
