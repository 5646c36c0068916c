"""Ways out of a dataset directory: files that other programs read."""

import dataclasses
import functools
import importlib
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf import _extras
from liquid_tf._convert import pipelines, plan
from liquid_tf._convert.arguments import (
  in_range,
  local_path_of,
  most_skipped,
  path_of,
  resumes_replaces,
)
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.datasets import DatasetSource
from liquid_tf._convert.sources.examples import DEFAULT_NAMES, ExampleNames
from liquid_tf._convert.sources.folders import check_places
from liquid_tf._export import writers
from liquid_tf._export.columns import Columns
from liquid_tf._export.folder import FolderWriter
from liquid_tf._export.output import new_folder
from liquid_tf._export.parquet import ParquetWriter
from liquid_tf._export.rec import RecWriter
from liquid_tf._export.tfrecord import TFRecordWriter
from liquid_tf._export.webdataset import WebdatasetWriter
from liquid_tf._native import limits as _limits
from liquid_tf._native import ops
from liquid_tf._native.encoders import Encoders, resolve
from liquid_tf._native.limits import Limits
from liquid_tf._store import labels
from liquid_tf._store.progress import Progress
from liquid_tf._version import __version__
from liquid_tf._view.mixture import refuse_mixture
from liquid_tf._view.view import View
from liquid_tf._view.view import open as open_view
from liquid_tf._words import Shown, setting
from liquid_tf.errors import ConvertError, WrongArgument

__all__ = ["ExportReport", "export"]

KINDS: dict[str, type[writers.Writer]] = {
  "rec": RecWriter,
  "folder": FolderWriter,
  "tfrecord": TFRecordWriter,
  "webdataset": WebdatasetWriter,
  "parquet": ParquetWriter,
}


@dataclasses.dataclass(frozen=True)
class ExportReport:
  """Result of an export.

  Attributes:
    output: the folder.
    samples: number of samples, by split.
    formats: number of images in each format.
    bytes: of the encoded images.
    seconds: time that it took.
    skipped: `path` and `reason` of every sample that could not be read.
    orientations_lost: images whose format has no room for their EXIF orientation,
      where no record has it either.
    notes: sentences on what was not written, or not as it is.
  """

  output: str
  samples: dict[str, int]
  formats: dict[str, int]
  bytes: int
  seconds: float
  skipped: list[dict[str, str]]
  orientations_lost: int = 0
  notes: list[str] = dataclasses.field(default_factory=list)

  def to_dict(self) -> dict[str, Any]:
    """The report as plain values, for JSON."""
    return dataclasses.asdict(self)


def _positions(source: DatasetSource, seed: int, bound: int) -> np.ndarray:
  """The samples, one split after another, in the random order that `convert` gives."""
  words = plan.words(seed, plan.Purpose.ORDER, bound)
  order = words[source.numbers.astype(np.int64)].argsort(kind="stable")
  return order[source.split_of[order].argsort(kind="stable")]


def _read(
  source: DatasetSource,
  positions: np.ndarray,
  image_format: str | None,
  encoding: Encoding,
  workers: int,
  columns: Columns,
  mask: str | None,
) -> Iterator[tuple[writers.Item, str, str]]:
  """Yields each sample, where it is, and why it cannot be read ("" if it can).

  Args:
    source: the dataset.
    positions: of the samples.
    image_format: of the images; None keeps each one's.
    encoding: what encoders are given.
    workers: images at a time.
    columns: of the samples.
    mask: name of the feature that is one, or None.
  """
  data = pipelines.export(source, positions, image_format, encoding, workers)
  numbers = source.numbers[positions].tolist()
  for place, number, element in zip(
    positions.tolist(), numbers, data.as_numpy_iterator()
  ):
    example, error = element["example"], element["error"].decode(errors="replace")
    png, values = None, {}
    if not error:
      example, png, values, error = _opened(
        number, element["labels"], example, columns, mask, source.limits
      )
    item = writers.Item(
      sample=number,
      name=source.name(place),
      split=source.splits[source.split_of[place]],
      format=element["format"].decode(),
      image=element["image"],
      height=int(element["shape"][0]),
      width=int(element["shape"][1]),
      labels=element["labels"],
      example=example + _stated(int(element["orientation"])),
      orientation=int(element["orientation"]),
      mask=png,
      values=values,
    )
    yield item, source.path(place), error


