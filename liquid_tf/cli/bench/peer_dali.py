"""NVIDIA DALI as its guide advises: run by an interpreter that has it.

Reads one JSON object on stdin, {files, extension, batch_size, threads, epochs}, and
writes one, {epochs [{images, seconds, cpu_seconds}], versions, settings}, as the last
line of stdout. Files whose extension is "npy" are arrays of pixels, others are images.
Imports nothing of this package.
"""

import json
import sys
import time

import nvidia.dali
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(device_id=None)
def images(files, shuffled):
  encoded, _ = fn.readers.file(files=files, random_shuffle=True, initial_fill=shuffled)
  return fn.decoders.image(encoded, device="cpu", output_type=types.RGB)


@pipeline_def(device_id=None)
def arrays(files, shuffled):
  return fn.readers.numpy(files=files, random_shuffle=True, initial_fill=shuffled)


def main(request):
  files, batch_size = request["files"], request["batch_size"]
  of_arrays = request["extension"] == "npy"
  pipeline = (arrays if of_arrays else images)(
    files,
    len(files),
    batch_size=batch_size,
    num_threads=request["threads"],
    prefetch_queue_depth=2,
    seed=0,
  )
  pipeline.build()
  entries = []
  for _ in range(request["epochs"]):
    count = 0
    start, cpu_start = time.perf_counter(), time.process_time()
    while count < len(files):
      (batch,) = pipeline.run()
      count += len(batch)
    seconds = time.perf_counter() - start
    cpu_seconds = time.process_time() - cpu_start
    entries.append({"images": count, "seconds": seconds, "cpu_seconds": cpu_seconds})
  shuffling = f"(random_shuffle=True, initial_fill={len(files)})"
  decoding = f'readers.file{shuffling}, decoders.image(device="cpu")'
  return {
    "epochs": entries,
    "versions": {"nvidia-dali": nvidia.dali.__version__},
    "settings": (f"readers.numpy{shuffling}" if of_arrays else decoding)
    + f", num_threads={request['threads']}, prefetch_queue_depth=2, "
    "device_id=None; batches are taken, not copied",
  }


if __name__ == "__main__":
  print(json.dumps(main(json.loads(sys.stdin.read()))), flush=True)
