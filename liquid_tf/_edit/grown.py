"""The files of a dataset that has grown, but for its manifest."""

import os
from typing import Any

import numpy as np

from liquid_tf._convert import finish
from liquid_tf._convert.job import Made
from liquid_tf._edit.edit import WORK, Edit
from liquid_tf._edit.fit import given_columns, joined_sides
from liquid_tf._native.limits import Limits
from liquid_tf._store import arrays, columns, contents, labels, names, texts
from liquid_tf._store import manifest as manifests
from liquid_tf._store.columns import TEXT, Column
from liquid_tf._store.contents import COLUMN_DTYPES


def grown(edit: Edit, made: Made, arguments: dict[str, Any]) -> dict[str, Any]:
  """Writes what a dataset has with new samples; returns its manifest.

  Args:
    edit: of the dataset.
    made: shards of the new samples, in the folder of an append.
    arguments: that they were made with.

  Raises:
    OSError: a file cannot be written.
  """
  old = edit.manifest
  given = given_columns(old, made.source, made.good)
  data = dict(old.data)
  shards = _put_shards(edit, made)
  data["shards"] = old["shards"] + shards
  data["index"] = _index(edit, made)
  data["features"] = _features(edit, made)
  data["splits"] = {
    name: {
      "samples": int((made.split_of == i).sum())
      + old["splits"].get(name, {"samples": 0})["samples"],
      "index": i,
    }
    for i, name in enumerate(made.splits)
  }
  data["samples"] = old["samples"] + len(made.good)
  data["next_sample"] = made.first + len(made.good)
  found = finish.formats_of(made, arguments["mix"])
  data["formats"] = {
    name: {key: entry[key] + found[name][key] for key in entry if key != "lossless"}
    | {"lossless": entry["lossless"] and found[name]["lossless"]}
    for name, entry in old["formats"].items()
  }
  data["names"] = texts.write(
    edit.directory,
    edit.name(manifests.NAMES),
    finish.names_of(made),
    len(made.good),
    names.load(old),
  )
  if "labels" in data:
    values = labels.empty(data["features"]["label"], data["next_sample"])
    values[: made.first] = labels.load(old)
    finish.put_labels(values, made)
    name = edit.name(manifests.LABELS)
    data["labels"] = old["labels"] | arrays.write(edit.directory, name, values)
  data["columns"] = _columns(edit, given, len(made.good))
  data["source"] = _source(old["source"], made)
  skipped = [{"path": path, "reason": reason} for path, reason in made.skipped]
  data["skipped"] = old["skipped"] + skipped
  if "pcr" in data:
    entries = list(manifests.load_pcr_index(old).values())
    entries += finish.pcr_entries(shards, made)
    limits = Limits(**arguments["limits"])
    data["pcr"] = data["pcr"] | edit.write_pcr(entries, data, limits)
  return data


def _put_shards(edit: Edit, made: Made) -> list[dict[str, Any]]:
  """Gives the shards their names in the dataset; returns the manifest's entries."""
  entries = finish.shards_of(made)
  for entry, shard in zip(entries, made.shards):
    work = os.path.join(edit.directory, WORK, entry["path"])
    entry["path"] = f"v{edit.version}-{entry['path']}"
    # Until the version is there, a killed append goes on with the shards of its folder.
    os.link(work, edit.path(entry["path"]))
    if entry["format"] != "pcr":
      path = edit.path(contents.idx_name(entry["path"]))
      finish.write_idx(path, shard.rows)
  return entries


def _index(edit: Edit, made: Made) -> dict[str, Any]:
  """Writes the rows of all samples; returns the manifest's entry."""
  new = np.concatenate([shard.rows for shard in made.shards])
  new["shard"] += len(edit.manifest.shards)
  rows = np.concatenate([manifests.load_index(edit.manifest), new])
  rows = rows[np.lexsort([rows[key] for key in ("shard", "format", "split")])]
  return edit.write_index(rows)


def _features(edit: Edit, made: Made) -> dict[str, Any]:
  """The features of all samples."""
  features = dict(edit.manifest["features"])
  new, _ = finish.features_of(made)
  for name in ("image", "mask"):
    if name in features:
      shape = joined_sides(features[name]["shape"], new["image"]["shape"][:2])
      shape.append(features[name]["shape"][2])
      features[name] = features[name] | {"shape": shape}
  label = features.get("label")
  if label is not None and "classes" in label:
    values = made.samples["label"].astype(np.int64)
    classes = made.source.classes
    counts = np.bincount(values, minlength=len(classes))
    counts[: len(label["class_counts"])] += label["class_counts"]
    features["label"] = label | {"classes": classes, "class_counts": counts.tolist()}
  for name, entry in made.source.features.items():
    if "classes" in entry:
      features[name] = features[name] | {"classes": entry["classes"]}
  return features


def _columns(edit: Edit, given: dict[str, Column], count: int) -> dict[str, Any]:
  """Writes the columns of all samples; returns the manifest's entries.

  New samples have the given values, or defaults.
  """
  entries = {}
  for i, (name, entry) in enumerate(edit.manifest["columns"].items()):
    default, stem = entry.get("default"), f"column-{i}-{edit.version}"
    filler = columns.missing(entry["dtype"], default)
    old = columns.load(edit.manifest, name)
    shape = columns.shape_of(entry)
    new = given[name].values if name in given else [filler] * count
    if entry["dtype"] == TEXT:
      more = texts.write(edit.directory, stem, new, count, old)
      entries[name] = entry | more
      continue
    new = np.array(new, COLUMN_DTYPES[entry["dtype"]])
    if name not in given:
      new = np.broadcast_to(new.reshape(-1, *[1] * len(shape)), (count, *shape))
    values = np.concatenate([old, new])
    column = Column(entry["dtype"], values, default)
    entries[name] = columns.write(edit.directory, stem, column, len(values))
  return entries


def _source(old: dict[str, Any], made: Made) -> dict[str, Any]:
  """Joins the manifest's descriptions of both sources."""
  kind = made.source.kind
  both = (old["fingerprint"] + finish.fingerprint(made)).encode()
  return {
    "kind": kind if kind == old["kind"] else "several",
    "fingerprint": finish.digest(both),
    "by_pillow": old["by_pillow"] + int(made.samples["by_pillow"].sum()),
  }
