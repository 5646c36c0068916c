"""A program of a user's that has every public name; `make lint` checks its types.

Nothing runs it. `assert_type` finds what a type checker sees no type of, `type: ignore`
what it does not refuse, and annotations_test.py a name that is missing.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from typing_extensions import assert_type

import liquid_tf
import liquid_tf.pil
from liquid_tf import codecs, errors, gpu, keras, pcr, recordio, transforms
from liquid_tf._convert.convert import ConvertReport
from liquid_tf._convert.dry_run import DryRun
from liquid_tf._edit.edit import EditReport
from liquid_tf._export.export import ExportReport
from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._loader.loader import Loader
from liquid_tf._loader.ragged import RaggedArray
from liquid_tf._pipeline.stats import Stats
from liquid_tf._profile.profile import Profile
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View


def make(folder: str) -> str:
  assert_type(liquid_tf.__version__, str)
  path = os.path.join(folder, "photos.liquid")
  source = liquid_tf.Source(folder, masks="masks", features=["id"])
  converted = liquid_tf.convert(
    source,
    path,
    {"png": 6, "raw": 4},
    splits="train:.9,val:.1",
    transforms=[transforms.Channels(3), transforms.Bits(8)],
    encoders={"jpeg": {"quality": 90}, "pcr": {"groups": (1, 2, 5, 10)}},
    workers=["--runner=DirectRunner"],
    limits=liquid_tf.codecs.Limits(pixels=1 << 20),
  )
  assert_type(converted, ConvertReport | DryRun)
  assert_type(converted.to_dict(), dict[str, Any])
  liquid_tf.convert(folder, path, mix=3)  # type: ignore[arg-type]
  exported = liquid_tf.export(path, folder, "rec", encoders={"png": {"level": 9}})
  assert_type(exported, ExportReport)
  liquid_tf.copy(path, "s3://bucket/photos.liquid")
  assert_type(liquid_tf.inspect(path), dict[str, Any])
  assert_type(liquid_tf.verify(path, progress=True), dict[str, Any])
  return path


def change(path: str) -> None:
  changed = liquid_tf.append(path, "more", splits="train", duplicates="skip")
  assert_type(changed, EditReport)
  liquid_tf.annotate(path, "table.csv")
  liquid_tf.annotate(
    path,
    {"number": [0, 1], "sharpness": np.array([0.5, 0.7])},
    defaults={"sharpness": 0.0},
  )
  liquid_tf.remove(liquid_tf.open(path).take([3]))
  liquid_tf.compact(path, forget=[1, 2])
  liquid_tf.compact(path, forget=1.5)  # type: ignore[arg-type]


def choose(path: str) -> Mixture:
  view = liquid_tf.open(path).split("train[10%:]").where(lambda t: t["label"] == 3)
  assert_type(view, View)
  assert_type(view[3], dict[str, Any])
  assert_type(view[3:9], View)
  view = view.where('label == "owl" or height > 9')
  assert_type(view.names(view.numbers), list[str])
  assert_type(view.classes, list[str] | None)
  assert_type(len(view.weighted({3: 2.0}).balanced()), int)
  return liquid_tf.mixture([(view, 0.5), (liquid_tf.open(path), 0.5)])


def images() -> Sequence[transforms.Step]:
  mean, std = (123.7, 116.3, 103.5), 58.0
  return [
    transforms.Orient(),
    transforms.RandomCrop(256),
    transforms.CenterCrop((224, 224)),
    transforms.FiveCrop(224),
    transforms.TenCrop((224, 192), as_samples=True),
    transforms.RandomResizedCrop(224, scale=(0.08, 1)),
    transforms.Resize(256),
    transforms.Resize(shorter=256, interpolation="bicubic", antialias=True),
    transforms.Pad(256, value=0),
    transforms.Mirror(p=0.5),
    transforms.Flip(p=0.5),
    transforms.Rotate(15),
    transforms.RandAugment(n=2, magnitude=9),
    transforms.RandAugment.timm("rand-m9-mstd0.5-inc1"),
    transforms.TrivialAugmentWide(),
    transforms.AutoAugment("imagenet"),
    transforms.AutoAugment([[("Posterize", 0.4, 8), ("Invert", 0.6, None)]]),
    transforms.ThreeAugment(),
    transforms.ColorJitter(brightness=0.4, p=0.8),
    transforms.Grayscale(p=0.1),
    transforms.GaussianBlur(sigma=(0.1, 2.0), p=0.5),
    transforms.GaussianBlur(1.5),
    transforms.Solarize(threshold=128, p=0.2),
    transforms.Normalize(mean, std),
    transforms.RandomErasing(0.25, value="noise"),
    transforms.RandomErasing(value=(0.1, 0.2, 0.3)),
    transforms.Mix(mixup=0.2, cutmix=0, mode="pair"),
    transforms.Cast(tf.bfloat16),
    transforms.Cast("float16"),
    transforms.Cast(np.float32),
    transforms.ChannelsFirst(),
    transforms.Ragged(),
    transforms.Seed(7),
    transforms.Mirror(probability=0.5),  # type: ignore[call-arg]
    transforms.Resize("256"),  # type: ignore[arg-type]
  ]


def views() -> transforms.Views:
  transforms.Views(3)  # type: ignore[arg-type]
  return transforms.Views([images()] * 2, as_samples=True)


def train(
  path: str, model: tf.keras.Model, context: tf.distribute.InputContext
) -> None:
  variable = tf.Variable(tf.constant(1, tf.int64))
  batches = liquid_tf.dataset(
    choose(path),
    batch_size=64,
    cache=liquid_tf.Cache("30%", form="pixels"),
    fidelity=variable,
    mix=["png:6,raw:4", {"raw": 1.0}],
    transforms=images(),
    features=["image", liquid_tf.transforms.Boxes(pad=100)],
    shard=context,
    start=(3, [(8, 120), (6, 41)]),
    tuning=liquid_tf.graph.Tuning(threads=4),
  )
  on_gpu = liquid_tf.Cache("30%", gpu="40GB")
  liquid_tf.dataset(path, 64, cache=on_gpu, decode="gpu", transforms=views())
  taken: tf.data.Dataset = batches
  place = liquid_tf.position(taken, 3, 162)
  numbers: np.ndarray = liquid_tf.keras.order(taken)
  liquid_tf.open(path).names(numbers)
  table = liquid_tf.keras.predictions(model, taken, verbose=0)
  assert_type(table, dict[str, Any])
  assert_type(place, dict[str, Any])
  liquid_tf.dataset(path, 64, start=place)
  liquid_tf.dataset(path, 64, start=3)  # type: ignore[arg-type]
  liquid_tf.dataset(path, batch_size="64")  # type: ignore[arg-type]
  liquid_tf.dataset(path, 64, crop=224)  # type: ignore[call-arg]
  liquid_tf.graph.epochs(path, 90, parts=20, batch_size=256)
  found = liquid_tf.stats(taken)
  assert_type(found, Stats)
  assert_type(found.summary(), dict[str, Any])
  print(found.verdict(step_ms=12.5))
  model.fit(
    taken,
    callbacks=[
      liquid_tf.keras.Resume(taken, "run", save_freq=50),
      liquid_tf.keras.TensorBoardStats(taken, "logs", update_freq=10),
      liquid_tf.keras.FidelityScheduler(variable, keras.OnPlateau([1, 5], patience=2)),
    ],
  )


def load_on_gpu(path: str) -> DeviceArray:
  with liquid_tf.loader(path, 256, decode="gpu:1") as batches:
    image, _ = next(iter(batches))
  assert isinstance(image, DeviceArray)
  assert_type(image.shape, tuple[int, ...])
  assert_type(image.dtype, str)
  assert_type(image.ndim, int)
  return image


def load(path: str) -> RaggedArray:
  with liquid_tf.loader(
    path,
    256,
    transforms=images(),
    shard=(0, 2),
    tuning=liquid_tf.graph.Tuning(parallelism=4),
    limits=codecs.Limits(pixels=1 << 20),
  ) as batches:
    assert_type(batches, Loader)
    assert_type(len(batches), int)
    assert_type(batches.stats, Stats)
    for _ in batches:
      place = batches.state_dict()
      assert_type(place, dict[str, Any])
    batches.load_state_dict(place)
    batches.load_state_dict(3)  # type: ignore[arg-type]
  liquid_tf.loader(path, start=place)
  liquid_tf.loader(path, seed="1")  # type: ignore[arg-type]
  ragged = RaggedArray.of_lengths(np.zeros(3), np.array([1, 2]))
  assert_type(len(ragged), int)
  return ragged


class Always(keras.ByMssim):
  """A rule of the user's own."""

  def first(self, model: tf.keras.Model) -> int:
    return 2


