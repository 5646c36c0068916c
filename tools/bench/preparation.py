"""Ours and other loaders on slow disks, all with one amount of memory to cache in."""

import contextlib
import functools
import os
import pathlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from liquid_tf._graph.build import build
from liquid_tf._measure import epochs as runs
from liquid_tf._measure import process, throttle
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store.mix import TARGETS
from tools.bench import (
  formats,
  machine,
  memory_group,
  peers,
  photographs,
  stages,
  turns,
)

# What a file of each extension is kept as beside what it is.
FORMATS = {
  "png": ("png", "webp", "raw", "l3", "l3-compact"),
  "jpeg": ("jpeg", "raw", "l3", "l3-compact"),
}
_L3 = ("l3", "l3-compact")
# Beside what a loader has used, lest the kernel kills it; the page cache has it too.
# While it grows, much more: it may take hundreds of megabytes between two looks.
_SPARE, _GROWING = 16 << 20, 1 << 30
_GROWTH = 4 << 20
_POLL_SECONDS = 0.05
_SETTLED_SECONDS = 1.0


def ours(
  path: str,
  weights: Mapping[str, float],
  *,
  policy: str,
  cache_bytes: int,
  batch_size: int,
  threads: int,
  epochs: int,
  read_bytes_per_s: int | None,
) -> dict[str, Any]:
  """Runs epochs of a mix, shuffled and decoded.

  Args:
    path: a replicated dataset.
    weights: of formats.
    policy: "liquid", or "minio": keep what came first.
    cache_bytes: of stored records that are kept in memory.
    batch_size: images in a batch.
    threads: of tf.data, and decoding tasks per batch.
    epochs: to run.
    read_bytes_per_s: what this process may read; None for no such limit.

  Returns:
    `epochs` [{images, seconds, cpu_seconds, disk_bytes}].
  """
  dataset = build(
    Arguments(
      path,
      batch_size,
      mix={TARGETS[name][0]: weight for name, weight in weights.items()},
      features=["image"],
      cache=cache_bytes,
      cache_policy=policy,
      tuning=Tuning(parallelism=threads),
    )
  )
  dataset = runs.with_threads(dataset, threads)
  with machine.held(path, read_bytes_per_s):
    return {"epochs": [stages.timed(dataset) for _ in range(epochs)]}


def theirs(
  run: Callable[[], dict[str, Any]],
  folder: str | os.PathLike,
  cache_bytes: int,
  read_bytes_per_s: int | None,
) -> dict[str, Any]:
  """Runs a loader that caches by the page cache, in a process that `run` begins.

  Its page cache is empty at first, and holds no more than `cache_bytes` beside what the
  process has in memory.

  Args:
    run: begins the process, and waits for it.
    folder: of its files.
    cache_bytes: of the page cache.
    read_bytes_per_s: what it may read; None for no such limit.

  Returns:
    What `run` returns.
  """
  process.drop_from_page_cache(folder)
  with (
    machine.held(folder, read_bytes_per_s),
    memory_group.MemoryGroup() as group,
    _page_cache(group, cache_bytes),
  ):
    return run()


@contextlib.contextmanager
def _page_cache(group: memory_group.MemoryGroup, cache_bytes: int) -> Iterator[None]:
  """Follows what the group uses, and leaves so much more to the page cache.

  Raises:
    OSError: the kernel did not take the last limit.
  """
  done = threading.Event()
  refused: list[OSError] = []

  def follow() -> None:
    most, since, spare = -_GROWTH, 0.0, 0
    while not done.wait(_POLL_SECONDS):
      own, now = group.own_bytes(), time.monotonic()
      grows = own >= most + _GROWTH
      if grows:
        most, since = own, now
      wanted = _GROWING if now - since < _SETTLED_SECONDS else _SPARE
      if not grows and wanted == spare:
        continue
      refused.clear()
      try:
        group.limit(most + wanted + cache_bytes)
        spare = wanted
      except OSError as error:
        # Pages that are being read cannot be dropped: the next time.
        refused.append(error)

  thread = threading.Thread(target=follow)
  thread.start()
  try:
    yield
  finally:
    done.set()
    thread.join()
  if refused:
    raise refused[0]


