"""`liquid_tf.open`: a dataset of which samples can be chosen."""

import contextlib
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from liquid_tf._store import labels as _labels
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf._view import slices, where
from liquid_tf._view import weights as _weights
from liquid_tf._view.sample_reader import SampleReader
from liquid_tf._view.selected import Selected
from liquid_tf._view.table import Table
from liquid_tf._words import Shown, argument
from liquid_tf.errors import ManifestError, RecordError, WrongArgument


class View(Selected):
  """Samples of a dataset; made by `liquid_tf.open`.

  A view knows its rows, and reads an image when it is asked for one: `view[i]`. It
  never changes: each method gives another view. `dataset`, `epochs`, `profile`,
  `export`, `inspect` and `verify` take one wherever they take a path. It can be
  pickled: what is pickled are the dataset's path, and one bit a sample.

  It is of one version of one dataset, whatever is appended, removed or compacted. Where
  that was replaced by another dataset, or forgotten, every use of the view raises a
  `ManifestError` that says so.

  Attributes:
    splits: names of the splits that samples are of, in the order of the dataset.
    formats: names of the dataset's formats.
    numbers: sample numbers, shape [samples], int64, ascending, as `view[i]` has them;
      `liquid_tf.keras.order` has those of a dataset in its order.
  """

  # Opened where the first sample is read.
  _reader: SampleReader | None = None

  def __dir__(self) -> list[str]:
    # What the rest of the package reads of a view is not what its users look for.
    inside = {*vars(Selected), *vars(self)} - {"splits", "formats", "numbers"}
    found = super().__dir__()
    return [name for name in found if name.startswith("_") or name not in inside]

  @property
  def path(self) -> str:
    """Path or URL of the dataset."""
    return self.manifest.directory

  @property
  def version(self) -> int:
    """Version of the dataset that the samples are from."""
    return self.manifest["version"]

  @property
  def classes(self) -> list[str] | None:
    """Names of the dataset's classes by their numbers, which labels are.

    None where labels have no names, or are no classes. A part of a dataset has the
    classes of the whole.
    """
    return self.manifest.classes

  @overload
  def __getitem__(self, key: int) -> dict[str, Any]: ...

  @overload
  def __getitem__(self, key: slice) -> "View": ...

  @overload
  def __getitem__(self, key: str) -> np.ndarray: ...

  def __getitem__(self, key):
    """Reads one sample, gives the view of some, or a column of all.

    The calling thread alone reads and decodes. Threads may call it at once, and so may
    a forked child. Orders of training do not count here.

    Args:
      key: name of a column of `Table`, such as "height" or a metadata column. Or the
        position in this view, whose samples ascend by their numbers; negative ones
        count from the end. It is a sample's number where the view has all that the
        dataset ever had: `view[0]["id"]` of a part is `view.numbers[0]`. A slice gives
        a view, in the same order.

    Returns:
      Of a name, an array of one value a sample, in the order of `numbers`: [samples],
      or [samples, k]; texts as str. Of a position, a dict of NumPy values, named as in
      `dataset(features=…)`, for one sample: "image" [height, width, channels], uint8 or
      uint16, not turned; "label", where the dataset has one, int64, or float32 [k];
      "mask" [height, width, 1]; every other feature of the dataset, such as "boxes",
      [n, 4]; every metadata column, texts as str; "id", int64, the sample's number;
      "orientation", int64, 1 to 8, as EXIF numbers them; "name", a str, what the source
      called it, such as the path of a file below its folder, where the dataset has no
      feature of that name. The arrays are the caller's own.

    Raises:
      IndexError: there is no such sample.
      KeyError: there is no such column.
      TypeError: the key is neither a whole number nor a slice, nor a text.
      ValueError: a slice goes backwards, or chooses no sample; or the view has weights.
      RecordError: the sample is damaged, in every format that it is stored in.
      ManifestError: the dataset's names cannot be read; or it was replaced since this
        view was opened.
    """
    if isinstance(key, slice):
      return self._slice(key)
    if isinstance(key, str):
      return self._column(key)
    if self.weights is not None:
      raise ValueError(
        f"view[i] takes no account of the weights of {self!r}, which are for "
        "dataset(): in another loader take the view without weights, and draw by a "
        "sampler of that loader, such as PyTorch's WeightedRandomSampler"
      )
    try:
      position = operator.index(key)
    except TypeError:
      raise TypeError(
        f"index ({key!r:.80}) must be a whole number, a slice, or a column's name"
      ) from None
    places = self.places
    count = len(places)
    if not -count <= position < count:
      raise IndexError(f"index ({position}) must be in [{-count}, {count}) of {self!r}")
    with self._explained():
      return self._samples().sample(places.item(position))

  @contextlib.contextmanager
  def _explained(self) -> Iterator[None]:
    """Says that the dataset was replaced, where that is why it cannot be read."""
    try:
      yield
    except (ManifestError, RecordError):
      self.check_there()
      raise

  def _column(self, name: str) -> np.ndarray:
    """A column of the samples; see `Table`."""
    with self._explained():
      return Table(self)[name]

  def _samples(self) -> SampleReader:
    """Reads samples."""
    if self._reader is None:
      self._reader = SampleReader.of(self.manifest, self.index)
    return self._reader

  def _slice(self, key: slice) -> "View":
    self._check_no_weights("view[a:b]")
    if key.step is not None and operator.index(key.step) < 1:
      raise ValueError(f"the step of a slice ({key.step}) must be at least 1")
    bounds = ":".join("" if bound is None else str(bound) for bound in _bounds(key))
    return self._choose(self.numbers[key], f"[{bounds}]")

  def __iter__(self) -> Iterator[dict[str, Any]]:
    """Reads every sample, in ascending order of their numbers."""
    for position in range(len(self)):
      yield self[position]

  def __repr__(self) -> str:
    of = "+".join(self.splits)
    drawn = ""
    if self.weights is not None:
      drawn = f", {self.weights.samples_per_epoch} an epoch by weight"
      if self.weights.unlabelled:
        drawn += f", {self.weights.unlabelled} without a label left out"
    return f"<View of {self.path}: {len(self)} samples of {of}{drawn}>"

  def counts(self) -> dict[str, int]:
    """Samples of each format of the dataset."""
    return {name: len(self.rows(name)) for name in self.formats}

  def _choose(self, numbers: np.ndarray, by: str) -> "View":
    """A view of those samples of this one.

    Raises:
      ValueError: there are none.
    """
    if not len(numbers):
      raise self._chooses_none(by)
    flags = np.zeros(self.bound, bool)
    flags[numbers] = True
    chosen = np.packbits(flags, bitorder="little")
    return View(self.manifest, self.index, self.splits, chosen)

  def _chooses_none(self, by: str) -> ValueError:
    return ValueError(f"{by} must choose a sample of {self.path}; it chooses none")

  def split(self, split: str) -> "View":
    """The samples of some splits, or of slices of them.

    A slice is cut out of each format's stored order, so it has the mix of the whole, to
    a sample, and two slices that meet share no sample. Places are those of this view's
    samples: of a view of 50 samples, "train[:10%]" has 5.

    Args:
      split: names, and places in brackets: "train", "train+val", "train[:10%]",
        "train[100:-100]", "train[12.5%:25%]+val". Percent are rounded to the nearest
        sample.

    Raises:
      ValueError: a name or a place is none, or no sample is chosen.
    """
    self._check_no_weights("split()")
    known = [name for name in self.manifest["splits"] if name in self.splits]
    found = slices.parse(split, known)
    if self.chosen is None and all(one.bounds is None for one in found):
      whole = View(self.manifest, self.index, [one.split for one in found])
      if not len(whole):
        raise self._chooses_none(argument("split", split))
      return whole
    numbers = [self._numbers_of(one) for one in found]
    chosen = self._choose(np.concatenate(numbers), argument("split", split))
    names = {one.split for one in found}
    return View(chosen.manifest, chosen.index, names, chosen.chosen)

  def _numbers_of(self, one: slices.Slice) -> np.ndarray:
    """Sample numbers of a slice."""
    formats = self.formats[:1] if self.manifest["replicated"] else self.formats
    view = View(self.manifest, self.index, [one.split], self.chosen)
    rows = [view.rows(name) for name in formats]
    counts = [len(some) for some in rows]
    begin, end = (slices.cut(counts, place) for place in one.places(sum(counts)))
    samples = [some[a:b]["sample"] for some, a, b in zip(rows, begin, end)]
    return np.concatenate([np.zeros(0, np.int64), *samples]).astype(np.int64)

  def names(self, numbers: Sequence[int] | np.ndarray) -> list[str]:
    """Names of samples in the source, such as the path of a file below its folder.

    `view.names(batch["id"].numpy())` are those of a batch with the feature "id", and
    `view.names(liquid_tf.keras.order(dataset))` those of what `model.predict` gives for
    a dataset with shuffle=False, whose order is not that of `numbers`.

    Args:
      numbers: of samples of this view, in any order.

    Returns:
      The name of each, in the same order.

    Raises:
      ValueError: a number is that of no sample of this view.
      ManifestError: the dataset's names cannot be read.
    """
    with self._explained():
      names = self._samples().names
    return [names[number] for number in self._checked(numbers, "names").tolist()]

  def take(self, numbers: Sequence[int] | np.ndarray) -> "View":
    """The samples of these numbers, which are those of the feature "id".

    Args:
      numbers: of samples, in any order; not positions in this view, as `view[i]` has
        them.

    Raises:
      ValueError: a number is that of no sample of this view, or is there twice.
    """
    self._check_no_weights("take()")
    given = self._checked(numbers, "take")
    ordered = np.sort(given)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
      raise WrongArgument("take: number", ordered[twice[0]], "must be there once")
    return self._choose(given, "take: numbers ([])")

  def _checked(self, numbers: Sequence[int] | np.ndarray, method: str) -> np.ndarray:
    """Numbers of samples of this view, as int64, in the order given.

    Raises:
      ValueError: they are something else.
    """
    given = np.asarray(numbers)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
      raise WrongArgument(
        f"{method}: numbers",
        Shown(f"{type(numbers).__name__} of {given.dtype}, shape {list(given.shape)}"),
        "must be a list of sample numbers",
      )
    given = given.astype(np.int64)
    places = np.searchsorted(self.numbers, given).clip(max=len(self.numbers) - 1)
    wrong = given[self.numbers[places] != given]
    if len(wrong):
      raise WrongArgument(
        f"{method}: number", wrong[0], f"must be of a sample of {self!r}"
      )
    return given

  def where(self, condition: str | Callable[[Table], np.ndarray]) -> "View":
    """The samples for which a condition holds.

    Args:
      condition: a text, as 'height >= 256 and label == "owl"', whose parts
        docs/selection.md lists. Or a function, called once, now, with a `Table` of this
        view's samples; it gives a mask, [samples] of bool, as
        `lambda t: (t["height"] >= 256) & (t["label"] == 1)`. There a label is a number:
        `classes.index("owl")` is that of a name.

    Raises:
      TypeError: it is neither.
      ValueError: it is no condition, or chooses no sample.
    """
    self._check_no_weights("where()")
    with self._explained():
      mask = where.mask(condition, self)
    return self._choose(self.numbers[mask], "where")

  def weighted(
    self,
    weights: str
    | Sequence[float]
    | np.ndarray
    | Mapping[str, float]
    | Mapping[int, float],
    samples_per_epoch: int | None = None,
  ) -> "View":
    """The same samples, drawn as often as their weights say.

    A sample is drawn the floor or the ceiling of its share of an epoch, and so it is of
    all epochs so far (docs/selection.md). Samples of weight 0 are left out.

    Args:
      weights: of each sample, shape [samples], in the order of `numbers`; or the name
        of a column of numbers; or a dict of classes, by name or number, with the weight
        of each of their samples, which is 1 for those of other classes.
      samples_per_epoch: how many draws an epoch has, of all workers; by default as many
        as there are samples of a weight above 0.

    Raises:
      ValueError: these are no weights, or this view has some.
    """
    self._check_no_weights("weighted()")
    if isinstance(weights, Mapping):
      labels = self._labels()
      found = _weights.of_classes(
        self.manifest, labels, self.numbers, weights, samples_per_epoch
      )
    else:
      if isinstance(weights, str):
        weights = self._weights_of(weights)
      found = _weights.of_samples(self.bound, self.numbers, weights, samples_per_epoch)
    return self._weigh(*found)

  def _weights_of(self, name: str) -> np.ndarray:
    """The column that has weights; raises ValueError if it can have none."""
    try:
      found = self._column(name)
    except KeyError as error:
      raise ValueError(f"weights: {error.args[0]}") from None
    if found.ndim != 1 or found.dtype.kind not in "biuf":
      raise WrongArgument("weights", name, "must be a column of one number a sample")
    return found.astype(np.float64)

  def balanced(self, samples_per_epoch: int | None = None) -> "View":
    """The same samples, drawn so that each class has an equal share of an epoch.

    Samples without a label are left out; `repr` says how many.

    Args:
      samples_per_epoch: as `weighted` takes it.

    Raises:
      ValueError: samples do not have one class each, or this view has weights.
    """
    self._check_no_weights("balanced()")
    return self._weigh(
      *_weights.balanced(self.manifest, self._labels(), self.numbers, samples_per_epoch)
    )

  def _labels(self) -> np.ndarray | None:
    with self._explained():
      return _labels.load(self.manifest)

  def _weigh(self, numbers: np.ndarray, weights: _weights.Weights | None) -> "View":
    view = self
    if len(numbers) < len(self.numbers):
      view = self._choose(numbers, "weights")
    return View(view.manifest, view.index, view.splits, view.chosen, weights)

  def _check_no_weights(self, method: str) -> None:
    if self.weights is not None:
      raise ValueError(
        f"{method} must come before weights: choose samples first, then say how "
        "often each is drawn"
      )

  def __reduce__(self):
    chosen = None if self.chosen is None else self.chosen.tobytes()
    return _reopen, (
      self.path,
      self.version,
      self.splits,
      chosen,
      self.fingerprint,
      self.weights,
    )


