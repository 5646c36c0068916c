"""The header of MXNet's image records (docs/formats/recordio.md)."""

import struct
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
import tensorflow as tf

from liquid_tf._store import arrays
from liquid_tf._words import Shown
from liquid_tf.errors import RecordIOError, WrongArgument

_HEADER = struct.Struct("<IfQQ")  # flag, label, id, id2


class Header(NamedTuple):
  """Header of an image record.

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
    ValueError: the label is no number and no vector of at least one, or is a whole
      number that float32 does not hold; or an id does not fit.
  """
  try:
    changed = arrays.changed(header.label, np.float32)
    with np.errstate(over="ignore"):
      labels = np.asarray(header.label, np.float32)
  except (TypeError, ValueError, OverflowError) as error:
    raise WrongArgument("label", header.label, "must be a number or several") from error
  if changed.any():
    raise WrongArgument(
      "label", header.label, "must be of numbers that float32 does not change"
    )
  if labels.ndim > 1 or labels.size == 0:
    raise WrongArgument(
      "label",
      Shown(f"shape {labels.shape}"),
      "must be a number, or a vector of at least one",
    )
  flag, label = (labels.size, 0.0) if labels.ndim else (0, float(labels))
  try:
    fixed = _HEADER.pack(flag, label, header.id, header.id2)
  except struct.error as error:
    raise WrongArgument(
      "id", header.id, f"and id2 ({header.id2}) must be integers in [0, 2^64)"
    ) from error
  return fixed + (labels.astype("<f4").tobytes() if flag else b"") + data


@overload
def unpack(record: bytes) -> tuple[Header, bytes]: ...
@overload
def unpack(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]: ...
def unpack(
  record: bytes | tf.Tensor,
) -> tuple[Header, bytes] | tuple[tf.Tensor, tf.Tensor]:
  """Takes the payload of an image record apart; the inverse of `pack`.

  Args:
    record: as `Reader` gives it; or a scalar string tensor, as elements of `dataset`
      are, so that `dataset(path).map(unpack)` works.

  Returns:
    Of bytes, the header, whose label is a float or a tuple of floats, and the data. Of
    a tensor, the labels, float32 [k], and the data, a scalar string. A label that is a
    number is a vector of one there, since records of one dataset may have either.

  Raises:
    RecordIOError: it is too short for its header or its labels.
    tf.errors.InvalidArgumentError: likewise, of a tensor, when it is computed.
    ValueError: it is a tensor, and no scalar string.
  """
  if tf.is_tensor(record):
    return _unpack_tensor(record)
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


def _unpack_tensor(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Labels and data of a record that is a tensor; see `unpack`."""
  if record.dtype != tf.string or record.shape.rank not in (0, None):
    raise WrongArgument(
      "record",
      Shown(f"{record.dtype.name}, shape {record.shape}"),
      "must be a scalar string",
    )
  record = tf.ensure_shape(record, [])
  size = tf.strings.length(record)
  record = _checked(
    record, size >= _HEADER.size, "record is shorter than its header; bytes:", size
  )
  [flag] = tf.unstack(tf.io.decode_raw(tf.strings.substr(record, 0, 4), tf.int32), 1)
  # A larger number is a negative one here.
  holds = (flag >= 0) & (flag <= (size - _HEADER.size) // 4)
  record = _checked(record, holds, "record is shorter than its labels; labels:", flag)
  first, count = tf.where(flag > 0, _HEADER.size, 4), tf.maximum(flag, 1)
  labels = tf.io.decode_raw(tf.strings.substr(record, first, 4 * count), tf.float32)
  begin = _HEADER.size + 4 * flag
  data = tf.strings.substr(record, begin, size - begin)
  return tf.ensure_shape(labels, [None]), data


def _checked(
  record: tf.Tensor, right: tf.Tensor, message: str, number: tf.Tensor
) -> tf.Tensor:
  """The record, where it is right; else an error when it is computed."""
  with tf.control_dependencies([tf.debugging.Assert(right, [message, number])]):
    return tf.identity(record)
