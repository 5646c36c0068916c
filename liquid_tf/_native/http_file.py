"""Files of http://, https:// and s3:// (ops/direct/direct_http.h).

Requests are repeated for 15 seconds where what fails may pass. Proxies are those of the
environment; servers are checked by the certificates of its SSL_CERT_FILE, or by those
of the system.
"""

import ctypes
import functools
import weakref

from liquid_tf._native import direct

_DONE, _MISSING = 0, 1


@functools.cache
def _functions() -> ctypes.CDLL:
  functions = direct.functions()
  pointer, number = ctypes.c_void_p, ctypes.c_uint64
  functions.liquid_direct_http_open.argtypes = [ctypes.c_char_p]
  functions.liquid_direct_http_open.restype = pointer
  functions.liquid_direct_http_close.argtypes = [pointer]
  functions.liquid_direct_http_close.restype = None
  functions.liquid_direct_http_size.argtypes = [pointer, pointer, direct.Problem]
  functions.liquid_direct_http_size.restype = ctypes.c_int32
  functions.liquid_direct_http_read.argtypes = [
    *(pointer, number, pointer, number, pointer),
    direct.Problem,
  ]
  functions.liquid_direct_http_read.restype = ctypes.c_int32
  return functions


class HttpFile:
  """One version of a file: another one that is met later is an error.

  Args:
    url: its address. Nothing is asked yet.
  """

  def __init__(self, url: str):
    self._file = _functions().liquid_direct_http_open(url.encode())
    if not self._file:
      raise MemoryError
    # Not when Python ends, where a thread may still read.
    close = weakref.finalize(self, _functions().liquid_direct_http_close, self._file)
    close.atexit = False

  def size(self) -> int:
    """Bytes of the file.

    Raises:
      FileNotFoundError: there is no such file.
      OSError: the server does not tell; one sentence that names the file.
    """
    size = ctypes.c_uint64()
    _call(_functions().liquid_direct_http_size, self._file, ctypes.addressof(size))
    return size.value

  def read(self, offset: int, size: int) -> bytes:
    """Bytes of the file.

    Args:
      offset: of the first one.
      size: how many; fewer come at the file's end.

    Raises:
      FileNotFoundError: there is no such file.
      OSError: they cannot be read; one sentence that names the file.
    """
    data, read = bytearray(size), ctypes.c_uint64()
    room = (ctypes.c_char * size).from_buffer(data)
    _call(
      _functions().liquid_direct_http_read,
      *(self._file, offset, ctypes.addressof(room), size, ctypes.addressof(read)),
    )
    return bytes(memoryview(data)[: read.value])


def _call(function, *arguments) -> None:
  end, problem = direct.call(function, *arguments)
  if end != _DONE:
    raise (FileNotFoundError if end == _MISSING else OSError)(problem)
