"""What a dataset holds, read record by record without the project's readers."""

import io
import pathlib

import numpy as np
import tensorflow as tf
from PIL import Image

from liquid_tf import codecs
from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._view import inspection


def records(dataset: str, only: str | None = None) -> list[dict]:
  """Every record of a dataset, in the order of its index.

  Args:
    dataset: its directory.
    only: the format of the records; None for all of a dataset without pcr.

  Returns:
    Dicts with `row` of the index, `shard` of the manifest, and of the record `id`,
    `labels`, `contents` (the encoded image), `example` and `image` (decoded).
  """
  loaded = manifest.load(dataset)
  result = []
  for row in manifest.load_index(loaded):
    shard = loaded.shards[row["shard"]]
    if only not in (None, shard.format):
      continue
    data = pathlib.Path(loaded.path(shard.path)).read_bytes()
    framed = data[row["offset"] :][: row["length"]]
    record = ops.lib().liquid_unpack_record(framed=framed)
    dtype = tf.uint8 if row["bits"] == 8 else tf.uint16
    image = ops.lib().liquid_decode_image(
      contents=record.image, window=[0, 0, 0, 0], dtype=dtype
    )
    result.append(
      {
        "row": row,
        "shard": shard,
        "id": int(record.id),
        "labels": record.labels.numpy().tolist(),
        "contents": record.image.numpy(),
        "example": record.example.numpy(),
        "image": image.numpy(),
      }
    )
  return result


def mask_of(stored: bytes) -> np.ndarray:
  """A stored mask; one that is PNG as a stranger would read it."""
  if stored.startswith(b"LLL2"):
    dtype = tf.uint16 if int(codecs.peek(stored).bits) == 16 else tf.uint8
    return codecs.decode(stored, dtype=dtype).numpy()[..., 0]
  return np.asarray(Image.open(io.BytesIO(stored)))


def masks(dataset: str) -> dict[int, np.ndarray]:
  """Masks by sample number."""
  result = {}
  for record in records(dataset):
    parsed = tf.io.parse_single_example(
      record["example"], {"mask": tf.io.FixedLenFeature([], tf.string)}
    )
    result[record["id"]] = mask_of(parsed["mask"].numpy())
  return result


def sound(report, **options):
  """A conversion's report, where everything that it wrote is right.

  Args:
    report: of the conversion.
    **options: of `verify`.
  """
  problems = inspection.verify(report.output, **options)["problems"]
  if problems:
    raise AssertionError(problems)
  return report