def _bounds(key: slice) -> tuple:
  """The bounds of a slice, as they were written."""
  bounds = (key.start, key.stop)
  return bounds if key.step is None else (*bounds, key.step)


def _reopen(
  path: str,
  version: int,
  splits: tuple[str, ...],
  chosen: bytes | None,
  fingerprint: str,
  weights: _weights.Weights | None,
) -> View:
  """Opens what was pickled."""
  view = open(path, version)
  bits = None if chosen is None else np.frombuffer(chosen, np.uint8)
  view = View(view.manifest, view.index, splits, bits, weights)
  if view.fingerprint != fingerprint:
    raise ManifestError(f"{path} is another dataset than when its view was pickled")
  return view


def open(  # noqa: A001 - the name that users read.
  path: str | os.PathLike, version: int | None = None
) -> View:
  """Opens a dataset to choose from its samples.

  Args:
    path: a dataset directory, local or of a registered file system.
    version: of the dataset; None for the newest.

  Returns:
    A `View` of all samples of all splits. It stays of this version, whatever is
    appended or removed.

  Raises:
    ManifestError: the directory is no sound dataset, or has no such version.
  """
  manifest = manifests.load(path, version)
  return View(manifest, manifests.load_index(manifest), list(manifest["splits"]))


def default_split(manifest: Manifest) -> str:
  """The split that is meant when none is named: "train", or the first one."""
  splits = list(manifest["splits"])
  return "train" if "train" in splits else splits[0]


def as_view(source: str | os.PathLike | View, split: str | None = None) -> View:
  """The samples that an argument `path` and an argument `split` mean.

  Args:
    source: a dataset directory, or a view.
    split: as `View.split` takes it; None for the default split of a directory, and for
      all of a view.

  Raises:
    ManifestError: the directory is no sound dataset, or no longer that of the view.
    ValueError: there is no such split.
  """
  if isinstance(source, View):
    source.check_there()
    return source if split is None else source.split(split)
  view = open(source)
  return view.split(default_split(view.manifest) if split is None else split)
