"""PCR, figure 8: how long a training waits for each batch, by scan groups."""

import functools
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.bench import machine, page, turns
from tools.bench.papers import jpegs, show
from tools.bench.papers.figure import Setting, apart, emptied

# What the paper trains with; the last one is all.
_GROUPS = (1, 2, 5, 10)
_COPIES = 16
_BATCH = 32
_SIDE = 224
_STEP_SECONDS = 0.1
# Of what the steps ask for with all groups, what the disk gives.
_DISK_SHARE = 0.6
_ROUNDS = 2
# A wait that is no stall: taking a batch that is ready.
_READY_MS = 5.0


def measure(setting: Setting) -> dict[str, Any]:
  """Simulated trainings on a slow disk, with fewer scan groups and more, in turn."""
  most, batch, step = None, _BATCH, _STEP_SECONDS
  if setting.quick:
    most, batch, step = 4, 4, 0.001
  with emptied(setting.folder / "stalls") as folder:
    what, files, groups = jpegs.converted(setting, folder, _COPIES, most)
    sizes = {f"{group}": groups[group - 1]["bytes"] / len(files) for group in _GROUPS}
    how = {
      "batch_size": batch,
      "step_seconds": step,
      "read_bytes_per_s": int(_DISK_SHARE * sizes[f"{_GROUPS[-1]}"] * batch / step),
    }
    rounds, path = 1 if setting.quick else _ROUNDS, os.fspath(folder / "pcr")
    found = apart("pcr_8:waits", path=path, groups=_GROUPS, rounds=rounds, **how)
  return {"what": what, "images": len(files), **how, "image_bytes": sizes, **found}


def waits(
  path: str,
  groups: Sequence[int],
  batch_size: int,
  step_seconds: float,
  read_bytes_per_s: int,
  rounds: int,
) -> dict[str, Any]:
  """Takes an epoch's batches, a step apart, at each fidelity in turn.

  Args:
    path: a dataset of progressive compressed records.
    groups: numbers of scan groups.
    batch_size: images in a batch.
    step_seconds: that the simulated accelerator takes for one.
    read_bytes_per_s: what the disk gives.
    rounds: epochs of each.

  Returns:
    `waits_ms`, by scan groups, a list for each round: how long each batch was waited
    for.
  """
  from liquid_tf._graph.dataset import dataset
  from liquid_tf.transforms import Resize

  def run(group: int) -> list[float]:
    data = dataset(
      path,
      batch_size,
      fidelity=group,
      cache=0,
      transforms=[Resize((_SIDE, _SIDE))],
      features=["image"],
    )
    with machine.held(path, read_bytes_per_s):
      return _epoch(data, step_seconds)

  runs = {f"{group}": functools.partial(run, group) for group in groups}
  return {"waits_ms": turns.in_turn(runs, rounds)}


def _epoch(data: Any, step_seconds: float) -> list[float]:
  found = []
  begin = time.perf_counter()
  for _ in data:
    found.append(round(1000 * (time.perf_counter() - begin), 1))
    time.sleep(step_seconds)
    begin = time.perf_counter()
  return found


def _waits(result: Mapping[str, Any], group: str) -> list[float]:
  """Milliseconds waited for each batch of all rounds but for their first ones."""
  return [wait for waits in result["waits_ms"][group] for wait in waits[1:]]


def table(result: Mapping[str, Any]) -> str:
  rows = []
  for group in result["waits_ms"]:
    waits = _waits(result, group)
    stalls = np.mean(np.greater(waits, _READY_MS))
    needed = result["image_bytes"][group] * result["batch_size"]
    needed /= result["step_seconds"] * result["read_bytes_per_s"]
    wait = f"{statistics.mean(waits):.1f}", f"{max(waits):.0f}", f"{stalls:.0%}"
    rows.append([group, f"{needed:.2f}", *wait])
  head = [
    "scan groups", "asked of what the disk gives", "mean wait, ms", "longest wait, ms",
    f"batches that wait over {_READY_MS:g} ms",
  ]  # fmt: skip
  return page.table(head, rows)


def words(result: Mapping[str, Any]) -> dict[str, Any]:
  few, many = (statistics.mean(_waits(result, f"{_GROUPS[i]}")) for i in (0, -1))
  return {
    "copies": _COPIES,
    "rate": result["read_bytes_per_s"] / 1e6,
    "disk_share": _DISK_SHARE,
    "side": _SIDE,
    "step_ms": 1000 * result["step_seconds"],
    "rounds": len(result["waits_ms"][f"{_GROUPS[0]}"]),
    "few": few,
    "many": many,
  }


def draw(result: Mapping[str, Any], canvas: Any) -> None:
  every = canvas.subplots(1, len(result["waits_ms"]), sharey=True, squeeze=False)[0]
  for axes, (group, rounds) in zip(every, result["waits_ms"].items()):
    axes.plot(rounds[-1][1:], linewidth=0.8)
    axes.set_title(f"scan groups: {group}", fontsize=10)
    show.style(axes, xlabel="batch")
  every[0].set_ylabel("waited for, ms")
