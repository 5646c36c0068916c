"""The demo from images to figures."""

import pathlib
import statistics
import tempfile
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from liquid_tf._convert.convert import convert
from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import epochs, stock
from liquid_tf._profile.profile import LOSSLESS, profile
from liquid_tf._store import manifest
from liquid_tf._store import mix as mixes
from liquid_tf.cli.demo import images, mechanism
from liquid_tf.errors import TooNoisyError, WrongArgument

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
    `samples`, `classes`, `mix` {format: share}, `profiled`: whether a profile advised
    it, `loss` and `accuracy` per epoch;
    without a cache, `disk` {bytes_per_s it was held to or null, reason why it was not}
    and `pipelines`, see `mechanism.compare`; with all in memory and without a model,
    `baseline_images_per_s` and `liquid_images_per_s`, medians of whole epochs.

  Raises:
    ValueError: an argument is wrong.
    ConvertError: a dataset is already in `workdir`, or cannot be written.
  """
  given = None if mix is None else mixes.parse_mix(mix)
  if given is not None and "pcr" in given:
    raise WrongArgument(
      "mix", mix, "must have no pcr: its speed depends on the fidelity"
    )
  photos, output = workdir / "photos", workdir / "photos.liquid"
  say(f"1. making {count} images of {side}x{side} in {photos}")
  made = images.make(photos, side=side, count=count, data=data, say=say)
  disk, shares, profiled = _mechanism(photos, given, say)
  say(f"4. converting {made} images into {output}, mix {shares}")
  report = convert(photos, output, shares)
  for name, entry in report.formats.items():
    say(f"   {name}: {entry['samples']} samples, {entry['bytes']:,} bytes")
  classes = len(manifest.load(str(output)).classes)
  tf.keras.utils.set_random_seed(1)

  dataset = open_dataset(output, BATCH_SIZE, seed=1)
  say(f"5. training a small Keras model on {classes} classes, {_EPOCHS} epochs")
  history = _fit(dataset, _small_model(side, classes), steps)
  for epoch in range(_EPOCHS):
    say(
      f"   epoch {epoch + 1}: loss {history['loss'][epoch]:.3f}, "
      f"accuracy {history['accuracy'][epoch]:.3f}"
    )

  say(
    f"6. measuring stock tf.data and liquid_tf with all images in memory, {_ROUNDS} "
    "epochs each, in turn"
  )
  found = _rates(
    {
      "baseline": stock.stock_dataset(
        sorted(map(str, photos.glob("*/*.png"))),
        "png",
        BATCH_SIZE,
        [side, side, 3],
        disk["threads"],
      ),
      "liquid": dataset,
    },
    _ROUNDS,
  )
  total = sum(shares.values())
  return {
    "samples": report.samples,
    "classes": classes,
    "mix": {name: weight / total for name, weight in shares.items()},
    "profiled": profiled,
    **disk,
    "loss": history["loss"],
    "accuracy": history["accuracy"],
    "baseline_images_per_s": found["baseline"],
    "liquid_images_per_s": found["liquid"],
  }


def _mechanism(
  photos: pathlib.Path, mix: dict[str, float] | None, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, float], bool]:
  """Shows what a mix gains from a slow disk.

  Returns:
    The figures, the mix, and whether a profile advised it.
  """
  profiled = False
  formats = LOSSLESS if mix is None else (*mechanism.SINGLE, *mix)
  with tempfile.TemporaryDirectory(prefix="formats_", dir=photos.parent) as folder:
    setting = mechanism.prepare(
      photos, pathlib.Path(folder), list(dict.fromkeys(formats)), BATCH_SIZE
    )
    rate = mechanism.balanced_rate(setting)
    with mechanism.held(folder, rate) as reason:
      say(
        f"2. holding the disk to {rate / 1e6:.0f} MB/s: raw images then come as fast "
        "as PNG is decoded here"
        if reason is None
        else f"2. taking the disk as it is ({reason}), past the page cache"
      )
      if mix is None:
        advised = _profile(photos, say)
        profiled = advised is not None
        mix = mixes.parse_mix(_FIXED_MIX if advised is None else advised)
      say("3. running PNG alone, raw alone and the mix in turn, with an empty cache")
      compared = {name: {name: 1.0} for name in mechanism.SINGLE}
      if mix not in compared.values():
        compared["mix"] = mix
      found = mechanism.compare(setting, compared)
  disk = {"bytes_per_s": None if reason else rate, "reason": reason}
  return {"disk": disk, "threads": setting.threads, "pipelines": found}, mix, profiled


def _profile(
  photos: pathlib.Path, say: Callable[[str], None]
) -> dict[str, float] | None:
  """The fastest mix for a set that memory does not hold; None where it is open."""
  say("   profiling this machine, for a set that is larger than its memory")
  try:
    runs = (_PROFILE_TRIALS, _PROFILE_SECONDS)
    found = profile(photos, runs=runs, cache=0, say=None)
  except TooNoisyError as error:
    say(f"   {error}")
    say(f"   so the mix is a fixed choice, not fitted to this machine: {_FIXED_MIX}")
    return None
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


def _rates(datasets: dict[str, tf.data.Dataset], rounds: int) -> dict[str, float]:
  """Medians of images per second of whole epochs, in turn; the first does not count."""
  found: dict[str, list[float]] = {name: [] for name in datasets}
  for number in range(rounds + 1):
    for name, dataset in datasets.items():
      images, seconds = epochs.consume(dataset)
      if number > 0:
        found[name].append(images / seconds)
  return {name: statistics.median(values) for name, values in found.items()}


def _small_model(side: int, classes: int) -> tf.keras.Model:
  """A classifier that learns something within a minute on two cores."""
  layers = tf.keras.layers
  model = tf.keras.Sequential(
    [
      tf.keras.Input((side, side, 3)),
      layers.Rescaling(1 / 255),
      layers.Conv2D(16, 5, strides=4, activation="relu"),
      layers.Conv2D(32, 3, strides=2, activation="relu"),
      layers.GlobalAveragePooling2D(),
      layers.Dense(classes),
    ]
  )
  model.compile(
    optimizer=tf.keras.optimizers.Adam(3e-3),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
  )
  return model
