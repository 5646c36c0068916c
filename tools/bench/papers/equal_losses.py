"""Whether a network learns the same from our loader as from stock tf.data."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import stock
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._store.mix import TARGETS
from liquid_tf._view.table import Table
from liquid_tf._view.view import open as open_view
from tools.bench.papers import core_aside, networks


def measure(
  *,
  path: str,
  source: str,
  mix: Mapping[str, float],
  network: str,
  size: int,
  batch_size: int,
  steps: int,
  seed: int,
) -> dict[str, Any]:
  """Trains from the same weights on a mix, and on the files it was converted from.

  Both have the same order, which is that of the mix, and TensorFlow's deterministic
  ops. Where the formats of the mix lose nothing, so does the training.

  Args:
    path: a replicated dataset.
    source: the folder of the files that it was converted from.
    mix: weights of formats.
    network: of `networks.NETWORKS`.
    size: of the network's images, in pixels.
    batch_size: images in a batch.
    steps: to train.
    seed: of weights and order.

  Returns:
    `losses`, of each step: `mix` and `files`; and `equal_weights`, whether both have
    come to the same weights, bit for bit.
  """
  tf.config.experimental.enable_op_determinism()

  def ours(features: list[str]) -> tf.data.Dataset:
    return open_dataset(
      path,
      batch_size,
      mix={TARGETS[name][0]: weight for name, weight in mix.items()},
      seed=seed,
      features=features,
      transforms=core_aside.steps(size),
      last_batch="drop",
    ).repeat()

  samples = Table(open_view(path))
  names = dict(zip(samples["number"].tolist(), samples["name"].tolist()))
  order: list[str] = []
  for batch in ours(["id"]).take(steps):
    order += [os.path.join(source, names[i]) for i in batch["id"].numpy().tolist()]
  theirs = tf.data.Dataset.from_tensor_slices(order)
  theirs = theirs.map(lambda file: _stock_image(file, size)).batch(batch_size)

  def examples(images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    # With a size that is unknown to one of them, the graphs differ, and so does
    # rounding.
    images = tf.ensure_shape(images, [batch_size, size, size, 3])
    return networks.examples(network, images)

  losses, weights = {}, {}
  sides = {"mix": ours(["image"]).map(lambda batch: batch["image"]), "files": theirs}
  for name, images in sides.items():
    model = networks.compiled(network, size, seed)
    data = images.map(examples)
    # An epoch of Keras is a step, so that each has a loss of its own.
    history = model.fit(data, epochs=steps, steps_per_epoch=1, verbose=0)
    losses[name] = [float(loss) for loss in history.history["loss"]]
    weights[name] = model.get_weights()
  same = map(np.array_equal, weights["mix"], weights["files"])
  return {"losses": losses, "equal_weights": all(same)}


def _stock_image(file: tf.Tensor, size: int) -> tf.Tensor:
  stored = tf.io.read_file(file)
  image = tf.cond(
    tf.io.is_jpeg(stored),
    # TensorFlow's default is the fast transform, whose pixels are a few levels off.
    lambda: tf.io.decode_jpeg(stored, 3, dct_method="INTEGER_ACCURATE"),
    lambda: tf.io.decode_png(stored, 3),
  )
  return stock.apply_recipe(Recipe.parse(core_aside.steps(size)), image)
