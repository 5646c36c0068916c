"""The one error of a conversion."""


class ConvertError(RuntimeError):
  """A conversion that cannot go on; the message says what, where and what to do."""
