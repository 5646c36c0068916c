"""NVIDIA DALI as its guide advises: run by an interpreter that has it.

Reads one JSON object on stdin, {files, batch_size, threads, epochs} with `extension` or
`recipe`, and writes one, {epochs [{images, seconds, cpu_seconds}], shape, dtype, mean,
versions, settings}, as the last line of stdout. Files whose extension is "npy" are
arrays of pixels, others are images. `recipe` is what `imagenet.request` gives. Imports
nothing of this package but `clock`, which lies beside it.
"""

import functools
import os
import sys

import numpy as np
import nvidia.dali
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug.rand_augment import rand_augment
from nvidia.dali.auto_aug.trivial_augment import trivial_augment_wide

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402

_POLICIES = {
  "TrivialAugmentWide": trivial_augment_wide,
  "RandAugment": functools.partial(rand_augment, n=2, m=9),
}


@pipeline_def(device_id=None)
def images(files, shuffled):
  encoded, _ = fn.readers.file(files=files, random_shuffle=True, initial_fill=shuffled)
  return fn.decoders.image(encoded, device="cpu", output_type=types.RGB)


@pipeline_def(device_id=None)
def arrays(files, shuffled):
  return fn.readers.numpy(files=files, random_shuffle=True, initial_fill=shuffled)


@pipeline_def(device_id=None, enable_conditionals=True)
def train(files, shuffled, recipe):
  encoded, _ = fn.readers.file(files=files, random_shuffle=True, initial_fill=shuffled)
  window = fn.decoders.image_random_crop(
    encoded,
    device="cpu",
    output_type=types.RGB,
    adjust_orientation=False,
    random_area=[0.08, 1.0],
    random_aspect_ratio=[3 / 4, 4 / 3],
    num_attempts=10,
  )
  resized = fn.resize(window, size=[recipe["side"]] * 2)
  if recipe["policy"]:
    mirrored = fn.flip(resized, horizontal=fn.random.coin_flip(probability=0.5))
    return numbers(_POLICIES[recipe["policy"]](mirrored), recipe)
  return numbers(resized, recipe, mirror=fn.random.coin_flip(probability=0.5))


@pipeline_def(device_id=None)
def evaluate(files, recipe):
  encoded, _ = fn.readers.file(files=files)
  image = fn.decoders.image(
    encoded, device="cpu", output_type=types.RGB, adjust_orientation=False
  )
  resized = fn.resize(image, resize_shorter=recipe["shorter"])
  return numbers(resized, recipe, crop=[recipe["side"]] * 2)


def numbers(image, recipe, **arguments):
  return fn.crop_mirror_normalize(
    image,
    mean=recipe["mean"],
    std=recipe["std"],
    dtype=types.FLOAT,
    output_layout="HWC",
    **arguments,
  )


def main(request):
  files, batch_size = request["files"], request["batch_size"]
  common = {
    "batch_size": batch_size,
    "num_threads": request["threads"],
    "prefetch_queue_depth": 2,
    "seed": 0,
  }
  shuffled = f"random_shuffle=True, initial_fill={len(files)}"
  recipe = request.get("recipe")
  if recipe and recipe["training"]:
    pipeline = train(files, len(files), recipe, **common)
    settings = (
      f"readers.file({shuffled}), decoders.image_random_crop, resize, "
      f"{recipe['policy'] or ''}{', ' if recipe['policy'] else ''}"
      'crop_mirror_normalize(output_layout="HWC")'
    )
  elif recipe:
    pipeline = evaluate(files, recipe, **common)
    settings = (
      "readers.file, decoders.image, resize(resize_shorter), "
      'crop_mirror_normalize(output_layout="HWC")'
    )
  elif request["extension"] == "npy":
    pipeline = arrays(files, len(files), **common)
    settings = f"readers.numpy({shuffled})"
  else:
    pipeline = images(files, len(files), **common)
    settings = f'readers.file({shuffled}), decoders.image(device="cpu")'
  pipeline.build()

  def batches():
    count = 0
    while count < len(files):
      (batch,) = pipeline.run()
      count += len(batch)
      yield batch

  answer = clock.run(
    request["epochs"], batches, lambda batch: np.asarray(batch.as_tensor())
  )
  return {
    **answer,
    "versions": {"nvidia-dali": nvidia.dali.__version__},
    "settings": f"{settings}, num_threads={request['threads']}, "
    "prefetch_queue_depth=2, device_id=None; batches are taken, not copied",
  }


if __name__ == "__main__":
  clock.serve(main)
