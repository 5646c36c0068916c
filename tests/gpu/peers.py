"""JPEG on this machine's GPU by others: nvJPEG, through torchvision and through DALI.

They decode whole files. Ours are decoded by `liquid_tf.loader`, from a dataset with
entry points, as a training has them. Only ours has libjpeg-turbo's pixels; of the
others this tells by how much they differ.
"""

import contextlib
import importlib.util
import io
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import timing
from PIL import Image

import liquid_tf
from liquid_tf._native import direct_gpu

# Width and height, about those of ImageNet.
_SIZE = (500, 375)
_BATCH = 64
_BATCHES = 8
_QUALITY = 95


def problem() -> str | None:
  """The reason why nothing can be compared here, or None."""
  if sentence := direct_gpu.problem(0):
    return sentence
  for name in ("torch", "torchvision"):
    if importlib.util.find_spec(name) is None:
      return f"there is no {name} here, of a release for GPUs"
  import torch

  return None if torch.cuda.is_available() else "torch.cuda.is_available() is false"


def _differences(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]):
  """Of the samples of images: their mean, the largest, and how many there are."""
  each = [
    np.abs(one.astype(np.int16) - other)
    for one, other in zip(found, wanted, strict=True)
  ]
  samples = sum(one.size for one in each)
  return {
    "mean": sum(float(one.sum()) for one in each) / samples,
    "most": max(int(one.max()) for one in each),
    "share": sum(int(np.count_nonzero(one)) for one in each) / samples,
  }


def by_torchvision(files: Sequence[bytes], device: str = "cuda") -> Callable[[], Any]:
  """A function that decodes files to tensors [channels, height, width], complete."""
  import torch
  from torchvision.io import ImageReadMode, decode_jpeg

  stored = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]

  def decode():
    images = decode_jpeg(stored, mode=ImageReadMode.RGB, device=device)
    if device == "cuda":
      torch.cuda.synchronize()
    return images

  return decode


def by_dali(
  files: Sequence[bytes], threads: int, device: str = "mixed"
) -> Callable[[], Any]:
  """A function that decodes files to DALI's list of tensors, complete."""
  from nvidia.dali import fn, pipeline_def, types

  stored = [np.frombuffer(file, np.uint8) for file in files]

  @pipeline_def(
    batch_size=len(files),
    num_threads=threads,
    device_id=0 if device == "mixed" else None,
    prefetch_queue_depth=2,
  )
  def decoded():
    read = fn.external_source(source=lambda: stored, batch=True)
    return fn.decoders.image(read, device=device, output_type=types.RGB)

  pipeline = decoded()
  pipeline.build()

  def decode():
    (images,) = pipeline.run()
    return images

  return decode


@contextlib.contextmanager
def _dataset(files: Sequence[bytes]) -> Iterator[str]:
  """The path of a dataset that has each of these files several times."""
  with tempfile.TemporaryDirectory() as root:
    for i in range(_BATCH * _BATCHES):
      # Two classes, since a dataset has labels then.
      path = pathlib.Path(root, "files", "ab"[i % 2], f"{i:05}.jpg")
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(files[i % len(files)])
    liquid_tf.convert(f"{root}/files", f"{root}/dataset", "jpeg", progress=False)
    yield f"{root}/dataset"


def _ours(files: Sequence[bytes], repeats: int, found: dict[str, Any]) -> None:
  """Has a loader decode them, from memory; into `found`."""
  import torch

  wanted = [np.asarray(Image.open(io.BytesIO(file))) for file in files]
  with _dataset(files) as path:
    view = liquid_tf.open(path)
    with liquid_tf.loader(
      path, _BATCH, decode="gpu", shuffle=False, features=["image", "id"]
    ) as train:
      differences = []
      for batch in train:
        pixels = torch.from_dlpack(batch["image"]).cpu().numpy()
        names = [view[int(number)]["name"] for number in batch["id"]]
        files_of = [int(pathlib.Path(name).stem) % len(files) for name in names]
        differences.append(_differences(pixels, [wanted[i] for i in files_of]))

      def epoch():
        for batch in train:
          torch.from_dlpack(batch["image"])
        torch.cuda.synchronize()

      found["milliseconds"] = timing.on_clock(epoch, repeats)
  found["differences"] = {
    key: max(of_batch[key] for of_batch in differences) for key in differences[0]
  }


def measure(
  found: dict[str, Any],
  skipped: dict[str, str],
  photographs: Sequence[np.ndarray],
  threads: int,
  repeats: int,
  save: Callable[[], None],
) -> None:
  """Times whole JPEG files of 500x375, and compares pixels with Pillow's.

  Args:
    found: gets an entry for "liquid_tf", "torchvision" and "DALI": `images_per_s`, the
      `milliseconds` of so many `images`, and the `differences` of pixels: their mean,
      the largest and the share of samples that differ.
    skipped: gets a reason for DALI where it is not installed.
    photographs: uint8 [height, width, 3] of any sizes, which are scaled.
    threads: of DALI.
    repeats: how often each is timed.
    save: called behind each entry.
  """
  files = []
  for image in timing.scaled(photographs, *_SIZE):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=_QUALITY)
    files.append(file.getvalue())
  batch = [files[i % len(files)] for i in range(_BATCH)]
  kinds = batch[: len(files)]
  wanted = [np.asarray(Image.open(io.BytesIO(file))) for file in kinds]

  def note(name: str, images: int) -> None:
    entry = found[name]
    entry["images"] = images
    entry["images_per_s"] = 1e3 * images / entry["milliseconds"]["median"]
    save()

  _ours(files, repeats, found.setdefault("liquid_tf", {}))
  note("liquid_tf", _BATCH * _BATCHES)

  decode = by_torchvision(batch)
  images = [image.permute(1, 2, 0).cpu().numpy() for image in decode()[: len(kinds)]]
  found["torchvision"] = {
    "milliseconds": timing.on_clock(decode, repeats),
    "differences": _differences(images, wanted),
  }
  note("torchvision", _BATCH)

  try:
    decode = by_dali(batch, threads)
  except ModuleNotFoundError as error:
    skipped["DALI"] = f"it is not installed ({error})"
    return
  decoded = decode().as_cpu()
  images = [np.asarray(decoded.at(i)) for i in range(len(kinds))]
  found["DALI"] = {
    "milliseconds": timing.on_clock(decode, repeats),
    "differences": _differences(images, wanted),
  }
  note("DALI", _BATCH)
