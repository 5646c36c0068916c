"""Every exception of the package."""

from liquid_tf import _words


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
    super().__init__(name, _words.Shown(_words.shown(value)), must)

  def __str__(self) -> str:
    name, value, must = self.args
    return f"{_words.argument(name, value)}{'' if must.startswith(':') else ' '}{must}"
