"""`liquid_tf.profile`: finds the mix of formats for a machine and a set of images."""

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from liquid_tf import _extras
from liquid_tf._convert import pipelines
from liquid_tf._convert.source import Source, source_of
from liquid_tf._convert.sources import hugging_face, tfds
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.open_source import find_files, open_source
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._measure import evidence
from liquid_tf._native import whole
from liquid_tf._native.encoders import Encoders, Option, resolve
from liquid_tf._pipeline import gpu
from liquid_tf._pipeline.recipe import TRAINING_STEPS, Recipe
from liquid_tf._profile import arguments, names, run, sample, schema, scratch, training
from liquid_tf._store import storage
from liquid_tf._store.progress import HIDDEN
from liquid_tf._view.view import View
from liquid_tf._words import Shown, said, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import (
  Bits,
  Channels,
  FiveCrop,
  Mix,
  Ragged,
  Step,
  TenCrop,
  Views,
  by_slot,
)

if TYPE_CHECKING:
  import tensorflow as tf
  from matplotlib.figure import Figure

__all__ = ["Profile", "profile"]

# Formats that are compared if none is named: of sources without loss, and of JPEG.
LOSSLESS = ("png", "l3-compact", "l3", "raw")
_LOSSY = ("jpeg", "l3", "raw")

# Steps that are not measured, and what to do.
_ELSE = {
  Mix: "leave it out, as it costs all formats alike",
  FiveCrop: "give CenterCrop in its place",
  TenCrop: "give CenterCrop in its place",
}


def _to_stderr(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True, repr=False)
class Profile:
  """The result of `profile`. In a notebook it shows its verdict.

  Attributes:
    data: plain values, as `to_json` writes them. Rates are images per second, sizes
      bytes, times seconds. Keys: `formats` {name: costs}, where "pcr@5" is pcr read
      through scan group 5, and `scans` of pcr has the group, its bytes and its MSSIM;
      `measured`, mixes that the search ran, [{mix, load, decode, throughput,
      predicted}]; `mix` {format: share}; `fidelity`, the scan group of pcr in that mix,
      or null; `cache_form`, "encoded" or "pixels";
      `predicted` and `best_single`, corrected by `verified`, the runs of mix, single
      format and stock tf.data; `predicted_interval` [low, high], 95%; `at_stake`, the
      share of the best mix's speed that this one may lack, 95%; `gain` {mean, low,
      high, measured} or null; `verdict`, a few sentences, with `step` first whether it
      matters at all; `curve`; `what_if`; `memory`;
      `convert` {bytes, seconds}; `training`; `disk`; `directory`, the folder whose disk
      that is; `setting`; `evidence`.
  """

  data: dict[str, Any]

  @classmethod
  def from_json(cls, path: str | os.PathLike) -> "Profile":
    """Reads what `to_json` wrote.

    Raises:
      ValueError: the file is no profile; the message says what is wrong with it.
      OSError: it cannot be read.
    """
    with open(path, "rb") as file:
      contents = file.read(schema.MOST_BYTES + 1)
    return cls(schema.parse(contents, os.fspath(path)))

  @property
  def mix(self) -> dict[str, float]:
    """The advised share of each format, as `convert` takes it."""
    return dict(self.data["mix"])

  @property
  def fidelity(self) -> int | None:
    """The scan group of pcr that goes with the mix, as `dataset` takes it.

    None where the mix has no pcr, or whole ones; always without `least_mssim`.
    """
    return self.data["fidelity"]

  @property
  def transforms(self) -> tuple[Step, ...]:
    """The `Channels` and `Bits` that were measured, as `convert` takes them."""
    return schema.encoding(self.data).transforms

  @property
  def encoders(self) -> dict[str, dict[str, Option]]:
    """The options of encoders that were measured, as `convert` takes them."""
    return schema.encoder_options(self.data)

  @property
  def cache_form(self) -> str:
    """The form that memory is best spent on, as `dataset` takes it, beside `mix`.

    "pixels" only where the cache was given in bytes, or as "auto", where the processors
    decode, and where the formats have raw, whose decoding is what a copy from memory
    costs.
    """
    return self.data["cache_form"]

  @property
  def verdict(self) -> str:
    """The advice in a few sentences; with `step`, first whether it matters at all.

    If it does not, that is all that it says.
    """
    return self.data["verdict"]

  def __repr__(self) -> str:
    return f"<Profile: {self.verdict}>"

  def to_json(self, path: str | os.PathLike | None = None) -> str:
    """The profile as one JSON object; also written to a file where one is named."""
    text = json.dumps(self.data, indent=1) + "\n"
    if path is not None:
      with open(path, "w") as file:
        file.write(text)
    return text

  def plot(self) -> "Figure":
    """Draws the mix curve and the use of disk and processors.

    Returns:
      A `matplotlib.figure.Figure`, which a notebook shows by itself.

    Raises:
      ImportError: matplotlib is not installed.
    """
    with _extras.explained():
      from liquid_tf._profile import figures

    return figures.overview(self.data)

  def report(self, path: str | os.PathLike) -> None:
    """Writes a page of HTML that needs no other file and no network.

    Raises:
      ImportError: matplotlib is not installed.
    """
    with _extras.explained():
      from liquid_tf._profile import report

    page = report.render(self.data)
    with open(path, "w", encoding="utf-8") as file:
      file.write(page)


