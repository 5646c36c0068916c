"""Every exception of the package. Wrong arguments are ValueErrors besides."""


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
