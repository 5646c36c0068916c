"""The engine that is this process."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from liquid_tf._convert import scan, write
from liquid_tf._convert.engine import ShardResult, WriteJob
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.sources.source import SampleSource


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