def _opened(
  number: int,
  labels: np.ndarray,
  example: bytes,
  columns: Columns,
  mask: str | None,
  limits: Limits,
) -> tuple[bytes, bytes | None, dict[str, Any], str]:
  """Opens the tf.train.Example of a sample.

  Returns:
    The Example, with its mask as PNG; that file, or None; values of the columns; and
    why it cannot be opened, or "".
  """
  png = None
  if mask is not None:
    example, error = masks.example_with_png(example, mask, limits)
    if error:
      return example, None, {}, error
    features = tf.train.Example.FromString(example).features.feature
    png = features[mask].bytes_list.value[0]
  try:
    return example, png, columns.of(number, labels, example), ""
  except ValueError as error:
    return example, png, {}, str(error)


def _listed(source: DatasetSource, view: View) -> Iterator[writers.Listed]:
  """Yields every sample, ascending by numbers."""
  classes = None
  if view.manifest["features"].get("label", {}).get("dtype") == "int64":
    classes = labels.load(view.manifest)
  for place, number in enumerate(source.numbers.tolist()):
    label = None if classes is None else int(classes[number])
    split = source.splits[source.split_of[place]]
    yield writers.Listed(source.name(place), split, label)


@functools.cache
def _stated(orientation: int) -> bytes:
  """A serialized tf.train.Example that states an orientation; empty for the usual one.

  Behind another one it is their union, so that also images whose format has no room for
  it have it in their records.
  """
  if orientation == 1:
    return b""
  value = tf.train.Feature(int64_list=tf.train.Int64List(value=[orientation]))
  features = tf.train.Features(feature={"orientation": value})
  return tf.train.Example(features=features).SerializeToString()


def _view_of(path: str | os.PathLike | View, split: str | None) -> View:
  """The samples to export."""
  refuse_mixture("path", path)
  if not isinstance(path, View):
    path = open_view(path_of("path", path))
  if "://" in path.path:
    raise WrongArgument(
      "path", Shown(path.path), "must be a local folder: copy it first"
    )
  return path if split is None else path.split(split)


def _check(to: str, image_format: str | None) -> None:
  if to not in KINDS:
    raise WrongArgument("to", to, f"must be one of {', '.join(KINDS)}")
  if to == "parquet":
    with _extras.explained():
      importlib.import_module("pyarrow.parquet")
  if image_format is not None and image_format not in writers.FORMATS:
    raise WrongArgument(
      "image_format",
      image_format,
      f"must be one of {', '.join(writers.FORMATS)}, or None",
    )


