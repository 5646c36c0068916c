"""The header of MXNet's image records (docs/formats/recordio.md)."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from liquid_tf.errors import RecordIOError

_HEADER = struct.Struct("<IfQQ")  # flag, label, id, id2


class Header(NamedTuple):
  """What stands before the data of an image record.

  Attributes:
    label: a number, or a vector of them; float32 in the record.
    id: in [0, 2^64).
    id2: in [0, 2^64); no reader of MXNet's uses it.
  """

  label: float | Sequence[float]
  id: int = 0
  id2: int = 0


def pack(header: Header, data: bytes) -> bytes:
  """Makes the payload of an image record.

  Args:
    header: label and ids. A vector of one is stored as such, and is not a number.
    data: an encoded image, or any bytes.

  Returns:
    What `Writer.write` takes.

  Raises:
    ValueError: the label is no number and no vector of at least one, or an id does not
      fit.
  """
  try:
    labels = np.asarray(header.label, np.float32)
  except (TypeError, ValueError) as error:
    raise ValueError(f"label ({header.label!r}) must be a number or several") from error
  if labels.ndim > 1 or labels.size == 0:
    raise ValueError(
      f"label (shape {labels.shape}) must be a number, or a vector of at least one"
    )
  flag, label = (labels.size, 0.0) if labels.ndim else (0, float(labels))
  try:
    fixed = _HEADER.pack(flag, label, header.id, header.id2)
  except struct.error as error:
    raise ValueError(
      f"id ({header.id}) and id2 ({header.id2}) must be integers in [0, 2^64)"
    ) from error
  return fixed + (labels.astype("<f4").tobytes() if flag else b"") + data


def unpack(record: bytes) -> tuple[Header, bytes]:
  """Takes the payload of an image record apart; the inverse of `pack`.

  Args:
    record: as `Reader` gives it.

  Returns:
    The header, whose label is a float or a tuple of floats, and the data.

  Raises:
    RecordIOError: it is too short for its header or its labels.
  """
  if len(record) < _HEADER.size:
    raise RecordIOError(
      f"record of {len(record)} bytes is shorter than the {_HEADER.size}-byte header "
      "of an image record"
    )
  flag, label, id1, id2 = _HEADER.unpack_from(record)
  end = _HEADER.size + 4 * flag
  if end > len(record):
    raise RecordIOError(
      f"flag at offset 0 says {flag} labels, more than the record's {len(record)} "
      "bytes hold"
    )
  if flag:
    label = tuple(np.frombuffer(record, "<f4", flag, _HEADER.size).tolist())
  return Header(label, id1, id2), record[end:]
