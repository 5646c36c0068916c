"""Libraries that the package does without until they are used, and how to get them."""

import contextlib
from collections.abc import Iterator

from liquid_tf._words import said

# By the module that is imported: who needs it, and how to install it. None names an
# extra of this package: pip would ask an index for its name, which is not ours there.
_SENTENCES = {
  "tensorflow": 'liquid_tf needs TensorFlow: pip install "tensorflow-cpu>=2.16,<2.22", '
  'or "tensorflow[and-cuda]>=2.16,<2.22" for a GPU',
  "ml_dtypes": 'arrays of bfloat16 need ml_dtypes: pip install "ml_dtypes>=0.3"',
  "matplotlib": 'plots and reports need matplotlib: pip install "matplotlib>=3.6"',
  "botocore": 's3:// needs botocore: pip install "botocore>=1.36"',
  "pyarrow": 'Parquet and Arrow need pyarrow: pip install "pyarrow>=16"',
  "tifffile": "TIFF of 16 bits and several channels needs tifffile: pip install "
  '"tifffile>=2023.1"',
  "apache_beam": '{workers} needs Apache Beam: pip install "apache-beam>=2.61", '
  "which TensorFlow 2.16 goes together with and newer ones may not",
}


def modules() -> list[str]:
  """The modules that have a sentence."""
  return list(_SENTENCES)


def sentence(module: str) -> str:
  """Says who needs a module that is not installed, and how to install it."""
  return _SENTENCES[module].format(workers=said("workers=[…]"))


@contextlib.contextmanager
def explained() -> Iterator[None]:
  """Makes an import of what is not installed say how to install it.

  Raises:
    ModuleNotFoundError: in place of Python's own, with that sentence.
  """
  try:
    yield
  except ModuleNotFoundError as error:
    module = (error.name or "").partition(".")[0]
    if module not in _SENTENCES or str(error) == sentence(module):
      raise
    raise ModuleNotFoundError(sentence(module), name=module) from None