def export(
  path: str | os.PathLike | View,
  output: str | os.PathLike,
  to: str,
  *,
  split: str | None = None,
  image_format: str | None = None,
  image_feature: str = DEFAULT_NAMES[0],
  label_feature: str = DEFAULT_NAMES[1],
  shard_size: int = 64 << 20,
  encoders: Encoders | None = None,
  workers: int | None = None,
  existing: str = "refuse",
  on_error: str = "raise",
  limits: Limits = Limits(),
  progress: bool = True,
) -> ExportReport:
  """Writes a dataset as files of another kind; docs/convert.md describes each.

  Images that are PNG or JPEG are copied, those of the format pcr as the progressive
  JPEG files that they are; all others become PNG. So pixels stay as they are, unless
  `image_format` names a lossy one. The bytes written depend on dataset and arguments
  only. The output appears under its name when it is whole.

  Args:
    path: a local dataset directory, or a view of one without weights.
    output: a folder; made if it does not exist.
    to: "rec" for SPLIT.rec, .idx and .lst, which MXNet's ImageRecordIter and DALI's
      MXNet reader take; "folder" for class folders of files named as in the source, or
      folders `images` and `masks`, with a metadata.jsonl; "tfrecord" for files of
      tf.train.Examples; "webdataset" for tar files; "parquet" as Hugging Face reads it,
      with pyarrow.
    split: as `View.split` takes it; None for all.
    image_format: of every image: one that other programs read, such as png or jpeg;
      webp is written without loss. None as above.
    image_feature: the feature of an Example that holds the image.
    label_feature: the one that holds the label or labels; "" for none.
    shard_size: bytes that a file of tfrecord, webdataset or parquet should have,
      roughly.
    encoders: options of "jpeg" and "png", as `convert` takes them, for images that are
      not copied.
    workers: images at a time; None for one a processor.
    existing: "refuse" an export that is there, or "replace" it.
    on_error: what happens if a sample cannot be read: "raise" ends the export; "skip"
      leaves it out and reports it, if such samples are at most 1 % of all; "skip:10%"
      sets that share.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    progress: whether a progress bar appears on stderr.

  Returns:
    What was made.

  Raises:
    ManifestError: the directory is no sound dataset.
    ConvertError: a sample cannot be read, or there is no room for labels of its kind,
      or the output cannot be written.
    ValueError: an argument is wrong.
    ImportError: Parquet is wanted, and pyarrow is not installed.
  """
  begin = time.monotonic()
  output = os.path.abspath(local_path_of("output", output))
  _check(to, image_format)
  most = most_skipped(on_error)
  _, replaces = resumes_replaces(existing, can_resume=False)
  encoding = Encoding.of({}, resolve(encoders, are_records=False))
  names = ExampleNames(image_feature, label_feature)
  names.check()
  in_range("shard_size", shard_size, 1, 2**62)
  if workers is not None:
    in_range("workers", workers, 1, 1024)
  view = _view_of(path, split)
  manifest, path = view.manifest, view.path
  check_places(os.path.abspath(path), None, output)
  source = DatasetSource(view)
  source.limits = _limits.check(limits)
  positions = _positions(source, manifest["seed"], view.bound)
  kind = KINDS[to]
  taken = kind.taken
  if to == "tfrecord":
    taken |= {image_feature, label_feature}
  columns = Columns(manifest, taken, kind.takes_records)
  counts = {
    name: int((source.split_of == i).sum()) for i, name in enumerate(source.splits)
  }
  about = {
    "created_by": f"liquid_tf {__version__}",
    "to": to,
    "dataset": view.fingerprint,
  }
  report = ExportReport(output, dict.fromkeys(counts, 0), {}, 0, 0.0, [])
  bar = Progress(progress)
  size = lost = 0
  try:
    with new_folder(output, replaces, about) as folder:
      files = _file_counts(source, positions, counts, shard_size)
      target = writers.Target(
        folder,
        manifest,
        counts,
        files,
        shard_size,
        names,
        columns,
        _listed(source, view),
      )
      writer = kind(target)
      bar.start("export", len(positions))
      workers = workers or os.cpu_count()
      mask = manifest["features"].get("mask", {}).get("example")
      for item, place, error in _read(
        source, positions, image_format, encoding, workers, columns, mask
      ):
        if error:
          report.skipped.append({"path": place, "reason": error})
          if len(report.skipped) > (most or 0) * len(positions):
            raise _too_many(report, path, len(positions), most)
        else:
          writer.add(item)
          report.samples[item.split] += 1
          report.formats[item.format] = report.formats.get(item.format, 0) + 1
          size += len(item.image)
          # Records have it beside the image.
          lost += kind.takes_records and item.loses_orientation
        bar.step()
      writer.close()
  except OSError as error:
    raise ConvertError(
      f"cannot write {error.filename or output}: {error.strerror or error}"
    ) from error
  except tf.errors.OpError as error:
    raise ConvertError(f"cannot export {path}: {ops.reason(error)}") from error
  finally:
    bar.close()
  seconds = round(time.monotonic() - begin, 3)
  notes = [
    f'the column "{name}" is left out: {to} has that name for something else'
    for name in columns.left_out
  ]
  return dataclasses.replace(
    report,
    bytes=size,
    seconds=seconds,
    orientations_lost=lost,
    notes=notes + writer.notes,
  )


def _too_many(
  report: ExportReport, path: str, samples: int, most: Fraction | None
) -> ConvertError:
  """That more samples than may be are left out; names the last one."""
  last = report.skipped[-1]
  found = f"{os.path.join(path, last['path'])} cannot be exported: {last['reason']}"
  if most is None:
    advice = f"leave such samples out with {setting('on_error', 'skip')}"
  else:
    found += (
      f"; {len(report.skipped)} of {samples} samples were skipped before the rest was "
      f"read, and at most {float(100 * most):g} % may be"
    )
    advice = f"leave out more with {setting('on_error', 'skip:100%')}"
  return ConvertError(f"{found}: convert the dataset again, or {advice}")


def _file_counts(
  source: DatasetSource, positions: np.ndarray, counts: dict[str, int], size: int
) -> dict[str, int]:
  """Number of files of each split, by what its samples take in the dataset."""
  result = {}
  for name, count in counts.items():
    mine = positions[source.split_of[positions] == source.splits.index(name)]
    total = int(source.sizes[mine].sum())
    result[name] = min(max(-(-total // size), 1), max(count, 1))
  return result
