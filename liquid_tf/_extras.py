"""Libraries that the package does without until they are used, and who brings them."""

import contextlib
from collections.abc import Iterator

# By the module that is imported: who needs it, and how to install it.
_SENTENCES = {
  "tensorflow": 'liquid_tf needs TensorFlow: pip install "liquid-tf[cpu]", or '
  '"liquid-tf[tensorflow]" for TensorFlow with CUDA',
  "matplotlib": 'plots and reports need matplotlib: pip install "liquid-tf[plot]"',
  "cupy": 'decoding on a GPU needs CuPy: pip install "liquid-tf[gpu]"',
  "botocore": 's3:// needs botocore: pip install "liquid-tf[s3]"',
  "apache_beam": 'workers=Beam(…) needs Apache Beam: pip install "liquid-tf[beam]", '
  "which TensorFlow 2.16 goes together with and newer ones may not",
}


def modules() -> list[str]:
  """The modules that extras bring."""
  return list(_SENTENCES)


def sentence(module: str) -> str:
  """Who needs a module that is not installed, and which extra brings it."""
  return _SENTENCES[module]


@contextlib.contextmanager
def explained() -> Iterator[None]:
  """Makes an import of what is not installed say which extra brings it.

  Raises:
    ModuleNotFoundError: in place of Python's own, with that sentence.
  """
  try:
    yield
  except ModuleNotFoundError as error:
    module = (error.name or "").partition(".")[0]
    if module not in _SENTENCES or str(error) == _SENTENCES[module]:
      raise
    raise ModuleNotFoundError(sentence(module), name=module) from None
