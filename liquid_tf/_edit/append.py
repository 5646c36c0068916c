"""Samples that a new version of a dataset has more."""

import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from liquid_tf._convert import choose
from liquid_tf._convert import run as runs
from liquid_tf._convert import workers as _workers
from liquid_tf._convert.arguments import in_range, most_skipped, resumes_replaces
from liquid_tf._convert.convert import MIN_SHARD
from liquid_tf._convert.geometry import Geometry
from liquid_tf._convert.journal import Journal
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.source import Source, source_of
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._edit.edit import (
  WORK,
  EditReport,
  begun_append,
  editing,
  remove_work,
  report,
)
from liquid_tf._edit.fit import CHOICES, Growing, with_classes, without_duplicates
from liquid_tf._edit.grown import grown
from liquid_tf._native import limits as _limits
from liquid_tf._native.limits import Limits
from liquid_tf._store import manifest as manifests
from liquid_tf._store import mix as mixes
from liquid_tf._store.files import sync_directory
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._store.progress import Progress
from liquid_tf._view.view import View
from liquid_tf._words import setting
from liquid_tf.errors import ConvertError, WrongArgument

__all__ = ["append"]


def append(
  path: str | os.PathLike,
  source: str | os.PathLike | View | Source,
  *,
  splits: str | Mapping[str, float] | None = None,
  duplicates: str = "refuse",
  existing: str = "resume",
  on_error: str = "raise",
  workers: _workers.Workers = None,
  shard_size: int = 64 << 20,
  limits: Limits = Limits(),
  progress: bool = True,
) -> EditReport:
  """Adds the images of a source to a dataset, in a new version with shards of its own.

  They are stored as the dataset was converted: in its mix, of which each split keeps
  its shares, with its seed, encoders, and transforms. Channels, bits and features must
  be the same; classes that the dataset does not have come after those that it has.
  Numbers of new samples go on from all that were ever given. A view that is open
  keeps the version that was opened.

  Args:
    path: a local dataset directory.
    source: the images, as `convert` takes them.
    splits: weights of splits to draw, as "train:.9,val:.1"; "val:1" puts all there. The
      shares are those of the new images, whatever the splits have already; many small
      appends have them together. None: the splits of the source, or "train".
    duplicates: what happens to images whose names samples of the dataset have, or had
      before they were removed. "refuse" ends the append with an error, "skip" leaves
      these images out, "add" adds them like others. A name is the path below the
      source; images of RecordIO, TFRecords and TFDS have none.
    existing: what happens to an unfinished append: "resume" it, if it is of the same
      source; "replace" it by this one; or "refuse" to append. One of another source
      that has written no shard is replaced by "resume" too. Items of
      `Source.from_iterable` are gone through again, from the first.
    on_error: as `convert` takes it.
    workers: images at a time, or options of Beam, as `convert` takes them.
    shard_size: bytes of a shard, at most roughly.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    progress: whether a progress bar with rate and time left appears on stderr.

  Returns:
    What the new version is, and what was skipped.

  Raises:
    ManifestError: the directory is no sound dataset.
    ConvertError: the images cannot be added, or another process writes the dataset.
      What is done so far is kept for the same call.
    ValueError: an argument is wrong.
  """
  given = source_of(source)
  resume, replace = resumes_replaces(existing)
  most = most_skipped(on_error)
  if duplicates not in CHOICES:
    known = ", ".join(f'"{choice}"' for choice in CHOICES)
    raise WrongArgument("duplicates", duplicates, f"must be one of {known}")
  in_range("shard_size", shard_size, MIN_SHARD, 2**62)
  _limits.check(limits)
  _workers.check(workers)
  shares = mixes.parse_splits(splits) if splits else None
  with editing(path) as edit:
    manifest = edit.manifest
    base = Growing.of(manifest, manifests.load_index(manifest))
    begun = begun_append(manifest)
    if begun is not None and not (resume or replace):
      raise ConvertError(
        f"{edit.path(WORK)} is an unfinished append: {setting('existing', 'resume')} "
        f"finishes it, {setting('existing', 'replace')} starts over"
      )
    if replace:
      remove_work(edit.directory)
      begun = None
    bar, work = Progress(progress), edit.path(WORK)
    found = open_source(given, edit.directory, skips=most is not None, progress=bar)
    if isinstance(found, Unlisted):
      found.check_workers(workers)
      os.makedirs(work, exist_ok=True)
      # Of one that has no shards yet, nothing else is lost.
      samples = found.list(work, bar, replaces=not (begun and _has_shards(work)))
    else:
      samples = found
    samples.limits = limits
    choose.check_lost(samples, most, None)
    given_samples = len(samples)
    samples = without_duplicates(samples, manifest, duplicates)
    left_out = given_samples - len(samples)
    if not len(samples):
      if not begun:
        remove_work(edit.directory)
      return report(manifest, 0, samples.reasons, left_out, samples.notes)
    base.check_source(samples)
    samples = with_classes(samples, manifest)
    samples.check_splits(splits, given.path)
    encoding = _encoding(manifest)
    arguments = runs.arguments_of(
      given.record,
      encoding,
      limits,
      mix=dict(zip(manifest["targets"], manifest["mix"].values())),
      seed=manifest["seed"],
      splits=shares,
      shard_size=shard_size,
      replicate=manifest["replicated"],
      pcr=_pcr(manifest),
    )
    arguments |= {"duplicates": duplicates, "next_sample": base.first}
    if begun and not _goes_on(work, arguments, samples):
      remove_work(edit.directory, but_items=isinstance(found, Unlisted))
      begun = None
    # As when it was begun, whatever was removed meanwhile.
    given_dealt = (begun or {}).get("dealt", base.dealt)
    dealt = {int(split): n for split, n in given_dealt.items()}
    base = dataclasses.replace(base, dealt=dealt)
    arguments["dealt"] = {str(split): counts for split, counts in dealt.items()}
    os.makedirs(work, exist_ok=True)
    sync_directory(edit.directory)
    engine = _workers.engine(workers, work)
    try:
      made = runs.run(samples, work, arguments, encoding, engine, most, bar, base)
    except sqlite3.Error as error:
      raise ConvertError(
        f"cannot use {os.path.join(work, JOURNAL)}: {error}; start over with "
        f"{setting('existing', 'replace')}"
      ) from error
    published = edit.publish("append", grown(edit, made, arguments))
    remove_work(edit.directory)
  return report(published, len(made.good), made.skipped, left_out, samples.notes)


