"""Values that a batch gets by its samples' numbers: columns, and corrected labels."""

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np

from liquid_tf._pipeline.spec import Spec
from liquid_tf._store import columns as _columns
from liquid_tf._store import labels as _labels
from liquid_tf._store.columns import TEXT
from liquid_tf._store.manifest import Manifest
from liquid_tf._store.texts import Texts
from liquid_tf.errors import WrongArgument


@dataclasses.dataclass(frozen=True, eq=False)
class Joined:
  """Values of one name, of all samples of one or several datasets.

  Attributes:
    name: of the feature.
    manifests: of the datasets.
    spec: type and shape of a sample's value.
  """

  name: str
  manifests: Sequence[Manifest]
  spec: Spec

  @functools.cached_property
  def parts(self) -> list[np.ndarray | Texts]:
    """Values by sample number, of each dataset; read when they are first asked for.

    Raises:
      ManifestError: a file is missing or damaged.
    """
    if self.name == "label":
      return list(map(_labels.load, self.manifests))
    return [_columns.load(manifest, self.name) for manifest in self.manifests]

  def of(self, places: np.ndarray) -> np.ndarray:
    """Values of samples, [n] or [n, k]; texts as bytes, in an array of objects.

    Args:
      places: int64 [n], numbers of samples, as `Places.of` gives them.
    """
    if len(self.parts) == 1 and isinstance(self.parts[0], np.ndarray):
      return self.parts[0][places]
    begins = np.cumsum([0, *map(len, self.parts)])
    which = np.searchsorted(begins, places, "right") - 1
    inside = (places - begins[which]).tolist()
    found = [self.parts[part] for part in which.tolist()]
    if self.spec.dtype != TEXT:
      values = [part[i] for part, i in zip(found, inside)]
      return np.array(values, self.spec.dtype).reshape(-1, *self.spec.shape)
    result = np.empty(len(places), object)
    result[:] = [part.encoded(i) for part, i in zip(found, inside)]
    return result


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
  """Numbers of the samples of all sources, where those of several datasets differ.

  Attributes:
    begins: of each source, what is added to the numbers of its samples.
  """

  begins: np.ndarray

  @classmethod
  def among(cls, manifests: Sequence[Manifest], every: Sequence[Manifest]) -> "Places":
    """Numbers of the samples of sources.

    Args:
      manifests: of the datasets, each once.
      every: of the sources.
    """
    ends = itertools.accumulate((one["next_sample"] for one in manifests), initial=0)
    begin_of = dict(zip(map(id, manifests), ends))
    return cls(np.array([begin_of[id(one)] for one in every], np.int64))

  @property
  def needed(self) -> list[str]:
    """Arrays of a batch that tell them."""
    return ["id", "source"] if self.begins.any() else ["id"]


def find(manifests: Sequence[Manifest], names: Sequence[str]) -> dict[str, Joined]:
  """The values among some features that are joined, by name.

  Args:
    manifests: of the datasets of a batch.
    names: of features.

  Raises:
    ValueError: datasets have not all the same column.
  """
  corrected = any(map(_labels.are_corrected, manifests))
  found = {}
  for name in names:
    if name == "label" and corrected:
      label = manifests[0]["features"]["label"]
      found[name] = Joined(name, manifests, Spec(label["dtype"], label["shape"]))
    elif name in manifests[0]["columns"]:
      specs = [_spec(manifest, name) for manifest in manifests]
      other = next((i for i, spec in enumerate(specs) if spec != specs[0]), None)
      if other is not None:
        kind = "none" if specs[other] is None else f"one of {specs[other].dtype}"
        raise WrongArgument(
          "features",
          name,
          f"must be a metadata column of {specs[0].dtype} in all members, and "
          f"{manifests[other].directory} has {kind}",
        )
      found[name] = Joined(name, manifests, specs[0])
  return found


def _spec(manifest: Manifest, name: str) -> Spec | None:
  entry = manifest["columns"].get(name)
  if entry is None:
    return None
  dtype = "string" if entry["dtype"] == TEXT else entry["dtype"]
  return Spec(dtype, _columns.shape_of(entry))
