"""Other writers: run by an interpreter that has one.

Reads one JSON object on stdin, {writer, files, output, threads}, writes the files to
`output`, and writes one object, {images, seconds, cpu_seconds, versions}, as the last
line of stdout. Imports nothing of this package but `clock`, which lies beside it.
"""

import importlib.metadata
import os
import shutil
import sys
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402


def webdataset(request, decodes):
  """Shards of tar, by the writer as its guide has it, in one process."""
  import webdataset as wds

  shards = os.path.join(request["output"], "%06d.tar")
  with wds.ShardWriter(shards, maxsize=64 << 20, verbose=0) as sink:
    for i, name in enumerate(request["files"]):
      with open(name, "rb") as file:
        image = file.read()
      if decodes:
        decode(image)
      sink.write({"__key__": f"{i:08}", "jpg": image, "cls": i % 10})


def decode(image):
  """Decodes an image, so that damage is found."""
  import io

  from PIL import Image

  with Image.open(io.BytesIO(image)) as opened:
    opened.load()


class Files:
  """Image files as a sequence of tuples, which FFCV's writer wants."""

  def __init__(self, names):
    self.names = names

  def __len__(self):
    return len(self.names)

  def __getitem__(self, i):
    import numpy as np
    from PIL import Image

    with Image.open(self.names[i]) as image:
      return np.array(image.convert("RGB")), i % 10


def ffcv(request):
  """A .beton file of JPEG, which its writer encodes from pixels."""
  from ffcv.fields import IntField, RGBImageField
  from ffcv.writer import DatasetWriter

  fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
  path = os.path.join(request["output"], "written.beton")
  writer = DatasetWriter(path, fields, num_workers=request["threads"])
  writer.from_indexed_dataset(Files(request["files"]))


WRITERS = {
  "webdataset": lambda request: webdataset(request, decodes=False),
  "webdataset_decoded": lambda request: webdataset(request, decodes=True),
  "ffcv": ffcv,
}


def main(request):
  package = request["writer"].partition("_")[0]
  __import__(package)
  shutil.rmtree(request["output"], ignore_errors=True)
  os.makedirs(request["output"])
  begin, cpu = time.perf_counter(), time.process_time()
  WRITERS[request["writer"]](request)
  # Ours are on the disk at the end.
  os.sync()
  seconds, used = time.perf_counter() - begin, time.process_time() - cpu
  return {
    "images": len(request["files"]),
    "seconds": seconds,
    # FFCV's writer does not wait for its processes, so theirs is not known.
    "cpu_seconds": None if package == "ffcv" else used,
    "versions": {package: importlib.metadata.version(package)},
  }


if __name__ == "__main__":
  clock.serve(main)
