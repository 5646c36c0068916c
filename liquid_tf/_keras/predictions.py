"""Predictions with the samples that they are of."""

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from liquid_tf._graph import lineage
from liquid_tf._keras.order import order
from liquid_tf._store import names

if TYPE_CHECKING:
  import keras


def predictions(
  model: "keras.Model", dataset: tf.data.Dataset, *, verbose: int | str = "auto"
) -> dict[str, Any]:
  """Predicts, and gives each row the number and the name of its sample.

  `model.predict` gives rows in the order of the dataset, which is that of `order` and
  not that of the samples' numbers. Here they are sorted:

      test = liquid_tf.dataset(view, 64, shuffle=False)
      table = liquid_tf.keras.predictions(model, test)
      for name, scores in zip(table["name"], table["prediction"]):
        print(name, scores.argmax())

  Args:
    model: whose `predict` takes the dataset.
    dataset: what `liquid_tf.dataset` gave with `shuffle=False`, or something mapped or
      prefetched from it, as `order` takes it.
    verbose: as `model.predict` takes it.

  Returns:
    Three columns of one row a sample, ascending by numbers: "number", shape [samples],
    int64; "name", shape [samples], texts, what the source called the sample;
    "prediction", what `predict` gives, shape [samples, ...], or a dict or list of such
    where the model has several outputs. A sample that last_batch="repeat" adds is there
    once; those that "drop" leaves out are not there.

  Raises:
    ValueError: the order is not known, as after `repeat` or with shuffle=True; or the
      samples are of several datasets; or the model gives another number of rows.
    ManifestError: the dataset's names cannot be read.
  """
  numbers = order(dataset)
  blocks = lineage.only_blocks(dataset, "predict for each of them")
  manifests = {source.manifest.directory: source.manifest for source in blocks.sources}
  if len(manifests) > 1:
    raise ValueError(
      f"dataset must be of one dataset directory, but is of {len(manifests)}, whose "
      "samples have the same numbers: predict for each of them"
    )
  found = model.predict(dataset, verbose=verbose)
  for rows in tf.nest.flatten(found):
    if len(rows) != len(numbers):
      raise ValueError(
        f"the model gives {len(rows)} rows for {len(numbers)} samples, so it is not "
        "known which is whose: it must give one for each, and the dataset must have "
        "batches of samples"
      )
  ascending, rows = np.unique(numbers, return_index=True)
  [manifest] = manifests.values()
  called = names.load(manifest)
  return {
    "number": ascending,
    "name": np.array([called[number] for number in ascending.tolist()]),
    "prediction": tf.nest.map_structure(lambda one: np.asarray(one)[rows], found),
  }
