"""How a pipeline is run."""

import dataclasses
from typing import Any

from liquid_tf._native import whole
from liquid_tf._pipeline.source import check_reader
from liquid_tf.errors import WrongArgument

# tf.data.AUTOTUNE.
AUTOTUNE = -1


@dataclasses.dataclass(frozen=True)
class Tuning:
  """How a pipeline is run; it tunes itself where this is not given.

  No setting changes a batch, only when it is there.

  Attributes:
    threads: most reads under way at once, of all formats together; the speed that they
      give decides how many there are. None for 8, or for 128 over a network.
    reader: how records are read; see `format_dataset`.
    lookahead: batches that are decoded while the consumer holds one; tf.data.AUTOTUNE
      lets tf.data decide, within an eighth of the memory.
    parallelism: threads that decode at once; tf.data.AUTOTUNE lets tf.data decide.
    patience: seconds in which a read over http:// or s3:// that fails is repeated,
      before it is an error.

  Raises:
    ValueError: a setting is wrong; the message names it.
  """

  threads: int | None = None
  reader: str = "auto"
  lookahead: int = AUTOTUNE
  parallelism: int = AUTOTUNE
  patience: int = 120

  def __post_init__(self):
    check_reader(self.reader)
    for name, unset, more in (
      ("threads", None, ", or None"),
      ("lookahead", AUTOTUNE, ", or tf.data.AUTOTUNE"),
      ("parallelism", AUTOTUNE, ", or tf.data.AUTOTUNE"),
    ):
      value = getattr(self, name)
      if value != unset:
        object.__setattr__(self, name, whole.number(value, name, 1, more))
    patience = whole.number(self.patience, "patience", 1, " of seconds")
    object.__setattr__(self, "patience", patience)


def check(tuning: Any) -> Tuning:
  """Raises ValueError unless an argument is of the class."""
  if not isinstance(tuning, Tuning):
    raise WrongArgument(
      "tuning",
      tuning,
      "must be a liquid_tf.graph.Tuning, as graph.Tuning(parallelism=4)",
    )
  return tuning
