"""Whether a source's samples go with those of a dataset, and what both are together."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import labels
from liquid_tf._convert.graph import by_python, first_error
from liquid_tf._convert.job import Base
from liquid_tf._convert.sources import alike, masks
from liquid_tf._convert.sources.samples import PassedSource, SampleSource
from liquid_tf._store import columns, names, texts
from liquid_tf._store.columns import Column
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._store.mix import TARGETS
from liquid_tf._words import Shown, argument, setting
from liquid_tf.errors import ConvertError


class RelabelledSource(PassedSource):
  """A source whose class numbers are those of a dataset.

  Args:
    source: with numbers of its own.
    classes: of each feature, the dataset's and then new ones; all of the source's are
      among them.
  """

  def __init__(self, source: SampleSource, classes: Mapping[str, list[str]]):
    super().__init__(source)
    self.classes = classes.get("label", source.classes)
    own = _classes_of(source.features, source.classes)
    self.features = {
      name: entry | {"classes": classes[name]} if name in classes else entry
      for name, entry in source.features.items()
    }
    self._numbers = {
      name: _positions(own.get(name, every), every) for name, every in classes.items()
    }

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    loaded = super().load(*columns)
    if "label" in self._numbers:
      found, error = self._labels(loaded["labels"])
      loaded |= {"labels": found, "error": first_error(loaded["error"], error)}
    if not self._numbers.keys() - {"label"}:
      return loaded
    example, error = by_python(self._example, [loaded["example"]], tf.string, tf.string)
    return loaded | {
      "example": example,
      "error": first_error(loaded["error"], error),
    }

  def _labels(self, given: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Labels with the dataset's numbers, and why they cannot have them."""
    numbers = self._numbers["label"].astype(np.float32)
    known = (given >= 0) & (given < len(numbers)) & (given == tf.floor(given))
    found = tf.gather(numbers, tf.where(known, tf.cast(given, tf.int32), 0))
    # Such a number may be one of the dataset's other classes.
    unknown = tf.boolean_mask(given, ~known)
    error = tf.cond(
      tf.reduce_any(~known),
      lambda: tf.strings.format(labels.no_class("{}", len(numbers)), unknown[0]),
      lambda: tf.constant(""),
    )
    return tf.where(known, found, given), error

  def _example(self, example: bytes) -> tuple[bytes, bytes]:
    """An example with the dataset's numbers, and why it cannot have them."""
    changed = tf.train.Example.FromString(example)
    for name, numbers in self._numbers.items():
      if name == "label":
        continue
      key = self.features[name]["example"]
      values = changed.features.feature[key].int64_list.value
      for i, value in enumerate(values):
        if not 0 <= value < len(numbers):
          found = f"{name} has the class {value}, and there are names of {len(numbers)}"
          return b"", found.encode()
        values[i] = numbers[value]
    return changed.SerializeToString(deterministic=True), b""


def _positions(own: list[str], every: list[str]) -> np.ndarray:
  """Shape [own], int64: where classes are among all."""
  if own == every[: len(own)]:
    return np.arange(len(own))
  return np.array([every.index(name) for name in own], np.int64)


def _classes_of(
  features: Mapping[str, Mapping[str, Any]], labels: list[str] | None
) -> dict[str, list[str]]:
  """The names of classes, by feature; `labels` are those of the label."""
  found = {name: e["classes"] for name, e in features.items() if "classes" in e}
  return found if labels is None else found | {"label": labels}


