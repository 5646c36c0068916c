"""A place in a run, as it is saved for a later process to go on from."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from liquid_tf._pipeline import position_fields
from liquid_tf._pipeline.draws import Draws
from liquid_tf._pipeline.mixes import OF_PLAN
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.start import Start
from liquid_tf._store import manifest as manifests
from liquid_tf._store import versions
from liquid_tf._store.manifest import Manifest
from liquid_tf._view.view import View
from liquid_tf._words import Shown
from liquid_tf.errors import ManifestError, WrongArgument


def index_of(manifest: Manifest) -> str:
  """Identifies a dataset's version."""
  return f"index 0x{manifest['index']['crc32c']:08x}"


def other_version(view: View, index: str | None) -> str:
  """End of an error about another version than the view's, and what to do."""
  try:
    for version in reversed(versions.in_directory(view.path)):
      found = manifests.load(view.path, version, check_files=False)
      if index_of(found) == index:
        return (
          f"version {version} of {view.path}, but this is version {view.version}: give "
          f'dataset() liquid_tf.open("{view.path}", version={version})'
        )
  except (ManifestError, OSError):
    pass  # The versions are not what this error is of.
  return (
    f"dataset {index!r:.200}, which no version of {view.path} has: it was another "
    "dataset, or a version that was forgotten: give the same again"
  )


def identity(blocks: Draws, recipe: Recipe | None) -> dict[str, Any]:
  """Properties that must be equal for a run to go on, of all its workers, by name.

  Args:
    blocks: that are drawn.
    recipe: that they are decoded by; None where they are not.
  """
  view = blocks.sources[0].view
  found = {
    "dataset": index_of(view.manifest),
    "split": "+".join(view.splits),
    "samples": f"{len(view)} samples, fingerprint {view.fingerprint[:16]}",
    "shard_policy": None if blocks.rests is None else blocks.rests.policy,
    "batch_size": blocks.batch_size,
    "shuffle": blocks.shuffle,
    "seed": blocks.seed,
  }
  groups = [s.name for s in blocks.sources if s.scan_groups is not None]
  found["scan groups"] = groups or None
  if blocks.weighing is not None:
    found["samples"] += f", weights {blocks.weighing.fingerprint[:16]}"
  if any(source.manifest["replicated"] for source in blocks.sources):
    found["mix"] = _mix(blocks)
  if recipe is not None:
    found["transforms"] = recipe.texts
  return found


def _mix(blocks: Draws) -> str | dict[str, int]:
  """The format in which each sample of a replicated dataset is read."""
  if blocks.rests is not None and blocks.rests.samples is not None:
    return {name: int(count) for name, count in blocks.rests.samples.counts.items()}
  if blocks.mixes is not None:
    return "changes"
  return {source.name: len(source.rows) for source in blocks.sources}


def shard_of(blocks: Draws) -> tuple[int, int]:
  """(index, count) of the worker that takes the batches."""
  return (0, 1) if blocks.rests is None else blocks.rests.shard


def of_worker(blocks: Draws) -> dict[str, Any]:
  """Further properties that must be equal where the worker that saved it goes on."""
  grouped = any(source.scan_groups is not None for source in blocks.sources)
  return {
    "worker": list(shard_of(blocks)),
    "batches": blocks.batches,
    "samples of scan groups": blocks.sections if grouped else None,
  }


def run_of(blocks: Draws, recipe: Recipe | None) -> dict[str, Any]:
  """Identity of a run, and what of the worker counts; see `Position.run`."""
  return {**identity(blocks, recipe), **of_worker(blocks)}


