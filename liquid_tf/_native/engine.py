"""Loads the engine, once and only when it is needed; no framework is imported.

An op library that is loaded later takes the engine that the process has, by its name,
wherever either lies: so both share its threads, its memory and its client of servers.
"""

import ctypes
import functools

from liquid_tf._native import credentials, library


@functools.cache
def load() -> ctypes.CDLL:
  """The engine, by whose C functions (ops/direct) Python calls it.

  Raises:
    ImportError: there is none.
  """
  engine = ctypes.CDLL(library.engine())
  credentials.register(engine)
  return engine
