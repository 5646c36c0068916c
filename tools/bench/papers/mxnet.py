"""MXNet's note: from a cold .rec file to decoded batches, and packing one."""

import concurrent.futures
import functools
import itertools
import multiprocessing
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from PIL import Image

from tools.bench import page, turns
from tools.bench.papers import jpegs, show
from tools.bench.papers.figure import Part, Setting, emptied

_PARTS = (1, 2, 4, 8)
_PROCESSES = (1, 2, 4)
# Records of the file that is read, and images that are packed.
_RECORDS = 8192
_PACKED = 1024
_QUICK_RECORDS = 32
_ROUNDS = 3
# The note resizes images to 256x256 before it packs them. Networks take 224x224.
_STORED_SIDE = 256
_SIDE = 224
_QUALITY = 95  # As im2rec does by default.
_BATCH = 128
_QUICK_BATCH = 4
# flag, label, id, id2: what stands before the JPEG file of a record with one label.
_HEADER_BYTES = 24
_PAPER = 3000
_UNITS = {"reading": ("part", "parts"), "packing": ("process", "processes")}


def parts(setting: Setting) -> Mapping[str, Part]:
  measures = {"reading": _read, "packing": _pack}
  return {n: functools.partial(_on_files, setting, m) for n, m in measures.items()}


def _on_files(
  setting: Setting,
  measure: Callable[[pathlib.Path, list[str], Setting], dict[str, Any]],
) -> dict[str, Any]:
  """Measures on JPEG files in a folder that is removed again."""
  most = _QUICK_RECORDS if setting.quick else None
  with emptied(setting.folder / "rec") as folder:
    what, files = jpegs.make(setting, folder / "files", 1, most)
    found = measure(folder, [os.fspath(file) for file in files], setting)
  return {"what": what, **found}


def _read(folder: pathlib.Path, names: list[str], setting: Setting) -> dict[str, Any]:
  """Decodes a file's parts one after another, the page cache empty, in turn."""
  records = _QUICK_RECORDS if setting.quick else _RECORDS
  path = os.fspath(folder / "one.rec")
  images = [resized(name) for name in names]
  write(itertools.islice(itertools.cycle(images), records), path)
  batch = _QUICK_BATCH if setting.quick else _BATCH
  read(path, 1, batch, records)  # Warms TensorFlow up.
  runs = {f"{n}": functools.partial(read, path, n, batch, records) for n in _PARTS}
  rates = turns.in_turn(runs, 1 if setting.quick else _ROUNDS)
  return {
    "records": records,
    "image_bytes": os.path.getsize(path) / records,
    "batch_size": batch,
    "images_per_s": rates,
  }


def read(path: str, parts: int, batch_size: int, records: int) -> float:
  """Images per second of all parts of a file, from the disk to batches of pixels.

  Args:
    path: a .rec file of JPEG images with one label each.
    parts: that the file is split into, read one after another.
    batch_size: images in a batch.
    records: that the file has.

  Raises:
    ChildProcessError: the parts have another number of records.
  """
  import tensorflow as tf

  from liquid_tf import codecs, recordio
  from liquid_tf._measure import epochs, process

  def decode(record: tf.Tensor) -> tf.Tensor:
    jpeg = tf.strings.substr(record, _HEADER_BYTES, -1)
    image = codecs.decode(jpeg, channels=3)
    return tf.image.resize_with_crop_or_pad(image, _SIDE, _SIDE)

  threads = len(os.sched_getaffinity(0))
  process.drop_from_page_cache(os.path.dirname(path))
  begin, images = time.perf_counter(), 0
  for part in range(parts):
    data = recordio.dataset(path, shard=(part, parts))
    data = data.map(decode, num_parallel_calls=threads)
    data = data.batch(batch_size).prefetch(2)
    images += epochs.consume(epochs.with_threads(data, threads))[0]
  seconds = time.perf_counter() - begin
  if images != records:
    raise ChildProcessError(f"{path}: {parts} parts have {images} of {records} records")
  return images / seconds


