"""A machine whose speed is known: profiles run real pipelines, and time is made up."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from unittest import mock

from liquid_tf._profile import devices, probe, stock

# Runs of a steady machine differ by this much, as those of a real one do.
WAVE = (0.99, 1.0, 1.01)

# Half as long, twice as long: medians of these are known to nobody.
RESTLESS = (0.4, 1.0, 2.5)

# Milliseconds of the disk and of all processors for an image: PNG is limited by the
# processors and raw by the disk. So the best mix of both has
# 1 + 2 x = 4 - 3.5 x: 55% raw, 2.09 ms.
_LOAD = {
  "png": 1.0,
  "raw": 3.0,
  "l3": 1.5,
  "l3-compact": 0.75,
  "jpeg": 0.5,
  "webp-lossy": 0.4,
  "pcr": 3.6,
  "pcr@5": 1.8,
  "pcr@2": 0.9,
  "pcr@1": 0.45,
}
_DECODE = {
  "png": 4.0,
  "raw": 0.5,
  "l3": 0.75,
  "l3-compact": 1.5,
  "jpeg": 2.0,
  "webp-lossy": 3.0,
  "pcr": 2.0,
  "pcr@5": 1.5,
  "pcr@2": 1.2,
  "pcr@1": 1.0,
}
_STOCK = 8.0
_DEVICES = {"gpu": 10.0, "bus": 1.0}


@dataclasses.dataclass(frozen=True)
class Machine:
  """What runs show in place of the clock.

  Attributes:
    load: milliseconds of the disk for an image, by format.
    decode: milliseconds of all processors for an image, by format.
    stock: milliseconds of stock tf.data for an image.
    devices: milliseconds of the GPU and of its bus for an image.
    waves: what each run of a stage takes as many times as long, in turn.
  """

  load: Mapping[str, float] = dataclasses.field(default_factory=_LOAD.copy)
  decode: Mapping[str, float] = dataclasses.field(default_factory=_DECODE.copy)
  stock: float = _STOCK
  devices: Mapping[str, float] = dataclasses.field(default_factory=_DEVICES.copy)
  waves: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)

  @contextlib.contextmanager
  def timed(self) -> Iterator[None]:
    """Runs are real, and their images per second and processor time this machine's."""
    make, run, runs = probe.Pipeline.__init__, probe.Pipeline.run, {}
    peer_run, peer_runs = stock.Stock.run, []
    device_run, device_runs = devices._run, []

    def init(pipeline, setting, mix, stage, hits=0):
      make(pipeline, setting, mix, stage, hits)
      runs[pipeline] = (setting, mix, stage, hits, [])

    def timed_run(pipeline):
      found = run(pipeline)
      setting, mix, stage, hits, before = runs[pipeline]
      total = sum(mix.values())
      seconds = {
        name: sum(w * of[f] for f, w in mix.items()) / total / 1000
        for name, of in (("load", self.load), ("decode", self.decode))
      }
      seconds["load"] *= 1 - hits
      cpu = 0.0 if stage == "load" else setting.threads * seconds["decode"]
      taken = max(seconds.values()) if stage == "both" else seconds[stage]
      # Who waits takes no time of a processor, so that of both is decoding's.
      factor, cpu_factor = (
        wave[len(before) % len(wave)]
        for wave in (self.waves.get(name, WAVE) for name in (stage, "decode"))
      )
      before.append(factor)
      return dataclasses.replace(
        found, images_per_s=1 / (taken * factor), cpu_seconds=cpu * cpu_factor
      )

    def timed_peer_run(peer, seconds):
      peer_run(peer, seconds)
      peer_runs.append(seconds)
      return 1000 / (self.stock * WAVE[len(peer_runs) % len(WAVE)])

    def timed_device_run(*arguments):
      device_run(*arguments)
      device_runs.append(arguments)
      factor = WAVE[len(device_runs) % len(WAVE)]
      return {name: taken * factor / 1000 for name, taken in self.devices.items()}

    with (
      mock.patch.object(probe.Pipeline, "__init__", init),
      mock.patch.object(probe.Pipeline, "run", timed_run),
      mock.patch.object(stock.Stock, "run", timed_peer_run),
      mock.patch.object(devices, "_run", timed_device_run),
    ):
      yield
