"""Names of samples in the source, beside the index (docs/formats/liquid.md)."""

import os
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
    """Finds samples by their names, or by ends of these; see `candidates`.

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

    def put(i: int, number: int) -> None:
      if found[i] >= 0:
        raise WrongArgument(
          "name", names[i], f"is that of two samples, {found[i]} and {number}"
        )
      found[i] = number

    numbers = range(len(self)) if among is None else among.tolist()
    others = []
    for number in numbers:
      i = wanted.get(self.encoded(number))
      if i is None:
        others.append(number)
      else:
        put(i, number)
    wanted = {text: i for text, i in wanted.items() if found[i] < 0}
    for number in others if wanted else ():
      keys = candidates(self[number])
      i = next((wanted[key] for key in map(texts.encode, keys) if key in wanted), None)
      if i is not None:
        put(i, number)
    return found


def candidates(path: str) -> list[str]:
  """Names that may mean a path: it, ends of it, and each without the extension.

  The longest comes first.
  """
  parts = path.split("/")
  tails = ["/".join(parts[i:]) for i in range(len(parts))]
  return [key for tail in tails for key in (tail, os.path.splitext(tail)[0])]


def load(manifest: Manifest) -> Names:
  """Reads the names of a dataset's samples and checks every byte of them.

  Raises:
    ManifestError: a file is missing or damaged.
  """
  return Names(*texts.load(manifest, manifest["names"], "names"))
