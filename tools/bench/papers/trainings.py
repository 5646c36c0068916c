"""What the figures of trainings share: their images, how they run, their numbers."""

import os
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tools.bench import page, photographs
from tools.bench.papers.figure import Setting, apart

# At this rate raw waits for the disk, and PNG for the decoder, as in Liquid's figure 2.
DISK_BYTES_PER_S = 225_000_000
# Of stock tf.data, beside ours.
STOCK = "tf.data"
# One batch in memory, which no loader gives.
IDEAL = "ideal"
_HOW = {"ideal_seconds": 4.0, "rounds": 2}
_QUICK_HOW = {"seconds": 0.2, "ideal_seconds": 0.2, "rounds": 1}
_QUICK_ADVICE_SECONDS, _ADVICE_SECONDS = 0.05, 1.0
# Different photographs, their side in pixels, and images of an epoch.
_MADE = {"images": 128, "side": 1024, "epoch_images": 512}
_QUICK_MADE = {"images": 8, "side": 64, "epoch_images": 32}


class Network(NamedTuple):
  """A network, as the figures train it.

  Attributes:
    name: of `networks.NETWORKS`.
    words: on the page.
    size: of its images, in pixels.
    batch_size: images in a batch.
  """

  name: str
  words: str
  size: int
  batch_size: int


def cores() -> tuple[int, list[int]]:
  """The core that is the accelerator, and those of the loader."""
  *others, last = sorted(os.sched_getaffinity(0))
  return last, others


def make(setting: Setting, encoded: str, formats: Sequence[str]) -> dict[str, Any]:
  """Makes photographs, and a dataset with each in each format, unless they are there.

  An epoch has each photograph several times: the files are copies, so that the page
  cache gains nothing, and the dataset's records are links, which are read past it.

  Args:
    setting: has the images that the photographs are cut from.
    encoded: of the files, "png" or "jpeg"; other formats get the pixels of these.
    formats: of the dataset, `encoded` among them.

  Returns:
    `path` of the dataset, `files`, `images` of an epoch, their `side` in pixels, and
    `image_bytes`, the mean stored bytes by format; of the photographs, each once,
    `short`, a dataset, and `source`, the folder of the files.
  """
  from tools.bench import preparation

  how = _QUICK_MADE if setting.quick else _MADE
  side, images = how["side"], how["epoch_images"]
  setting.say(f"making {encoded} files of {side}x{side}, and them as {list(formats)}")
  source, made = photographs.replicated(
    setting.folder,
    formats=formats,
    data=setting.photographs(),
    workers=len(os.sched_getaffinity(0)),
    encoded=encoded,
    **how,
  )
  sources = sorted(pathlib.Path(source).iterdir())
  files = preparation.copies(sources, source.with_name(f"{encoded}-files"), images)
  os.sync()
  return {
    "path": made["long"],
    "short": made["short"],
    "source": os.fspath(source),
    "files": [os.fspath(file) for file in files],
    "images": images,
    "side": side,
    "image_bytes": made["image_bytes"],
  }


def advise(
  setting: Setting,
  made: Mapping[str, Any],
  formats: Sequence[str],
  network: Network,
  cache_bytes: int,
) -> dict[str, float]:
  """The mix that `profile` advises for what a network takes, on the loader's cores.

  Args:
    setting: of the run.
    made: what `make` gives.
    formats: to choose from.
    network: whose images and batches.
    cache_bytes: of stored bytes that are kept between epochs.

  Raises:
    ChildProcessError: the machine is too noisy for advice.
  """
  setting.say(f"{network.words}: profiling {', '.join(formats)}")
  return apart(
    "core_aside:advise",
    source=os.path.dirname(made["files"][0]),
    directory=os.fspath(setting.folder),
    formats=formats,
    cores=cores()[1],
    size=network.size,
    batch_size=network.batch_size,
    read_bytes_per_s=DISK_BYTES_PER_S,
    seconds=_QUICK_ADVICE_SECONDS if setting.quick else _ADVICE_SECONDS,
    cache=cache_bytes,
  )["mix"]


