"""A long dataset made of a short one, without a byte written twice."""

import dataclasses
import json
import os
from typing import Any

import numpy as np

from liquid_tf._store import arrays, labels, pcr_index, texts
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest


def repeat(manifest: Manifest, times: int, path: str) -> None:
  """Makes a dataset whose shards are links to those of another, several times.

  An epoch of it is as long as that of a large dataset, so that what is measured is not
  how epochs begin and end. Reads go past the page cache, so that each copy is read
  from the disk again.

  Args:
    manifest: of the dataset.
    times: that each shard comes.
    path: an empty directory on the same file system.

  Raises:
    OSError: the file system has no hard links.
  """
  shards, rows = [], []
  index = manifests.load_index(manifest)
  for number in range(times):
    copy = index.copy()
    copy["shard"] += number * len(manifest.shards)
    rows.append(copy)
    for shard in manifest["shards"]:
      name = _name(number, shard["path"])
      os.link(manifest.path(shard["path"]), os.path.join(path, name))
      shards.append(shard | {"path": name})
  index = np.concatenate(rows)
  order = np.lexsort([index[key] for key in ("offset", "shard", "format", "split")])
  contents = manifests.encode_index(index[order])
  with open(os.path.join(path, manifests.INDEX), "wb") as file:
    file.write(contents)
  beside = _beside(manifest, manifest["next_sample"] * times, path)
  features = dict(manifest["features"])
  if manifest.classes is not None:
    counts = [count * times for count in features["label"]["class_counts"]]
    features["label"] = features["label"] | {"class_counts": counts}
  # A record knows its sample's number, so the copies have the same ones.
  data = (
    manifest.data
    | beside
    | {
      "features": features,
      "samples": manifest["samples"] * times,
      "shards": shards,
      "splits": {
        name: split | {"samples": split["samples"] * times}
        for name, split in manifest["splits"].items()
      },
      "formats": {
        name: entry
        | {key: entry[key] * times for key in ("samples", "bytes", "pixel_bytes")}
        for name, entry in manifest["formats"].items()
      },
      "next_sample": manifest["next_sample"] * times,
      "index": {
        "path": manifests.INDEX,
        "rows": len(index),
        "crc32c": manifests.crc32c(contents),
      },
      "columns": {},
    }
  )
  with open(os.path.join(path, manifests.MANIFEST), "w") as file:
    json.dump(data, file)


def _beside(manifest: Manifest, count: int, path: str) -> dict[str, Any]:
  """Writes what lies beside the shards, names empty; returns its entries."""
  result = {"names": texts.write(path, manifests.NAMES, [b""] * count, count)}
  if "pcr" in manifest.data:
    result["pcr"] = _pcr(manifest, count // manifest["next_sample"], path)
  values = labels.load(manifest)
  if values is not None:
    more = labels.empty(manifest["features"]["label"], count)
    more[: len(values)] = values
    result["labels"] = arrays.write(path, manifests.LABELS, more)
  return result


def _pcr(manifest: Manifest, times: int, path: str) -> dict[str, Any]:
  """Writes the index of progressive records; returns the manifest's entry of them."""
  entries = manifests.load_pcr_index(manifest).values()
  copies = [
    dataclasses.replace(entry, name=_name(number, entry.name))
    for number in range(times)
    for entry in entries
  ]
  entry = manifest["pcr"]
  fidelity = [group | {"bytes": group["bytes"] * times} for group in entry["fidelity"]]
  file = pcr_index.write_index(path, pcr_index.INDEX, copies)
  return entry | file | {"fidelity": fidelity}


def _name(number: int, shard: str) -> str:
  """The name of a copy of a shard."""
  return f"{number:04}-{shard}"
