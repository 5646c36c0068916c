"""What loads images for a training on a core set aside, and stays off that core.

These functions run in processes of their own; see `core_aside`.
"""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._measure import epochs, stock, throttle
from liquid_tf._pipeline.dataset import dataset as open_dataset
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store.mix import TARGETS
from liquid_tf.transforms import Resize, Step
from tools.bench import formats, preparation
from tools.bench.papers import shared_queue

# Of stock tf.data, so that a run never comes to the end.
_EPOCHS = 1 << 20


def steps(size: int) -> list[Step]:
  """What happens to an image; tf.image.resize gives the same pixels, once rounded."""
  return [Resize((size, size), antialias=False)]


def advise(*, cores: Sequence[int], size: int, **arguments: Any) -> dict[str, Any]:
  """What `profile` advises for a loader on some cores.

  Args:
    cores: where it runs.
    size: of the network's images, in pixels.
    **arguments: of `formats.advise`.
  """
  os.sched_setaffinity(0, cores)
  return formats.advise(threads=len(cores), transforms=steps(size), **arguments)


def serve(
  *,
  folder: str,
  side: Mapping[str, Any],
  size: int,
  batch_size: int,
  cache_bytes: int,
  read_bytes_per_s: int | None,
  cores: Sequence[int],
) -> dict[str, Any]:
  """Loads batches, epoch after epoch, until they are no longer wanted.

  Args:
    folder: of the queue's receiver.
    side: {path, mix} of ours, a replicated dataset and weights of formats; or {files},
      image files for stock tf.data.
    size: of the network's images, in pixels.
    batch_size: images in a batch.
    cache_bytes: of stored bytes that are kept; by stock tf.data in the page cache.
    read_bytes_per_s: what this process may read; None for no such limit.
    cores: where it runs, with a thread on each.

  Returns:
    `batches`, how many were given.
  """
  os.sched_setaffinity(0, cores)
  shape = (batch_size, size, size, 3)

  def give(dataset: tf.data.Dataset) -> dict[str, Any]:
    given = 0
    with shared_queue.Sender(folder, shape) as sender:
      for batch in dataset:
        if not sender.give(tf.nest.flatten(batch)[0].numpy()):
          break
        given += 1
    return {"batches": given}

  if "files" in side:
    dataset = stock.stock_dataset(
      side["files"],
      pathlib.Path(side["files"][0]).suffix[1:],
      batch_size,
      [None, None, 3],
      len(cores),
      transforms=steps(size),
      repeats=_EPOCHS,
    )
    place = os.path.dirname(side["files"][0])
    return preparation.theirs(
      lambda: give(dataset), place, cache_bytes, read_bytes_per_s
    )
  dataset = open_dataset(
    side["path"],
    batch_size,
    mix={TARGETS[name][0]: weight for name, weight in side["mix"].items()},
    features=["image"],
    transforms=steps(size),
    cache=cache_bytes,
    last_batch="drop",
    tuning=Tuning(parallelism=len(cores)),
  )
  with throttle.held(side["path"], read_bytes_per_s):
    return give(epochs.with_threads(dataset.repeat(), len(cores)))
