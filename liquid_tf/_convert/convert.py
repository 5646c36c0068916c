"""Conversion of images, wherever they are, into a dataset directory."""

import contextlib
import dataclasses
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._convert import finish, labels, pipelines
from liquid_tf._convert import output as outputs
from liquid_tf._convert import run as runs
from liquid_tf._convert import workers as _workers
from liquid_tf._convert.arguments import (
  check_check,
  in_range,
  most_skipped,
  path_of,
  resumes_replaces,
)
from liquid_tf._convert.dry_run import DryRun, look
from liquid_tf._convert.geometry import Geometry
from liquid_tf._convert.outlet import Destination
from liquid_tf._convert.source import Source, source_of
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._convert.stores import publish
from liquid_tf._convert.stores.open import open_store, staging_folder
from liquid_tf._convert.stores.sender import Sender
from liquid_tf._convert.stores.store import Store
from liquid_tf._native import limits as _limits
from liquid_tf._native import ops
from liquid_tf._native.encoders import Encoders, resolve
from liquid_tf._native.limits import Limits
from liquid_tf._store import contents, manifest, schemes, storage, versions
from liquid_tf._store import mix as mixes
from liquid_tf._store.progress import Progress
from liquid_tf._view.view import View
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError, WrongArgument
from liquid_tf.transforms import Bits, Channels, Orient, Resize, Step, by_slot

__all__ = ["ConvertReport", "convert"]

MIN_SHARD = 4096

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ConvertReport:
  """Result of a conversion: the dataset's counts, and what was left out.

  Attributes:
    output: the dataset directory.
    samples: number of samples.
    splits: samples by split.
    classes: samples by class, in the order of the labels; empty where no class has a
      name.
    formats: per format, `samples`, `bytes` on disk and `pixel_bytes` decoded.
    jpeg_index: of the entry points of JPEG files, `records` that have them, `bytes`
      that they take, and `without`, records of jpeg that have none: libjpeg-turbo
      decodes these, if others have some. None without the format jpeg.
    seconds: time that this run took.
    skipped: `path` and `reason` of every source file that is in no sample.
    by_pillow: samples whose images the codecs do not decode, such as CMYK JPEG, GIF and
      TIFF, and which were read by Pillow.
    notes: sentences on what annotations have that the dataset has not, on images
      that they say nothing of, and on the bytes that items of Python took meanwhile;
      of a run that read the source.
  """

  output: str
  samples: int
  splits: dict[str, int]
  classes: dict[str, int]
  formats: dict[str, dict[str, int]]
  jpeg_index: dict[str, int] | None
  seconds: float
  skipped: list[dict[str, str]]
  by_pillow: int
  notes: list[str] = dataclasses.field(default_factory=list)

  def to_dict(self) -> dict[str, Any]:
    """The report as plain values, for JSON."""
    return dataclasses.asdict(self)


@contextlib.contextmanager
def _clear_errors(output: str) -> Iterator[None]:
  """Turns what the machine says into one sentence."""
  try:
    yield
  except OSError as error:
    what = f"cannot write {error.filename or output}: {error.strerror}"
    raise ConvertError(
      f"{what if error.strerror else error}; what is done so far is kept: mend it "
      f"and {setting('existing', 'resume')}"
    ) from error
  except sqlite3.Error as error:
    raise ConvertError(
      f"cannot use {os.path.join(output, manifest.JOURNAL)}: {error}; mend it and "
      f"{setting('existing', 'resume')}, or start over with "
      f"{setting('existing', 'replace')}"
    ) from error
  except tf.errors.OpError as error:
    raise ConvertError(f"cannot convert: {ops.reason(error)}") from error


