"""`liquid_tf.loader`: a Liquid dataset as NumPy arrays, without a framework."""

import dataclasses
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from liquid_tf._cost.cache import Cache
from liquid_tf._loader.batches import Batches
from liquid_tf._loader.state import LoaderState, engine_draws
from liquid_tf._loader.waiting import Waiter
from liquid_tf._native import direct_gpu, tensors
from liquid_tf._native.direct_loader import Batch, Cancelled, EngineLoader, Place
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import decoding as _decoding
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import gpu as _gpu
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.build import Face, Planned, plan
from liquid_tf._pipeline.columns import Columns
from liquid_tf._pipeline.draws import Draws, begin_at
from liquid_tf._pipeline.entry import Entry
from liquid_tf._pipeline.features import pixel_features
from liquid_tf._pipeline.mixes import NUMBERS
from liquid_tf._pipeline.position import Position, run_of
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.source import Source
from liquid_tf._pipeline.start import Given, Start
from liquid_tf._pipeline.stats import Stats
from liquid_tf._pipeline.tuning import AUTOTUNE, Tuning
from liquid_tf._pipeline.verdict import Between
from liquid_tf._store import schemes
from liquid_tf._store.manifest import Manifest
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Step, Views

_FACE = Face(Source, Draws, LoaderState)


