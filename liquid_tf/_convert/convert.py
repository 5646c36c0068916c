"""Conversion of images, wherever they are, into a dataset directory."""

import contextlib
import dataclasses
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._convert import output as outputs
from liquid_tf._convert import pipelines
from liquid_tf._convert import run as runs
from liquid_tf._convert.arguments import check_on_error, in_range, path_of, scan_groups
from liquid_tf._convert.beam import BeamEngine, require_beam
from liquid_tf._convert.copy import check_destination as _is_finished
from liquid_tf._convert.copy import publish as _publish_remotely
from liquid_tf._convert.local import LocalEngine
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.mask_names import SAME_NAMES, MaskNames
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._native import limits as _limits
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import inspection, manifest, schemes
from liquid_tf._store import mix as mixes
from liquid_tf._store.progress import Progress
from liquid_tf._version import __version__
from liquid_tf.errors import ConvertError

__all__ = ["ConvertReport", "convert"]

_MIN_SHARD = 4096


@dataclasses.dataclass(frozen=True)
class ConvertReport:
  """What a conversion made.

  Attributes:
    output: the dataset directory.
    samples: number of samples.
    formats: per format, `samples`, `bytes` on disk and `pixel_bytes` decoded.
    seconds: time that this run took.
    skipped: `path` and `reason` of every source file that is in no sample.
    by_pillow: samples whose images the codecs do not decode, such as CMYK JPEG, GIF and
      TIFF, and which were read by Pillow.
  """

  output: str
  samples: int
  formats: dict[str, dict[str, int]]
  seconds: float
  skipped: list[dict[str, str]]
  by_pillow: int

  def to_dict(self) -> dict[str, Any]:
    """The report as plain values, for JSON."""
    return dataclasses.asdict(self)


@contextlib.contextmanager
def _clear_errors(output: str) -> Iterator[None]:
  """Turns what the machine says into one sentence."""
  try:
    yield
  except OSError as error:
    raise ConvertError(
      f"cannot write {error.filename or output}: {error.strerror or error}; what is "
      "done so far is kept: mend it and resume=True (--resume)"
    ) from error
  except sqlite3.Error as error:
    raise ConvertError(
      f"cannot use {os.path.join(output, manifest.JOURNAL)}: {error}; mend it and "
      "resume=True (--resume), or start over with overwrite=True (--overwrite)"
    ) from error
  except tf.errors.OpError as error:
    raise ConvertError(f"cannot convert: {ops.reason(error)}") from error


def _verify(folder: str, limits: Limits, progress: bool) -> None:
  found = inspection.verify(folder, limits=limits, progress=progress)
  problems = found["problems"]
  if problems:
    raise ConvertError(
      f"{folder} is damaged ({len(problems)} problems): {problems[0]}; convert again "
      "with overwrite=True (--overwrite)"
    )


def _report(folder: str, output: str, seconds: float) -> ConvertReport:
  data = manifest.load(folder)
  return ConvertReport(
    output=output,
    samples=data["samples"],
    formats={
      name: {key: entry[key] for key in ("samples", "bytes", "pixel_bytes")}
      for name, entry in data["formats"].items()
    },
    seconds=round(seconds, 3),
    skipped=data["skipped"],
    by_pillow=data["source"]["by_pillow"],
  )


def _local_output(output: str, staging: str | os.PathLike | None) -> str:
  """Where the dataset is made.

  Raises:
    ImportError: TensorFlow lacks the output's file system.
    ValueError: `staging` is missing, or of no use.
  """
  remote = bool(schemes.scheme_of(output))
  if remote != (staging is not None):
    raise ValueError(
      f'staging ({staging!r}) must be a local folder where output ("{output}") is of '
      "another file system, and None where it is local"
    )
  schemes.require(output)
  return os.path.abspath(path_of("staging", staging) if remote else output)