@dataclasses.dataclass(frozen=True)
class Position:
  """Place in a run, as `position` gives it (docs/formats/position.md).

  Attributes:
    epoch: its number.
    step: batches of it that were run, by whatever number of workers.
    cuts: (workers, steps) of those that began the epoch, one after another.
    cached: samples of each format that the plan keeps between epochs.
    mixes: of a dataset whose mix changes, as `Snapshot.seek` takes them.
    run: identity, and what of the worker counts.
    borrowed: where samples that cannot be read are left out, the draws behind the step
      that were delivered before it; None where that is not known.
    skipped: likewise, the samples that were left out.
  """

  epoch: int
  step: int
  cuts: list[list[int]]
  cached: list[int]
  mixes: list[int]
  run: dict[str, Any]
  borrowed: list[int] | None = None
  skipped: list[int] | None = None

  def saved(self) -> dict[str, Any]:
    """As a dict for JSON, of what is known."""
    known = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
    return {"version": position_fields.VERSION, **known}

  @classmethod
  def of(cls, blocks: Draws, run: Mapping[str, Any], start: Start) -> "Position":
    """The position of a worker that stands at a start.

    Args:
      blocks: of its dataset.
      run: what `run_of` gave.
      start: in epochs of the dataset.
    """
    cuts = [list(cut) for cut in start.cuts]
    mixes = json.loads(blocks.snapshot.stats_json())["mixes"]
    step = start.before + start.step
    return cls(start.epoch, step, cuts, list(blocks.cached), mixes, dict(run))

  @classmethod
  def parse(cls, given: Mapping[str, Any], name: str) -> "Position":
    """Reads what `saved` gave.

    Args:
      given: that.
      name: of it, for errors.

    Raises:
      ValueError: it is of another version, or a field is not what it must be.
    """
    return cls(**position_fields.read(given, name))

  @property
  def before(self) -> int:
    """Batches of the epoch that other numbers of workers made."""
    return sum(steps for _, steps in self.cuts)

  def is_own(self, shard: tuple[int, int]) -> bool:
    """Whether a worker saved it itself, in an epoch that it began."""
    return not self.cuts and tuple(self.run["worker"]) == shard

  def start(self, shard: tuple[int, int]) -> tuple[int, Any]:
    """As a `start=` of numbers, which says all that other workers have in common."""
    if self.is_own(shard):
      return self.epoch, self.step
    own = (self.run["worker"][1], self.step - self.before)
    return self.epoch, [*map(tuple, self.cuts), own]

  def check(
    self, blocks: Draws, now: Mapping[str, Any], subject: str, advice: str
  ) -> None:
    """Raises ValueError where a run is not the one that it is of.

    Args:
      blocks: of the run's dataset.
      now: what `run_of` says of the run.
      subject: begins the error, as "start is a position of a run with".
      advice: ends it, after "give the same again".
    """
    was = self.run.get("dataset")
    if was != now["dataset"]:
      other = other_version(blocks.sources[0].view, was)
      raise ValueError(f"{subject} {other}, or {advice}")
    # Epochs of other workers may differ in length.
    is_same_worker = shard_of(blocks) == tuple(self.run["worker"])
    of_others = set() if is_same_worker else set(of_worker(blocks))
    for name, value in now.items():
      if name not in of_others and self.run.get(name) != value:
        raise ValueError(
          f"{subject} {name} {self.run.get(name)!r:.1000}, but this one has "
          f"{value!r}: give the same again, or {advice}"
        )

  def seek(self, blocks: Draws, name: str) -> None:
    """Makes the next iterator begin there, where the position is the worker's own.

    Args:
      blocks: of the dataset.
      name: of the position, for errors.

    Raises:
      ValueError: it is not sound.
    """
    if self.step >= blocks.batches:
      raise WrongArgument(
        f'{name}["step"]',
        self.step,
        f"must be below {blocks.batches}, the batches of an epoch",
      )
    formats = len(blocks.sources)
    if len(self.cached) != formats:
      raise WrongArgument(
        f'{name}["cached"]', self.cached, f"must have {formats} numbers, one a format"
      )
    # Of what is chosen by what was measured, nothing else knows.
    begun = self.epoch + 1 if blocks.moves and self.step > 0 else 0
    if len(self.mixes) < begun * OF_PLAN * formats:
      raise WrongArgument(
        f'{name}["mixes"]',
        Shown(f"{len(self.mixes)} numbers"),
        f"must have {OF_PLAN * formats} for each of {begun} epochs",
      )
    try:
      blocks.snapshot.seek(self.epoch, self.step, self.cached, self.mixes)
    except blocks.snapshot.refused as error:
      raise ValueError(f"{name} must be all that position() gave: {error}") from error
    blocks.cached = self.cached
    blocks.begin = Start(self.epoch, self.step)
