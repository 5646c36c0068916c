"""SPDL as its example for ImageNet does, by FFmpeg: run by an interpreter that has it.

Reads one JSON object on stdin, {files, batch_size, threads, epochs, recipe}, and writes
one, {epochs [{images, seconds, cpu_seconds}], shape, dtype, mean, versions, settings},
as the last line of stdout. `recipe` is what `imagenet.request` gives. Imports nothing
of this package but `clock` and `window`, which lie beside it.
"""

import importlib.metadata
import os
import random
import sys

import numpy as np
import spdl.io
import spdl.io.utils
from spdl.pipeline import PipelineBuilder

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402
import window  # noqa: E402


def names(files, shuffled, rng):
  """Names of files, epoch after epoch."""
  files = list(files)
  while True:
    if shuffled:
      rng.shuffle(files)
    yield from files


def read(name):
  with open(name, "rb") as file:
    return file.read()


def decoder(recipe, rng):
  """A function from the names of files to an array of their windows."""
  mean, std = (np.float32(recipe[key]) for key in ("mean", "std"))
  inverse = 1 / std
  side, training = recipe["side"], recipe["training"]
  share = side / recipe["shorter"]
  # Else FFmpeg looks for the format in the bytes.
  jpeg = spdl.io.demux_config(format="jpeg_pipe")

  def decode(name):
    packets = spdl.io.demux_image(read(name), demux_config=jpeg)
    width, height = packets.codec.width, packets.codec.height
    if training:
      left, top, wide, high = window.random_window(width, height, rng)
    else:
      left, top, wide, high = window.central_window(width, height, share)
    steps = [
      f"crop={wide}:{high}:{left}:{top}:exact=1",
      f"scale={side}:{side}:flags=bilinear",
      *(["hflip"] if training and rng.random() < 0.5 else []),
      "format=pix_fmts=rgb24",
    ]
    return spdl.io.decode_packets(packets, filter_desc=",".join(steps))

  def decode_batch(names):
    frames = spdl.io.convert_frames([decode(name) for name in names])
    batch = np.subtract(spdl.io.to_numpy(frames), mean, dtype=np.float32)
    batch *= inverse
    return batch

  return decode_batch


def main(request):
  files, threads, recipe = request["files"], request["threads"], request["recipe"]
  training = recipe["training"]
  order = "completion" if training else "input"
  rng = random.Random(0)
  pipeline = (
    PipelineBuilder()
    .add_source(names(files, training, rng))
    .aggregate(request["batch_size"])
    .pipe(decoder(recipe, rng), concurrency=threads, output_order=order)
    .add_sink(2)
    .build(num_threads=threads)
  )
  with pipeline.auto_stop():
    running = iter(pipeline)

    def batches():
      count = 0
      while count < len(files):
        batch = next(running)
        count += len(batch)
        yield batch

    answer = clock.run(request["epochs"], batches, lambda batch: batch)
  ffmpeg = spdl.io.utils.get_ffmpeg_versions()["libavcodec"]
  flips = "hflip, " if training else ""
  return {
    **answer,
    "versions": {
      "spdl": importlib.metadata.version("spdl-io"),
      "libavcodec": ".".join(map(str, ffmpeg)),
    },
    "settings": f"PipelineBuilder: aggregate, pipe(concurrency={threads}, output_order="
    f'"{order}") of demux_image(format="jpeg_pipe"), decode_packets with the filters '
    f"crop, scale(flags=bilinear), {flips}format, then convert_frames and NumPy's "
    f"normalising; add_sink(2), build(num_threads={threads})",
  }


if __name__ == "__main__":
  clock.serve(main)
