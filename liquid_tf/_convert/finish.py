"""The files that close a dataset: made of what is known of its shards."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import fidelity
from liquid_tf._convert.job import Made, ShardResult
from liquid_tf._convert.sources import masks
from liquid_tf._native.limits import Limits
from liquid_tf._store import arrays, columns, contents, labels, manifest, schema, texts
from liquid_tf._store.files import write_file
from liquid_tf._store.index_rows import pixel_bytes
from liquid_tf._store.manifest import INDEX_DTYPE
from liquid_tf._store.mix import TARGETS
from liquid_tf._store.pcr_index import INDEX as PCR_INDEX
from liquid_tf._store.pcr_index import PcrEntry, write_index
from liquid_tf.errors import ConvertError


def digest(data: bytes) -> str:
  """SHA-256 of bytes, as the manifest has it."""
  return hashlib.sha256(data).hexdigest()


def fingerprint(made: Made) -> str:
  """Identifies a source: SHA-256 of places, sizes and checksums."""
  source = made.source
  digested = hashlib.sha256()
  for position, row in enumerate(made.scan):
    parts = [(source.path(position), source.sizes[position], row["crc32c"])]
    if source.has_masks:
      file = source.files[source.file_of[position]]
      parts.append((file.mask, file.mask_size, row["mask_crc32c"]))
    for path, size, crc in parts:
      digested.update(os.fsencode(path) + b"\0%d %d\n" % (size, crc))
  return digested.hexdigest()


def _common(values: np.ndarray) -> int | None:
  """The one value of all, or null where they differ."""
  return int(values[0]) if (values == values[0]).all() else None


def write_idx(path: str, rows: np.ndarray) -> None:
  """Writes the index that MXNet reads, of a shard of these rows.

  Raises:
    OSError: it cannot be written.
  """
  lines = "".join(f"{row['sample']}\t{row['offset']}\n" for row in rows)
  write_file(path, lines.encode())


def pcr_entries(shards: Sequence[Mapping[str, Any]], made: Made) -> list[PcrEntry]:
  """Entries of the records among shards, which the manifest describes so."""
  return [
    PcrEntry(described["path"], *shard.parts)
    for described, shard in zip(shards, made.shards)
    if described["format"] == "pcr"
  ]


def write_pcr(
  directory: str,
  shards: str,
  name: str,
  entries: Sequence[PcrEntry],
  data: dict[str, Any],
  limits: Limits,
) -> dict[str, Any]:
  """Writes the index of the records; returns what the manifest says of them.

  Args:
    directory: where it goes.
    shards: path or URL of the folder that has the shards.
    name: of the index.
    entries: of every record.
    data: the manifest, with its shards and seed.
    limits: of every image.
  """
  images = [shard["records"] for shard in data["shards"] if shard["format"] == "pcr"]
  file = write_index(directory, name, entries)
  measured = fidelity.measure(shards, entries, images, data["seed"], limits)
  return file | {"fidelity": measured}


def names_of(made: Made) -> Iterator[bytes]:
  """Yields the source's names of the samples, as they are stored."""
  for position in made.good.tolist():
    yield texts.encode(made.source.name(position))


def put_labels(values: np.ndarray, made: Made) -> None:
  """Puts the labels of the samples where their numbers are."""
  for shard in made.shards:
    found = shard.labels.reshape(len(shard.rows), *values.shape[1:])
    values[shard.rows["sample"]] = found


def features_of(made: Made) -> tuple[dict[str, Any], list[str]]:
  """The features of the samples, and which of them a training step takes."""
  table, label = made.samples, made.label
  height, width = _common(table["height"]), _common(table["width"])
  features = {
    "image": {
      "dtype": f"uint{table['bits'][0]}",
      "shape": [height, width, int(table["channels"][0])],
    }
  }
  supervised = ["image"]
  if label is not None:
    features["label"] = label
    # Batches have no room for labels of unequal number.
    if None not in label["shape"]:
      supervised.append("label")
  if made.source.has_masks:
    features["mask"] = {
      "dtype": f"uint{table['mask_bits'][0]}",
      "shape": [height, width, 1],
      "example": masks.FEATURE,
    }
  features |= made.source.features
  if "mask" in features:
    features["mask"] = features["mask"] | {"shape": [height, width, 1]}
    supervised.append("mask")
  return features, supervised


