"""Whether a source's samples go with those of a dataset, and what both are together."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert.made import Base
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._edit.passed_source import PassedSource
from liquid_tf._store import columns
from liquid_tf._store.columns import Column
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._store.mix import TARGETS
from liquid_tf.errors import ConvertError


class RelabelledSource(PassedSource):
  """A source whose class numbers are those of a dataset.

  Args:
    source: with numbers of its own.
    classes: of the dataset, all of the source's among them.
  """

  def __init__(self, source: SampleSource, classes: list[str]):
    super().__init__(source, classes=classes)
    self._numbers = np.array([classes.index(n) for n in source.classes], np.float32)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    loaded = super().load(*columns)
    labels = loaded["labels"]
    # Others are found later, when all are known.
    known = (labels >= 0) & (labels < len(self._numbers)) & (labels == tf.floor(labels))
    numbers = tf.gather(self._numbers, tf.where(known, tf.cast(labels, tf.int32), 0))
    return loaded | {"labels": tf.where(known, numbers, labels)}


def with_classes(source: SampleSource, manifest: Manifest) -> SampleSource:
  """A source with the dataset's classes, to which its new ones are added.

  Raises:
    ConvertError: one names its classes, and the other has numbers.
  """
  classes = manifest.classes
  if source.classes is None:
    source.classes = classes
    return source
  if classes is None:
    has = "has no labels"
    if "label" in manifest["features"]:
      has = "has labels without names"
    raise ConvertError(
      f"source ({source.named}) has classes, as {source.classes[0]}, but "
      f"{manifest.directory} {has}"
    )
  every = list(dict.fromkeys([*classes, *source.classes]))
  if source.classes == every[: len(source.classes)]:
    source.classes = every
    return source
  return RelabelledSource(source, every)


@dataclasses.dataclass(frozen=True)
class Growing(Base):
  """A dataset that grows.

  Attributes:
    manifest: of its newest version.
  """

  manifest: Manifest

  @classmethod
  def of(cls, manifest: Manifest, index: np.ndarray) -> "Growing":
    """What a dataset has."""
    splits = sorted(manifest["splits"], key=manifest.split_index)
    targets = [FORMATS.index(TARGETS[name][0]) for name in manifest["targets"]]
    pairs = index["split"].astype(np.int64) << 8 | index["format"]
    counts = np.bincount(pairs, minlength=len(splits) << 8).reshape(-1, 256)
    return cls(
      first=manifest["next_sample"],
      splits=splits,
      dealt={i: counts[i, targets].tolist() for i in range(len(splits))},
      manifest=manifest,
    )

  def check(
    self, source: SampleSource, samples: np.ndarray, label: dict[str, Any] | None
  ) -> dict[str, Any] | None:
    features = self.manifest["features"]
    image = features["image"]
    self._same(
      source, "channels", int(samples["channels"][0]), image["shape"][2], "Channels"
    )
    bits = int(image["dtype"].removeprefix("uint"))
    self._same(source, "bits", int(samples["bits"][0]), bits, "Bits")
    mask = features.get("mask")
    has_masks = source.has_masks or "mask" in source.features
    if has_masks != (mask is not None):
      raise self._other(source, "masks" if has_masks else "no masks")
    found = source.features.get("mask")
    if found is not None and found["dtype"] != mask["dtype"]:
      raise self._other(source, f"masks of {found['dtype']}")
    if source.has_masks:
      bits = int(mask["dtype"].removeprefix("uint"))
      self._same(source, "bits of masks", int(samples["mask_bits"][0]), bits, None)
    known = ("image", "label", masks.FEATURE)
    others = {name: entry for name, entry in features.items() if name not in known}
    found = {name: e for name, e in source.features.items() if name not in known}
    for name in {**others, **found}:
      if others.get(name) != found.get(name):
        raise self._other(source, f"feature {name} of {found.get(name)}")
    self._check_columns(source)
    return self._label(source, label)

  def _check_columns(self, source: SampleSource) -> None:
    """Raises ConvertError where new samples would have no value of a column."""
    given = given_columns(self.manifest, source, [])
    for name, entry in self.manifest["columns"].items():
      filler = columns.missing(entry["dtype"], entry.get("default"))
      if filler is None and name not in given:
        raise ConvertError(
          f'column ("{name}", {entry["dtype"]}) has no value for new samples: annotate '
          f'with it again, and defaults={{"{name}": …}}'
        )

  def _same(
    self, source: SampleSource, what: str, has: int, wanted: int, step: str | None
  ) -> None:
    if has != wanted:
      advice = f", or convert the dataset with transforms=[{step}(N)]" if step else ""
      raise ConvertError(
        f"source ({source.named}) has images of {has} {what}, but "
        f"{self.manifest.directory} {wanted}: change the images{advice}"
      )

  def _other(self, source: SampleSource, what: str) -> ConvertError:
    has = ", ".join(self.manifest["features"])
    return ConvertError(
      f"source ({source.named}) has {what}, but {self.manifest.directory} has other "
      f"features ({has}): both must have the same"
    )

  def _label(
    self, source: SampleSource, label: dict[str, Any] | None
  ) -> dict[str, Any] | None:
    """The label that the samples have in the dataset."""
    there = self.manifest["features"].get("label")
    if (there is None) != (label is None):
      raise self._other(source, "no labels" if label is None else "labels")
    if there is None:
      return None
    kind = {"dtype": there["dtype"], "shape": there["shape"]}
    if there["dtype"] == "int64":
      right = label["dtype"] == "int64"
    else:
      # Whole numbers are numbers, too.
      shape = label["shape"] or [1]
      right = there["shape"] in (shape, [None])
    if not right:
      raise self._other(source, f"labels {label['dtype']} {label['shape']}")
    return kind


def given_columns(
  manifest: Manifest, source: SampleSource, positions: Sequence[int]
) -> dict[str, Column]:
  """The dataset's columns that a source, a dataset as well, has of its samples."""
  known = manifest["columns"]
  return {
    name: column
    for name, column in source.metadata(positions).items()
    if name in known and column.dtype == known[name]["dtype"]
  }


def joined_sides(one: list[int | None], other: list[int | None]) -> list[int | None]:
  """The shape of images of both: sides that differ are null."""
  return [a if a == b else None for a, b in zip(one, other)]