class Loader:
  """Epochs of batches, of NumPy arrays; made by `loader`.

  Each `iter()` runs one epoch: the one after the last whose batches were all delivered.
  So looking at a few batches first uses up no epoch. A new iterator ends the one before
  it. One thread at a time may use a loader, and only in the process that made it.

  Arrays lie in memory of the engine, which is free again when no array is left, and may
  be written to. Other libraries take them without a copy, as `torch.from_dlpack(array)`
  and `jax.dlpack.from_dlpack(array)` do. With decode="gpu" images are `DeviceArray`s.
  """

  def __init__(self, planned: Planned):
    self._planned = planned
    self._draws = draws = planned.draws
    self._state: LoaderState = draws.snapshot
    self._decoding = decoding = _decoding.make(
      draws,
      draws.sources,
      **planned.decoding(),
      check_gpu=_check_gpu,
      autotuned=False,
    )
    self._batches = Batches(decoding.columns)
    self._recipe = decoding.columns.recipe
    self._run = run_of(draws, self._recipe)
    self._numbers = None
    if draws.mixes is not None:
      self._numbers = draws.mixes.numbers(draws.room, draws.pixel_bytes)
    self._owner = os.getpid()
    self._waiter = Waiter()
    self._state.engine = self._waiter.call(
      lambda: EngineLoader(
        engine_draws(draws),
        decoding.message,
        decoding.columns.specs(decoding.samples),
        self._recipe.mean_image(),
        _gpu_of(decoding.columns, draws.division.gpu_bytes),
      )
    )
    self._close = weakref.finalize(
      self, _close, self._state.engine, self._waiter, self._owner
    )
    # Behind the last batch that was given out; where its epoch was begun; and what
    # was sought last.
    self._place = self._begun = self._sought = _Place(draws.begin)
    # Counts the epochs begun; None where none runs.
    self._number, self._running = 0, None
    self._enter(planned.entry)

  def __iter__(self) -> Iterator[Any]:
    """Begins an epoch; see the class.

    Raises:
      RuntimeError: the loader is closed, or of another process.
    """
    self._check()
    self._leave()
    engine, draws = self._state.engine, self._draws
    place = engine.next_epoch()
    drawn = self._state.rest if place.rest else draws
    mixes = []
    if self._numbers is not None and not place.rest:
      found = self._numbers(place.epoch)
      mixes = [found[name] for name in NUMBERS]
    fidelity = _fidelity.of_epoch(drawn.fidelity, place.epoch, drawn.batches)
    begun = _Place(self._start_of(place))
    if begun.start == self._sought.start:
      begun = self._sought
    self._waiter.call(
      lambda: engine.begin(fidelity, mixes, begun.borrowed, begun.skipped)
    )
    self._place = self._begun = begun
    self._number += 1
    self._running = self._number
    return _Epoch(self, self._number, self._shape)

  def _shape(self, batch: Batch) -> Iterable[Any]:
    """Makes what is given out of a batch of the engine."""
    if self._planned.arguments.batch_size is not None:
      return _handed_over([self._batches.shaped(batch)])
    return self._batches.samples(batch, self._planned.recipe.channels_first)

  def __len__(self) -> int:
    """Batches of a whole epoch, also where `start` leaves fewer of the first one.

    Of samples with `batch_size=None`.
    """
    if self._planned.arguments.batch_size is not None:
      return self._draws.batches
    if self._planned.arguments.on_error == "skip":
      raise TypeError(
        'a loader of samples with on_error="skip" has no len(): how many are left out '
        "is known when they are read"
      )
    return self._draws.samples * self._recipe.repeats

  def __enter__(self) -> "Loader":
    return self

  def __exit__(self, *_: object) -> None:
    self.close()

  def __reduce__(self):
    raise TypeError(
      "a loader has threads and memory of its process, and cannot be sent to another "
      "one: make it there"
    )

  def __repr__(self) -> str:
    view = self._draws.sources[0].view
    return f"<Loader: {self._draws.batches} batches an epoch of {view!r}>"

  @property
  def stats(self) -> Stats:
    """The counters, as `liquid_tf.stats` shows those of a dataset."""
    return Stats(self._draws, Between())

  def close(self) -> None:
    """Ends its threads and frees its memory, but for arrays that were given out."""
    self._close()
    self._state.most_bytes = 0

  def state_dict(self) -> dict[str, Any]:
    """Where the run stands: behind the last batch that was given out.

    Save it together with the model, and give it to `load_state_dict`, or as `start=` to
    `loader` or `dataset`, of the same arguments but for `memory`, `cache`, `tuning` and
    the like. The next batch is then the very next one.

    Returns:
      A dict for JSON, as `liquid_tf.position` gives it (docs/formats/position.md). With
      `on_error="skip"` it also has "borrowed" and "skipped", draws and samples: with
      these going on repeats no sample.

    Raises:
      ValueError: with `batch_size=None`, whose samples have no place that is saved.
    """
    self._check()
    if self._planned.arguments.batch_size is None:
      raise WrongArgument(
        "batch_size", None, "must be a number for a place that can be saved"
      )
    place = self._place
    found = Position.of(self._draws, self._run, place.start)
    if self._decoding.skips:
      borrowed, skipped = list(place.borrowed), list(place.skipped)
      found = dataclasses.replace(found, borrowed=borrowed, skipped=skipped)
    return found.saved()

  def load_state_dict(self, state: Mapping[str, Any]) -> None:
    """Makes the next `iter()` begin where a run stood.

    Args:
      state: what `state_dict` gave, or `liquid_tf.position`; of this worker, or of
        another number of workers as far as `start` takes it.

    Raises:
      ValueError: it is neither, or of a run of other arguments, or what is left is not
        known.
    """
    self._check()
    if not isinstance(state, Mapping):
      raise WrongArgument("start", state, "must be what state_dict() gave")
    self._leave()
    self._go_to(state)

  def _go_to(self, state: Mapping[str, Any]) -> None:
    """Makes the next epoch begin at what `state_dict` gave."""
    draws = self._draws
    entry = Entry.parse(state, self._planned.arguments.shard)
    begin = None
    if not entry.is_sought:
      start = (entry.begin.epoch, entry.begin.step)
      begin = begin_at(start, draws.batches, self._state.cache.size, draws.moves)
    self._enter(entry)
    if begin is not None:
      self._state.seek(begin.epoch, begin.step)
      draws.begin, draws.begun_batches = begin, draws.batches
      self._place = self._begun = self._sought = _Place(begin)

  def _enter(self, entry: Entry) -> None:
    """Makes the next epoch begin at an entry that is sought."""
    entry.seek(self._draws, self._recipe)
    place = _Place(self._draws.begin)
    if entry.is_own:
      saved = entry.saved
      place = _Place(place.start, saved.borrowed or (), saved.skipped or ())
    self._place = self._begun = self._sought = place

  def _check(self) -> None:
    if not self._close.alive:
      raise RuntimeError("the loader is closed")
    if os.getpid() != self._owner:
      raise RuntimeError(
        "the loader was made in another process: make it in the one that uses it"
      )

  def _start_of(self, place: Place) -> Start:
    """A place of the engine's as one of the run's."""
    draws = self._draws
    begin = draws.begin
    cuts = begin.cuts if place.rest else ()
    start = Start(place.epoch, place.step, cuts)
    of_epoch = draws.begun_batches if place.epoch == begin.epoch else draws.batches
    if start.before + start.step >= of_epoch > 0:
      return Start(place.epoch + 1, 0)
    return start

  def _next_batch(self, number: int) -> Batch | None:
    """The next batch of an epoch, as the engine gives it; None at its end.

    Args:
      number: of the epoch, by what was begun.
    """
    self._check()
    if number != self._running:
      raise RuntimeError("a new iterator of the loader has ended this one")
    try:
      batch = self._waiter.call(self._state.engine.next)
    except Cancelled:
      raise RuntimeError("the loader is closed") from None
    if batch is None:
      self._running = None
      if self._place.start.epoch == self._begun.start.epoch:
        # Batches were fewer, since samples were left out.
        self._place = _Place(Start(self._begun.start.epoch + 1, 0))
      return None
    start = self._start_of(batch.next)
    self._place = _Place(start, batch.borrowed, batch.skipped)
    return batch

  def _leave(self) -> None:
    """Ends the epoch that runs, or is being begun."""
    if self._running is None and not self._waiter.waits:
      return
    self._running = None
    engine, begun = self._state.engine, self._begun
    engine.cancel()
    lost = self._waiter.forget()
    # A GPU's batches come ahead, but for those of which the last was given out.
    if self._decoding.columns.decode != "cpu":
      lost = self._place.start.epoch == begun.start.epoch
    engine.leave()
    # A batch may have come that was not given out. Where it was the epoch's last, the
    # engine goes on behind it.
    if lost and engine.next_epoch().epoch != begun.start.epoch:
      place = self._place
      self._go_to(Position.of(self._draws, self._run, begun.start).saved())
      self._begun = self._sought = begun
      self._place = place

  def _end(self, number: int) -> None:
    """Ends an epoch that nothing asks any more, if it still runs."""
    if number == self._running and self._close.alive and os.getpid() == self._owner:
      self._leave()


