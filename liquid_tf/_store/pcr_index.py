"""The index of progressive compressed records (docs/formats/pcr.md)."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._native import direct_store, ops
from liquid_tf._store.files import write_file
from liquid_tf._store.storage import crc32c

INDEX = "PCR_index.pb"


@dataclasses.dataclass(frozen=True)
class PcrEntry:
  """Index entry of one record.

  Attributes:
    name: base name of the record's file.
    lengths: shape [1 + L], int64, bytes of the metadata and of each scan group.
    crc32cs: shape [1 + L], int64, CRC-32C of each of these; [0] where there are none.
  """

  name: str
  lengths: np.ndarray
  crc32cs: np.ndarray

  @property
  def groups(self) -> int:
    """L, the scan groups of the record."""
    return len(self.lengths) - 1

  def prefix_bytes(self, fidelity: int) -> int:
    """Bytes to read for a fidelity of at least 1; one above L means L."""
    return int(self.lengths[: 1 + fidelity].sum())

  def read(self, record: bytes, fidelity: int | None = None) -> Any:
    """Checks and reads the begin of a record, up to a fidelity; None: all of it.

    Returns:
      `images`, `labels` and `examples` of the op.

    Raises:
      tf.errors.OpError: it is damaged.
    """
    return ops.lib().liquid_read_pcr(
      prefix=record,
      lengths=self.lengths,
      crc32cs=self.crc32cs,
      fidelity=self.groups if fidelity is None else fidelity,
    )


class DamagedIndex(ValueError):
  """An index is damaged; the message has the offset."""


def decode_index(contents: bytes) -> list[PcrEntry]:
  """Reads an index; of several entries of one name the first counts.

  Raises:
    DamagedIndex: it is damaged.
  """
  try:
    return [PcrEntry(*row) for row in direct_store.pcr_index(contents)]
  except ValueError as error:
    raise DamagedIndex(str(error)) from None


def encode_index(entries: Sequence[PcrEntry]) -> bytes:
  """The bytes of an index."""
  names = [entry.name.encode(errors="surrogateescape") for entry in entries]
  none = np.zeros(0, np.int64)
  contents = ops.lib().liquid_write_pcr_index(
    names=np.array(names, object),
    parts=np.array([len(entry.lengths) for entry in entries], np.int64),
    lengths=np.concatenate([none, *(entry.lengths for entry in entries)]),
    checksums=np.array([len(entry.crc32cs) for entry in entries], np.int64),
    crc32cs=np.concatenate([none, *(entry.crc32cs for entry in entries)]),
  )
  return contents.numpy()


def write_index(
  directory: str, name: str, entries: Sequence[PcrEntry]
) -> dict[str, Any]:
  """Writes the index of a dataset; returns what the manifest says of the file."""
  written = encode_index(entries)
  write_file(os.path.join(directory, name), written)
  return {
    "path": name,
    "index_bytes": len(written),
    "index_crc32c": crc32c(written),
  }
