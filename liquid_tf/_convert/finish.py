"""The files that close a dataset: made of what is known of its shards."""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import fidelity
from liquid_tf._convert.plan import ShardPlan
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._native.limits import Limits
from liquid_tf._store import manifest, schema
from liquid_tf._store.files import write_file
from liquid_tf._store.manifest import INDEX_DTYPE
from liquid_tf._store.mix import TARGETS
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
  shards: Sequence[tuple[int, int, np.ndarray, np.ndarray]],
  arguments: dict[str, Any],
) -> dict[str, Any]:
  """Writes the index of the records; returns what the manifest says of them."""
  entries, images = [], []
  for plan, (_, _, rows, parts) in zip(plans, shards):
    if plan.target == "pcr":
      entries.append(PcrEntry(plan.name, *parts))
      images.append(len(rows))
  contents = encode_index(entries)
  write_file(os.path.join(directory, manifest.PCR_INDEX), contents)
  measured = fidelity.measure(
    directory, entries, images, arguments["seed"], Limits(**arguments["limits"])
  )
  return arguments["pcr"] | {
    "index_bytes": len(contents),
    "index_crc32c": manifest.crc32c(contents),
    "fidelity": measured,
  }


def finish(
  directory: str,
  source: SampleSource,
  scan: np.ndarray,
  good: np.ndarray,
  skipped: Sequence[tuple[str, str]],
  splits: Sequence[str],
  split_of: np.ndarray,
  plans: Sequence[ShardPlan],
  shards: Sequence[tuple[int, int, np.ndarray, np.ndarray]],
  label: dict[str, Any] | None,
  arguments: dict[str, Any],
) -> None:
  """Writes the `.idx` files, the indices and at last the manifest.

  Raises:
    OSError: a file cannot be written; there is then no manifest.
    ConvertError: the manifest would be longer than one that is read.
  """
  for plan, (_, _, rows, _) in zip(plans, shards):
    if plan.target == "pcr":
      continue
    lines = "".join(f"{row['sample']}\t{row['offset']}\n" for row in rows)
    name = plan.name.removesuffix(".rec") + ".idx"
    write_file(os.path.join(directory, name), lines.encode())

  index = np.concatenate([rows for _, _, rows, _ in shards])
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
    mine = [
      (size, rows)
      for plan, (size, _, rows, _) in zip(plans, shards)
      if plan.target == target
    ]
    rows = np.concatenate([np.empty(0, INDEX_DTYPE), *(rows for _, rows in mine)])
    sides = (rows[field].astype(np.int64) for field in _PIXEL_FIELDS)
    pixel_bytes = functools.reduce(np.multiply, sides) // 8
    formats[TARGETS[target][0]] = {
      "samples": len(rows),
      "bytes": sum(size for size, _ in mine),
      "pixel_bytes": int(pixel_bytes.sum()),
      "lossless": bool(
        (rows["pixels_hash"] == table["pixels_hash"][rows["sample"].astype(int)]).all()
      ),
    }

  data = {
    "schema": schema.SCHEMA,
    "created_by": arguments["created_by"],
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
    "formats": formats,
    "shards": [
      {
        "path": plan.name,
        "format": TARGETS[plan.target][0],
        "split": splits[plan.split],
        "records": len(rows),
        "bytes": size,
        "crc32c": crc,
      }
      for plan, (size, crc, rows, _) in zip(plans, shards)
    ],
    "source": {
      "kind": source.kind,
      "fingerprint": _fingerprint(source, scan),
      "by_pillow": int(table["by_pillow"].sum()),
    },
    "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
    "index": {"rows": len(index), "crc32c": manifest.crc32c(index_bytes)},
  }
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
