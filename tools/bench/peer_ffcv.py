"""FFCV as its guide advises: run by an interpreter that has it.

Reads one JSON object on stdin, {files, dataset, batch_size, threads, epochs}, makes the
`.beton` file `dataset` of the image files where it is not there, and writes one object,
{epochs [{images, seconds, cpu_seconds}], shape, dtype, mean, versions, settings}, as
the last line of stdout. Images are raw; with `recipe`, which is what `imagenet.request`
gives, they are JPEG of `quality`, their shorter side resized to `shorter` where that is
not null. Imports nothing of this package but `clock`, which lies beside it.
"""

import importlib.metadata
import operator
import os
import sys

import numpy as np
from ffcv.fields import RGBImageField
from ffcv.fields.decoders import (
  CenterCropRGBImageDecoder,
  RandomResizedCropRGBImageDecoder,
  SimpleRGBImageDecoder,
)
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import (
  NormalizeImage,
  RandomHorizontalFlip,
  ToTensor,
  ToTorchImage,
)
from ffcv.writer import DatasetWriter
from PIL import Image

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402


class Files:
  """Image files as a sequence of tuples, which the writer wants."""

  def __init__(self, names, shorter):
    self.names = names
    self.shorter = shorter

  def __len__(self):
    return len(self.names)

  def __getitem__(self, i):
    with Image.open(self.names[i]) as image:
      image = image.convert("RGB")
    if self.shorter:
      least = min(image.size)
      size = [length * self.shorter // least for length in image.size]
      image = image.resize(size, Image.Resampling.BILINEAR)
    return (np.array(image),)


def write(request, field):
  temporary = request["dataset"] + ".tmp"
  files = Files(request["files"], request.get("shorter"))
  DatasetWriter(temporary, {"image": field}, num_workers=1).from_indexed_dataset(files)
  os.rename(temporary, request["dataset"])


def steps(recipe):
  side = recipe["side"]
  mean, std = (np.array(recipe[key]) for key in ("mean", "std"))
  if recipe["training"]:
    geometry = [RandomResizedCropRGBImageDecoder((side, side)), RandomHorizontalFlip()]
  else:
    share = side / recipe["shorter"]
    geometry = [CenterCropRGBImageDecoder((side, side), ratio=share)]
  return [*geometry, NormalizeImage(mean, std, np.float32), ToTensor(), ToTorchImage()]


def main(request):
  recipe = request.get("recipe")
  if recipe:
    writing = f'write_mode="jpg", jpeg_quality={request["quality"]}'
    field = RGBImageField(write_mode="jpg", jpeg_quality=request["quality"])
    operations = steps(recipe)
  else:
    writing = 'write_mode="raw"'
    field = RGBImageField(write_mode="raw")
    operations = [SimpleRGBImageDecoder()]
  if not os.path.exists(request["dataset"]):
    write(request, field)
  # The loader takes the decoder out of the list.
  done = ", ".join(type(operation).__name__ for operation in operations)
  in_order = recipe and not recipe["training"]
  order = OrderOption.SEQUENTIAL if in_order else OrderOption.RANDOM
  loader = Loader(
    request["dataset"],
    batch_size=request["batch_size"],
    num_workers=request["threads"],
    os_cache=True,
    order=order,
    seed=0,
    drop_last=False,
    pipelines={"image": operations},
  )
  answer = clock.run(
    request["epochs"], lambda: map(operator.itemgetter(0), loader), np.asarray
  )
  names = ("ffcv", "torch", "numba")
  return {
    **answer,
    "versions": {name: importlib.metadata.version(name) for name in names},
    "settings": f"RGBImageField({writing}), Loader(os_cache=True, "
    f"order={order.name}, num_workers={request['threads']}, batches_ahead=3), "
    f"{done}; batches are taken, not copied",
  }


if __name__ == "__main__":
  clock.serve(main)
