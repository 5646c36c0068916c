"""The photographs that the figures of trainings load: as files, and in every format."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any

from tools.bench.papers import all_images
from tools.bench.papers.figure import Setting

_SIDE, _QUICK_SIDE = 1024, 64
# Different photographs, and images of an epoch.
_DISTINCT, _EPOCH = 128, 512
_QUICK_DISTINCT, _QUICK_EPOCH = 8, 32


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
  from liquid_tf._store import manifest as manifests
  from liquid_tf._store.mix import TARGETS
  from tools.bench import mix, preparation

  distinct = _QUICK_DISTINCT if setting.quick else _DISTINCT
  images = _QUICK_EPOCH if setting.quick else _EPOCH
  side = _QUICK_SIDE if setting.quick else _SIDE
  setting.say(f"making {encoded} files of {side}x{side}, and them as {list(formats)}")
  source, paths = mix.make(
    setting.folder,
    images=distinct,
    side=side,
    formats=formats,
    data=all_images.folder(setting),
    workers=len(os.sched_getaffinity(0)),
    epoch_images=images,
    encoded=encoded,
  )
  made = sorted(pathlib.Path(source).iterdir())
  files = preparation.copies(made, source.with_name(f"{encoded}-files"), images)
  os.sync()
  stored = manifests.load(paths["long"])["formats"]
  sizes = {name: stored[TARGETS[name][0]] for name in formats}
  return {
    "path": paths["long"],
    "short": paths["short"],
    "source": os.fspath(source),
    "files": [os.fspath(file) for file in files],
    "images": images,
    "side": side,
    "image_bytes": {n: size["bytes"] / size["samples"] for n, size in sizes.items()},
  }
