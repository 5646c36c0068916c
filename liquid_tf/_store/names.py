"""Names of samples in the source, beside the index (docs/formats/liquid.md)."""

from collections.abc import Sequence

import numpy as np

from liquid_tf._store import texts
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import WrongArgument


class Names(texts.Texts):
  """Names by sample number."""

  def numbers(
    self, names: Sequence[str], among: np.ndarray | None = None
  ) -> np.ndarray:
    """Finds samples by their names, in one pass over all.

    Args:
      names: which, each once.
      among: sample numbers to look through; None for all.

    Returns:
      Shape [names], int64, sample numbers; -1 where no sample has the name.

    Raises:
      ValueError: a name is given twice, or two samples have it.
    """
    wanted = {texts.encode(name): i for i, name in enumerate(names)}
    if len(wanted) < len(names):
      twice = next(name for name in names if names.count(name) > 1)
      raise WrongArgument("name", twice, "is there twice")
    found = np.full(len(names), -1, np.int64)
    for number in range(len(self)) if among is None else among.tolist():
      i = wanted.get(self.encoded(number))
      if i is None:
        continue
      if found[i] >= 0:
        raise WrongArgument(
          "name", names[i], f"is that of two samples, {found[i]} and {number}"
        )
      found[i] = number
    return found


def load(manifest: Manifest) -> Names:
  """Reads the names of a dataset's samples and checks every byte of them.

  Raises:
    ManifestError: a file is missing or damaged.
  """
  return Names(*texts.load(manifest, manifest["names"], "names"))
