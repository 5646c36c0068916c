"""Counts how much loads and disk bytes differ between batches.

  python -m tools.bench constancy --images=2000 --side=224 --cache=30%

Three caches are compared: ours, MinIO's, and the kernel's page cache.
"""

import contextlib
import pathlib
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from liquid_tf._cost import budget
from liquid_tf._graph.build import build
from liquid_tf._graph.stats import stats as stats_of
from liquid_tf._measure import process
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest
from liquid_tf.cli.demo import images as demo_images
from liquid_tf.errors import WrongArgument
from tools.bench import memory_group, page, photographs, turns

POLICIES = ("liquid", "minio", "page")

# Records of one size, where bytes are even if loads are; and such as people have.
MIXES = ("raw:1", "raw:1,bmp:1", "png:6,raw:4")

# Promised of "liquid", of all formats' loads, and of their bytes in samples where these
# have one size.
MOST_DEVIATION = 0.5

# For "page": buffers would take the memory that is to be page cache.
_SMALL_MEMORY = 64 << 20

# What the process may come to use beside what it has used in an epoch, lest the
# kernel kills it; the page cache has it meanwhile.
_SPARE = 16 << 20


def bench(
  folder: str,
  *,
  images: int,
  side: int,
  data: str | None,
  batch_size: int,
  cache: str,
  epochs: int,
  mixes: Sequence[str] = MIXES,
  policies: Sequence[str] = POLICIES,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures each policy on each mix, in fresh processes.

  Args:
    folder: gets what is made, and what is there is used again.
    images: photographs.
    side: of each, in pixels.
    data: folder of class folders to cut them from; None for scikit-image's.
    batch_size: images in a batch.
    cache: a share ("30%") of the dataset, that each policy may keep in memory.
    epochs: of each process; the first one does not count.
    mixes: of the datasets that are made.
    policies: of `POLICIES`.
    say: receives a line of progress.

  Returns:
    `rows` [{mix, policy, and what `measure` gives}], and `unlimited`:
    why the page cache was not limited, or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a process could not measure.
  """
  _share(cache)
  source = pathlib.Path(folder, f"photographs_{images}_{side}")
  rows = []
  for mix in mixes:
    path = pathlib.Path(folder, f"{mix.replace(':', '')}_{images}_{side}.liquid")
    if not source.exists():
      demo_images.make(source, side=side, count=images, data=data, say=say)
    photographs.converted(source, path, mix)
    for policy in policies:
      measured = turns.apart(
        measure,
        path=path,
        policy=policy,
        cache=cache,
        batch_size=batch_size,
        epochs=epochs,
      )
      rows.append({"mix": mix, "policy": policy, **measured})
      say(
        f"{mix}, {policy}: {measured['loads']['deviation']:.2f} loads and "
        f"{measured['bytes_deviation_in_samples']:.2f} mean samples of bytes"
      )
  return {"rows": rows, "unlimited": memory_group.why_not()}


def measure(
  path: str, *, policy: str, cache: str, batch_size: int, epochs: int
) -> dict[str, Any]:
  """Runs epochs of one policy; counts are over full batches from the second one on.

  The page cache is limited once the first epoch has filled it, to the share of the
  stored bytes beside what the process itself uses, and a little to spare.

  Args:
    path: a dataset directory.
    policy: of `POLICIES`.
    cache: a share of the dataset.
    batch_size: images in a batch.
    epochs: to run.

  Returns:
    `batches`; `loads` and `disk_bytes` {mean, deviation} of a batch, by `Stats`;
    `bytes_deviation_in_samples`, in mean stored samples; and of these epochs, the mean
    `epoch_disk_bytes` by `Stats` and `kernel_disk_bytes` by the kernel's count.
  """
  lengths = manifest.load_index(manifest.load(path))["length"]
  page = policy == "page"
  dataset = build(
    Arguments(
      path,
      batch_size,
      cache=0 if page else cache,
      cache_policy=policy,
      memory=_SMALL_MEMORY if page else "auto",
      features=["bytes"],
    )
  )
  process.drop_from_page_cache(path)
  limited = page and memory_group.why_not() is None
  kernel = []
  with memory_group.MemoryGroup() if limited else contextlib.nullcontext() as group:
    own = 0
    for _ in range(epochs):
      before = process.disk_bytes()
      for number, _ in enumerate(dataset):
        if limited and number % 8 == 0:
          own = max(own, group.own_bytes())
      kernel.append(process.disk_bytes() - before)
      if limited:
        group.limit(own + _SPARE + int(_share(cache) * int(lengths.sum())))
  stats = stats_of(dataset)
  full = [b for b in stats.batches if b["full"] and b["epoch"] > 0]
  if not full:
    raise WrongArgument(
      "batch_size", batch_size, "must be at most the dataset's images"
    )
  found = {
    "loads": _spread([sum(b["loads"].values()) for b in full]),
    "disk_bytes": _spread([b["disk_bytes"] for b in full]),
  }
  return {
    "batches": len(full),
    **found,
    "bytes_deviation_in_samples": (
      found["disk_bytes"]["deviation"] / float(lengths.mean())
    ),
    "epoch_disk_bytes": statistics.mean(e["disk_bytes"] for e in stats.epochs[1:]),
    "kernel_disk_bytes": statistics.mean(kernel[1:]),
  }


def _share(cache: str) -> float:
  # Bytes, and what "auto" makes of the memory, would not be the same to all policies.
  if isinstance(cache, str) and cache.strip().endswith("%"):
    with contextlib.suppress(ValueError):
      return budget.cached_samples(cache, [10**6], [10**6], 0)[0] / 1e6
  raise WrongArgument("cache", cache, 'must be a share such as "30%"')


def _spread(values: list[int]) -> dict[str, float]:
  return {
    "mean": statistics.mean(values),
    "deviation": statistics.pstdev(values),
    "min": min(values),
    "max": max(values),
  }


def text(result: dict[str, Any]) -> str:
  """Mean and standard deviation per full batch, as a Markdown table."""
  cells = [
    ("mix", lambda row: row["mix"]),
    ("policy", lambda row: row["policy"]),
    ("loads", lambda row: f"{row['loads']['mean']:.1f}"),
    ("deviation", lambda row: f"{row['loads']['deviation']:.2f}"),
    ("MB from disk", lambda row: f"{row['disk_bytes']['mean'] / 1e6:.2f}"),
    ("deviation", lambda row: f"{row['disk_bytes']['deviation'] / 1e6:.3f}"),
    ("in mean samples", lambda row: f"{row['bytes_deviation_in_samples']:.2f}"),
    ("MB an epoch", lambda row: f"{row['epoch_disk_bytes'] / 1e6:.1f}"),
    ("by the kernel", lambda row: f"{row['kernel_disk_bytes'] / 1e6:.1f}"),
  ]
  return page.columns(result["rows"], cells, (0, 1))


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the table."""
  limit = (
    f"The page cache was **not** limited: {result['unlimited']}."
    if result["unlimited"]
    else "A version 1 memory cgroup holds the page cache to "
    f"{result['cache']} of the stored bytes, beside what the process uses and 16 MiB "
    "to spare, after one epoch has filled it."
  )
  return page.section(
    "constancy",
    result,
    batches=result["rows"][0]["batches"],
    limit=limit,
    most=MOST_DEVIATION,
    table=text(result),
  )
