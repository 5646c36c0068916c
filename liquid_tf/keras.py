"""A `fit` that resumes, shows its data and grows sharper; whose predictions are whose.

`Resume` goes on with the very next batch after a kill, and `TensorBoardStats` shows
what limits a training. `FidelityScheduler` changes the PCR scan group between epochs,
by one of the rules `OnPlateau`, `ByGradient` and `ByMssim`, or another `Rule`:

  rule = liquid_tf.keras.OnPlateau([1, 2, 5, 10])
  scheduler = liquid_tf.keras.FidelityScheduler(variable, rule)
  resume = liquid_tf.keras.Resume(train, "run")
  model.fit(train, epochs=30, shuffle=False, callbacks=[resume, scheduler])

`predictions` gives what a model predicts with the name of each sample; `order` has the
sample numbers of what `predict` itself gives.
"""

from liquid_tf._keras.fidelity import (
  ByGradient,
  ByMssim,
  FidelityScheduler,
  OnPlateau,
  Rule,
  gradient,
)
from liquid_tf._keras.order import order
from liquid_tf._keras.predictions import predictions
from liquid_tf._keras.resume import Resume
from liquid_tf._keras.tensorboard import TensorBoardStats

__all__ = [
  "ByGradient",
  "ByMssim",
  "FidelityScheduler",
  "OnPlateau",
  "Resume",
  "Rule",
  "TensorBoardStats",
  "gradient",
  "order",
  "predictions",
]