def with_classes(source: SampleSource, manifest: Manifest) -> SampleSource:
  """A source with the dataset's classes, to which its new ones are added.

  That holds for labels, and for other features with names of classes, as of boxes.

  Raises:
    ConvertError: one names its classes, and the other has numbers; or names are hardly
      different.
  """
  classes = _classes_of(manifest["features"], manifest.classes)
  renumbered = {}
  own = _classes_of(source.features, source.classes)
  # Numbers of a source without names are the dataset's.
  numbered = classes.keys() & {"label", *source.features}
  for name in dict.fromkeys([*own, *sorted(numbered)]):
    if name not in classes:
      raise _without_names(source, manifest, name, own[name][0])
    joined = _joined(source, manifest, name, classes[name], own.get(name, []))
    if name != "label" or own.get(name) != joined:
      renumbered[name] = joined
  return RelabelledSource(source, renumbered) if renumbered else source


def _without_names(
  source: SampleSource, manifest: Manifest, name: str, first: str
) -> ConvertError:
  of = "labels" if name == "label" else name
  has = f"has {of} without names" if name in manifest["features"] else f"has no {of}"
  named = "classes" if name == "label" else f"classes of {name}"
  return ConvertError(
    f"{argument('source', Shown(source.named))} has {named}, as {first}, but "
    f"{manifest.directory} {has}"
  )


def _joined(
  source: SampleSource,
  manifest: Manifest,
  name: str,
  there: list[str],
  own: list[str],
) -> list[str]:
  """The classes of a dataset, and after them those that only the source has."""
  if own == there[: len(own)]:
    return there
  if there == own[: len(there)]:
    return own
  for where, every in ((manifest.directory, there), (source.named, own)):
    if len(set(every)) < len(every):
      twice = collections.Counter(every).most_common(1)[0][0]
      raise ConvertError(
        f"{where} has two classes of {name} that are called {twice}, so names do not "
        f"tell which those of the other are: give {source.named} the classes of "
        f"{manifest.directory}, in their order"
      )
  every = list(dict.fromkeys([*there, *own]))
  both = alike.first_alike(every)
  if both is not None:
    raise ConvertError(
      f"{manifest.directory} and {argument('source', Shown(source.named))} have "
      f"classes {alike.differ_only(both)}: give them the names that the dataset has"
    )
  return every


