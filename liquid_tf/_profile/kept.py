"""A sample for runs in which memory keeps a share of the images."""

import tempfile

from liquid_tf._cost import model, planner
from liquid_tf._measure import repeated
from liquid_tf._store.manifest import Manifest

# What the first epoch takes, which fills the memory.
_FIRST_SECONDS = 4.0

# Of a pipeline's memory, what is kept takes this part at most.
_PART = 0.5


def sample(
  manifest: Manifest,
  costs: model.Costs,
  machine: model.Machine,
  choices: list[planner.Choice],
  memory: int,
  folder: str,
) -> str | None:
  """Repeats a sample until an epoch takes some seconds.

  It has no more images than the user's own dataset, so memory keeps no more than what
  there is for that.

  Args:
    manifest: of the replicated sample.
    costs: of each format.
    machine: with its cache.
    choices: mixes that are to run, with the share of the images that memory has.
    memory: budget of a pipeline in bytes.
    folder: on the same file system, where it is made.

  Returns:
    Its path; None where memory keeps nothing.
  """
  if not any(choice.prediction.hit_ratio for choice in choices):
    return None
  path = tempfile.mkdtemp(dir=folder)
  images = min(_images(costs, machine, choice, memory) for choice in choices)
  repeated.repeat(manifest, max(1, int(images) // manifest["samples"]), path)
  return path


def held(costs: model.Costs, machine: model.Machine) -> frozenset[str]:
  """Formats that memory has all images of."""
  return frozenset(
    name for name in costs if model.hit_ratio(costs, machine, {name: 1}) == 1
  )


def _images(
  costs: model.Costs, machine: model.Machine, choice: planner.Choice, memory: int
) -> float:
  """The most images that an epoch may have."""
  first = model.predict(costs, machine.of_runs, choice.mix).throughput
  kept = choice.prediction.hit_ratio * model.mean_bytes(costs, choice.mix)
  fitting = _PART * memory / kept if kept else float("inf")
  return min(machine.samples, _FIRST_SECONDS * first, fitting)
