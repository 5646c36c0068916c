"""Hours of epochs at several memory budgets: what a process may grow to, and no more.

  PYTHONPATH=. python tests/soak/soak.py --minutes=120 --budgets=16MiB,64MiB,256MiB,1GiB

For every budget at once a process trains on nothing: it draws batches, pauses, saves
checkpoints, and opens iterators that it drops. In the first half of the time it is
killed now and then, at least once, and goes on from its checkpoint; the second half is
one process, whose memory must not grow. Each second its VmRSS is compared with

  what it had after its first batch at a budget of one batch + the budget
    + a batch for each one decoded ahead

and whatever batch comes twice, after a kill, must be the same. One JSON object goes to
stdout; exit code 0 if all of that held, else 1.
"""

import collections
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any

import numpy as np
from absl import app, flags

_MINUTES = flags.DEFINE_float("minutes", 120, "how long; each budget has all of it")
_BUDGETS = flags.DEFINE_list(
  "budgets", ["16MiB", "64MiB", "256MiB", "1GiB"], "of memory=, one process each"
)
_DATASET = flags.DEFINE_string(
  "dataset", None, "dataset directory; by default one of photographs is made"
)
_IMAGES = flags.DEFINE_integer("images", 1200, "of the dataset that is made")
_SIDE = flags.DEFINE_integer("side", 384, "of these images, in pixels")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 16, "samples in a batch")
_PAUSE = flags.DEFINE_float("pause", 0.05, "seconds that a batch takes the consumer")
_KILL_EVERY = flags.DEFINE_float("kill_every", 60, "seconds, on average")
_LEAK = flags.DEFINE_integer(
  "leak", 0, "bytes that each batch leaves behind, to see that they are found"
)
_WORKER = flags.DEFINE_string("worker", None, "used by itself: budget of this process")
_STATE = flags.DEFINE_string("state", None, "used by itself: folder of this process")

# Batches decoded ahead of the one that is delivered; liquid_tf's default.
_AHEAD = 2
_SAVE_EVERY = 20
# Seconds, at one look each, that a process is watched at least.
_LEAST_LOOKS = 10
_CHURN = 10


# --- The process that is watched.


def _rss(pid: int | str = "self") -> int:
  """Resident bytes of a process; 0 where it has ended."""
  try:
    with open(f"/proc/{pid}/status") as file:
      for line in file:
        if line.startswith("VmRSS:"):
          return int(line.split()[1]) * 1024
  except (FileNotFoundError, ProcessLookupError):
    pass
  return 0


def _work(path: str, budget: str, state: pathlib.Path) -> None:
  """Draws batches for ever."""
  import tensorflow as tf

  import liquid_tf

  def dataset(memory: int | str, cache: int | str):
    return liquid_tf.dataset(
      path,
      _BATCH_SIZE.value,
      memory=memory,
      cache=cache,
      seed=5,
      features=["id", "image"],
    )

  epoch = tf.Variable(0, dtype=tf.int64)
  step = tf.Variable(0, dtype=tf.int64)

  def checkpoint(iterator) -> tf.train.Checkpoint:
    return tf.train.Checkpoint(iterator=iterator, epoch=epoch, step=step)

  def save(iterator, folder: str) -> None:
    tf.train.CheckpointManager(checkpoint(iterator), folder, max_to_keep=1).save()

  # What any process needs: a batch, decoded and as it is stored, and a checkpoint.
  least = 2 * _BATCH_SIZE.value * (3 * _SIDE.value**2 + 1024)
  with tempfile.TemporaryDirectory() as scratch:
    iterator = iter(dataset(least, 0))
    batch = next(iterator)
    save(iterator, scratch)
    base = {"rss": _rss(), "batch": sum(v.numpy().nbytes for v in batch.values())}
    del iterator, batch
  (state / "base.json").write_text(json.dumps(base))

  data = dataset(budget, "auto")
  folder = str(state / "checkpoints")
  moments = random.Random(7)
  iterator, leaked = iter(data), []
  latest = tf.train.latest_checkpoint(folder)
  if latest is not None:
    checkpoint(iterator).restore(latest).assert_consumed()
  with open(state / "batches", "a", buffering=1) as log:
    while True:
      for batch in iterator:
        digest = zlib.crc32(batch["image"].numpy(), zlib.crc32(batch["id"].numpy()))
        log.write(f"{int(epoch)}/{int(step)} {digest}\n")
        leaked.append(b"x" * _LEAK.value)
        step.assign_add(1)
        if int(step) % _SAVE_EVERY == 0:
          save(iterator, folder)
        time.sleep(_PAUSE.value)
      epoch.assign_add(1)
      step.assign(0)
      # Nobody may see or feel these.
      for _ in range(_CHURN):
        dropped = iter(data)
        for _ in range(moments.choice((0, 0, 1, 3))):
          next(dropped)
      del dropped
      iterator = iter(data)


# --- The process that watches.


