"""Records as bytes (docs/formats/recordio.md).

The library has the same for what it makes itself. Here a payload is written where it
lies: passing it through an op would copy it three times.
"""

import struct

import numpy as np

_MAGIC = 0xCED7230A
_HEADER = struct.Struct("<II")  # magic, cflag << 29 | length
_WHOLE, _FIRST, _MIDDLE, _LAST = (flag << 29 for flag in range(4))
# dmlc-core refuses a longer payload, whatever it is split into.
MOST = (1 << 29) - 1


def frame(data: bytes) -> list[bytes | memoryview]:
  """Makes the record of a payload.

  Args:
    data: at most MOST bytes.

  Returns:
    Its bytes in pieces, of which the payload's are not copied.
  """
  words = np.frombuffer(data, "<u4", len(data) // 4)
  cuts = np.flatnonzero(words == _MAGIC)
  if not len(cuts):
    return [_HEADER.pack(_MAGIC, _WHOLE | len(data)), data, bytes(-len(data) % 4)]
  view, pieces, begin, flag = memoryview(data), [], 0, _FIRST
  for cut in (4 * cuts).tolist():
    pieces += [_HEADER.pack(_MAGIC, flag | (cut - begin)), view[begin:cut]]
    begin, flag = cut + 4, _MIDDLE
  left = len(data) - begin
  pieces += [_HEADER.pack(_MAGIC, _LAST | left), view[begin:], bytes(-left % 4)]
  return pieces
