"""Who converts: processes here, or the workers of an Apache Beam pipeline."""

import os
from collections.abc import Sequence
from typing import Any

from liquid_tf._convert.arguments import in_range
from liquid_tf._convert.beam import BeamEngine, require_beam
from liquid_tf._convert.engine import Engine
from liquid_tf._convert.local import LocalEngine
from liquid_tf.errors import WrongArgument

# Images at a time, or the options of a pipeline.
Workers = int | Sequence[str] | None


def check(workers: Any) -> None:
  """Checks `workers=`.

  Raises:
    ImportError: it asks for Apache Beam, which is not installed.
    ValueError: it is neither a number nor a list of flags.
  """
  if isinstance(workers, (list, tuple)):
    if not all(isinstance(option, str) for option in workers):
      raise WrongArgument(
        "workers", workers, 'must be flags of Beam, as ["--runner=FlinkRunner"]'
      )
    require_beam()
  elif workers is not None:
    in_range("workers", workers, 1, 1024)


def engine(workers: Workers, directory: str) -> Engine:
  """Makes what scans and writes for a conversion.

  Args:
    workers: as `check` takes them.
    directory: where the dataset is made.
  """
  if workers is None or isinstance(workers, int):
    return LocalEngine(workers or os.cpu_count())
  return BeamEngine(directory, workers)