def _report(
  data: Mapping[str, Any], output: str, begin: float, notes: Sequence[str] = ()
) -> ConvertReport:
  """Makes the report from a manifest, the run's beginning and the source's notes."""
  label = data["features"].get("label", {})
  return ConvertReport(
    output=output,
    samples=data["samples"],
    splits={name: entry["samples"] for name, entry in data["splits"].items()},
    classes=dict(zip(label.get("classes", ()), label.get("class_counts", ()))),
    formats={
      name: {key: entry[key] for key in ("samples", "bytes", "pixel_bytes")}
      for name, entry in data["formats"].items()
    },
    jpeg_index=contents.jpeg_index(data),
    seconds=round(time.monotonic() - begin, 3),
    skipped=data["skipped"],
    by_pillow=data["source"]["by_pillow"],
    notes=list(notes),
  )


def _local_output(output: str, staging: str | os.PathLike | None) -> str:
  """Where the dataset is made.

  Raises:
    ImportError: nothing that is installed has the output's file system.
    ValueError: the output cannot be written, or `staging` is of no use.
  """
  schemes.require_writable(output)
  if storage.is_remote(output):
    return os.path.abspath(staging_folder(output, staging))
  if staging is not None:
    raise WrongArgument(
      "staging", staging, f"must be None where {argument('output', output)} is local"
    )
  return os.path.abspath(output)


def _send_beside(
  folder: str, store: Store, data: Mapping[str, Any], progress: Progress
) -> None:
  """Sends the files beside the shards, and at last the manifest.

  Raises:
    ConvertError: the store holds another dataset.
    OSError: a file cannot be sent.
  """
  text = finish.encode_manifest(data)
  every = [*contents.shards(data), *contents.beside(data)]
  if publish.is_finished(store):
    # A run that was killed when all was done.
    there = storage.join(store.url, manifest.MANIFEST)
    if storage.read_right(there, storage.is_json) != text:
      raise publish.holds_another(store.url)
  beside = {file.name for file in every} - {shard["path"] for shard in data["shards"]}
  progress.start("send", len(beside), unit="file")
  with Sender(store, lambda *sent: progress.step()) as sender:
    for name in sorted(beside):
      path = os.path.join(folder, name)
      sender.add(path, name, storage.checksum(path))
    sender.finish()
  progress.close()
  publish.end(store, (file.name for file in every), manifest.MANIFEST, text)


def _dry_run(
  source: Source,
  output: str,
  target: str,
  arguments: Mapping[str, Any],
  encoding: pipelines.Encoding,
  workers: _workers.Workers,
  progress: bool,
) -> DryRun:
  """Lists a source and looks at it, and at nothing else.

  Raises:
    ConvertError: it cannot be read.
    ValueError: it is known only when it is read as a whole.
  """
  samples = open_source(source, output, target, progress=Progress(progress))
  if isinstance(samples, Unlisted):
    raise WrongArgument(
      "dry_run", True, f"must be False: {source.path} is listed where it is stored"
    )
  samples.check_splits(arguments["splits"], source.path)
  samples.limits = Limits(**arguments["limits"])
  at_once = workers if isinstance(workers, int) else os.cpu_count() or 1
  with _clear_errors(target):
    return look(samples, arguments, encoding, at_once)


def _in_order(transforms: Any) -> Any:
  """A list of steps with `Channels` and `Bits`, which may stand anywhere, in front."""
  if not isinstance(transforms, Iterable):
    return transforms
  return sorted(transforms, key=lambda step: not isinstance(step, Channels | Bits))


