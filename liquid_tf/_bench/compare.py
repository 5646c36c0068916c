"""Ours beside stock tf.data, on the same photographs."""

import concurrent.futures
import os
import pathlib
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

import liquid_tf
from liquid_tf import _photographs
from liquid_tf._bench import fresh

# Ours -> the files that stock tf.data reads, and the least ratio that is promised.
PAIRS = {"png": ("png", 1.3), "raw": ("bmp", 1.0)}


def make_images(
  folder: pathlib.Path,
  count: int,
  side: int,
  data: str | None,
  workers: int,
) -> None:
  """Makes the same photographs as PNG and BMP files, unless they are there.

  Args:
    folder: gets `png/NNNN.png` and `bmp/NNNN.bmp`.
    count: photographs.
    side: of each, in pixels.
    data: folder of images to cut them from; None for scikit-image's.
    workers: images at a time.
  """
  if data is None:
    sources = list(_photographs.wheel_photographs().values())
  else:
    files = _photographs.image_files(data)[:count]
    sources = [np.asarray(_photographs.open_rgb(file)) for file in files]
  for extension in ("png", "bmp"):
    (folder / extension).mkdir(parents=True, exist_ok=True)

  def save(i: int, pixels: np.ndarray) -> None:
    image = Image.fromarray(pixels)
    for extension in ("bmp", "png"):
      path = folder / extension / f"{i:05}.{extension}"
      if not path.exists():
        temporary = path.with_name(f".{path.name}.tmp")
        image.save(temporary, format=extension)
        temporary.rename(path)

  with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    crops = enumerate(_photographs.large_crops(sources, count, side))
    # A few at a time: all crops at once would not fit into memory.
    pending: set[concurrent.futures.Future] = set()
    for i, pixels in crops:
      pending.add(pool.submit(save, i, pixels))
      if len(pending) >= 2 * workers:
        done, pending = concurrent.futures.wait(
          pending, return_when=concurrent.futures.FIRST_COMPLETED
        )
        for future in done:
          future.result()
    for future in pending:
      future.result()


def compare(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures ours, stock, ours, stock, .. in fresh processes.

  Ours holds all records in its cache from the second epoch on; stock tf.data finds
  all files in a warm page cache. Both deliver batches of uint8 pixels that nobody uses,
  and both have a first epoch that does not count. The PNG files are the same bytes.

  Args:
    workdir: gets the images and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    batch_size: images in a batch.
    epochs: of each process, at least 2.
    rounds: processes of each side.
    threads: of tf.data, on both sides.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    The settings, and `pairs` {format: {peer, ours, stock, ratio, wanted, reached}}:
    `ours` and `stock` are {median, min, max} in images per second over all counted
    epochs, `ratio` that of the medians.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  say(f"making {images} photographs of {side}x{side} in {root}")
  make_images(root, images, side, data, threads)
  result: dict[str, Any] = {
    "images": images,
    "side": side,
    "batch_size": batch_size,
    "threads": threads,
    "rounds": rounds,
    "epochs": epochs,
    "pairs": {},
  }
  for name, (peer, wanted) in PAIRS.items():
    source = root / ("png" if name == "png" else "bmp")
    dataset = root / f"{name}.liquid"
    if not (dataset / "dataset.json").exists():
      liquid_tf.convert(source, dataset, {name: 1}, resume=True, progress=False)
    files = sorted((root / peer).glob(f"*.{peer}"))
    rates = _alternate(
      {
        "ours": {
          "stage": "liquid",
          "path": os.fspath(dataset),
          "batch_size": batch_size,
          "threads": threads,
          "epochs": epochs,
          "cache": "100%",
          "features": ["image"],
        },
        "stock": {
          "stage": "stock",
          "files": [os.fspath(file) for file in files],
          "shape": [side, side, 3],
          "batch_size": batch_size,
          "threads": threads,
          "epochs": epochs,
        },
      },
      rounds,
      lambda text, name=name: say(f"{name}: {text}"),
    )
    ratio = rates["ours"]["median"] / rates["stock"]["median"]
    result["pairs"][name] = {
      "peer": f"tf.io.decode_image on {peer}",
      **rates,
      "ratio": ratio,
      "wanted": wanted,
      "reached": ratio >= wanted,
    }
  return result


def _alternate(
  requests: dict[str, dict[str, Any]], rounds: int, say: Callable[[str], None]
) -> dict[str, dict[str, float]]:
  rates: dict[str, list[float]] = {name: [] for name in requests}
  for number in range(1, rounds + 1):
    for name, request in requests.items():
      counted = [e["images_per_s"] for e in fresh.run(request)["epochs"][1:]]
      rates[name] += counted
      say(f"{name}, {number} of {rounds}: {statistics.median(counted):.1f} images/s")
  return {
    name: {
      "median": statistics.median(values),
      "min": min(values),
      "max": max(values),
    }
    for name, values in rates.items()
  }
