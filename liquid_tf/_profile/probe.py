"""Short runs of the real runtime, in turn: loading, decoding, or both."""

import dataclasses
import math
import statistics
import time
from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._cost.model import Mix
from liquid_tf._graph import decode as _decode
from liquid_tf._graph.build import build
from liquid_tf._graph.stages import find_stage
from liquid_tf._graph.stats import stats as stats_of
from liquid_tf._measure import epochs, process
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._pipeline.verdict import Verdict
from liquid_tf._profile import groups, names
from liquid_tf._store import manifest as manifests
from liquid_tf.transforms import Step

# Batches that are decoded ahead, and those that do not count at the beginning of a run.
_LOOKAHEAD = 2
_WARM_UP = 4
_LEAST_BATCHES = 6

# The disk serves the format that is short, so while it is the limit, another one gives
# what was read ahead of it, and the mix seems faster than the disk allows. So a run of
# several formats begins after so many times the images in which each gives all that,
# or after so many times a run's seconds.
_SETTLED = 1.5
_SETTLING = 4

# A disk that is held to a rate, by a cgroup or in a cloud, makes up for what it was not
# asked for while something else ran. So what a run reads in this part of its seconds
# does not count.
_CATCHING_UP = 0.3


@dataclasses.dataclass(frozen=True)
class Setting:
  """The settings that all runs share.

  Attributes:
    short: path of the replicated sample.
    long: path of the same, repeated.
    batch_size: images in a batch.
    threads: that decode at once.
    memory: budget of a pipeline in bytes.
    seconds: that a run lasts at least.
    transforms: of `liquid_tf.dataset`.
    decode: "cpu" or "gpu", as `liquid_tf.dataset` takes it.
  """

  short: str
  long: str
  batch_size: int
  threads: int
  memory: int
  seconds: float
  transforms: tuple[Step, ...]
  decode: str = "cpu"


@dataclasses.dataclass(frozen=True)
class Run:
  """The measurements of one run, in its steady part.

  Attributes:
    images_per_s: delivered.
    cpu_seconds: of one processor, for an image, all threads of this process together.
    disk_bytes_per_s: by the kernel's count; None where it does not count.
  """

  images_per_s: float
  cpu_seconds: float
  disk_bytes_per_s: float | None


