"""FFCV's raw images as its guide advises: run by an interpreter that has it.

Reads one JSON object on stdin, {files, dataset, batch_size, threads, epochs}, makes the
`.beton` file `dataset` of the image files where it is not there, and writes one object,
{epochs [{images, seconds, cpu_seconds}], versions, settings}, as the last line of
stdout. Imports nothing of this package.
"""

import importlib.metadata
import json
import os
import sys
import time

import cv2
import numpy as np
from ffcv.fields import RGBImageField
from ffcv.fields.decoders import SimpleRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.writer import DatasetWriter


class Files:
  """Image files as a sequence of tuples, which the writer wants."""

  def __init__(self, names):
    self.names = names

  def __len__(self):
    return len(self.names)

  def __getitem__(self, i):
    return (np.ascontiguousarray(cv2.imread(self.names[i])[:, :, ::-1]),)


def write(files, dataset):
  temporary = dataset + ".tmp"
  fields = {"image": RGBImageField(write_mode="raw")}
  DatasetWriter(temporary, fields, num_workers=1).from_indexed_dataset(Files(files))
  os.rename(temporary, dataset)


def main(request):
  if not os.path.exists(request["dataset"]):
    write(request["files"], request["dataset"])
  loader = Loader(
    request["dataset"],
    batch_size=request["batch_size"],
    num_workers=request["threads"],
    os_cache=True,
    order=OrderOption.RANDOM,
    seed=0,
    drop_last=False,
    pipelines={"image": [SimpleRGBImageDecoder()]},
  )
  entries = []
  for _ in range(request["epochs"]):
    count = 0
    start, cpu_start = time.perf_counter(), time.process_time()
    for (batch,) in loader:
      count += len(batch)
    seconds = time.perf_counter() - start
    cpu_seconds = time.process_time() - cpu_start
    entries.append({"images": count, "seconds": seconds, "cpu_seconds": cpu_seconds})
  names = ("ffcv", "torch", "numba")
  return {
    "epochs": entries,
    "versions": {name: importlib.metadata.version(name) for name in names},
    "settings": 'RGBImageField(write_mode="raw"), Loader(os_cache=True, '
    f"order=RANDOM, num_workers={request['threads']}, batches_ahead=3), "
    "SimpleRGBImageDecoder(); batches are taken, not copied",
  }


if __name__ == "__main__":
  # The writer prints its progress.
  answer, sys.stdout = sys.stdout, sys.stderr
  print(json.dumps(main(json.loads(sys.stdin.read()))), file=answer, flush=True)