def resized(name: str) -> bytes:
  """A JPEG file of the size that the note packs, made of another image file."""
  with Image.open(name) as image:
    small = image.convert("RGB").resize((_STORED_SIDE, _STORED_SIDE))
  return jpegs.encoded(small, _QUALITY)


def write(images: Iterable[bytes], path: str) -> None:
  """Writes JPEG files as records with a label; at the end they are on the disk."""
  from liquid_tf import recordio

  with recordio.Writer(path) as writer:
    for i, jpeg in enumerate(images):
      header = recordio.Header(label=float(i % 1000), id=i)
      writer.write(recordio.pack(header, jpeg), key=i)


def pack(names: Sequence[str], path: str) -> None:
  """Resizes and packs image files, one after another."""
  write(map(resized, names), path)


def _ready(seconds: float) -> None:
  """Makes a process of the pool import what packing needs, and holds it meanwhile."""
  from liquid_tf import recordio  # noqa: F401

  time.sleep(seconds)


def _pack(folder: pathlib.Path, names: list[str], setting: Setting) -> dict[str, Any]:
  """Packs the same files in 1, 2 and 4 processes, a file each, in turn."""
  images = _QUICK_RECORDS if setting.quick else _PACKED
  names = list(itertools.islice(itertools.cycle(names), images))
  paths = {
    n: [os.fspath(folder / f"{n}-{i}.rec") for i in range(n)] for n in _PROCESSES
  }
  context = multiprocessing.get_context("spawn")
  with concurrent.futures.ProcessPoolExecutor(max(_PROCESSES), context) as pool:
    # Holding each for a while deals the calls out to all of them.
    list(pool.map(_ready, [1.0] * max(_PROCESSES)))

    def run(count: int) -> float:
      shares = [names[i::count] for i in range(count)]
      begin = time.perf_counter()
      list(pool.map(pack, shares, paths[count]))
      return len(names) / (time.perf_counter() - begin)

    runs = {f"{count}": functools.partial(run, count) for count in _PROCESSES}
    rates = turns.in_turn(runs, 1 if setting.quick else _ROUNDS)
  size = sum(map(os.path.getsize, paths[max(_PROCESSES)])) / images
  return {"records": images, "image_bytes": size, "images_per_s": rates}


def table(found: Mapping[str, Any]) -> str:
  rows = []
  for name, units in _UNITS.items():
    image_bytes = found[name]["image_bytes"]
    for count, rates in found[name]["images_per_s"].items():
      middle = statistics.median(rates)
      what = f"{name}, {count} {units[count != '1']}"
      ends = f"{min(rates):,.0f} to {max(rates):,.0f}"
      speed = f"{middle * image_bytes / 1e6:.0f}"
      rows.append([what, "", f"{middle:,.0f}", ends, speed])
  rows[0][1] = f"{_PAPER:,}"
  head = ["", "paper, images/s", "images/s", "least to most", "MB/s"]
  return page.table(head, rows)


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  reading = found["reading"]
  rates = reading["images_per_s"]
  whole, most = (statistics.median(rates[f"{n}"]) for n in (1, max(_PARTS)))
  return {
    **found,
    "stored_side": _STORED_SIDE,
    "quality": _QUALITY,
    "kb": reading["image_bytes"] / 1e3,
    "side": _SIDE,
    "rounds": len(rates["1"]),
    "parts": max(_PARTS),
    "of_one": most / whole,
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  left, right = canvas.subplots(1, 2)
  for axes, (name, (_, label)) in zip((left, right), _UNITS.items()):
    rates = found[name]["images_per_s"]
    axes.bar(list(rates), [statistics.median(r) for r in rates.values()])
    show.style(axes, "y", title=name, xlabel=label)
    axes.margins(y=0.25)  # Above the bars is the legend's place.
  left.axhline(_PAPER, color="black", linestyle=":", label="paper")
  left.set_ylabel("images/s")
  left.legend(frameon=False)