def profile(
  source: str | os.PathLike | View | Source,
  formats: Sequence[str] | None = None,
  *,
  directory: str | os.PathLike | None = None,
  strategy: str = "lp",
  runs: tuple[int, float] = (3, 1.0),
  batch_size: int = 32,
  transforms: Sequence[Step] = (),
  cache: int | str = "auto",
  decode: str = "cpu",
  encoders: Encoders | None = None,
  step: float | tuple["tf.keras.Model", tuple[object, ...]] | None = None,
  threads: int | None = None,
  reserve: float = 0.0,
  space: int | str | None = None,
  resources: Mapping[str, Mapping[str, float]] | None = None,
  least_mssim: float | None = None,
  seed: int = 0,
  say: Callable[[str], None] | None = _to_stderr,
) -> Profile:
  """Measures formats on a sample of images, and finds the mix that is fastest here.

  A random sample of the images is encoded in every format, below `directory`. The real
  pipeline reads and decodes it, past the page cache and without a cache of its own.
  From what each format costs of disk and processors a linear programme finds the mix
  with the most images per second; or the paper's binary search does (Liquid, APSys
  '23, section 4.1). Then the mix and the best single format run in turn, with as much
  in memory as the training will have, and stock tf.data.
  docs/profile.md describes the model and its limits.

  That takes a minute or two, on a busy machine up to five; stderr says what goes on.

  Args:
    source: images, as `convert` takes them, such as a view; without masks. Of an
      iterable, all images are kept in `directory` meanwhile.
    formats: names, as in a mix, to choose from. By default png, l3-compact, l3 and raw,
      or if nearly all images are JPEG, by the first bytes of some, jpeg, l3 and raw. So
      a source without loss gets a lossy format only if it is named. With decode="gpu",
      png is left out. Pcr is measured at some of its scan groups: all those that
      `encoders` names, or else 1, 2, 5 and the last one.
    directory: on the disk where the dataset will lie; by default the folder that holds
      `source`, of a pattern its first file. "tfds:NAME", "hf:NAME" and
      `Source.from_iterable` have none, so there it must be given. What is written
      there, 1 GB at most beside images of an iterable, is removed; what a killed
      profile left there is removed by the next one.
    strategy: "lp", or "search" for mixes in tenths of the largest format and the one
      that goes best with it. The search models no cache, no `reserve`, `space` or
      `resources`: `cache="auto"` means none, and other values are refused.
    runs: how often everything is measured at least, from 2 on, and how many seconds a
      run lasts at least. Where runs disagree there are more of them, until another mix
      may be 5% faster at most, or for five minutes.
    batch_size: of the training; runs take less if images are large.
    transforms: what happens to the images: `Channels` and `Bits`, as `convert` takes
      them, except `Bits("skip")`; then the training's own steps, as `dataset` takes
      them: the mix fits what the steps need of each format, and what they cost. Without
      any, whole images are decoded.
    cache: memory that lasts between epochs: a share, bytes or "auto", not a `Cache`.
    decode: "cpu"; or "gpu" for what `dataset(decode="gpu")` does, of l3, l3-compact,
      raw and jpeg: seconds of TensorFlow's first GPU and of the bus to it are measured.
      A training's step is taken to use all of the GPU while it lasts.
    encoders: options by format, as `convert` takes them.
    step: milliseconds that the training takes by itself for one batch of `batch_size`
      images; with it, the verdict begins with whether the data limits the training at
      all. Or (model, batch), which is timed: a compiled and built Keras model, and the
      arguments of its `train_on_batch`. The model is left as it was. The time is scaled
      to `batch_size`.
    threads: that decode at once; None for one a processor.
    reserve: share of the processors to leave to the framework and the training, from 0
      to .99.
    space: bytes that the dataset may take, as a number or "500GB"; None: any.
    resources: seconds that an image takes of something else, such as a network, by its
      name and by format: {"net": {"jpeg": .001}}. They are not measured. Those of "gpu"
      and "bus" are added to what decoding takes there.
    least_mssim: how much the images of a lower scan group of pcr must resemble whole
      ones for the group to be advised, above 0 and at most 1; see
      `liquid_tf.keras.ByMssim`. Groups of less are not measured. By default pcr is
      advised whole or not at all.
    seed: of the sample.
    say: receives lines of progress; None for a silent profile.

  Returns:
    A `Profile`.

  Raises:
    TooNoisyError: after five minutes it is open which format is fastest.
    ConvertError: the source cannot be read, or none of its images.
    ValueError: an argument is wrong.
  """
  say = say or (lambda text: None)
  source = source_of(source)
  if source.masks is not None:
    raise WrongArgument(
      "source: masks", source.masks, "are not profiled: leave them out"
    )
  if decode not in ("cpu", "gpu"):
    raise WrongArgument("decode", decode, 'must be "cpu" or "gpu"')
  if strategy not in arguments.STRATEGIES:
    raise WrongArgument(
      "strategy", strategy, f"must be one of {', '.join(arguments.STRATEGIES)}"
    )
  trials, seconds = arguments.runs_of(runs)
  whole.number(batch_size, "batch_size", 1)
  if threads is not None:
    threads = whole.number(threads, "threads", 1, ", or None")
  reserve = arguments.reserve_of(reserve)
  space = arguments.space_of(space)
  resources = {} if resources is None else resources
  arguments.check_resources(resources)
  if decode == "gpu":
    arguments.check_gpu(formats, strategy)
  rows = training.rows(step)
  if strategy == "search" and cache == "auto":
    cache = 0
  cached = arguments.cache_of(cache)
  if strategy == "search":
    unknown = {"cache": cached and cache, "reserve": reserve, "space": space}
    for name, value in (unknown | {"resources": resources}).items():
      if value:
        raise WrongArgument(name, value, f"requires {setting('strategy', 'lp')}")
  _check_measured(transforms)
  unmeasured = (*_ELSE, Ragged)
  trained = [step for step in TRAINING_STEPS if step not in unmeasured]
  steps = by_slot(transforms, (Channels, Bits, *trained), "profile")
  if steps.get("bits") == Bits("skip"):
    bits = said('Bits("skip")')
    raise ValueError(f"transforms: {bits} is a step of convert alone")
  options_of = resolve(encoders)
  encoding = pipelines.Encoding.of(steps, options_of)
  measured = tuple(
    step for step in steps.values() if not isinstance(step, (Channels, Bits))
  )
  folder = os.path.abspath(directory or _beside(source))
  if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
    raise WrongArgument(
      "directory",
      folder,
      "must be a folder that can be written, on the disk where the dataset will lie",
    )
  threads = threads or len(os.sched_getaffinity(0))
  with _listed(source, folder, say) as samples:
    if rows is not None:
      say("timing the training's step")
      step = training.step_ms(*step) * batch_size / rows
    if formats is None:
      lossy = sample.is_jpeg(samples, sample.draw(samples, seed), threads)
      formats = _LOSSY if lossy else LOSSLESS
      if decode == "gpu":
        formats = [name for name in formats if name in gpu.FORMATS]
    chosen = arguments.formats_of(formats)
    if decode == "gpu":
      gpu.check_steps(Recipe.parse(measured), chosen)
    if least_mssim is not None:
      arguments.check_mssim(least_mssim, chosen)
    options = arguments.Options(
      formats=chosen,
      strategy=strategy,
      trials=trials,
      seconds=seconds,
      batch_size=batch_size,
      threads=threads,
      cache=cache,
      reserve=reserve,
      space=space,
      step_ms=step,
      transforms=measured,
      decode=decode,
      resources=arguments.resources_of(resources, chosen, decode, step, batch_size),
      encoding=encoding,
      seed=seed,
      pcr=options_of[names.PCR] if names.PCR in chosen else None,
      least_mssim=least_mssim,
    )
    return Profile(
      evidence.with_evidence(folder, lambda: run.run(samples, folder, options, say))
    )