def convert(
  source: str | os.PathLike,
  output: str | os.PathLike,
  mix: str | Mapping[str, float],
  *,
  seed: int = 0,
  masks: str | os.PathLike | None = None,
  mask_suffix: str | None = None,
  splits: str | Mapping[str, float] | None = None,
  image_feature: str | None = None,
  label_feature: str | None = None,
  features: Sequence[str] = (),
  tfds_dir: str | os.PathLike | None = None,
  channels: int | None = None,
  bits: int | str | None = None,
  workers: int | None = None,
  beam: Sequence[str] | None = None,
  staging: str | os.PathLike | None = None,
  shard_size: int = 64 << 20,
  resume: bool = False,
  overwrite: bool = False,
  verify: bool = False,
  replicate: bool = False,
  jpeg_quality: int = 95,
  png_level: int = 6,
  webp_quality: int = 90,
  pcr_images: int = 64,
  pcr_groups: Sequence[int] | None = None,
  on_error: str = "raise",
  limits: Limits = Limits(),
  progress: bool = True,
) -> ConvertReport:
  """Converts images into a dataset that keeps several formats.

  Which samples go to which format is drawn from the seed, stratified by class and size
  (Liquid, APSys '23, section 4.1); docs/formats/liquid.md describes the result, and
  docs/convert.md each kind of source. Every sample of a lossless format is decoded
  again and compared with its source; a file that is in its format already is stored
  byte for byte. The bytes written depend on source and arguments, not on `workers` or
  on interruptions: a conversion killed at any point goes on with `resume`.

  Args:
    source: one of

      - a folder of class folders; or of images without labels; or with `masks`, of
        images with masks. If it holds nothing but folders named train, val, valid,
        validation or test, these are its splits.
      - files of RecordIO, as "train.rec" or "data/*.rec", with their labels; class
        names come from a .lst beside. Where every name begins with that of a split,
        these are its splits.
      - files of TFRecords of tf.train.Examples, as "data/train-*"; splits likewise.
      - "tfds:NAME", "tfds:NAME/CONFIG" or either with ":VERSION": a dataset that TFDS
        prepared, with its splits and class names; or the path of its folder.
      - a dataset directory. Labels, splits, features and sample numbers stay; what is
        in a format of the new mix is copied, not decoded.
    output: the dataset directory; made if it does not exist. One of another file
      system, as "s3://bucket/photos.liquid", needs `staging`.
    mix: weights of png, jpeg, webp, webp-lossy, raw, bmp, l3, pcr, as "png:6,raw:4" or
      a mapping. A lossy format is used because it is named here; a file that already
      is in it is copied. A pcr of JPEG files keeps their pixels.
    seed: of formats, splits and order, in [0, 2^63).
    masks: a folder with a mask for each image at the same path, any extension: gray, or
      with a palette, whose indices are kept.
    mask_suffix: what the mask's name has behind the image's, as "_mask"; or both ends,
      as "_leftImg8bit:_gtFine_labelIds". Other files among the masks are left alone.
    splits: weights of splits to draw, as "train:.9,val:.1" or a mapping.
    image_feature: the feature of an Example that holds an encoded image; by default
      "image/encoded", of TFDS the one that it names.
    label_feature: the one that holds a class number, or numbers; "" for none. By
      default "image/class/label", of TFDS the one that it names.
    features: others that are kept: `dataset(features=[…])` gives them out.
    tfds_dir: where TFDS keeps its datasets; by default TFDS_DATA_DIR or
      ~/tensorflow_datasets.
    channels: 1 to 4, of every stored image, where the source's differ; None keeps them.
      Only changes without loss are made.
    bits: 8 or 16, of every stored image, where the source's differ: 8 keeps the upper 8
      of 16 bits, and 16 multiplies 8 bits by 257. "skip" leaves out and reports the
      images whose depth, or whose mask's, is not the commonest one. None keeps them.
    workers: images at a time; None for one a processor.
    beam: options of an Apache Beam pipeline that does the work, as
      ["--runner=FlinkRunner", …], in place of this process; see docs/scaling.md. The
      bytes are the same.
    staging: a local folder where a dataset is made whose output is not local; then it
      is copied, checked, and removed here.
    shard_size: bytes that a shard should have, at most roughly.
    resume: goes on with an interrupted conversion, with `overwrite` or without, or
      starts one.
    overwrite: replaces a dataset that is there, once the new one is whole.
    verify: reads and checks everything again, before it is published.
    replicate: stores every sample in every format of the mix.
    jpeg_quality: 1 to 100.
    png_level: zlib's level, 0 to 9.
    webp_quality: 0 to 100, for webp-lossy.
    pcr_images: images of a progressive compressed record.
    pcr_groups: the last scan of each of its scan groups, as (1, 2, 5, 10); None for a
      group for each scan.
    on_error: what a sample does that cannot be read, has no label where others have
      one, or is too large for a format of the mix: "raise" ends the conversion before
      anything is written, with a list of all such samples; "skip" leaves them out,
      reports and counts them.
    limits: the largest image, and most scans of a JPEG, that are decoded; others cannot
      be read. `dataset` has limits of its own.
    progress: whether a progress bar with rate and time left appears on stderr.

  Returns:
    What was made, and what was skipped.

  Raises:
    ConvertError: the conversion cannot go on; the message says what, where and what to
      do. What is done so far is kept for `resume`.
    ValueError: an argument is wrong.
  """
  begin = time.monotonic()
  source, target = path_of("source", source), path_of("output", output)
  masks = None if masks is None else path_of("masks", masks)
  if mask_suffix is not None and masks is None:
    raise ValueError(f'mask_suffix ("{mask_suffix}") needs masks')
  mask_names = SAME_NAMES if mask_suffix is None else MaskNames.parse(mask_suffix)
  output = _local_output(target, staging)
  in_range("seed", seed, 0, 2**63 - 1)
  in_range("shard_size", shard_size, _MIN_SHARD, 2**62)
  if workers is not None:
    in_range("workers", workers, 1, 1024)
  check_on_error(on_error)
  _limits.check(limits)
  if resume and overwrite:
    raise ValueError("resume and overwrite must not both be True")
  in_range("pcr_images", pcr_images, 1, 1 << 16)
  groups = None if pcr_groups is None else scan_groups(pcr_groups)
  names = ExampleNames(image_feature, label_feature, tuple(features))
  if bits not in (None, 8, 16, "skip"):
    raise ValueError(f'bits ({bits!r}) must be 8, 16 or "skip"')
  encoding = pipelines.Encoding(
    channels,
    None if bits == "skip" else bits,
    jpeg_quality,
    png_level,
    webp_quality,
  )
  encoding.check()
  shares = mixes.parse_mix(mix)
  arguments = {
    "created_by": f"liquid_tf {__version__}",
    "mix": shares,
    "seed": seed,
    "masks": masks is not None,
    "mask_suffix": mask_suffix,
    "splits": mixes.parse_splits(splits) if splits else None,
    "shard_size": shard_size,
    "replicate": replicate,
    "encoding": dataclasses.asdict(encoding),
    "skip_bits": bits == "skip",
    "examples": dataclasses.asdict(names),
    "pcr": {"images": pcr_images, "groups": groups} if "pcr" in shares else None,
    "limits": dataclasses.asdict(limits),
  }
  if staging is not None and _is_finished(target, resume, overwrite):
    if not outputs.is_begun(output):
      runs.check_same(target, arguments)
      return _report(target, target, time.monotonic() - begin)
  if beam is not None:
    if workers is not None:
      raise ValueError("workers must be None with beam: its options say how many")
    require_beam()
  elif workers is None:
    workers = os.cpu_count()
  samples = open_source(
    source,
    output,
    names=names,
    masks=masks,
    mask_names=mask_names,
    tfds_dir=None if tfds_dir is None else path_of("tfds_dir", tfds_dir),
    on_error=on_error,
    progress=Progress(progress),
  )
  samples.limits = limits
  if splits and len(samples.splits) > 1:
    raise ConvertError(
      f'splits ("{splits}") must not be given: source ("{source}") has splits of its '
      f"own, {', '.join(samples.splits)}"
    )
  staged = staging is not None
  with (
    _clear_errors(output),
    outputs.opened(output, resume, overwrite, apart=staged) as place,
  ):
    if place.is_finished:
      runs.check_same(output, arguments)
    else:
      runs.run(
        samples,
        place.folder,
        arguments,
        encoding,
        LocalEngine(workers) if beam is None else BeamEngine(place.folder, beam),
        on_error,
        Progress(progress),
      )
    if verify:
      _verify(place.folder, limits, progress)
    report = _report(place.folder, output, time.monotonic() - begin)
    if not staged:
      if not place.is_finished:
        place.publish()
      return report
    _publish_remotely(place.folder, target, place.replaces, progress)
    place.discard()
  seconds = round(time.monotonic() - begin, 3)
  return dataclasses.replace(report, output=target, seconds=seconds)
