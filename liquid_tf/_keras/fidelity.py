"""Chooses the PCR scan group to train on, and when to change it.

A scan group of a progressive dataset is a fidelity: less of it is faster to read.
Training on a low one reaches as good a model until it no longer does, and then the
group is raised as a learning rate is dropped (PCR, section 4.2), or chosen by what
it does to the gradient, or by how much its images resemble whole ones (section 4.3).
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from liquid_tf._cost.similarity import check_bound, lowest_group
from liquid_tf._keras import gradients
from liquid_tf._tensorflow import tf
from liquid_tf._view.mixture import refuse_mixture
from liquid_tf._view.view import View, as_view
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument


class Rule(Protocol):
  """Chooser of scan groups for a `FidelityScheduler`, which calls it in `fit`."""

  def first(self, model: tf.keras.Model) -> int:
    """The group of the first epoch."""
    ...

  def next(
    self, group: int, model: tf.keras.Model, epoch: int, logs: dict[str, float]
  ) -> int:
    """The group of the epoch after `epoch`, which was trained on `group`.

    Args:
      group: that the epoch was trained on.
      model: as the epoch left it.
      epoch: its number, from 0.
      logs: metrics of the epoch by name.
    """
    ...


def _check_groups(groups: Sequence[int]) -> tuple[int, ...]:
  groups = tuple(groups)
  whole = all(isinstance(g, int) and g >= 1 for g in groups)
  if not groups or not whole or list(groups) != sorted(set(groups)):
    raise WrongArgument("groups", groups, "must be rising whole numbers from 1 on")
  return groups


class OnPlateau:
  """Goes to the next scan group when a metric has stopped getting better.

  Args:
    groups: scan groups in rising order; training starts with the first.
    monitor: name of a value that `fit` logs for each epoch.
    patience: epochs without getting better that are waited for.
    min_delta: what counts as better.
    mode: "min" or "max": which way is better.

  Raises:
    ValueError: an argument is wrong.
  """

  def __init__(
    self,
    groups: Sequence[int],
    monitor: str = "loss",
    patience: int = 3,
    min_delta: float = 1e-4,
    mode: str = "min",
  ):
    self._groups = _check_groups(groups)
    if mode not in ("min", "max"):
      raise WrongArgument("mode", mode, 'must be "min" or "max"')
    if not isinstance(patience, int) or patience < 1:
      raise WrongArgument("patience", patience, "must be at least 1")
    self._monitor = monitor
    self._patience = patience
    self._min_delta = min_delta
    self._sign = 1.0 if mode == "min" else -1.0
    self._restart()

  def _restart(self) -> None:
    self._best = np.inf
    self._waited = 0

  def first(self, model: tf.keras.Model) -> int:
    """The group of the first epoch."""
    self._restart()
    return self._groups[0]

  def next(
    self, group: int, model: tf.keras.Model, epoch: int, logs: dict[str, float]
  ) -> int:
    """The group of the epoch after `epoch`, which was trained on `group`.

    Raises:
      ValueError: `logs` has no such metric; the message lists those it has.
    """
    if self._monitor not in logs:
      raise WrongArgument(
        "monitor",
        self._monitor,
        f"must be one of {', '.join(sorted(logs))}, which this training logs",
      )
    value = self._sign * float(logs[self._monitor])
    if value < self._best - self._min_delta:
      self._best = value
      self._waited = 0
      return group
    self._waited += 1
    higher = [g for g in self._groups if g > group]
    if self._waited < self._patience or not higher:
      return group
    self._restart()
    return higher[0]


class ByGradient:
  """Takes the lowest scan group whose gradient points where the full one's does.

  Every few epochs the gradient of the loss over the same batches is computed at each
  group; the lowest group whose gradient has a cosine similarity above `threshold`
  with that of the last group, the full fidelity, is trained on. Layers run as in
  inference, so that the probe changes nothing in the model and dropout adds no noise.

  Args:
    groups: scan groups in rising order, the last of them the full fidelity.
    batches: gives for a group an iterable of (images, labels), the same samples in
      the same order for each: `lambda g: liquid_tf.graph.epochs(path, 1,
      fidelity=g).take(4)`.
    every: epochs between two choices.
    threshold: of the similarity.

  Raises:
    ValueError: an argument is wrong.
  """

  def __init__(
    self,
    groups: Sequence[int],
    batches: Callable[[int], Iterable[object]],
    every: int = 5,
    threshold: float = 0.8,
  ):
    self._groups = _check_groups(groups)
    if not isinstance(every, int) or every < 1:
      raise WrongArgument("every", every, "must be at least 1")
    if not -1 <= threshold <= 1:
      raise WrongArgument("threshold", threshold, "must be in -1..1")
    self._batches = batches
    self._every = every
    self._threshold = threshold
    self.similarities: dict[int, float] = {}

  def first(self, model: tf.keras.Model) -> int:
    """The group of the first epoch: full, for a new model's gradient says little."""
    return self._groups[-1]

  def next(
    self, group: int, model: tf.keras.Model, epoch: int, logs: dict[str, float]
  ) -> int:
    """The group of the epoch after `epoch`; leaves `similarities` {group: cosine}."""
    if (epoch + 1) % self._every != 0:
      return group
    full = gradient(model, self._batches(self._groups[-1]))
    self.similarities = {}
    for candidate in self._groups[:-1]:
      cosine = _cosine(full, gradient(model, self._batches(candidate)))
      self.similarities[candidate] = cosine
      if cosine > self._threshold:
        return candidate
    return self._groups[-1]


