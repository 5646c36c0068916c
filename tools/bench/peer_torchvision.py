"""torchvision's recipes of ImageNet: run by an interpreter that has it.

Reads one JSON object on stdin, {files, batch_size, threads, epochs, recipe}, and writes
one, {epochs [{images, seconds, cpu_seconds}], shape, dtype, mean, versions, settings},
as the last line of stdout. `recipe` is what `imagenet.request` gives. Imports nothing
of this package but `clock`, which lies beside it.
"""

import importlib.metadata
import multiprocessing
import os
import sys
import time

import torch
from PIL import Image
from torchvision.transforms import v2

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402


class Files(torch.utils.data.Dataset):
  """Image files through transforms."""

  def __init__(self, names, transform):
    self.names = names
    self.transform = transform

  def __len__(self):
    return len(self.names)

  def __getitem__(self, i):
    with Image.open(self.names[i]) as image:
      return self.transform(image.convert("RGB"))


def steps(recipe):
  side = recipe["side"]
  if recipe["training"]:
    geometry = [v2.RandomResizedCrop(side), v2.RandomHorizontalFlip()]
    if recipe["policy"]:
      geometry.append(getattr(v2, recipe["policy"])())
  else:
    geometry = [v2.Resize(recipe["shorter"]), v2.CenterCrop(side)]
  return [
    *geometry,
    v2.PILToTensor(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize(*([x / 255 for x in recipe[key]] for key in ("mean", "std"))),
  ]


def cpu_seconds():
  """Processor time of this process and its workers, which live on between epochs."""
  ticks = 0
  for worker in multiprocessing.active_children():
    with open(f"/proc/{worker.pid}/stat") as file:
      # User and system time; the name before may hold spaces.
      ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
  return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def main(request):
  transforms = steps(request["recipe"])
  loader = torch.utils.data.DataLoader(
    Files(request["files"], v2.Compose(transforms)),
    batch_size=request["batch_size"],
    shuffle=request["recipe"]["training"],
    num_workers=request["threads"],
    persistent_workers=True,
  )
  answer = clock.run(
    request["epochs"], lambda: loader, lambda batch: batch.numpy(), cpu_seconds
  )
  names = ("torchvision", "torch", "pillow")
  done = ", ".join(type(step).__name__ for step in transforms)
  return {
    **answer,
    "versions": {name: importlib.metadata.version(name) for name in names},
    "settings": f"DataLoader(num_workers={request['threads']}, "
    f"persistent_workers=True) of PIL images, transforms.v2: {done}",
  }


if __name__ == "__main__":
  clock.serve(main)