class Pipeline:
  """One stage of a mix, which can be run again and again.

  A stage is "load", which delivers stored bytes; "decode", with every record in memory;
  or "both". Without `hits` nothing is shuffled: reads and decoding are the same, and no
  buffer has to be filled first. With them it is, so that every batch has as many, and
  runs take whole epochs, since more is read at the beginning of one than at its end.

  Args:
    setting: what all runs have alike.
    mix: weights of formats, named as in a profile.
    stage: which.
    hits: share of the images that memory has, but for "decode", where it has all.
  """

  def __init__(self, setting: Setting, mix: Mix, stage: str, hits: float = 0):
    decode = stage == "decode"
    self._settled = 0 if decode or hits else _settled(setting, mix)
    on_gpu = setting.decode == "gpu" and stage != "load"
    self._setting = setting
    self._stage = stage
    given = {
      "mix": {names.stored(name): weight for name, weight in mix.items()},
      "fidelity": names.fidelity(mix),
      "shuffle": hits > 0,
      "cache": f"{100 * hits:.4f}%" if hits else 0,
      "memory": setting.memory,
      "features": ["image"],
      "decode": "gpu" if on_gpu else "cpu",
      "tuning": Tuning(lookahead=_LOOKAHEAD, parallelism=setting.threads),
      "transforms": setting.transforms,
      "draws_in_order": True,
    }
    dataset = build(
      Arguments(
        setting.short if decode else setting.long,
        setting.batch_size,
        **epochs.stage_options(stage, given),
      )
    )
    self._stats = stats_of(dataset)
    self._epoch = int(dataset.cardinality())
    self._unit = self._epoch if hits else 1
    options = tf.data.Options()
    options.autotune.enabled = False
    # What ends on a GPU cannot be repeated, but what is before that can.
    stored = find_stage(dataset, _decode.DecodeBatchDataset) if on_gpu else dataset
    repeated = epochs.with_threads(stored.repeat(), setting.threads)
    self._dataset = repeated.with_options(options)
    if on_gpu:
      self._dataset = _decode.on_gpu(self._dataset, stored.decoding, Limits())
    self._iterator = None
    self._fills = decode or hits > 0

  def run(self) -> Run:
    """Draws batches for the setting's seconds; the first ones do not count."""
    if self._iterator is None or self._stage != "decode":
      self._iterator = iter(self._dataset)
      if self._fills:
        self._skip(self._epoch)
        self._fills = False
    self._skip(_WARM_UP)
    self._settle()
    disk, cpu = process.disk_bytes(), time.process_time()
    begin = time.perf_counter()
    batches, images, seconds = 0, 0, 0.0
    while batches < _LEAST_BATCHES or seconds < self._setting.seconds:
      for _ in range(self._unit):
        images += _size(next(self._iterator))
        batches += 1
      seconds = time.perf_counter() - begin
    cpu = time.process_time() - cpu
    read = process.disk_bytes()
    if self._stage != "decode":
      # Its reads ahead would slow down what is measured next.
      self._iterator = None
    return Run(
      images_per_s=images / seconds,
      cpu_seconds=cpu / images,
      disk_bytes_per_s=None if disk is None else (read - disk) / seconds,
    )

  def reading(self) -> dict[str, str]:
    """The reader of each format, as `liquid_tf.stats` gives it."""
    return self._stats.summary()["reading"]

  def verdict(self) -> Verdict:
    """The limit of its runs; for a mix, of the batches before it settled too."""
    return self._stats.verdict()

  def _settle(self) -> None:
    """Draws batches until reads are those of a long run."""
    if self._stage == "decode":
      return
    now, seconds = time.perf_counter(), self._setting.seconds
    least, most = now + _CATCHING_UP * seconds, now + _SETTLING * seconds
    images = _WARM_UP * self._setting.batch_size
    while now < least or (images < self._settled and now < most):
      images += _size(next(self._iterator))
      now = time.perf_counter()

  def _skip(self, batches: int) -> None:
    for _ in range(batches):
      next(self._iterator)


class Turns:
  """Stages of mixes that take turns: all of them once, then all of them again.

  A machine that is slow for some seconds is so in one round, of all mixes.

  Args:
    setting: what all runs have alike.
    mixes: weights of formats.
    names: of stages; see `Pipeline`.

  Attributes:
    runs: of each stage, for each mix.
  """

  def __init__(self, setting: Setting, mixes: Sequence[Mix], names: Sequence[str]):
    self._pipelines = [
      {name: Pipeline(setting, mix, name) for name in names} for mix in mixes
    ]
    self.runs: list[dict[str, list[Run]]] = [{n: [] for n in names} for _ in mixes]

  def round(self) -> None:
    """Runs each stage of each mix once."""
    for pipelines, runs in zip(self._pipelines, self.runs):
      for name, pipeline in pipelines.items():
        runs[name].append(pipeline.run())


def rates(runs: Sequence[Run]) -> list[float]:
  """The images per second of each run."""
  return [run.images_per_s for run in runs]


def rate(runs: Sequence[Run]) -> float:
  """The median of runs, in images per second."""
  return statistics.median(rates(runs))


def image_spec(setting: Setting) -> tf.TensorSpec:
  """Shape [None, height, width, channels] and type of batches; unknown where ragged."""
  dataset = build(
    Arguments(
      setting.short,
      setting.batch_size,
      shuffle=False,
      features=["image"],
      transforms=setting.transforms,
      draws_in_order=True,
    )
  )
  return dataset.element_spec["image"]


def _settled(setting: Setting, mix: Mix) -> int:
  """Images of a mix until no format gives what was read ahead of it at first."""
  if len(mix) == 1:
    return 0
  manifest = manifests.load(setting.long)
  ahead = budget.lookahead_bytes(setting.memory, len(mix))
  total = sum(mix.values())
  stocks = [
    ahead / groups.read_bytes(name, manifest) * total / weight
    for name, weight in mix.items()
  ]
  return math.ceil(_SETTLED * max(stocks))


def _size(element: dict[str, tf.Tensor]) -> int:
  return int(tf.nest.flatten(element)[0].shape[0])
