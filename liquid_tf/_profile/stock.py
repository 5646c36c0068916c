"""The same images as files, through tf.data as its guide advises."""

import logging
import os
import pathlib
import time
from collections.abc import Collection, Sequence

import numpy as np

from liquid_tf._graph.build import build
from liquid_tf._measure import process, stock
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store.manifest import Manifest
from liquid_tf.transforms import Step

# What TensorFlow itself decodes, what is smallest first.
FORMATS = ("jpeg", "png", "bmp")

_logger = logging.getLogger(__name__)

_REPEATS = 1 << 16

# Batches that are taken ahead. With tf.data.AUTOTUNE they become more whenever one was
# waited for, and after a dozen runs making them takes longer than any rest.
_AHEAD = 4
_LEAST_IMAGES = 32

# Seconds that a look at the processors takes, the share of one that is at rest, and
# the longest wait.
_PAUSE = 0.1
_AT_REST = 0.1
_LONGEST_REST = 10


class Stock:
  """Files of one format, shuffled, read, decoded and batched by stock tf.data.

  Each file is dropped from the page cache before it is read again, unless memory holds
  the whole set.

  Args:
    manifest: of the replicated sample.
    format_name: of FORMATS.
    folder: an empty directory for the files.
    batch_size: images in a batch.
    threads: of tf.data.
    transforms: of `liquid_tf.dataset`.
    held: whether memory holds the whole set.
  """

  def __init__(
    self,
    manifest: Manifest,
    format_name: str,
    folder: str,
    batch_size: int,
    threads: int,
    transforms: Sequence[Step],
    held: bool,
  ):
    self._folder = folder
    self._held = held
    self.bytes = _extract(manifest, format_name, folder)
    files = sorted(str(path) for path in pathlib.Path(folder).iterdir())
    self._files = len(files)
    process.drop_from_page_cache(folder)
    dataset = stock.stock_dataset(
      files,
      format_name,
      batch_size,
      manifest["features"]["image"]["shape"],
      threads,
      transforms=transforms,
      repeats=_REPEATS,
      ahead=_AHEAD,
    )
    self._iterator = iter(dataset)
    self._draw(0, 2 * self._files)  # Until tf.data has tuned itself.
    _rest()

  def run(self, seconds: float) -> float:
    """Measures images per second, for `seconds` at least; waits for rest after it."""
    rate = self._draw(seconds, _LEAST_IMAGES)
    _rest()
    return rate

  def _draw(self, least_seconds: float, least_images: int) -> float:
    images, since, spent = 0, self._files, 0.0
    # Dropping counts too, since meanwhile batches are decoded ahead.
    begin = time.perf_counter()
    while images < least_images or spent < least_seconds:
      if not self._held and since >= self._files // 2:
        process.drop_from_page_cache(self._folder, written=True)
        since = 0
      batch = next(self._iterator)
      spent = time.perf_counter() - begin
      count = int(batch.shape[0])
      images += count
      since += count
    return images / spent


def _rest() -> None:
  """Waits until the process does nothing, or for a while.

  Stock tf.data reads and decodes ahead when nothing is asked of it, until its buffers
  are full, and would take the processors from what is measured next.
  """
  end = time.perf_counter() + _LONGEST_REST
  while time.perf_counter() < end:
    cpu = time.process_time()
    time.sleep(_PAUSE)
    if time.process_time() - cpu < _AT_REST * _PAUSE:
      return
  _logger.warning(
    "this process is at work %d s after the last batch of stock tf.data was taken; "
    "what is measured next may come out too slow: profile in a process of its own",
    _LONGEST_REST,
  )


def format_of(formats: Collection[str]) -> str | None:
  """Chooses the format of its files; None where it decodes none of those given."""
  return next((name for name in FORMATS if name in formats), None)


def why_not(manifest: Manifest) -> str | None:
  """The reason why stock tf.data cannot be measured, or None."""
  if manifest["features"]["image"]["dtype"] != "uint8":
    return "tf.io.decode_image gives 8 bits a channel, and these images have 16"
  if format_of(manifest["formats"]) is None:
    return f"none of the formats is one that it decodes: {', '.join(FORMATS)}"
  return None


def _extract(manifest: Manifest, format_name: str, folder: str) -> int:
  """Writes the encoded images as files; returns their bytes."""
  dataset = build(
    Arguments(
      manifest.directory,
      1,
      mix={format_name: 1},
      shuffle=False,
      cache=0,
      features=["bytes"],
    )
  )
  total = 0
  for i, element in enumerate(dataset.as_numpy_iterator()):
    contents = np.atleast_1d(element["bytes"])[0]
    with open(os.path.join(folder, f"{i:05}.{format_name}"), "wb") as file:
      file.write(contents)
    total += len(contents)
  return total