def convert(
  source: str | os.PathLike | View | Source,
  output: str | os.PathLike,
  mix: str | Mapping[str, float],
  *,
  seed: int = 0,
  splits: str | Mapping[str, float] | None = None,
  transforms: Sequence[Step] = (),
  encoders: Encoders | None = None,
  replicate: bool = False,
  existing: str = "refuse",
  on_error: str = "raise",
  check: str = "pixels",
  workers: _workers.Workers = None,
  staging: str | os.PathLike | None = None,
  shard_size: int = 64 << 20,
  limits: Limits = Limits(),
  progress: bool = True,
  dry_run: bool = False,
) -> ConvertReport | DryRun:
  """Converts images into a dataset that keeps several formats.

  The seed decides which samples go to which format, stratified by class and size
  (Liquid, APSys '23, section 4.1). docs/formats/liquid.md describes the result, and
  docs/convert.md each kind of source. Every sample of a lossless format is decoded
  again and compared with its source. A file that is in its format already, and of which
  nothing changes, is stored byte for byte. The bytes written depend on source and
  arguments, not on `workers` or on interruptions: a conversion killed at any point goes
  on with `existing="resume"`.

  Args:
    source: the images: a path, a view, or a `Source`, which lists what a path may be.
    output: the dataset directory; made if it does not exist. One in a store, as
      "s3://bucket/photos.liquid", gets each shard as soon as it is made, and the
      manifest last.
    mix: weights of formats by name, as "png:6,raw:4" or a mapping. A lossy format is
      used only if it is named here. A pcr of JPEG files keeps their pixels. From a
      dataset directory, samples that are in a format of the mix already are copied, not
      decoded.
    seed: of formats, splits and order, in [0, 2^63).
    splits: weights of splits to draw, as "train:.9,val:.1" or a mapping.
    transforms: steps of `liquid_tf.transforms` that happen once, before images are
      stored. `Orient` turns them as their EXIF says, `Resize` resizes them; masks
      follow. `Channels` and `Bits`, anywhere in the list, are applied last: all samples
      of a dataset have the same.
    encoders: options by format: {"jpeg": {"quality": 95}} from 1 to 100, of images that
      are no JPEG files; {"jpeg": {"index": 16}}, entry points beside each JPEG file,
      with which it decodes faster, every 16 or 8 MCUs, in each "row" of them, or
      "none", as with check="headers"; {"jpeg": {"progressive": "keep"}}, or "baseline",
      which stores the coefficients of progressive files anew, since they decode faster
      so; {"png": {"level": 6}}, zlib's, from 0 to 9; {"webp-lossy": {"quality": 90}}
      from 0 to 100; {"l3-compact": {"effort": "default"}}, "fast" or "best";
      {"pcr": {"images": 64, "groups": None}}, the images of a record, and the last scan
      of each scan group, as (1, 2, 5, 10); None: every scan is a group.
    replicate: stores every sample in every format of the mix.
    existing: what happens to an `output` that is there: "refuse" it; "resume" the
      interrupted conversion, or start one; or "replace" the dataset, once the new one
      is whole; or in a store, when its first shard is ready.
    on_error: what happens if a sample cannot be read, lacks a label that others have,
      is too large for a format of the mix, or is lost, as an image beside class folders
      or without a mask. "raise" ends the conversion before anything is written, with a
      list of all such samples; "skip" leaves them out and reports them, if they are at
      most 1 % of all; "skip:10%" sets that share.
    check: what is checked of every image: "pixels", which decodes it; or "headers", for
      files that are only copied, each in its own format, whatever the weights of the
      mix. Then nothing of pixels is known: damage shows when an image is decoded, in
      training, where `on_error` of `dataset` meets it, or in `verify`. A file of a
      format that is not in the mix cannot be stored. Not with `replicate`,
      `transforms`, "webp", "webp-lossy" and "pcr".
    workers: images at a time; None for one a processor. Or the options of an Apache
      Beam pipeline, as ["--runner=FlinkRunner", "--parallelism=8"], which converts on a
      cluster, to the same bytes: Beam's documentation lists them, and docs/scaling.md
      says what a cluster must share.
    staging: of an output in a store, the local folder of the journal and of the few
      shards that are not yet sent; removed at the end. None: one below XDG_CACHE_HOME
      or ~/.cache.
    shard_size: bytes of a shard, at most roughly.
    limits: the largest image, and most scans of a JPEG, that are decoded; others cannot
      be read. `dataset` has limits of its own.
    progress: whether a progress bar with rate and time left appears on stderr.
    dry_run: lists the source and encodes at most 400 of its images, and writes nothing,
      whatever is at `output`. Bytes of copies are exact: their sizes are known. Others
      are estimates, with the interval that holds 95 % of the time.

  Returns:
    What was made, and what was skipped: a `ConvertReport`. With `dry_run`, what would
    be: a `DryRun`, with the counts of `samples`, `splits` and `classes`, the `bad` ones
    among the `checked`, `formats` and `total` with their `bytes`, `low` and `high`, and
    the `seconds` that it takes.

  Raises:
    ConvertError: the conversion cannot go on; the message says what, where and what to
      do. What is done so far is kept for `existing="resume"`.
    ValueError: an argument is wrong.
  """
  begin = time.monotonic()
  source, target = source_of(source), path_of("output", output)
  output = _local_output(target, staging)
  in_range("seed", seed, 0, 2**63 - 1)
  in_range("shard_size", shard_size, MIN_SHARD, 2**62)
  resume, overwrite = resumes_replaces(existing)
  most = most_skipped(on_error)
  _limits.check(limits)
  _workers.check(workers)
  steps = by_slot(_in_order(transforms), (Orient, Resize, Channels, Bits), "convert")
  options = resolve(encoders)
  shares = mixes.parse_mix(mix)
  check_check(check, shares, replicate=replicate, transforms=steps, encoders=encoders)
  if check == "headers":
    # An index takes nearly as long as decoding.
    options["jpeg"]["index"] = "none"
  encoding = pipelines.Encoding.of(steps, options, Geometry.of(steps), check)
  arguments = runs.arguments_of(
    source.record,
    encoding,
    limits,
    mix=shares,
    seed=seed,
    splits=mixes.parse_splits(splits) if splits else None,
    shard_size=shard_size,
    replicate=replicate,
    pcr=options["pcr"] if "pcr" in shares else None,
    skip_bits=steps.get("bits") == Bits("skip"),
  )
  if dry_run:
    return _dry_run(source, output, target, arguments, encoding, workers, progress)
  store = None
  if storage.is_remote(target):
    with _clear_errors(target):
      store = open_store(target)
    if publish.check(store, resume, overwrite) and not outputs.is_begun(output):
      runs.check_same(target, arguments)
      return _report(manifest.load(target).data, target, begin)
  samples = open_source(
    source, output, target, skips=most is not None, progress=Progress(progress)
  )
  unlisted = isinstance(samples, Unlisted)
  if unlisted:
    samples.check_workers(workers)
  else:
    samples.check_splits(splits, source.path)
  remote = store is not None
  if remote and versions.in_directory(output):
    raise ConvertError(
      f"{argument('staging', output)} holds a dataset: choose another folder"
    )
  with (
    _clear_errors(output),
    outputs.opened(output, resume, overwrite, apart=remote) as place,
  ):
    if place.is_finished:
      runs.check_same(output, arguments)
      notes = () if unlisted else samples.notes
      return _report(manifest.load(output).data, target, begin, notes)
    if unlisted:
      outputs.mark(place.folder)
      samples = samples.list(place.folder, Progress(progress))
      samples.check_splits(splits, source.path)
    samples.limits = limits
    made = runs.run(
      samples,
      place.folder,
      arguments,
      encoding,
      _workers.engine(workers, place.folder),
      most,
      Progress(progress),
      destination=Destination(store, place.replaces) if remote else None,
    )
    if remote:
      data = finish.write_beside(place.folder, target, made, arguments)
      _send_beside(place.folder, store, data, Progress(progress))
      place.discard()
    else:
      data = finish.finish(place.folder, made, arguments)
      place.publish()
    warning = labels.unequal(made.samples, made.label)
    if warning is not None:
      _logger.warning("%s: %s", target, warning)
    return _report(data, target, begin, samples.notes)