class ByMssim:
  """Takes the lowest scan group whose images look enough like those of full fidelity.

      rule = liquid_tf.keras.ByMssim("flowers.liquid", bound=0.95)
      ds = liquid_tf.dataset("flowers.liquid", fidelity=rule.group)

  Groups of about equal MSSIM, the multi-scale structural similarity (Wang et al.,
  2003), train to about the same accuracy (PCR, section 4.3). `convert` has measured it
  on up to 32 images, with fewer than its five scales where images are small
  (docs/formats/pcr.md), so nothing is decoded here. The group is the same in every
  epoch: a dataset may take `group` as it is, and a `FidelityScheduler` this rule.

  Args:
    path: a dataset directory, or a view of one, whose measurement is that of the whole
      dataset.
    bound: least MSSIM, above 0 and at most 1, which only the images of full fidelity
      are sure to have.

  Attributes:
    similarities: {scan group: mean MSSIM} of all groups, rounded to four places.
    group: the scan group that was chosen.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: `bound` is wrong, the dataset has no pcr, or its images are too small,
      below 11 pixels, to be compared.
  """

  def __init__(self, path: str | os.PathLike | View, bound: float = 0.95):
    check_bound(bound, "bound")
    refuse_mixture("path", path)
    manifest = as_view(path).manifest
    if "pcr" not in manifest.data:
      raise WrongArgument(
        "path",
        Shown(manifest.directory),
        "must be a dataset with the format pcr; it has "
        f"{', '.join(manifest['formats'])}",
      )
    measured = [entry["mssim"] for entry in manifest["pcr"]["fidelity"]]
    if not measured or None in measured:
      raise WrongArgument(
        "path",
        Shown(manifest.directory),
        "must have images of at least 11x11 pixels, which MSSIM compares; choose the "
        "scan group yourself, or by OnPlateau",
      )
    self.similarities: dict[int, float] = dict(enumerate(measured, start=1))
    self.group = lowest_group(self.similarities, bound)

  def first(self, model: tf.keras.Model) -> int:
    """The group of the first epoch."""
    return self.group

  def next(
    self, group: int, model: tf.keras.Model, epoch: int, logs: dict[str, float]
  ) -> int:
    """The group of the epoch after `epoch`, the same one."""
    return self.group


def gradient(model: tf.keras.Model, batches: Iterable[object]) -> np.ndarray:
  """Gradient of a compiled model's loss, summed over batches, as one flat vector.

  Args:
    model: built and compiled.
    batches: of (x, y) or (x, y, sample_weight).

  Raises:
    ValueError: there are no batches, or the model has nothing to train.
  """
  total = None
  for batch in batches:
    flat = [np.ravel(part) for part in gradients.parts(model, batch)]
    if not flat:
      raise ValueError("the model has no trainable variable that the loss depends on")
    vector = np.concatenate(flat)
    total = vector if total is None else total + vector
  if total is None:
    raise ValueError("batches must give at least one batch")
  return total


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
  norms = float(np.linalg.norm(a) * np.linalg.norm(b))
  return float(a @ b) / norms if norms else 0.0


class FidelityScheduler(tf.keras.callbacks.Callback):
  """Keras callback: changes the PCR scan group between the epochs of one `fit`.

      fidelity = tf.Variable(1, dtype=tf.int64)
      ds = liquid_tf.dataset("flowers.liquid", fidelity=fidelity)
      rule = liquid_tf.keras.OnPlateau([1, 2, 5, 10])
      scheduler = liquid_tf.keras.FidelityScheduler(fidelity, rule)
      model.fit(ds, epochs=30, shuffle=False, callbacks=[scheduler])

  The pipeline stays as it is: it reads the variable once per epoch, at its beginning.
  A fidelity that never changes needs no callback: `dataset(fidelity=5)`. Neither do
  shares of scan groups, `dataset(fidelity={2: .25, 10: .75})`, which are the same in
  every epoch: such a dataset reads no variable. `logs` of later callbacks gain
  "fidelity", the group that the epoch was trained on.

  Args:
    variable: the scalar integer `tf.Variable` that the dataset was given.
    rule: `OnPlateau`, `ByGradient`, `ByMssim`, or another `Rule`.

  Raises:
    ValueError: `variable` is not a scalar integer, or has shares of scan groups.
  """

  def __init__(self, variable: tf.Variable, rule: Rule):
    super().__init__()
    if isinstance(variable, Mapping):
      raise WrongArgument(
        "variable",
        variable,
        "must be a scalar integer tf.Variable: shares of scan groups are the same in "
        "every epoch, and go to dataset(fidelity=) alone",
      )
    if variable.shape.rank != 0 or not variable.dtype.is_integer:
      raise WrongArgument(
        "variable",
        Shown(f"{variable.dtype.name} of shape {variable.shape}"),
        "must be a scalar integer",
      )
    self._variable = variable
    self._rule = rule

  def on_train_begin(self, logs: Mapping[str, float] | None = None) -> None:
    self._variable.assign(self._rule.first(self.model))

  def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
    group = int(self._variable.numpy())
    following = self._rule.next(group, self.model, epoch, dict(logs or {}))
    if isinstance(logs, dict):
      logs["fidelity"] = group
    self._variable.assign(following)
