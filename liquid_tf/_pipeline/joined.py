"""Values that a batch gets by its samples' numbers: metadata columns."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from liquid_tf._pipeline.spec import Spec
from liquid_tf._store import columns as _columns
from liquid_tf._store.columns import TEXT
from liquid_tf._store.manifest import Manifest
from liquid_tf._store.texts import Texts
from liquid_tf.errors import WrongArgument


@dataclasses.dataclass(frozen=True, eq=False)
class Joined:
  """Values of one name, by sample number.

  Attributes:
    name: of the feature.
    manifest: of the dataset.
    spec: type and shape of a sample's value.
  """

  name: str
  manifest: Manifest
  spec: Spec

  @functools.cached_property
  def values(self) -> np.ndarray | Texts:
    """Values of all samples, read when they are first asked for.

    Raises:
      ManifestError: a file is missing or damaged.
    """
    return _columns.load(self.manifest, self.name)

  def of(self, numbers: np.ndarray) -> np.ndarray:
    """Values of samples, [n] or [n, k]; texts as bytes, in an array of objects."""
    values = self.values
    if isinstance(values, np.ndarray):
      return values[numbers]
    result = np.empty(len(numbers), object)
    result[:] = [values.encoded(number) for number in numbers.tolist()]
    return result


def find(manifests: Sequence[Manifest], names: Sequence[str]) -> dict[str, Joined]:
  """The values among some features that are joined, by name.

  Args:
    manifests: of the datasets of a batch, which have the same columns.
    names: of features.

  Raises:
    ValueError: samples are of several datasets, so that numbers do not tell them apart.
  """
  manifest = manifests[0]
  found = {}
  for name in names:
    entry = manifest["columns"].get(name)
    if entry is None:
      continue
    if len(manifests) > 1:
      raise WrongArgument(
        "features", name, "must not be a metadata column where datasets are mixed"
      )
    dtype = "string" if entry["dtype"] == TEXT else entry["dtype"]
    found[name] = Joined(name, manifest, Spec(dtype, _columns.shape_of(entry)))
  return found
