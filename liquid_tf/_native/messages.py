"""The messages that hold what is constant in an op, and their field numbers.

What a field means is in ops/message/messages.h. Messages have the format of protocol
buffers and one encoding of each value, since tf.data service compares graphs: every
field is written once, by ascending number, whatever its value; that of a list of texts
or messages once an entry.
"""

import operator
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_VARINT, _FIXED64, _BYTES = 0, 1, 2
# Bits that a varint has in each of its bytes: ten of them hold 64.
_SHIFTS = np.arange(0, 64, 7, np.uint64)


def _varint(value: int) -> bytes:
  encoded = bytearray()
  while value > 127:
    encoded.append(value & 127 | 128)
    value >>= 7
  encoded.append(value)
  return bytes(encoded)


def _tag(number: int, wire: int) -> bytes:
  return _varint(number << 3 | wire)


def _number(number: int, value: Any) -> bytes:
  value = operator.index(value)
  if not -(2**63) <= value < 2**63:
    raise OverflowError(f"{value} must be a whole number of 64 bits")
  return _tag(number, _VARINT) + _varint(value % 2**64)


def _flag(number: int, value: bool) -> bytes:
  return _number(number, int(value))


def _numbers(number: int, values: Any) -> bytes:
  values = np.asarray(values if len(values) else np.zeros(0, np.int64))
  whole = values.ndim == 1 and values.dtype.kind in "iu"
  if not whole or (values.dtype == np.uint64 and (values >> np.uint64(63)).any()):
    raise OverflowError(f"{values!r:.200} must be a list of whole numbers of 64 bits")
  # A row a value, a column a byte; each but the last of a value has its highest bit.
  left = values.astype(np.int64).view(np.uint64)[:, None] >> _SHIFTS
  used = left != 0
  used[:, 0] = True
  more = np.zeros_like(used)
  more[:, :-1] = used[:, 1:]
  encoded = (left & np.uint64(127)).astype(np.uint8) | (more * np.uint8(128))
  return _message(number, encoded[used].tobytes())


def _real(number: int, value: float) -> bytes:
  return _tag(number, _FIXED64) + struct.pack("<d", value)


def _text(number: int, value: str) -> bytes:
  return _message(number, value.encode())


def _texts(number: int, values: Iterable[str]) -> bytes:
  return b"".join(_text(number, value) for value in values)


def _message(number: int, value: bytes) -> bytes:
  return _tag(number, _BYTES) + _varint(len(value)) + value


def _messages(number: int, values: Iterable[bytes]) -> bytes:
  return b"".join(_message(number, value) for value in values)


class Message:
  """A kind of message; called with a value for each field, it gives its bytes.

  Attributes:
    fields: by name, in the order of their numbers: the number, and what writes a value.
  """

  def __init__(self, **fields: tuple[int, Callable[[int, Any], bytes]]):
    self.fields = fields

  def __call__(self, **values: Any) -> bytes:
    """Writes a message.

    Raises:
      TypeError: a field has no value, or a value no field.
    """
    if values.keys() != self.fields.keys():
      wrong = sorted(values.keys() ^ self.fields.keys())
      raise TypeError(f"a value must be given for each field; not so: {wrong}")
    return b"".join(write(n, values[name]) for name, (n, write) in self.fields.items())


format_plan = Message(
  files=(1, _numbers),
  record_samples=(2, _numbers),
  cached=(3, _number),
  fill=(4, _number),
  scan_groups=(5, _number),
)

plan = Message(
  seed=(1, _number),
  batch_size=(2, _number),
  shuffle=(3, _flag),
  policy=(4, _text),
  formats=(5, _messages),
  sections=(6, _numbers),
)

source = Message(
  name=(1, _text),
  resident=(2, _number),
  kept=(3, _number),
  first_group=(4, _number),
  grouped_samples=(5, _number),
)

interleave = Message(
  plan=(1, _message),
  sources=(2, _messages),
  view=(3, _number),
  drop_remainder=(4, _flag),
  initial_epoch=(5, _number),
  initial_step=(6, _number),
  cache_bytes=(7, _number),
  spare_bytes=(8, _number),
  keep_pixels=(9, _flag),
  mask_bytes=(10, _number),
  shares=(11, _numbers),
  samples_per_epoch=(12, _number),
  worker=(13, _number),
  workers=(14, _number),
  shard_policy=(15, _text),
  tier=(16, _text),
  tier_bytes=(17, _number),
  tier_queue_bytes=(18, _number),
  device_millionths=(19, _number),
)

format = Message(  # noqa: A001 - as the others.
  index=(1, _text),
  index_crc32c=(2, _number),
  pcr_index=(3, _text),
  paths=(4, _texts),
  splits=(5, _numbers),
  format=(6, _number),
  start=(7, _number),
  length=(8, _number),
  threads=(9, _number),
  lookahead_bytes=(10, _number),
  reader=(11, _text),
  replica_paths=(12, _texts),
  replica_formats=(13, _numbers),
  patience=(14, _number),
)

view = Message(
  feature=(1, _text),
  seed=(2, _number),
  recipe=(3, _texts),
)

decode = Message(
  batch_size=(1, _number),
  seed=(2, _number),
  max_pixels=(3, _number),
  max_scans=(4, _number),
  lookahead=(5, _number),
  most_lookahead=(6, _number),
  parallelism=(7, _number),
  min_visible=(8, _real),
  features=(9, _texts),
  masks=(10, _texts),
  box_columns=(11, _texts),
  box_pad=(12, _number),
  keypoint_flip=(13, _numbers),
  ragged=(14, _flag),
  recipe=(15, _texts),
  image_bits=(16, _number),
  skip_errors=(17, _flag),
  repeat_to_fill=(18, _flag),
  round_batch=(19, _flag),
  views=(20, _messages),
  stacked=(21, _flag),
)
