"""Who converts: processes here, or the workers of an Apache Beam pipeline."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import scan, write
from liquid_tf._convert.arguments import in_range
from liquid_tf._convert.beam import BeamEngine, require_beam
from liquid_tf._convert.job import Engine, ShardResult, WriteJob
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.sources.samples import SampleSource
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


class LocalEngine:
  """Scans and writes in this process, in order.

  Args:
    workers: samples at a time.
  """

  def __init__(self, workers: int):
    self._workers = workers

  def scan(
    self, source: SampleSource, positions: Sequence[int], encoding: Encoding
  ) -> Iterator[tuple[int, np.ndarray, str]]:
    return scan.scan_samples(source, positions, encoding, self._workers)

  def write(
    self, job: WriteJob, numbers: Sequence[int], step: Callable[[], None]
  ) -> Iterator[tuple[int, ShardResult]]:
    return write.write_some(job, numbers, self._workers, step)
