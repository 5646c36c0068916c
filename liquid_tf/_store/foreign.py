"""Files of records of other programs, given in place of a dataset."""

import glob
import os

from liquid_tf._store import storage

_RECORDIO = bytes.fromhex("0a23d7ce")
# A TFRecord begins with eight bytes of length, and their checksum.
_TFRECORD = 12


def masked_crc(data: bytes) -> int:
  """The checksum that TFRecords have of their parts: CRC-32C, rotated and added to."""
  crc = storage.crc32c(data)
  return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def advice(path: str) -> str | None:
  """Advice about files of records at a path or pattern; None where there are none.

  Local files are told by their first bytes, others by their names.
  """
  if storage.is_remote(path):
    kind = "RecordIO" if path.endswith(".rec") else None
  else:
    found = [path] if os.path.exists(path) else glob.glob(path)
    kind = _kind(found[0]) if found else None
  if kind is None:
    return None
  reader = {
    "RecordIO": "liquid_tf.recordio.dataset",
    "TFRecord": "tf.data.TFRecordDataset",
  }[kind]
  return (
    f"{path} is {kind}, not a Liquid dataset: make one of it with liquid_tf.convert, "
    f"or read its records as they are with {reader}"
  )


def _kind(path: str) -> str | None:
  """The container of a local file."""
  try:
    with open(path, "rb", opener=storage.regular) as file:
      head = file.read(_TFRECORD)
  except OSError:
    return None
  if head.startswith(_RECORDIO):
    return "RecordIO"
  length, crc = head[:8], head[8:]
  if len(crc) == 4 and masked_crc(length) == int.from_bytes(crc, "little"):
    return "TFRecord"
  return None
