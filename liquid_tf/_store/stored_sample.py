"""Where one sample of a dataset is stored, and its image."""

import contextlib
import os
from typing import Any

import numpy as np

from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import labels, names, storage
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


def export_sample(
  path: str | os.PathLike, sample: int, output: str, *, limits: Limits = Limits()
) -> None:
  """Writes the image of a sample to a PNG file.

  Args:
    path: a dataset directory.
    sample: its number.
    output: the file to write.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Raises:
    ManifestError: the dataset, or the sample's record, cannot be read.
    ValueError: there is no such sample.
    OSError: `output` cannot be written.
  """
  import tensorflow as tf

  place = find_sample(path, sample)[0]
  name = storage.join(os.fspath(path), place["shard"])
  where = (
    f"{name}, record {place['record']} (sample {sample}, offset {place['offset']})"
  )
  try:
    if place["format"] == "pcr":
      image = stored = _read_pcr_image(path, place)
    else:
      with open(name, "rb", opener=storage.regular) as file:
        file.seek(place["offset"])
        stored = file.read(place["length"])
      image = ops.lib().liquid_unpack_record(framed=stored).image
    if manifests.crc32c(stored) != place["crc32c"]:
      raise ManifestError(f"{where} is damaged: its CRC-32C is not the index's")
  except (OSError, tf.errors.OpError) as error:
    reason = ops.reason(error, name)
    raise ManifestError(f"{where} cannot be read: {reason}") from error
  result = ops.lib().liquid_transcode_image(
    contents=image, target="png", orientation=1, **limits.attributes()
  )
  error = result.error.numpy().decode(errors="replace")
  if error:
    raise ManifestError(f"{where} cannot be decoded: {error}")
  with open(output, "wb") as file:
    file.write(result.encoded.numpy())


def _read_pcr_image(path: str, place: dict[str, Any]) -> bytes:
  """The JPEG file of a sample of a pcr, at full fidelity."""
  manifest = manifests.load(path, check_files=False)
  numbers = {shard.path: i for i, shard in enumerate(manifest.shards)}
  entry = manifests.load_pcr_index(manifest)[numbers[place["shard"]]]
  record = storage.read_file(manifest.path(place["shard"]))
  return entry.read(record).images[place["offset"]].numpy()