@dataclasses.dataclass
class _Watched:
  """One budget's process, or the one that goes on from it.

  Attributes:
    budget: as given.
    state: folder that survives a kill.
    process: the one that is running.
    kills: so far.
    excess: largest VmRSS of any of the processes less what it may have, in bytes.
    bases: VmRSS of each process after its first batch at a budget of one.
    trace: (seconds, VmRSS) of the process that is running.
  """

  budget: str
  state: pathlib.Path
  process: subprocess.Popen | None = None
  kills: int = 0
  excess: int | None = None
  largest: int = 0
  bases: list[int] = dataclasses.field(default_factory=list)
  trace: list[tuple[float, int]] = dataclasses.field(default_factory=list)

  def start(self, path: str) -> None:
    (self.state / "base.json").unlink(missing_ok=True)
    self.trace = []
    with open(self.state / "stderr", "ab") as stderr:
      self.process = subprocess.Popen(
        [
          *(sys.executable, __file__, f"--dataset={path}"),
          f"--worker={self.budget}",
          f"--state={self.state}",
          f"--batch_size={_BATCH_SIZE.value}",
          f"--pause={_PAUSE.value}",
          f"--leak={_LEAK.value}",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stderr=stderr,
      )

  def sample(self) -> None:
    """Compares what the process has now with what it may have."""
    if self.process.poll() is not None:
      said = (self.state / "stderr").read_text()[-2000:]
      raise RuntimeError(f"memory={self.budget} ended by itself:\n{said}")
    base_file = self.state / "base.json"
    if not base_file.exists():
      return
    base = json.loads(base_file.read_text())
    if not self.trace:
      self.bases.append(base["rss"])
    rss = _rss(self.process.pid)
    allowed = base["rss"] + _bytes(self.budget) + _AHEAD * base["batch"]
    self.largest = max(self.largest, rss)
    self.excess = max(rss - allowed, -allowed if self.excess is None else self.excess)
    self.trace.append((time.monotonic(), rss))

  def known(self) -> bool:
    """Whether the process that is running was looked at often enough to judge it."""
    return len(self.trace) >= _LEAST_LOOKS

  def kill(self) -> None:
    self.process.send_signal(signal.SIGKILL)
    self.process.wait()
    self.kills += 1

  def report(self) -> dict[str, Any]:
    """The figures, and whether they are as they must be."""
    seconds, rss = np.array(self.trace[len(self.trace) // 2 :], np.float64).T
    seconds -= seconds.mean()
    slope = float((seconds @ (rss - rss.mean())) / max(seconds @ seconds, 1e-9))
    noise = float(np.std(rss - rss.mean() - slope * seconds))
    growth = slope * float(np.ptp(seconds))
    batches = collections.defaultdict(set)
    for line in (self.state / "batches").read_text().splitlines():
      position, digest = line.split()
      batches[position].add(digest)
    differing = sorted(p for p, digests in batches.items() if len(digests) > 1)
    return {
      "budget": self.budget,
      "base_rss": int(np.mean(self.bases)),
      "largest_rss": self.largest,
      "largest_less_bound": self.excess,
      "slope_bytes_per_minute": round(60 * slope),
      "growth": round(growth),
      "noise": round(noise),
      "batches": len(batches),
      "epochs": 1 + max(int(position.split("/")[0]) for position in batches),
      "kills": self.kills,
      "differing": differing,
      "ok": self.excess <= 0 and growth <= 2 * noise + 2**20 and not differing,
    }


def _bytes(budget: str) -> int:
  from liquid_tf._cost import budget as _budget

  return _budget.parse_bytes(budget, "budgets")


def _make_dataset(folder: str) -> str:
  """Crops of photographs, half of them PNG and half raw."""
  from PIL import Image

  from liquid_tf._convert.convert import convert
  from liquid_tf.cli import wheel_images
  from tools.bench import crops

  source, path = os.path.join(folder, "source"), os.path.join(folder, "dataset")
  os.makedirs(source)
  photographs = list(wheel_images.wheel_photographs().values())
  windows = crops.large_crops(photographs, _IMAGES.value, _SIDE.value)
  for i, crop in enumerate(windows):
    # Their size on the way does not matter, their time does.
    Image.fromarray(crop).save(f"{source}/{i:05}.png", compress_level=1)
  convert(source, path, "png:1,raw:1", encoders={"png": {"level": 1}}, progress=False)
  return path


def _watch(path: str, folder: str) -> list[dict[str, Any]]:
  """Runs every budget for the whole time; returns their reports."""
  watched = []
  for budget in _BUDGETS.value:
    state = pathlib.Path(folder, budget)
    state.mkdir()
    watched.append(_Watched(budget, state))
  moments = random.Random(3)
  begin = time.monotonic()
  half, end = begin + 30 * _MINUTES.value, begin + 60 * _MINUTES.value
  try:
    for one in watched:
      one.start(path)
    # On a busy machine a process may be long in coming back after a kill.
    while (now := time.monotonic()) < end or not all(one.known() for one in watched):
      for one in watched:
        one.sample()
        due = len(one.trace) > 1 and moments.random() < 1 / _KILL_EVERY.value
        if due and (now < half or one.kills == 0):
          one.kill()
          one.start(path)
      time.sleep(1)
  finally:
    for one in watched:
      if one.process is not None:
        one.process.kill()
        one.process.wait()
  return [one.report() for one in watched]


def main(arguments: list[str]) -> int:
  if arguments[1:]:
    raise app.UsageError(f"argument ({arguments[1]}) is not used: all are flags")
  if _WORKER.value is not None:
    _work(_DATASET.value, _WORKER.value, pathlib.Path(_STATE.value))
  with tempfile.TemporaryDirectory() as folder:
    path = _DATASET.value or _make_dataset(folder)
    reports = _watch(path, folder)
  for report in reports:
    print(
      "memory={budget}: largest {largest_rss:,} B, {largest_less_bound:+,} to the "
      "bound; slope {slope_bytes_per_minute:+,} B/min (noise {noise:,} B); {epochs} "
      "epochs, {kills} kills{}".format("" if report["ok"] else "  FAILED", **report),
      file=sys.stderr,
    )
  print(json.dumps({"minutes": _MINUTES.value, "budgets": reports}))
  return 0 if all(report["ok"] for report in reports) else 1


if __name__ == "__main__":
  app.run(main)
