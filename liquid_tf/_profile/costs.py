"""The costs of an image of each format, from rounds in which all formats took turns."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from liquid_tf._cost import model
from liquid_tf._cost.model import FormatCost
from liquid_tf._measure.epochs import STAGES
from liquid_tf._profile import devices, noise, probe, sample
from liquid_tf._profile.probe import Run, Setting

# A rate is explained by what is busiest, where it takes at most so many times that.
_EXPLAINED = 1.15

# Sets of costs that other rounds might have shown.
_RESAMPLES = 200


@dataclasses.dataclass(frozen=True)
class Seconds:
  """Seconds for an image, by format in the order of the profile.

  Attributes:
    load: of the whole disk.
    decode_cpu: of one processor, to decode it.
    both_cpu: of one processor, to load and decode it.
    processors: a scalar, that decoding gets beside other users of the machine.
  """

  load: np.ndarray
  decode_cpu: np.ndarray
  both_cpu: np.ndarray
  processors: np.ndarray


class Rounds:
  """Measures formats by themselves, a round at a time.

  Decoding counts in seconds of a processor, which a process on another core does not
  change, and in how many processors decoding got: that is one number, the same for all
  formats. Loading counts in seconds of the disk, whose proportions are those within a
  round. What it takes of a processor is what the whole pipeline takes beside decoding:
  loading by itself also copies each record into a batch, which decoding does not need.

  Args:
    setting: what all runs have alike.
    encoded: what encoding the sample showed, by the formats' names in the dataset.
    lossless: whether each format keeps pixels.
    trials: runs of a device, if the GPU decodes.

  Attributes:
    runs: by format and stage.
  """

  def __init__(
    self,
    setting: Setting,
    encoded: sample.Encoded,
    lossless: Mapping[str, bool],
    trials: int,
  ):
    self._setting, self._encoded, self._lossless = setting, encoded, lossless
    self._trials = trials
    self._names = list(encoded.stored_bytes)
    mixes = [{name: 1} for name in self._names]
    self._turns = probe.Turns(setting, mixes, STAGES)
    self.runs: dict[str, dict[str, list[Run]]] = dict(
      zip(self._names, self._turns.runs)
    )
    self._devices: dict[str, dict[str, float]] | None = None

  def __len__(self) -> int:
    return len(self.runs[self._names[0]]["load"])

  def measure(self) -> None:
    """Runs each stage of each format once."""
    self._turns.round()

  def costs(self) -> model.Costs:
    """The costs of an image of each format.

    Raises:
      TooNoisyError: a GPU's runs disagree too much.
    """
    return self._costs(self._seconds(np.arange(len(self))))

  @property
  def processors(self) -> float:
    """The processors that decoding gets; where a GPU decodes, all that it may use."""
    if self._setting.decode == "gpu":
      return self._setting.threads
    return float(self._seconds(np.arange(len(self))).processors)

  def resampled(self) -> Iterator[model.Costs]:
    """Yields costs that other rounds might have shown.

    Whole rounds are drawn again, so that what the formats of a round have in common
    stays so. Of normal values the middle 95% hold what is true 90% of the time after
    three rounds, and 95% or more after five.
    """
    centre, factor = self._seconds(np.arange(len(self))), noise.expand(len(self))
    for rounds in noise.resamples(len(self), _RESAMPLES, seed=0):
      drawn = self._seconds(rounds)
      moved = {
        key: _widened(of, getattr(drawn, key), factor)
        for key, of in vars(centre).items()
      }
      yield self._costs(Seconds(**moved))

  def _seconds(self, rounds: np.ndarray) -> Seconds:
    load = self._table("load", lambda run: 1 / run.images_per_s)[rounds]
    decode = self._table("decode", lambda run: 1 / run.images_per_s)[rounds]
    decode_cpu = self._table("decode", lambda run: run.cpu_seconds)[rounds]
    both_cpu = self._table("both", lambda run: run.cpu_seconds)[rounds]
    taken = _in_turn(decode_cpu)
    # By the format that keeps them busiest.
    heaviest = int(taken.argmax())
    processors = np.array(np.median(decode_cpu[:, heaviest] / decode[:, heaviest]))
    return Seconds(
      load=noise.in_turn(load),
      decode_cpu=taken,
      both_cpu=_with_loading(taken, both_cpu, decode_cpu),
      processors=processors,
    )

  def _table(self, stage: str, of: Callable[[Run], float]) -> np.ndarray:
    """Shape [rounds, formats]."""
    columns = [[of(run) for run in self.runs[name][stage]] for name in self._names]
    return np.array(columns).T

  def _costs(self, seconds: Seconds) -> model.Costs:
    on_gpu = self._setting.decode == "gpu"
    processors = self._setting.threads if on_gpu else float(seconds.processors)
    result = {}
    for i, name in enumerate(self._names):
      decode_seconds = float(seconds.decode_cpu[i]) / processors
      load_cpu = max(0.0, float(seconds.both_cpu[i] - seconds.decode_cpu[i]))
      taken = {}
      if on_gpu:
        taken = dict(self._measured_devices()[name])
        rate = probe.rate(self.runs[name]["decode"])
        if 1 / rate > _EXPLAINED * max(decode_seconds, *taken.values()):
          taken["lanes"] = 1 / rate
      result[name] = FormatCost(
        stored_bytes=float(np.mean(self._encoded.stored_bytes[name])),
        load_seconds=float(seconds.load[i]),
        load_cpu_seconds=load_cpu / processors,
        decode_seconds=decode_seconds,
        encode_seconds=self._encoded.seconds[name],
        lossless=self._lossless[name],
        devices=taken,
        scans=self._encoded.scans.get(name),
      )
    return result

  def _measured_devices(self) -> dict[str, dict[str, float]]:
    if self._devices is None:
      self._devices = {
        name: devices.seconds(self._setting, name, self._trials) for name in self._names
      }
    return self._devices


def lines(
  costs: model.Costs, runs: Mapping[str, Mapping[str, Sequence[Run]]]
) -> Iterator[str]:
  """Yields a line about the costs of each format."""
  for name, cost in costs.items():
    load, decode = (probe.rate(runs[name][stage]) for stage in ("load", "decode"))
    spent = statistics.median(run.cpu_seconds for run in runs[name]["decode"])
    taken = [f"{key} {1e3 * seconds:.3f} ms" for key, seconds in cost.devices.items()]
    listed = ", ".join([f"{1e3 * spent:.3f} ms of a processor", *taken])
    yield f"{name}: loads {load:.0f} images/s, decodes {decode:.0f}; takes {listed}"


def _widened(centre, drawn, factor: float):
  """A drawn value so many times as far from the centre, in logarithms."""
  apart = np.divide(drawn, centre, out=np.ones_like(centre), where=centre > 0)
  return centre * apart**factor


def _with_loading(
  taken: np.ndarray, both: np.ndarray, decode: np.ndarray
) -> np.ndarray:
  """Seconds of loading and decoding, by their proportion to decoding within a round.

  Args:
    taken: shape [formats], of decoding by itself.
    both: shape [rounds, formats].
    decode: shape [rounds, formats], of decoding by itself.
  """
  if (decode <= 0).any():
    return np.median(both, axis=0)
  return taken * np.median(both / decode, axis=0)


def _in_turn(seconds: np.ndarray) -> np.ndarray:
  """As `noise.in_turn`; zero where a format took no time that the clock shows."""
  if (seconds <= 0).any():
    return np.median(seconds, axis=0)
  return noise.in_turn(seconds)
