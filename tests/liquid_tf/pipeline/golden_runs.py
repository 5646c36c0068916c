"""Runs of an earlier process, for golden_test: datasets, orders and a position."""

import os
from typing import Any, NamedTuple

import numpy as np
import photos

import liquid_tf
from liquid_tf._convert.convert import convert

OPTIONS = {"seed": 5, "memory": "16MiB", "features": ["id"]}

# Of epoch 1, what was delivered before each checkpoint was written, and what came then.
BEFORE = {
  "formats": [
    [18, 3, 27, 0, 40, 36, 32, 33],
    [41, 42, 28, 30, 22, 43, 12, 20],
    [54, 8, 5, 24, 59, 52, 56, 57],
  ],
  "records": [
    [34, 24, 31, 32, 25, 15, 11, 43],
    [8, 14, 40, 21, 23, 36, 2, 38],
    [17, 19, 27, 6, 44, 55, 18, 13],
  ],
  "weights": [
    [53, 56, 33, 29, 7, 38, 57, 58],
    [48, 42, 39, 2, 11, 46, 28, 9],
    [31, 34, 43, 51, 17, 54, 41, 24],
  ],
}
AFTER = {
  "formats": [
    [51, 47, 17, 29, 10, 15, 37, 16],
    [50, 25, 9, 38, 44, 39, 26, 55],
    [11, 19, 58, 49, 4, 48, 6, 53],
    [2, 46, 35, 14, 23, 45, 7, 13],
    [34, 21, 31, 1],
  ],
  "records": [
    [46, 56, 30, 41, 39, 20, 53, 1],
    [37, 4, 3, 45, 33, 58, 57, 59],
    [12, 10, 16, 50, 35, 22, 54, 42],
    [47, 49, 9, 26, 29, 51, 7, 5],
    [48, 28, 0, 52],
  ],
  "weights": [
    [18, 4, 15, 59, 37, 19, 16, 3],
    [29, 34, 20, 47, 49, 39, 33, 10],
    [44, 50, 23, 22, 14, 27, 52, 26],
    [8, 13, 19, 18, 4, 32, 12, 38],
    [54, 59, 9, 28],
  ],
}

POSITION = {
  "version": 1,
  "epoch": 1,
  "step": 3,
  "cuts": [],
  "cached": [10, 7],
  "mixes": [],
  "run": {
    "dataset": "index 0xcddb253f",
    "split": "train",
    "samples": "60 samples, fingerprint fdcf5cde0f59ea88",
    "shard_policy": "pad",
    "batch_size": 8,
    "shuffle": True,
    "seed": 5,
    "scan groups": None,
    "transforms": [],
    "worker": [0, 1],
    "batches": 8,
    "samples of scan groups": None,
  },
}


class Run(NamedTuple):
  """A dataset, and what it is drawn with beside OPTIONS.

  Attributes:
    path: of the dataset.
    weights: of its samples; empty for none.
    options: further arguments.
  """

  path: str
  weights: list[int]
  options: dict[str, Any]

  @property
  def source(self) -> Any:
    """The dataset as `liquid_tf.dataset` takes it."""
    if not self.weights:
      return self.path
    return liquid_tf.open(self.path).weighted(self.weights)


def make(root: str) -> dict[str, Run]:
  """Makes the datasets in a folder."""
  random = np.random.default_rng(7)
  source = os.path.join(root, "source")
  for i in range(60):
    pixels = random.integers(0, 256, (8, 8, 3), np.uint8)
    photos.save(os.path.join(source, "all", f"{i:02}.bmp"), pixels)
  formats, records = (os.path.join(root, name) for name in ("formats", "records"))
  convert(source, formats, "raw:3,bmp:2", shard_size=4096, progress=False)
  encoders = {"pcr": {"images": 7}}
  convert(source, records, "pcr:2,raw:1", encoders=encoders, progress=False)
  return {
    "formats": Run(formats, [], {"cache": "30%"}),
    "records": Run(records, [], {"cache": "30%"}),
    "weights": Run(formats, [i % 5 + 1 for i in range(60)], {"cache": 0}),
  }