def run(
  setting: Setting,
  network: Network,
  made: Mapping[str, Any],
  mixes: Mapping[str, Mapping[str, float]],
  *,
  seconds: float,
  cache_bytes: int = 0,
  warm_up: int = 0,
) -> dict[str, Any]:
  """Trains a network on what each loader gives, in turn.

  Args:
    setting: of the run.
    network: which.
    made: what `make` gives.
    mixes: by name, weights of formats that our loader has; stock tf.data has the files.
    seconds: of each run that count.
    cache_bytes: of stored bytes that each loader keeps; stock tf.data in the page
      cache, and beside what it has read ahead.
    warm_up: images that come first, and do not count.

  Returns:
    What `core_aside.train` gives, `cores` of the loader, what was asked for, and
    `images`, `side` and `image_bytes` of what was made.

  Raises:
    ChildProcessError: a loader failed.
  """
  how = _QUICK_HOW if setting.quick else {"seconds": seconds, **_HOW}
  asked = {
    "network": network.name,
    "size": network.size,
    "batch_size": network.batch_size,
    "read_bytes_per_s": DISK_BYTES_PER_S,
    "cache_bytes": cache_bytes,
    **how,
  }
  sides = {n: {"path": made["path"], "mix": dict(mix)} for n, mix in mixes.items()}
  sides[STOCK] = {"files": made["files"]}
  setting.say(f"training {network.words} on {', '.join(sides)}")
  found = apart("core_aside:train", sides=sides, warm_up=warm_up, **asked)
  kept = {key: made[key] for key in ("images", "side", "image_bytes")}
  return kept | asked | {"cores": len(cores()[1])} | found


def median(result: Mapping[str, Any], side: str, key: str = "images_per_s") -> float:
  """What the runs of a side, or of the ideal, have of one number: the median."""
  if side == IDEAL:
    return statistics.median(result["ideal"])
  return statistics.median(one[key] for one in result["sides"][side])


def goodputs(result: Mapping[str, Any], side: str) -> list[float]:
  """Speed of each round by that of the ideals before and after it."""
  ideals = result["ideal"]
  return [
    one["images_per_s"] / statistics.mean(ideals[i : i + 2])
    for i, one in enumerate(result["sides"][side])
  ]


def cpu(result: Mapping[str, Any], side: str) -> float:
  """The share of the loader's cores that it keeps busy."""
  return median(result, side, "cpu_seconds_per_s") / result["cores"]


def disk(result: Mapping[str, Any], side: str) -> float:
  """The share of what the disk gives that a loader reads."""
  return median(result, side, "disk_bytes_per_s") / result["read_bytes_per_s"]


def slower(result: Mapping[str, Any], side: str) -> float:
  """How much longer a step takes while a loader runs than the ideal's: .1 for a tenth.

  Time that it waits for its batch is not part of it.
  """
  found = [
    (1 - one["idle"]) / good - 1
    for one, good in zip(result["sides"][side], goodputs(result, side))
  ]
  return statistics.median(found)


def row(result: Mapping[str, Any], side: str) -> list[str]:
  """Cells of a table: see HEAD."""
  if side == IDEAL:
    return [page.span(result["ideal"]), "1.00", "0%", "", "", ""]
  one_by_one = [one["images_per_s"] for one in result["sides"][side]]
  return [
    page.span(one_by_one),
    page.span(goodputs(result, side), ".2f"),
    f"{median(result, side, 'idle'):.0%}",
    f"{slower(result, side):+.0%}",
    f"{cpu(result, side):.0%}",
    f"{disk(result, side):.0%}",
  ]


HEAD = (
  "images/s", "goodput", "waits", "its steps are longer", "loader's CPU", "disk",
)  # fmt: skip


def mix_words(mix: Mapping[str, float]) -> str:
  """A mix, in words."""
  total = sum(mix.values())
  return ", ".join(f"{name} {share / total:.0%}" for name, share in mix.items())


def words(network: Network, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
  """What texts of trainings know.

  Returns:
    `network` and the stored `sizes` of an image, in words; and `accelerator`: how that,
    the loaders and the disk were set up, in sentences.
  """
  result = results[0]
  sizes = result["image_bytes"].items()
  cores = result["cores"]
  return {
    "network": network.words,
    "sizes": ", ".join(f"{name} {size / 1e6:.2f}" for name, size in sizes),
    "accelerator": page.fill(
      "papers/accelerator",
      others=f"the other {cores} cores" if cores > 1 else "the other",
      sizes=" or ".join(dict.fromkeys(f"{one['batch_size']}" for one in results)),
      rate=result["read_bytes_per_s"] / 1e6,
      seconds=result["seconds"],
      rounds=result["rounds"],
    ),
  }
