"""The files that close a dataset: made of what is known of its shards."""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import fidelity
from liquid_tf._convert.engine import ShardResult
from liquid_tf._convert.plan import ShardPlan
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._native.limits import Limits
from liquid_tf._store import contents, labels, manifest, schema, texts
from liquid_tf._store.files import write_file
from liquid_tf._store.manifest import INDEX_DTYPE
from liquid_tf._store.mix import TARGETS
from liquid_tf._store.pcr_index import INDEX as PCR_INDEX
from liquid_tf._store.pcr_index import PcrEntry, encode_index
from liquid_tf.errors import ConvertError

# Their product is the size of an image in bits.
_PIXEL_FIELDS = ("height", "width", "channels", "bits")


def _fingerprint(source: SampleSource, scan: np.ndarray) -> str:
  digest = hashlib.sha256()
  for position, row in enumerate(scan):
    parts = [(source.path(position), source.sizes[position], row["crc32c"])]
    if source.has_masks:
      file = source.files[source.file_of[position]]
      parts.append((file.mask, file.mask_size, row["mask_crc32c"]))
    for path, size, crc in parts:
      digest.update(os.fsencode(path) + b"\0%d %d\n" % (size, crc))
  return digest.hexdigest()


def _common(values: np.ndarray) -> int | None:
  """The one value of all, or null where they differ."""
  return int(values[0]) if (values == values[0]).all() else None


def _write_pcr_index(
  directory: str,
  plans: Sequence[ShardPlan],
  shards: Sequence[ShardResult],
  arguments: dict[str, Any],
) -> dict[str, Any]:
  """Writes the index of the records; returns what the manifest says of them."""
  entries, images = [], []
  for plan, shard in zip(plans, shards):
    if plan.target == "pcr":
      entries.append(PcrEntry(plan.name, *shard.parts))
      images.append(len(shard.rows))
  written = encode_index(entries)
  write_file(os.path.join(directory, PCR_INDEX), written)
  measured = fidelity.measure(
    directory, entries, images, arguments["seed"], Limits(**arguments["limits"])
  )
  return arguments["pcr"] | {
    "path": PCR_INDEX,
    "index_bytes": len(written),
    "index_crc32c": manifest.crc32c(written),
    "fidelity": measured,
  }


def _write_names(
  directory: str, source: SampleSource, good: np.ndarray
) -> dict[str, Any]:
  """Writes the source's names of the samples; returns the manifest's entry of them."""
  found = (texts.encode(source.name(position)) for position in good.tolist())
  return texts.write(directory, manifest.NAMES, found, len(good))


def _labels(
  label: dict[str, Any] | None, shards: Sequence[ShardResult], count: int
) -> np.ndarray | None:
  """The labels by sample number, where each sample has equally many."""
  values = labels.empty(label, count)
  if values is not None:
    for shard in shards:
      found = shard.labels.reshape(len(shard.rows), *values.shape[1:])
      values[shard.rows["sample"]] = found
  return values


def finish(
  directory: str,
  source: SampleSource,
  scan: np.ndarray,
  good: np.ndarray,
  skipped: Sequence[tuple[str, str]],
  splits: Sequence[str],
  split_of: np.ndarray,
  plans: Sequence[ShardPlan],
  shards: Sequence[ShardResult],
  label: dict[str, Any] | None,
  arguments: dict[str, Any],
) -> None:
  """Writes the `.idx` files, the indices, labels, names and at last the manifest.

  Raises:
    OSError: a file cannot be written; there is then no manifest.
    ConvertError: the manifest would be longer than one that is read.
  """
  for plan, shard in zip(plans, shards):
    if plan.target == "pcr":
      continue
    lines = "".join(f"{row['sample']}\t{row['offset']}\n" for row in shard.rows)
    path = os.path.join(directory, contents.idx_name(plan.name))
    write_file(path, lines.encode())

  index = np.concatenate([shard.rows for shard in shards])
  index_bytes = manifest.encode_index(index)
  write_file(os.path.join(directory, manifest.INDEX), index_bytes)

  table = scan[good]
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
  if source.has_masks:
    features["mask"] = {
      "dtype": f"uint{table['mask_bits'][0]}",
      "shape": [height, width, 1],
      "example": masks.FEATURE,
    }
  features |= source.features
  if "mask" in features:
    features["mask"] = features["mask"] | {"shape": [height, width, 1]}
    supervised.append("mask")

  formats = {}
  for target in arguments["mix"]:
    mine = [shard for plan, shard in zip(plans, shards) if plan.target == target]
    rows = np.concatenate([np.empty(0, INDEX_DTYPE), *(shard.rows for shard in mine)])
    sides = (rows[field].astype(np.int64) for field in _PIXEL_FIELDS)
    pixel_bytes = functools.reduce(np.multiply, sides) // 8
    formats[TARGETS[target][0]] = {
      "samples": len(rows),
      "bytes": sum(shard.bytes for shard in mine),
      "pixel_bytes": int(pixel_bytes.sum()),
      "lossless": bool(
        (rows["pixels_hash"] == table["pixels_hash"][rows["sample"].astype(int)]).all()
      ),
    }

  data = {
    "schema": schema.SCHEMA,
    "created_by": arguments["created_by"],
    "version": 1,
    "made_by": "convert",
    "features": features,
    "supervised": supervised,
    "splits": {
      name: {"samples": int((split_of == i).sum()), "index": i}
      for i, name in enumerate(splits)
    },
    "seed": arguments["seed"],
    "mix": {TARGETS[name][0]: share for name, share in arguments["mix"].items()},
    "replicated": arguments["replicate"],
    "encoding": arguments["encoding"],
    "geometry": arguments["geometry"],
    "samples": len(good),
    "next_sample": len(good),
    "formats": formats,
    "shards": [
      {
        "path": plan.name,
        "format": TARGETS[plan.target][0],
        "split": splits[plan.split],
        "records": len(shard.rows),
        "bytes": shard.bytes,
        "crc32c": shard.crc32c,
      }
      for plan, shard in zip(plans, shards)
    ],
    "source": {
      "kind": source.kind,
      "fingerprint": _fingerprint(source, scan),
      "by_pillow": int(table["by_pillow"].sum()),
    },
    "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
    "index": {
      "path": manifest.INDEX,
      "rows": len(index),
      "crc32c": manifest.crc32c(index_bytes),
    },
    "names": _write_names(directory, source, good),
    "columns": {},
  }
  values = _labels(label, shards, len(good))
  if values is not None:
    data["labels"] = labels.write(directory, manifest.LABELS, values)
  if arguments["pcr"] is not None:
    data["pcr"] = _write_pcr_index(directory, plans, shards, arguments)
  text = (json.dumps(data, indent=1) + "\n").encode()
  if len(text) > manifest.MOST_MANIFEST:
    raise ConvertError(
      f"{manifest.MANIFEST} would have {len(text)} bytes, and must have at most "
      f"{manifest.MOST_MANIFEST}: {len(skipped)} files were skipped, leave them out of "
      "the source"
    )
  write_file(os.path.join(directory, manifest.MANIFEST), text)