def make(
  workdir: str | os.PathLike,
  extension: str,
  *,
  images: int,
  side: int,
  threads: int,
  data: str | None,
) -> tuple[list[pathlib.Path], pathlib.Path]:
  """Makes the files that others read, and our dataset of them in every format.

  Args:
    workdir: gets them; what is there is used.
    extension: "png", or "jpeg" of quality 90.
    images: files. After 256 different ones the same pixels come again, in files of
      their own, so that the page cache gains nothing by it.
    side: of each, in pixels.
    threads: images at a time.
    data: folder of images to cut photographs from; None for scikit-image's.

  Returns:
    The files, and the replicated dataset.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  distinct = min(images, photographs.DISTINCT)
  made = photographs.make(root, distinct, side, data, threads, (extension,))[extension]
  folder, path = root / f"{extension}-files", root / f"{extension}.liquid"
  files = copies(made, folder, images)
  mix = dict.fromkeys(FORMATS[extension], 1)
  dataset = photographs.converted(folder, path, mix, replicate=True)
  os.sync()
  return files, dataset


def copies(
  made: Sequence[pathlib.Path], folder: pathlib.Path, count: int
) -> list[pathlib.Path]:
  """Copies files in turn until there are so many, unless they are there.

  Args:
    made: files.
    folder: gets `NNNNN.EXTENSION`.
    count: files to make.

  Returns:
    The files, sorted.
  """
  folder.mkdir(exist_ok=True)
  files = [folder / f"{i:05}{made[0].suffix}" for i in range(count)]
  for i, file in enumerate(files):
    if not file.exists():
      temporary = file.with_suffix(".tmp")
      shutil.copyfile(made[i % len(made)], temporary)
      temporary.rename(file)
  return files


def bench(
  workdir: str | os.PathLike,
  *,
  extension: str,
  images: int,
  side: int,
  share: float,
  rate: int,
  batch_size: int,
  threads: int,
  epochs: int,
  rounds: int,
  seconds: float,
  dali_python: str | None = None,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures one disk: mixes, single formats, MinIO's policy, stock tf.data, DALI.

  Args:
    workdir: gets the photographs and datasets; those that are there are used.
    extension: of the files, of `FORMATS`.
    images: files.
    side: of each, in pixels.
    share: of the files' bytes that every loader may cache.
    rate: bytes per second that the disk gives; 0 for all it has.
    batch_size: images in a batch.
    threads: on all sides.
    epochs: of each process; the first one does not count.
    rounds: processes of each side, in turn.
    seconds: that a run of the profile lasts at least.
    dali_python: interpreter that has DALI; None leaves it out.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    `cache_bytes`; `file_bytes`, mean; `advised` and `advised_without_l3` {format:
    share}; `sides` {name: {median, min, max: images per second; cpu}}, and `dali`, its
    versions and settings, or None.

  Raises:
    ChildProcessError: a measurement failed, or is too noisy for advice.
    OSError: disk or memory cannot be limited here.
  """
  names = FORMATS[extension]
  say(f"making {images} {extension} files of {side}x{side}, and them as {names}")
  files, dataset = make(
    workdir, extension, images=images, side=side, threads=threads, data=data
  )
  stored = sum(file.stat().st_size for file in files)
  cache_bytes = int(share * stored)
  common = {"batch_size": batch_size, "threads": threads}
  held = common | {"read_bytes_per_s": rate or None}

  def advice(among: Sequence[str]) -> dict[str, float]:
    return turns.apart(
      formats.advise,
      source=files[0].parent,
      directory=dataset.parent,
      formats=among,
      seconds=seconds,
      cache=cache_bytes,
      **held,
    )["mix"]

  def run(weights: Mapping[str, float], policy: str = "liquid") -> dict[str, Any]:
    return turns.apart(
      ours,
      path=dataset,
      weights=weights,
      policy=policy,
      cache_bytes=cache_bytes,
      epochs=epochs,
      **held,
    )

  disk = turns.disk_name(rate, "whole disk")
  say(f"{disk}: profiling")
  advised = advice(names)
  without = advice([name for name in names if name not in _L3])
  request = {**common, "epochs": epochs, "extension": extension}
  request["files"] = [os.fspath(file) for file in files]
  limited = functools.partial(
    theirs,
    folder=files[0].parent,
    cache_bytes=cache_bytes,
    read_bytes_per_s=rate or None,
  )
  stock = request | {"shape": [side, side, 3]}
  sides = {name: functools.partial(run, {name: 1}) for name in names}
  for title, weights in (("mix", advised), ("mix without l3", without)):
    if len(weights) > 1:
      sides[title] = functools.partial(run, weights)
  sides["minio"] = functools.partial(run, {extension: 1}, "minio")
  sides["tf.data"] = lambda: limited(lambda: peers.run("stock", None, stock))
  if dali_python:
    sides["dali"] = lambda: limited(lambda: peers.run("dali", dali_python, request))
  rates, answers = turns.alternate(sides, rounds, f"{disk}, {extension}, ", say)
  peer = answers.get("dali")
  return {
    "cache_bytes": cache_bytes,
    "file_bytes": stored / images,
    "advised": advised,
    "advised_without_l3": without,
    "sides": rates,
    "dali": peer and {key: peer[key] for key in ("versions", "settings")},
  }


def why_not() -> str | None:
  """Why this cannot be measured here, or None where it can."""
  return throttle.why_not() or memory_group.why_not()
