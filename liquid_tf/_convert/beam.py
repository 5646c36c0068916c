"""The engine that is an Apache Beam pipeline, on whatever runner.

Its elements are names of work, ranges of samples or numbers of shards. What the work is
lies in a file in the output, beside the parts of the journal that tell of what is done:
so workers need the output and the source under the same paths, and nothing else.
"""

import dataclasses
import os
import pickle
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from liquid_tf import _extras
from liquid_tf._convert import journal, scan, write
from liquid_tf._convert.job import ShardResult, WriteJob
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._store.files import write_file
from liquid_tf._words import speak, spoken
from liquid_tf.errors import ConvertError

# Samples that are scanned as one piece of work.
_SCAN_SAMPLES = 1024

_FAILED = "failed.txt"


@dataclasses.dataclass(frozen=True)
class ScanTask:
  """Scans ranges of a list of positions.

  Attributes:
    folder: for the parts of the journal.
    source: the samples.
    positions: which.
    encoding: its channels and bits are those of every image after the scan.
  """

  folder: str
  source: SampleSource
  positions: Sequence[int]
  encoding: Encoding

  def items(self) -> list[int]:
    return list(range(0, len(self.positions), _SCAN_SAMPLES))

  def name(self, begin: int) -> str:
    last = min(begin + _SCAN_SAMPLES, len(self.positions)) - 1
    return f"{self.positions[begin]}-{self.positions[last]}"

  def run(self, begin: int) -> None:
    positions = self.positions[begin : begin + _SCAN_SAMPLES]
    found = list(scan.scan_samples(self.source, positions, self.encoding, 1))
    rows = np.array([row for _, row, _ in found], journal.SCAN_DTYPE)
    errors = {position: error for position, _, error in found if error}
    journal.write_scanned(self.folder, self.name(begin), positions, rows, errors)


@dataclasses.dataclass(frozen=True)
class WriteTask:
  """Writes shards.

  Attributes:
    folder: for the parts of the journal.
    job: of which they are a part.
    numbers: of their plans.
  """

  folder: str
  job: WriteJob
  numbers: Sequence[int]

  def items(self) -> list[int]:
    return list(self.numbers)

  def name(self, number: int) -> str:
    return self.job.plans[number].name

  def run(self, number: int) -> None:
    [(_, result)] = write.write_some(self.job, [number], 1, lambda: None)
    journal.write_shard(self.folder, self.name(number), result)


def require_beam() -> None:
  """Raises ImportError unless there is Apache Beam."""
  try:
    import apache_beam  # noqa: F401
  except ImportError as error:
    raise ImportError(_extras.sentence("apache_beam")) from error


class BeamEngine:
  """Scans and writes in the workers of a Beam runner.

  Args:
    directory: where the dataset is made; all workers reach it under this path.
    options: of the pipeline, as ["--runner=FlinkRunner", "--parallelism=8"].
  """

  def __init__(self, directory: str, options: Sequence[str]):
    self._folder = journal.parts_folder(directory)
    self._options = list(options)

  def scan(
    self, source: SampleSource, positions: Sequence[int], encoding: Encoding
  ) -> Iterator[tuple[int, np.ndarray, str]]:
    task = ScanTask(self._folder, source, positions, encoding)
    self._run(task)
    for begin in task.items():
      path = os.path.join(self._folder, task.name(begin) + journal.SCANNED)
      part, rows, errors = journal.read_scanned(path)
      for position, row in zip(part, rows):
        yield position, row, errors.get(position, "")

  def write(
    self, job: WriteJob, numbers: Sequence[int], step: Callable[[], None]
  ) -> Iterator[tuple[int, ShardResult]]:
    task = WriteTask(self._folder, job, numbers)
    self._run(task)
    for number in numbers:
      path = os.path.join(self._folder, task.name(number) + journal.SHARD)
      result = journal.read_shard(path)
      for _ in result.rows:
        step()
      yield number, result

  def _run(self, task: ScanTask | WriteTask) -> None:
    """Runs the whole task.

    Raises:
      ConvertError: a worker says that the conversion cannot go on, or Beam does.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    os.makedirs(self._folder, exist_ok=True)
    failed = os.path.join(self._folder, _FAILED)
    if os.path.exists(failed):
      os.unlink(failed)
    path = os.path.join(self._folder, f"{type(task).__name__}.pickle")
    write_file(path, pickle.dumps((spoken(), task)))
    try:
      with beam.Pipeline(options=PipelineOptions(self._options)) as pipeline:
        items = pipeline | beam.Create(task.items()) | beam.Reshuffle()
        _ = items | beam.ParDo(_do_fn(path))
    except Exception as error:
      # Runners wrap what a worker raised in types and stacks of their own.
      if os.path.exists(failed):
        with open(failed) as file:
          raise ConvertError(file.read()) from error
      raise ConvertError(f"the Beam pipeline failed: {error}") from error


def _do_fn(path: str):
  """A DoFn that does the items of the task in a file."""
  import apache_beam as beam

  class Work(beam.DoFn):
    def setup(self):
      with open(path, "rb") as file:
        words, self._task = pickle.load(file)
      speak(words)

    def process(self, item):
      run_item(self._task, item)
      return ()

  return Work()


def run_item(task: ScanTask | WriteTask, item: int) -> None:
  """Does an item of a task; leaves its error to the converting process."""
  try:
    task.run(item)
  except (ConvertError, OSError) as error:
    write_file(os.path.join(task.folder, _FAILED), str(error).encode())
    raise
