"""The error of this package."""


class RecordIOError(ValueError):
  """A RecordIO file, index or list cannot be read or written; says what and where."""