@contextlib.contextmanager
def _listed(
  source: Source, folder: str, say: Callable[[str], None]
) -> Iterator[SampleSource]:
  """The samples of a source; what is kept of items is gone afterwards.

  Args:
    source: the images.
    folder: where that is kept.
    say: receives a line of progress.
  """
  found = open_source(source, os.path.join(folder, ".liquid_profile"))
  if not isinstance(found, Unlisted):
    yield found
    return
  with scratch.folder(folder) as place:
    say(f"listing {found.origin.named}; images that come once are kept below {place}")
    yield found.list(place, HIDDEN)


def _check_measured(transforms: Sequence[Step]) -> None:
  """Raises ValueError where there are steps that are not measured, or views."""
  if isinstance(transforms, Views):
    raise WrongArgument(
      "transforms", Shown("Views"), "must be the steps of one view: give the costliest"
    )
  for step in transforms if isinstance(transforms, Sequence) else ():
    if type(step) in _ELSE:
      raise ValueError(f"transforms: {step} is not measured: {_ELSE[type(step)]}")


def _beside(given: Source) -> str:
  """The folder that holds a source, or the first file of a pattern."""
  source = given.path
  is_named = source.startswith((tfds.PREFIX, hugging_face.PREFIX))
  if given.items is not None or is_named or storage.is_remote(source):
    raise WrongArgument(
      "directory",
      None,
      f'must be given for "{source}": a folder on the disk where the dataset will lie',
    )
  path = os.path.abspath(source)
  return os.path.dirname(path if os.path.exists(path) else find_files(source)[0])