@dataclasses.dataclass(frozen=True)
class _Place:
  """Where a run stands.

  Attributes:
    start: in epochs of the loader.
    borrowed: draws behind it that were delivered already.
    skipped: samples of the epoch that were left out before it.
  """

  start: Start
  borrowed: Sequence[int] = ()
  skipped: Sequence[int] = ()


class _Epoch(Iterator):
  """Batches of an epoch.

  Args:
    loader: that began it.
    number: of the epoch, by what was begun.
    shape: makes what is given out of a batch of the engine.
  """

  def __init__(
    self, loader: Loader, number: int, shape: Callable[[Batch], Iterable[Any]]
  ):
    self._loader, self._number = loader, number
    self._shape = shape
    self._ready: Iterator[Any] = iter(())
    self._is_over = False

  def __next__(self) -> Any:
    while not self._is_over:
      for one in self._ready:
        return one
      batch = self._loader._next_batch(self._number)
      if batch is None:
        self._is_over = True
      else:
        self._ready = iter(self._shape(batch))
    raise StopIteration

  def __del__(self):
    self._loader._end(self._number)


def _handed_over(values: list[Any]) -> Iterator[Any]:
  """Yields values and keeps none, so that a batch's memory is its user's alone."""
  while values:
    yield values.pop(0)


def _close(engine: EngineLoader, waiter: Waiter, owner: int) -> None:
  if os.getpid() != owner:
    return  # A forked child has none of their threads.
  engine.cancel()
  waiter.forget()
  waiter.close()
  engine.close()


def _check_gpu(
  decode: str, manifest: Manifest, recipe: Recipe, features: Sequence[str], skip: bool
) -> None:
  """Checks what goes with images on a GPU; see `_pipeline.gpu.check`."""
  found = direct_gpu.problem(_gpu.number(decode))
  if found is not None:
    raise WrongArgument("decode", decode, f'must be "cpu" here: {found}')
  _gpu.check(decode, manifest, recipe, features, skip)


def _gpu_of(columns: Columns, cache_bytes: int) -> tuple[int, list[str], int] | None:
  """The GPU that decodes images, their types, its cache; None for the processors."""
  number = _gpu.number(columns.decode)
  if number is None:
    return None
  direct_gpu.offer_nvrtc()
  stored = pixel_features(columns.manifest)["image"].dtype
  return number, [one.dtype or stored for one in columns.recipe.each], cache_bytes