@dataclasses.dataclass(frozen=True)
class Growing(Base):
  """A dataset that grows.

  Attributes:
    manifest: of its newest version.
  """

  manifest: Manifest

  @classmethod
  def of(cls, manifest: Manifest, index: np.ndarray) -> "Growing":
    """Takes the contents of a dataset."""
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
    if source.has_masks:
      bits = int(features["mask"]["dtype"].removeprefix("uint"))
      self._same(source, "bits of masks", int(samples["mask_bits"][0]), bits, None)
    return self._label(source, samples, label)

  def check_source(self, source: SampleSource) -> None:
    """Checks what is known of a source before its samples are read.

    Raises:
      ConvertError: it lacks features or columns that the dataset has, or has others.
    """
    features = self.manifest["features"]
    mask = features.get("mask")
    has_masks = source.has_masks or "mask" in source.features
    if has_masks != (mask is not None):
      raise self._other(source, "masks" if has_masks else "no masks")
    found = source.features.get("mask")
    if found is not None and found["dtype"] != mask["dtype"]:
      raise self._other(source, f"masks of {found['dtype']}")
    others, found = _kinds(features), _kinds(source.features)
    lacking = [name for name in others if name not in found]
    more = [name for name in found if name not in others]
    if lacking or more:
      parts = [" and ".join(f"no {name}" for name in lacking)] if lacking else []
      parts += [f"besides {', '.join(more)}"] if more else []
      raise self._other(source, ", and ".join(parts))
    for name, kind in found.items():
      if kind != others[name]:
        raise self._other(source, f"{name} of {kind}, and not of {others[name]}")
    self._check_columns(source)

  def _check_columns(self, source: SampleSource) -> None:
    """Raises ConvertError where columns do not go together.

    That is where new samples would have no value of one, or one of another type. A
    column that the dataset lacks is told in the source's notes.
    """
    for name in source.metadata([]):
      if name not in self.manifest["columns"]:
        source.notes.append(
          f"column {name} is not kept: {self.manifest.directory} has none of that name"
        )
    given = given_columns(self.manifest, source, [])
    for name, column in given.items():
      entry, has = self.manifest["columns"][name], f"column {name}"
      shape = list(np.shape(column.values)[1:])
      if (column.dtype, shape) != (entry["dtype"], columns.shape_of(entry)):
        kinds = f"of {column.dtype}{shape or ''}, and not of {entry['dtype']}"
        raise self._other(source, f"the {has} {kinds}{columns.shape_of(entry) or ''}")
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
        f"{argument('source', Shown(source.named))} has images of {has} {what}, but "
        f"{self.manifest.directory} {wanted}: change the images{advice}"
      )

  def _other(self, source: SampleSource, what: str) -> ConvertError:
    has = Shown(", ".join([*self.manifest["features"], *self.manifest["columns"]]))
    return ConvertError(
      f"{argument('source', Shown(source.named))} has {what}, but "
      f"{self.manifest.directory} has other {argument('features', has)}: both "
      "must have the same"
    )

  def _label(
    self, source: SampleSource, samples: np.ndarray, label: dict[str, Any] | None
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
      has = f"labels {label['dtype']} {label['shape']}"
      values = samples["label"]
      odd = values[(samples["labels"] == 1) & ((values % 1 != 0) | (values < 0))]
      if there["dtype"] == "int64" and len(odd):
        has += f", as {odd[0]:g}, which is no class number"
      raise self._other(source, has)
    return kind


def _kinds(features: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
  """Type, shape and place of features that examples hold, for people, by name."""
  return {
    name: f"{entry['dtype']} {entry['shape']} in {entry['example']}"
    for name, entry in features.items()
    if name not in ("image", "label", masks.FEATURE)
  }


def given_columns(
  manifest: Manifest, source: SampleSource, positions: Sequence[int]
) -> dict[str, Column]:
  """The dataset's columns that a source has of its samples, of the dataset's types."""
  known = manifest["columns"]
  found = {
    name: column for name, column in source.metadata(positions).items() if name in known
  }
  for name, column in found.items():
    if (column.dtype, known[name]["dtype"]) == ("int64", "float64"):
      values = np.asarray(column.values, np.float64)
      found[name] = dataclasses.replace(column, dtype="float64", values=values)
  return found


def joined_sides(one: list[int | None], other: list[int | None]) -> list[int | None]:
  """The shape of images of both: sides that differ are null."""
  return [a if a == b else None for a, b in zip(one, other)]


CHOICES = ("refuse", "skip", "add")


def without_duplicates(
  source: SampleSource, manifest: Manifest, duplicates: str
) -> SampleSource:
  """A source without the images whose names samples of a dataset have or had.

  Names of removed samples count, so that what was removed does not come back. A number
  in a file of records is no name.

  Args:
    source: what is to be added.
    manifest: of the dataset.
    duplicates: "skip" leaves such images out, "refuse" forbids them, "add" allows them.

  Returns:
    The source, or a part of it, which may have no samples.

  Raises:
    ConvertError: there are such images, and they are refused.
    ManifestError: the dataset's names are damaged.
  """
  if duplicates == "add" or not source.has_names:
    return source
  wanted = [texts.encode(source.name(position)) for position in range(len(source))]
  known = set(wanted).intersection(names.load(manifest).every())
  if not known:
    return source
  new = np.array([name not in known for name in wanted])
  if duplicates == "skip":
    return PassedSource(source, np.flatnonzero(new))
  first, count = int(new.argmin()), int((~new).sum())
  raise ConvertError(
    f"{argument('source', source.named)}: {count} of {len(new)} images have names "
    f"that samples of {manifest.directory} have or had, as {source.name(first)}: "
    f"leave them out with {setting('duplicates', 'skip')}, or, if they are other "
    f"images, add them with {setting('duplicates', 'add')}"
  )