def _has_shards(work: str) -> bool:
  with contextlib.closing(Journal(work)) as journal:
    try:
      return bool(journal.shards())
    except sqlite3.Error:
      return True  # Going on with it says so.


def _goes_on(work: str, arguments: dict[str, Any], samples: SampleSource) -> bool:
  """Whether an unfinished append holds back others.

  One that has only scanned images, perhaps as the dataset has no place for them, gives
  way to the append of another source.

  Args:
    work: its folder.
    arguments: of the append that is wanted.
    samples: likewise.
  """
  with contextlib.closing(Journal(work)) as journal:
    try:
      journal.resume(arguments, samples)
    except ConvertError:
      return bool(journal.shards())
    except sqlite3.Error:
      pass  # Going on with it says so.
    return True


def _encoding(manifest: manifests.Manifest) -> Encoding:
  """Arguments of a dataset's encoders."""
  geometry = Geometry.recorded(manifest["geometry"])
  [check] = (name for name, of in manifests.PIXELS.items() if of == manifest["pixels"])
  return Encoding(**manifest["encoding"], geometry=geometry, check=check)


def _pcr(manifest: manifests.Manifest) -> dict[str, Any] | None:
  if "pcr" not in manifest.data:
    return None
  return {key: manifest["pcr"][key] for key in ("images", "groups")}