def schedule(path: str, model: tf.keras.Model, variable: tf.Variable) -> keras.Rule:
  by_gradient = keras.ByGradient([1, 10], lambda g: liquid_tf.graph.epochs(path, 1))
  assert_type(by_gradient.similarities, dict[int, float])
  gradient = keras.gradient(model, liquid_tf.graph.epochs(path, 1).take(4))
  assert_type(float(gradient.sum()), float)
  keras.FidelityScheduler(variable, by_gradient)
  keras.FidelityScheduler(variable, rule=3)  # type: ignore[arg-type]
  return Always(path, bound=0.9)


def parts(path: str) -> None:
  sources = [
    liquid_tf.graph.format_dataset(path, name, shard=(0, 2)) for name in ("png",)
  ]
  snapshot = liquid_tf.graph.Snapshot(cache="30%", memory="8GiB")
  blocks = liquid_tf.graph.interleave(sources, snapshot, batch_size=32)
  decoded: tf.data.Dataset = liquid_tf.graph.decode_and_batch(blocks, last_batch="drop")
  print(decoded)


def measure(path: str, model: tf.keras.Model) -> Profile:
  found = liquid_tf.profile(
    path,
    ["png", "raw"],
    step=(model, (np.zeros([8, 224, 224, 3]), np.zeros(8))),
    threads=8,
    resources={"remote": {"png": 2.0}},
  )
  assert_type(found.mix, dict[str, float])
  liquid_tf.convert(path, "out", found.mix, encoders=found.encoders)
  liquid_tf.profile(path, step="12")  # type: ignore[arg-type]
  return found


