"""Model of a mix's speed from the costs of formats and a machine's resources.

A pipeline loads and decodes at the same time, so an image takes the longer of the two
times (Liquid, APSys '23, section 3). Loading is on the disk; decoding, and the
checksums and copies of loading, are on the processors.
"""

import dataclasses
from collections.abc import Mapping

from liquid_tf._cost import budget


@dataclasses.dataclass(frozen=True)
class ScanGroup:
  """How much is read of a progressive format: through one of its scan groups.

  Attributes:
    group: which, from 1.
    of: how many there are.
    read_bytes: of an image, through that group.
    mssim: how much its images resemble whole ones, at most 1; None where they are too
      small to be compared.
    enough: whether a mix may have it: whole images, or as much as was asked for.
  """

  group: int
  of: int
  read_bytes: float
  mssim: float | None
  enough: bool


@dataclasses.dataclass(frozen=True)
class FormatCost:
  """Average cost of an image of one format.

  Attributes:
    stored_bytes: of its record.
    load_seconds: of the whole disk.
    load_cpu_seconds: of all processors together, to load it.
    decode_seconds: of all processors together, at full concurrency.
    encode_seconds: of all processors together, to convert it.
    lossless: whether every image decodes to its source's pixels.
    devices: measured seconds of what else decoding takes, by name: "gpu", "bus", and
      "lanes" to the GPU where neither these nor the processors explain the rate.
    scans: how much of a progressive format this is; None for other formats.
  """

  stored_bytes: float
  load_seconds: float
  load_cpu_seconds: float
  decode_seconds: float
  encode_seconds: float
  lossless: bool
  devices: Mapping[str, float] = dataclasses.field(default_factory=dict)
  scans: ScanGroup | None = None

  @property
  def read_bytes(self) -> float:
    """Bytes of an image's record that loading reads and memory holds."""
    return self.stored_bytes if self.scans is None else self.scans.read_bytes


@dataclasses.dataclass(frozen=True)
class Resource:
  """Something beside disk and processors that decoding takes, as a GPU or a bus.

  Attributes:
    seconds: of it for an image, by format; formats that are not named take none.
    share: how much of it is free for this, 0 to 1.
  """

  seconds: Mapping[str, float]
  share: float = 1.0


@dataclasses.dataclass(frozen=True)
class Machine:
  """Resources of a machine.

  Attributes:
    samples: images in the dataset.
    pixel_bytes: of a decoded image, on average.
    cache_bytes: memory that lasts between epochs; see `budget.resident_bytes` for what
      a record takes of it.
    cache_share: share of the dataset that memory holds, whatever its size; None where
      `cache_bytes` says how much that is.
    cache_form: "encoded", or "pixels" where that memory holds decoded images.
    copy_seconds: of all processors together, to take a decoded image from memory.
    disk: times the disk that was measured.
    processors: times the processors that were measured.
    gpu: times the GPU and the bus to it that were measured.
    reserve: share of the processors that is left to the framework, 0 to 1.
    space_bytes: room for the dataset; None for no limit.
    resources: others that are given, by name; one of a name that was measured is what
      something else takes of that.
  """

  samples: int
  pixel_bytes: float
  cache_bytes: float = 0
  cache_share: float | None = None
  cache_form: str = "encoded"
  copy_seconds: float = 0
  disk: float = 1
  processors: float = 1
  gpu: float = 1
  reserve: float = 0.0
  space_bytes: float | None = None
  resources: Mapping[str, Resource] = dataclasses.field(default_factory=dict)

  @property
  def of_last_runs(self) -> "Machine":
    """The machine of the last runs: its cache, every processor, nothing only given."""
    return dataclasses.replace(self, reserve=0, resources={})

  @property
  def of_runs(self) -> "Machine":
    """The machine of the runs before them: without a cache, too."""
    return dataclasses.replace(self.of_last_runs, cache_bytes=0, cache_share=None)


@dataclasses.dataclass(frozen=True)
class Prediction:
  """How fast a mix is.

  Attributes:
    load: images per second that the disk allows.
    decode: images per second that the processors allow.
    others: images per second that each other resource allows, by name.
    throughput: the least of them.
    hit_ratio: share of the images that memory has.
    limit: what is least: "load", "decode", or the name of a resource.
  """

  load: float
  decode: float
  others: dict[str, float]
  throughput: float
  hit_ratio: float
  limit: str


Costs = Mapping[str, FormatCost]
Mix = Mapping[str, float]


def shares(mix: Mix) -> dict[str, float]:
  """A mix whose weights sum to 1, without what has none."""
  total = sum(mix.values())
  return {name: weight / total for name, weight in mix.items() if weight}


def others(costs: Costs, machine: Machine) -> dict[str, Resource]:
  """Resources of decoding beside the processors, measured and given."""
  found = dict(machine.resources)
  measured = sorted({device for cost in costs.values() for device in cost.devices})
  for device in measured:
    given = found.get(device, Resource({}))
    seconds = {
      name: cost.devices.get(device, 0.0) + given.seconds.get(name, 0.0)
      for name, cost in costs.items()
    }
    found[device] = Resource(seconds, given.share * machine.gpu)
  return found


def mean_bytes(costs: Costs, mix: Mix) -> float:
  """Stored bytes of an image of a mix, on average."""
  return sum(share * costs[name].stored_bytes for name, share in shares(mix).items())


def hit_ratio(costs: Costs, machine: Machine, mix: Mix) -> float:
  """Share of the images that memory has: the runtime caches as much of every format."""
  if machine.cache_share is not None:
    return machine.cache_share
  pixels = machine.cache_form == "pixels"
  size = machine.pixel_bytes
  if not pixels:
    size = sum(part * costs[name].read_bytes for name, part in shares(mix).items())
  held = budget.resident_bytes(size, 1)
  return min(1.0, machine.cache_bytes / (machine.samples * held))


def predict(costs: Costs, machine: Machine, mix: Mix) -> Prediction:
  """How fast a mix is on a machine."""
  parts = shares(mix)
  hits = hit_ratio(costs, machine, mix)
  decoded = hits if machine.cache_form == "pixels" else 0.0
  load = sum(s * costs[name].load_seconds for name, s in parts.items()) * (1 - hits)
  decode = sum(
    s
    * (
      costs[name].load_cpu_seconds * (1 - hits)
      + costs[name].decode_seconds * (1 - decoded)
      + machine.copy_seconds * decoded
    )
    for name, s in parts.items()
  )
  rates = {
    "load": _rate(load, machine.disk),
    "decode": _rate(decode, machine.processors * (1 - machine.reserve)),
  }
  allowed = {
    key: _rate(
      sum(s * resource.seconds.get(name, 0) for name, s in parts.items())
      * (1 - decoded),
      resource.share,
    )
    for key, resource in others(costs, machine).items()
  }
  limit = min(rates | allowed, key=(rates | allowed).__getitem__)
  return Prediction(
    load=rates["load"],
    decode=rates["decode"],
    others=allowed,
    throughput=(rates | allowed)[limit],
    hit_ratio=hits,
    limit=limit,
  )


def _rate(seconds: float, there: float) -> float:
  return there / seconds if seconds > 0 else float("inf")
