"""The demo from images to figures."""

import pathlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from liquid_tf._convert.convert import convert
from liquid_tf._pipeline.dataset import dataset as open_dataset
from liquid_tf._profile.profile import profile
from liquid_tf._store import manifest
from liquid_tf._store import mix as mixes
from liquid_tf.cli.demo import images, training
from liquid_tf.errors import TooNoisyError

BATCH_SIZE = 32
_EPOCHS = 2
_ROUNDS = 3

_PROFILE_TRIALS = 2
_PROFILE_SECONDS = 0.3
# Where the machine is too busy to be profiled.
_FIXED_MIX = "png:6,raw:4"


def run(
  workdir: pathlib.Path,
  *,
  side: int,
  count: int,
  mix: str | None,
  steps: int = 0,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Makes images, converts them, trains on them, and measures.

  Args:
    workdir: gets `photos/` and `photos.liquid/`.
    side: pixels of the square images.
    count: images.
    mix: of formats, as "png:6,raw:4"; None for what a profile of this machine says.
    steps: batches of an epoch of training; 0 for all.
    data: folder of class folders of images; None for scikit-image's photographs.
    say: receives what people should know.

  Returns:
    `samples`, `classes`, `mix` {format: share}, `loss` and `accuracy` per epoch,
    `baseline_images_per_s` and `liquid_images_per_s`: medians of whole epochs without
    a model.

  Raises:
    ValueError: an argument is wrong.
    ConvertError: a dataset is already in `workdir`, or cannot be written.
  """
  if mix is not None:
    mixes.parse_mix(mix)
  photos, output = workdir / "photos", workdir / "photos.liquid"
  say(f"1. making {count} images of {side}x{side} in {photos}")
  made = images.make(photos, side=side, count=count, data=data, say=say)
  shares = mixes.parse_mix(_profile(photos, say) if mix is None else mix)
  say(f"2. converting {made} images into {output}, mix {shares}")
  report = convert(photos, output, shares)
  for name, entry in report.formats.items():
    say(f"   {name}: {entry['samples']} samples, {entry['bytes']:,} bytes")
  classes = len(manifest.load(str(output)).classes)
  tf.keras.utils.set_random_seed(1)

  dataset = open_dataset(output, BATCH_SIZE, seed=1)
  say(f"3. training a small Keras model on {classes} classes, {_EPOCHS} epochs")
  history = _fit(dataset, training.small_model(side, classes), steps)
  for epoch in range(_EPOCHS):
    say(
      f"   epoch {epoch + 1}: loss {history['loss'][epoch]:.3f}, "
      f"accuracy {history['accuracy'][epoch]:.3f}"
    )

  say(f"4. measuring both pipelines without a model, {_ROUNDS} epochs each, in turn")
  found = training.rates(
    {
      "baseline": training.stock_png(photos, BATCH_SIZE, side),
      "liquid": dataset,
    },
    _ROUNDS,
  )
  total = sum(shares.values())
  return {
    "samples": report.samples,
    "classes": classes,
    "mix": {name: weight / total for name, weight in shares.items()},
    "loss": history["loss"],
    "accuracy": history["accuracy"],
    "baseline_images_per_s": training.median(found["baseline"]),
    "liquid_images_per_s": training.median(found["liquid"]),
  }


def _profile(photos: pathlib.Path, say: Callable[[str], None]) -> dict[str, float]:
  """The mix that is fastest here, for a set like this one that memory does not hold."""
  say("   profiling this machine, as for a set that is larger than its memory")
  try:
    found = profile(photos, runs=(_PROFILE_TRIALS, _PROFILE_SECONDS), cache=0)
  except TooNoisyError as error:
    say(f"   {error}")
    say(f"   so the mix is a fixed choice, not fitted to this machine: {_FIXED_MIX}")
    return mixes.parse_mix(_FIXED_MIX)
  say(f"   {found.verdict}")
  return found.mix


def _fit(
  dataset: tf.data.Dataset, model: tf.keras.Model, steps: int
) -> dict[str, list[float]]:
  if steps:
    # Repeated, since fit would take a new iterator, and so the same first batches,
    # for an epoch that ended early.
    dataset = dataset.repeat()
  # Keras would otherwise warn that the dataset shuffles by itself.
  history = model.fit(
    dataset, epochs=_EPOCHS, steps_per_epoch=steps or None, shuffle=False, verbose=0
  ).history
  return {key: [float(x) for x in history[key]] for key in ("loss", "accuracy")}
