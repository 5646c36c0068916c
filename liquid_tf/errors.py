"""Every exception of the package."""

import json
import os


class BuildError(RuntimeError):
  """The ops cannot be built for a TensorFlow; says why, and what to do."""


class ConvertError(RuntimeError):
  """A conversion or an export that cannot go on; says what, where and what to do."""


class ManifestError(ValueError):
  """A dataset directory that cannot be read; says what is wrong where."""


class PcrError(ValueError):
  """Progressive compressed records that cannot be read; says what is wrong where."""


class RecordError(ValueError):
  """A sample of a dataset that cannot be read; says file, record, offset and why."""


class RecordIOError(ValueError):
  """A RecordIO file, index or list cannot be read or written; says what and where."""


class TooNoisyError(Exception):
  """Measurements leave open which format is fastest; says which, and how much."""


class Shown(str):
  """Text that a message shows as it is, in place of a value."""


class WrongArgument(ValueError):
  """An argument whose value cannot be; says which, the value, and what must be."""

  def __init__(self, name: str, value: object, must: str):
    """Initializes WrongArgument.

    Args:
      name: of the argument.
      value: what was given.
      must: the rest of the sentence, as "must be at least 1" or ": it must be at
        least 1".
    """
    # As text, for an exception that is kept or sent keeps what it holds.
    super().__init__(name, Shown(_shown(value)), must)

  def __str__(self) -> str:
    name, value, must = self.args
    return f"{name} ({value}){'' if must.startswith(':') else ' '}{must}"


def _shown(value: object) -> str:
  if isinstance(value, Shown):
    return value
  if isinstance(value, os.PathLike):
    value = os.fspath(value)
  return (
    json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
  )
