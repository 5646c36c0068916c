"""The positions of a run as JSON, beside the checkpoints that they belong to."""

import contextlib
import json
import re
from collections.abc import Iterable, Sequence

import tensorflow as tf

from liquid_tf._pipeline.position import Position
from liquid_tf._store import storage

_NAME = re.compile(r"(ckpt-\d+)\.position(-\d+)?\.json(\.new)?")


def write(checkpoint: str, positions: Sequence[Position]) -> None:
  """Writes CHECKPOINT.position.json, or of several position-0, position-1, ….

  Each takes its place whole, or not at all.

  Args:
    checkpoint: path and number, as "run1/ckpt-7".
    positions: of the datasets that are trained on.
  """
  for i, position in enumerate(positions):
    number = f"-{i}" if len(positions) > 1 else ""
    path = f"{checkpoint}.position{number}.json"
    with tf.io.gfile.GFile(f"{path}.new", "w") as file:
      file.write(json.dumps(position.saved()))
    tf.io.gfile.rename(f"{path}.new", path, overwrite=True)


def sweep(directory: str, names: Iterable[str]) -> None:
  """Removes the files of checkpoints that are there no more.

  Args:
    directory: of the checkpoints.
    names: of those that are there, as "ckpt-7".
  """
  kept = set(names)
  for name in tf.io.gfile.listdir(directory):
    found = _NAME.fullmatch(name)
    if found and found[1] not in kept:
      with contextlib.suppress(tf.errors.NotFoundError):
        tf.io.gfile.remove(storage.join(directory, name))