def formats_of(made: Made, mix: Mapping[str, float]) -> dict[str, dict[str, Any]]:
  """Describes the contents of each format of the mix, by name."""
  hashes, formats = made.samples["pixels_hash"], {}
  for target in mix:
    mine = [s for p, s in zip(made.plans, made.shards) if p.target == target]
    rows = np.concatenate([np.empty(0, INDEX_DTYPE), *(shard.rows for shard in mine)])
    same = rows["pixels_hash"] == hashes[rows["sample"].astype(np.int64) - made.first]
    formats[TARGETS[target][0]] = {
      "samples": len(rows),
      "bytes": sum(shard.bytes for shard in mine),
      "pixel_bytes": pixel_bytes(rows),
      "lossless": bool(same.all()),
    }
  return formats


def shards_of(made: Made) -> list[dict[str, Any]]:
  """The manifest's entries of the shards."""
  return [
    {
      "path": plan.name,
      "format": TARGETS[plan.target][0],
      "split": made.splits[plan.split],
      "records": len(shard.rows),
      "bytes": shard.bytes,
      "crc32c": shard.crc32c,
      **(_indexed(shard) if plan.target == "jpeg" else {}),
    }
    for plan, shard in zip(made.plans, made.shards)
  ]


def _indexed(shard: ShardResult) -> dict[str, int]:
  return {"indexed": shard.indexed, "index_bytes": shard.index_bytes}


def encode_manifest(data: dict[str, Any]) -> bytes:
  """The text of a manifest.

  Raises:
    ConvertError: it would be longer than one that is read.
  """
  text = (json.dumps(data, indent=1) + "\n").encode()
  if len(text) > manifest.MOST_MANIFEST:
    raise ConvertError(
      f"{manifest.MANIFEST} would have {len(text)} bytes, and must have at most "
      f"{manifest.MOST_MANIFEST}: leave the {len(data['skipped'])} files that were "
      f"skipped out of the source, or make the {len(data['shards'])} shards larger"
    )
  return text


def finish(directory: str, made: Made, arguments: dict[str, Any]) -> dict[str, Any]:
  """Writes the files beside the shards, and at last the manifest, which it returns.

  Raises:
    OSError: a file cannot be written; there is then no manifest.
    ConvertError: the manifest would be longer than one that is read.
  """
  data = write_beside(directory, directory, made, arguments)
  write_file(os.path.join(directory, manifest.MANIFEST), encode_manifest(data))
  return data


def write_beside(
  directory: str, shards: str, made: Made, arguments: dict[str, Any]
) -> dict[str, Any]:
  """Writes the `.idx` files, the indices, labels and names.

  Args:
    directory: where they go.
    shards: path or URL of the folder that has the shards.
    made: what they are of.
    arguments: all that the dataset's bytes depend on.

  Returns:
    The manifest.

  Raises:
    OSError: a file cannot be written.
  """
  for plan, shard in zip(made.plans, made.shards):
    if plan.target != "pcr":
      path = os.path.join(directory, contents.idx_name(plan.name))
      write_idx(path, shard.rows)
  index = np.concatenate([shard.rows for shard in made.shards])
  count = len(made.good)
  features, supervised = features_of(made)
  mix = arguments["mix"]
  data = {
    "schema": schema.SCHEMA,
    "created_by": arguments["created_by"],
    "version": 1,
    "made_by": "convert",
    "features": features,
    "supervised": supervised,
    "splits": {
      name: {"samples": int((made.split_of == i).sum()), "index": i}
      for i, name in enumerate(made.splits)
    },
    "seed": arguments["seed"],
    "mix": {TARGETS[name][0]: share for name, share in mix.items()},
    "targets": list(mix),
    "replicated": arguments["replicate"],
    "encoding": arguments["encoding"],
    "geometry": arguments["geometry"],
    "pixels": manifest.PIXELS[arguments["check"]],
    "samples": count,
    "next_sample": count,
    "formats": formats_of(made, mix),
    "shards": shards_of(made),
    "source": {
      "kind": made.source.kind,
      "fingerprint": fingerprint(made),
      "by_pillow": int(made.samples["by_pillow"].sum()),
    },
    "skipped": [{"path": path, "reason": reason} for path, reason in made.skipped],
    "index": manifest.write_index(directory, manifest.INDEX, index),
    "names": texts.write(directory, manifest.NAMES, names_of(made), count),
    "columns": {
      name: columns.write(directory, f"column-{i}-1", column, count)
      for i, (name, column) in enumerate(made.source.metadata(made.good).items())
    },
  }
  values = labels.empty(made.label, count)
  if values is not None:
    put_labels(values, made)
    data["labels"] = arrays.write(directory, manifest.LABELS, values)
  if arguments["pcr"] is not None:
    entries = pcr_entries(data["shards"], made)
    limits = Limits(**arguments["limits"])
    data["pcr"] = arguments["pcr"] | write_pcr(
      directory, shards, PCR_INDEX, entries, data, limits
    )
  return data
