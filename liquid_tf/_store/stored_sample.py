"""Where one sample of a dataset is stored."""

import contextlib
import os
from typing import Any

import numpy as np

from liquid_tf._store import labels, names
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ManifestError, WrongArgument


def find_sample(path: str | os.PathLike, sample: int) -> list[dict[str, Any]]:
  """Finds where a sample is stored.

  Args:
    path: a dataset directory.
    sample: its number.

  Returns:
    A dict for each of its encodings: `shard`, `record` (position in the shard; of a
    pcr, which is one record, the position of the image), `format`, `split`, `name`,
    `label` (a number, numbers, or None), `class` (or None), and the fields of its index
    row. Of names or labels that cannot be read, None.

  Raises:
    ManifestError: the dataset cannot be read.
    ValueError: there is no such sample.
  """
  manifest = manifests.load(path, check_files=False)
  index = manifests.load_index(manifest)
  found = np.flatnonzero(index["sample"] == sample)
  if not len(found):
    most, gaps = manifest["next_sample"] - 1, ""
    if manifest["samples"] <= most:
      gaps = ", and not one that was removed"
    raise WrongArgument("sample", sample, f"must be in [0, {most}] of {path}{gaps}")
  known = _known(manifest, sample)
  result = []
  for row in found:
    fields = {name: index[row][name].item() for name in index.dtype.names}
    shard = manifest.shards[fields["shard"]]
    record = int((index["shard"][:row] == fields["shard"]).sum())
    fields |= {"shard": shard.path, "format": shard.format, "split": shard.split}
    result.append(fields | {"record": record} | known)
  return result


def _known(manifest: Manifest, sample: int) -> dict[str, Any]:
  """A sample's name, label and class, as far as they can be read."""
  known: dict[str, Any] = {"name": None, "label": None, "class": None}
  # Where these are damaged, --verify says so.
  with contextlib.suppress(ManifestError):
    known["name"] = names.load(manifest)[sample]
  with contextlib.suppress(ManifestError):
    values = labels.load(manifest)
    if values is None or values.dtype.kind == "i" and values[sample] == labels.NONE:
      return known
    known["label"] = values[sample].tolist()
    classes = manifest["features"]["label"].get("classes")
    known["class"] = classes[known["label"]] if classes else None
  return known