def loader(
  path: str | os.PathLike | View | Mixture,
  batch_size: int | None = 32,
  *,
  split: str | None = None,
  shuffle: bool = True,
  seed: int = 0,
  memory: int | str = "auto",
  cache: int | str | Cache = "auto",
  fidelity: int | Callable[[int, int], int] | Mapping[int, float] | None = None,
  mix: str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | None = None,
  transforms: Sequence[Step] | Views = (),
  features: Sequence[str | Boxes] | None = None,
  decode: str = "cpu",
  shard: tuple[int, int] = (0, 1),
  shard_policy: str = "pad",
  on_error: str = "raise",
  start: Given = (0, 0),
  last_batch: str = "short",
  tuning: Tuning = Tuning(),
  limits: Limits = Limits(),
) -> Loader:
  """Batches of a Liquid dataset as NumPy arrays, without TensorFlow in the process.

  It gives the batches that `dataset` gives of the same arguments, in the same order and
  to the bit; `dataset` says what each argument means. For PyTorch:

      train = liquid_tf.loader("photos.liquid", 256, transforms=[…, ChannelsFirst()])
      for epoch in range(90):
        for image, label in train:
          image, label = map(torch.from_dlpack, (image, label))
          ...

  Threads that decode, and batches that are decoded ahead of their use, follow from a
  rule in the place of tf.data's tuning: as many threads as the process may use cores,
  and 4 batches, or as many as fit an eighth of `memory`; or what `tuning` says.

  Args:
    path: a dataset directory, local, of http://, https:// or s3://; or a view, or a
      mixture.
    batch_size: samples in a batch; None gives one sample at a time, each image and
      mask of its own size.
    split: a split, or slices of some.
    shuffle: False gives the stored order.
    seed: of the order, of random windows and of mirroring.
    memory: whole budget: bytes, or "auto".
    cache: the part of it that lasts between epochs.
    fidelity: scan groups of the format pcr: a number, a function of (epoch, batch), or
      numbers with their shares.
    mix: of a dataset that was converted with `replicate`, the format to read each
      sample in.
    transforms: steps of `liquid_tf.transforms`, or `Views`.
    features: None gives the supervised tuple, (image, label) or (image, mask); a list
      of names gives a dict.
    decode: "cpu"; or "gpu" for images in the memory of the first GPU, of l3,
      l3-compact, raw and jpeg decoded there, see docs/gpu.md; "gpu:1" for the second
      one.
    shard: (index, count) for data-parallel training.
    shard_policy: how all parts get the same number of batches.
    on_error: "raise", or "skip" for records that cannot be read or decoded.
    start: where the first epoch begins: what `state_dict` or `position` gave, or
      numbers.
    last_batch: what happens to a last batch of fewer samples.
    tuning: how it is run; a `liquid_tf.graph.Tuning`.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Returns:
    A `Loader`: iterate over it once an epoch. A batch is what `dataset` gives, a tuple,
    a dict or one feature, as NumPy arrays of the same dtypes and shapes: strings as
    arrays of Python's bytes objects; bfloat16 as that of ml_dtypes; what is a
    `tf.RaggedTensor` there as a `RaggedArray`, of `values` and `row_splits`; and images
    on a GPU as a `DeviceArray`, which `torch.from_dlpack` takes.

  Raises:
    ManifestError: the directory is no sound dataset, or no longer that of the view.
    ValueError: an argument is wrong; the message names it, its value and what it
      must be.
    ImportError: no engine is installed, or something that a path or dtype needs.
    RuntimeError: a GPU is too old, or its driver refuses something.
  """
  if tensors.is_variable(fidelity):
    raise WrongArgument(
      "fidelity",
      fidelity,
      "must be no tf.Variable here: give a function of (epoch, batch)",
    )
  _tuning.check(tuning)
  if tuning.parallelism == AUTOTUNE:
    tuning = dataclasses.replace(tuning, parallelism=len(os.sched_getaffinity(0)))
  planned = plan(
    _FACE,
    Arguments(
      path,
      batch_size,
      split=split,
      shuffle=shuffle,
      seed=seed,
      memory=memory,
      cache=cache,
      fidelity=fidelity,
      mix=mix,
      transforms=transforms,
      features=features,
      decode=decode,
      shard=shard,
      shard_policy=shard_policy,
      on_error=on_error,
      start=start,
      last_batch=last_batch,
      tuning=tuning,
      limits=limits,
    ),
  )
  for source in planned.draws.sources:
    _check_scheme(source.view.path)
  return Loader(planned)


def _check_scheme(path: str) -> None:
  """Raises ValueError where the engine does not read a path."""
  scheme = schemes.scheme_of(path)
  if scheme and not (schemes.is_http(path) or schemes.is_s3(path)):
    raise WrongArgument(
      "path",
      path,
      f"must be local, or of http://, https:// or s3://: {scheme}:// is read by "
      "TensorFlow's file systems alone, so use liquid_tf.dataset, or copy the dataset "
      "with liquid_tf.copy",
    )