def encode(pixels: np.ndarray) -> None:
  contents = [
    codecs.encode(pixels, "png", png_level=9),
    codecs.encode(pixels, "jpeg", jpeg_quality=90),
    codecs.encode(pixels, "webp", webp_lossless=False),
    codecs.encode_l3(pixels, version=1),
  ]
  png, jpeg, _, l3 = contents
  images = [
    codecs.decode(png, channels=3, dtype=tf.uint16),
    codecs.decode(jpeg, window=(0, 0, 9, 9), limits=codecs.Limits()),
    codecs.decode_batch(tf.stack(contents)),
  ]
  assert_type(images, list[tf.Tensor])
  codecs.decode(png, chanels=3)  # type: ignore[call-arg]
  assert_type(codecs.peek(png, format="png"), codecs.ImageInfo)
  assert_type(codecs.peek_l3(l3), codecs.L3Info)


def on_a_gpu(contents: list[bytes]) -> None:
  assert_type(gpu.problem(), str | None)
  if gpu.available():
    images = gpu.decode(contents, transforms=[transforms.ChannelsFirst()], device=1)
    assert_type(images, DeviceArray)
  print(gpu.Decode(transforms=[transforms.Cast("bfloat16")], name="decode"))


def records(path: str, jpeg: bytes) -> None:
  header = recordio.Header(label=[3.0, 1.0], id=7)
  with recordio.Writer("photos.rec") as writer:
    writer.write(recordio.pack(header, jpeg), key=7)
  with recordio.Reader("photos.rec", part=(0, 2)) as reader:
    for found in reader.records():
      assert_type(found, recordio.Record)
      assert_type(recordio.unpack(found.data), tuple[recordio.Header, bytes])
  recordio.write_index("photos.rec")
  recordio.write_list("photos.lst", [recordio.ListEntry(0, (3.0,), "a.jpg")])
  assert_type(recordio.read_list("photos.lst"), list[recordio.ListEntry])
  lost: list[recordio.Loss] = []
  print(lost, recordio.dataset("photos.rec", shard=(0, 2)).map(recordio.unpack))
  with pcr.Writer("records") as progressive:
    progressive.write(jpeg, label=3)
  for record in pcr.Reader("records", fidelity=2):
    assert_type(record, pcr.Record)


def open_l3(path: str) -> None:
  try:
    print(liquid_tf.pil.L3ImageFile(path).info)
  except (
    errors.BuildError,
    errors.ConvertError,
    errors.ManifestError,
    errors.PcrError,
    errors.RecordError,
    errors.RecordIOError,
    errors.TooNoisyError,
    errors.WrongArgument,
  ) as error:
    print(error)
