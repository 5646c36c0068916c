"""A Keras callback that shows a dataset's counters in TensorBoard."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._graph.stats import stats
from liquid_tf._store import storage
from liquid_tf.errors import WrongArgument


class TensorBoardStats(tf.keras.callbacks.Callback):
  """Writes what a dataset has delivered as scalars, beside Keras's own.

      board = liquid_tf.keras.TensorBoardStats(ds, "logs")
      model.fit(ds, epochs=3, shuffle=False, callbacks=[board])

  TensorFlow writes the files. What shows them, and what Keras's own `TensorBoard` wants
  as well, may be missing: `pip install tensorboard`.

  After each epoch, at the step of its number: `liquid_epoch/` samples, hits, loads,
  memory_hits, disk_bytes, batches, skipped, the shares of time `consumer_waited` and
  `records_waited`, `decoders_busy` (threads), and by format `samples/png` and so on;
  and the text `liquid_epoch/verdict`. With `update_freq`, at each so many steps: the
  same counters of what was delivered since the last ones, as `liquid_steps/`. Steps are
  counted from the optimizer's `iterations` on, so they go on where `Resume` does.
  tf.data takes a few batches ahead of the steps, so `liquid_steps/batches` may be 0;
  such a point has no shares of time, which therefore have holes with update_freq=1.

  Args:
    dataset: what `fit` gets: of `liquid_tf.dataset`, or mapped from it.
    log_dir: folder for the event files, in a subfolder `liquid` of it.
    update_freq: "epoch", or batches between two points.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or from several, each
      of which can have a callback and a folder; or `update_freq` is neither "epoch" nor
      at least 1.
  """

  def __init__(
    self,
    dataset: tf.data.Dataset,
    log_dir: str | os.PathLike = "logs",
    update_freq: int | str = "epoch",
  ):
    super().__init__()
    if update_freq != "epoch" and (not isinstance(update_freq, int) or update_freq < 1):
      raise WrongArgument("update_freq", update_freq, 'must be "epoch" or at least 1')
    self._stats = stats(dataset)
    self._log_dir = storage.join(storage.absolute(log_dir), "liquid")
    self._update_freq = update_freq
    self._writer = None
    self._step: int | None = None
    self._first = 0  # batch of the execution that is under way
    self._points = {}

  def on_train_begin(self, logs: Mapping[str, float] | None = None) -> None:
    self._writer = tf.summary.create_file_writer(self._log_dir)
    self._step = None
    now = self._stats.summary()
    self._points = {"liquid_epoch": now, "liquid_steps": now}

  def on_train_batch_begin(
    self, batch: int, logs: Mapping[str, float] | None = None
  ) -> None:
    # By now every callback has restored what it had to.
    if self._step is None:
      optimizer = self.model.optimizer
      self._step = 0
      if optimizer is not None:
        self._step = int(tf.keras.ops.convert_to_numpy(optimizer.iterations))
    self._first = batch

  def on_train_batch_end(
    self, batch: int, logs: Mapping[str, float] | None = None
  ) -> None:
    before = self._step
    self._step += batch + 1 - self._first
    every = self._update_freq
    if every != "epoch" and self._step // every > before // every:
      self._write("liquid_steps", self._step)

  def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
    self._write("liquid_epoch", epoch)
    self._writer.flush()

  def on_train_end(self, logs: Mapping[str, float] | None = None) -> None:
    self._writer.close()

  def _write(self, prefix: str, step: int) -> None:
    now, before = self._stats.summary(), self._points[prefix]
    self._points[prefix] = now
    with self._writer.as_default(step):
      for name, value in _difference(now, before).items():
        scalar = tf.constant(value, tf.float32)
        tf.summary.write(f"{prefix}/{name}", scalar, metadata=_metadata("scalars", 1))
      if prefix == "liquid_epoch" and now["batches"] > 0:
        verdict = str(self._stats.verdict())
        tf.summary.write(f"{prefix}/verdict", verdict, metadata=_metadata("text", 2))


def _metadata(plugin: str, data_class: int) -> tf.compat.v1.SummaryMetadata:
  """Metadata for TensorBoard. tf.summary's own functions want it to be installed,
  which newer TensorFlow does not see to, and which training needs not have.

  Args:
    plugin: that shows the value.
    data_class: 1 for a scalar, 2 for any other tensor (summary.proto).
  """
  metadata = tf.compat.v1.SummaryMetadata(data_class=data_class)
  metadata.plugin_data.plugin_name = plugin
  return metadata


def _difference(now: dict[str, Any], before: dict[str, Any]) -> dict[str, float]:
  """Scalars of what came between two summaries."""
  scalars = {
    key: now[key] - before[key]
    for key in ("batches", "samples", "hits", "loads", "memory_hits", "disk_bytes")
  }
  scalars["skipped"] = now["skipped"]["count"] - before["skipped"]["count"]
  for name, counts in now["by_format"].items():
    for key in ("samples", "bytes"):
      scalars[f"{key}/{name}"] = counts[key] - before["by_format"][name][key]
  seconds = {
    key: now["seconds"][key] - before["seconds"][key] for key in now["seconds"]
  }
  if seconds["step"] > 0:
    scalars["consumer_waited"] = seconds["wait"] / seconds["step"]
    scalars["records_waited"] = seconds["read"] / seconds["step"]
    scalars["decoders_busy"] = seconds["decode"] / seconds["step"]
  return scalars
