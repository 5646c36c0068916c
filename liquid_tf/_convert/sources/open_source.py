"""Finds the kind of source that a user named."""

import os
import re
from collections.abc import Sequence

from liquid_tf._convert.source import Source
from liquid_tf._convert.sources import (
  arrow,
  compressed,
  datasets,
  folders,
  hugging_face,
  listed,
  other_files,
  parquet,
  reading,
  records,
  s3_walk,
  stacks,
  tfds,
  tfrecords,
  webdataset,
  zips,
)
from liquid_tf._convert.sources.annotations import image_folder
from liquid_tf._convert.sources.annotations.annotated import annotate, join
from liquid_tf._convert.sources.annotations.tables import Named
from liquid_tf._convert.sources.compressed import Compressed
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.items import Origin
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.left_out import missing_parts
from liquid_tf._convert.sources.samples import SampleSource, name_files
from liquid_tf._recordio import uri
from liquid_tf._store import manifest, schemes, storage, versions
from liquid_tf._store.progress import HIDDEN, Progress
from liquid_tf._view import view as views
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError, ManifestError, WrongArgument

# As braces have it in a shell; and files that they may name.
_RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
_MOST_FILES = 1_000_000
_TFDS_DIR = os.path.join("~", "tensorflow_datasets")
_ARCHIVES = (other_files.TAR, other_files.ZIP)
# What may lie beside RecordIO files.
_BESIDE_RECORDS = (records.EXTENSION, ".idx", listed.EXTENSION, ".txt", ".md", ".json")

_RECORDS, _OTHERS = "RecordIO files", "files of TFRecords"
_PARQUET, _ARROW, _NUMPY = "files of Parquet", "files of Arrow", "files of NumPy"
_KINDS = {
  _RECORDS: (records.EXTENSION,),
  _PARQUET: parquet.EXTENSIONS,
  _ARROW: arrow.EXTENSIONS,
  _NUMPY: stacks.EXTENSIONS,
}


def _only_for_examples(source: str, names: ExampleNames) -> None:
  if names != ExampleNames():
    raise ConvertError(
      f"{argument('source', source)}: image_feature, label_feature and features are "
      "of sources of tf.train.Examples and of tables with images"
    )


def _check_has_masks(given: Source) -> None:
  """Raises WrongArgument where something is said of masks that are not given."""
  about = {"mask_suffix": given.mask_suffix, "lossy_masks": given.lossy_masks or None}
  for name, value in about.items():
    if value is not None and given.masks is None:
      raise WrongArgument(name, value, "needs masks, or archives of webdataset")


def _is_dataset(folder: str) -> bool:
  """Whether a folder is a dataset directory, finished or not."""
  if schemes.is_s3(folder):
    return s3_walk.is_dataset(folder)
  if storage.is_remote(folder):
    return bool(versions.in_directory(folder))
  begun = os.path.lexists(os.path.join(folder, manifest.JOURNAL))
  return begun or bool(versions.in_directory(folder))


def _open_folder(
  source: str,
  masks: str | None,
  given: Source,
  skips: bool,
  progress: Progress,
) -> SampleSource | Unlisted:
  names = given.names
  if masks is None and _is_dataset(source):
    _only_for_examples(source, names)
    try:
      return datasets.DatasetSource(given.view or views.open(source))
    except ManifestError as error:
      raise ConvertError(str(error)) from error
  if masks is None and tfds.is_folder(source):
    if storage.is_remote(source):
      raise ConvertError(
        f"{argument('source', source)} is a folder of TFDS, which must be on a local "
        "disk: copy it, or name its files of TFRecords, as "
        "s3://bucket/name-train.tfrecord*"
      )
    return tfds.list_tfds(source, names, skips)
  if masks is None and not given.annotations and not storage.is_remote(source):
    saved = hugging_face.find_in(source)
    if saved is not None:
      return hugging_face.list_hugging_face(saved, source, names)
  _only_for_examples(source, names)
  _refuse_records(source)
  lists = [path for path in given.annotations if _is_list(path)]
  others = [_whole(path) for path in given.annotations if path not in lists]
  if lists and masks is not None:
    raise ConvertError(
      f"{argument('masks', given.masks)} do not go with "
      f"{argument('annotations', lists[0])}, which give labels: give one of both"
    )
  if len(lists) > 1:
    raise ConvertError(
      f"annotations {lists[0]} and {lists[1]} both give labels: convert with one list, "
      "and append with the other"
    )
  beside, notes = [], []
  if masks is None and not given.annotations:
    beside = image_folder.find(source, folders.split_names(source))
  told = image_folder.read(source, beside, notes)
  progress.start("list", None, unit="file")
  try:
    if lists:
      folder = listed.list_listed(source, _whole(lists[0]), skips, progress.step)
    else:
      folder = folders.list_folder(
        source,
        masks,
        given.mask_names,
        given.lossy_masks,
        annotated=bool(others or told),
        skips=skips,
        step=progress.step,
      )
  finally:
    progress.close()
  if told:
    used = {one.path for one in beside}
    folder.skipped = [one for one in folder.skipped if one.path not in used]
    found = join(folder, told)
    found.notes += notes
    return found
  folder.notes += notes
  if not others:
    return folder
  return annotate(folder, others, skips, Named(given.name_column, given.label_column))


def _is_list(path: str) -> bool:
  return schemes.shown(path).lower().endswith(listed.EXTENSION)


def _kind_of(path: str) -> other_files.Kind | None:
  """The kind of a file that is none of records, by its first bytes or its name."""
  shown = schemes.shown(path)
  try:
    head = reading.read(path, 0, other_files.HEAD)
  except OSError:
    head = b""  # Who reads it on says why.
  if tfrecords.begins_so(head):
    return None
  if compressed.begins_so(head):
    return other_files.COMPRESSED
  kind = other_files.kind_of(shown, head)
  if kind is None and compressed.is_zlib(head):
    return other_files.COMPRESSED
  return kind


def _is_archive(source: str) -> bool:
  """Whether the last of some files is named like an archive of images."""
  return other_files.kind_of(schemes.shown(source), b"") in _ARCHIVES


def _open_archives(
  paths: list[str],
  kind: other_files.Kind,
  given: Source,
  skips: bool,
  progress: Progress,
) -> SampleSource:
  _only_for_examples(given.path, given.names)
  lists = [path for path in given.annotations if _is_list(path)]
  if lists:
    raise ConvertError(
      f"{argument('annotations', lists[0])} go with a folder, and "
      f"{argument('source', given.path)} is an archive: unpack it"
    )
  progress.start("list", None, unit="file")
  try:
    annotated = bool(given.annotations)
    if kind is other_files.TAR:
      about = {"mask_suffix": given.mask_suffix, "lossy_masks": given.lossy_masks}
      found = webdataset.list_tars(paths, annotated, skips, progress.step, **about)
    else:
      _check_has_masks(given)
      found = zips.list_zips(paths, annotated, skips, progress.step)
  finally:
    progress.close()
  if not given.annotations:
    return found
  others = list(map(_whole, given.annotations))
  return annotate(found, others, skips, Named(given.name_column, given.label_column))


def _open_compressed(paths: list[str], given: Source, skips: bool) -> Compressed:
  if given.annotations:
    raise ConvertError(
      f"{argument('annotations', given.annotations[0])} go with a folder, and "
      f"{argument('source', given.path)} is compressed: decompress it"
    )

  def read(plain: Sequence[str]) -> SampleSource:
    head = reading.read(plain[0], 0, other_files.HEAD)
    kinds = other_files.kind_of(paths[0], b""), other_files.kind_of("", head)
    if other_files.TAR in kinds:
      _only_for_examples(given.path, given.names)
      about = {"mask_suffix": given.mask_suffix, "lossy_masks": given.lossy_masks}
      found = webdataset.list_tars(plain, False, skips, lambda: None, paths, **about)
    else:
      _check_has_masks(given)
      found = tfrecords.list_tfrecords(plain, given.names, skips, paths)
    return _with_parts(found, paths, given.path)

  origin = Origin(name_files(paths), "file")
  return Compressed((), None, origin=origin, paths=paths, skips=skips, read=read)


def _with_parts(
  found: SampleSource | Unlisted, paths: list[str], source: str
) -> SampleSource | Unlisted:
  """A source of files to which those are added that a set lacks."""
  # Who names one part alone means it.
  if paths != [_whole(source)]:
    count = found.length if isinstance(found, Unlisted) else len(found)
    found.skipped.extend(missing_parts(paths, -(-count // len(paths))))
  return found


def _refuse_records(folder: str) -> None:
  """Raises ConvertError for a folder that holds RecordIO files, and no images."""
  has_records = False
  for name, is_folder in folders.lister(folder).folders(os.fsencode(folder)):
    name = os.fsdecode(name).lower()
    if is_folder or not name.endswith(_BESIDE_RECORDS):
      return
    has_records |= name.endswith(records.EXTENSION)
  if has_records:
    files = storage.join(folder, f"*{records.EXTENSION}")
    raise ConvertError(
      f"{argument('source', folder)} is a folder of RecordIO files, and not of "
      f'images: give the files, as "{files}"'
    )


def _kind_of_file(path: str) -> str:
  """The kind of a file by its name, as messages have it; or of TFRecords, or other."""
  name = schemes.shown(path).lower()
  kinds = (kind for kind, extensions in _KINDS.items() if name.endswith(extensions))
  return next(kinds, _OTHERS)


def _check_scheme(source: str) -> None:
  """Raises ConvertError for a source of a file system that conversions do not read."""
  is_read = schemes.is_http(source) or schemes.is_s3(source)
  if storage.is_remote(source) and not is_read:
    raise ConvertError(
      f"{argument('source', source)} must be on a local disk, or of s3://, http:// "
      "or https://: copy a dataset by liquid_tf.copy, and other files by the tool of "
      "their storage (gcloud storage cp)"
    )


def _whole(path: str) -> str:
  """A path from the root on; URLs are such."""
  return path if storage.is_remote(path) else os.path.abspath(path)


def _is_folder(source: str) -> bool:
  """Whether a source is a folder, which over HTTP must be a dataset.

  Raises:
    ConvertError: listing failed.
  """
  if not storage.is_remote(source):
    return os.path.isdir(source)
  if ";" in source:
    return False
  _check_scheme(source)
  if not schemes.is_http(source):
    return folders.is_folder(source)
  try:
    return source == schemes.shown(source) and _is_dataset(source)
  except OSError:
    # Some servers deny what is not there. Reading the file says what is wrong.
    return False


def _ranges(name: str) -> list[str]:
  """The names that one with ranges in braces is of, as {000..099}, in order.

  Raises:
    ValueError: they are too many.
  """
  found = _RANGE.search(name)
  if found is None or (not storage.is_remote(name) and os.path.exists(name)):
    return [name]
  first, last = int(found[1]), int(found[2])
  ends = _ranges(name[found.end() :])
  if not 0 < (last - first + 1) * len(ends) <= _MOST_FILES:
    raise ValueError(f"{found[0]} must be of 1 to {_MOST_FILES:,} files, ascending")
  begin, digits = name[: found.start()], len(found[1])
  return [
    f"{begin}{number:0{digits}}{end}"
    for number in range(first, last + 1)
    for end in ends
  ]


def _refuse_pattern(name: str) -> None:
  """Raises ConvertError for a pattern of files on a server of HTTP."""
  shown = schemes.shown(name)
  if not schemes.is_http(name) or "*" not in shown:
    return
  try:
    is_file = storage.file_size(name) is not None
  except OSError:
    return  # Reading it says what is wrong.
  if not is_file:
    named = shown.rpartition("/")[2].replace("*", "{000000..000003}")
    raise ConvertError(
      f"{argument('source', shown)}: a server lists no folders: name its files, as "
      f"{named}"
    )


def find_files(source: str) -> list[str]:
  """The files of records that a source names, in its order.

  Args:
    source: files, patterns, ranges in braces and folders of .rec files, with ";"
      between them.

  Raises:
    ConvertError: a name has none, two have the same one, or one is of a file system
      that conversions do not read.
  """
  try:
    names = [one for name in uri.split(source) for one in _ranges(_whole(name))]
    for name in names:
      _check_scheme(name)
      _refuse_pattern(name)
    paths = [path for name in names for path in uri.find(name, records.EXTENSION)]
  except ValueError as error:
    raise ConvertError(
      "source must be an existing folder, files of records that exist (several with "
      f'";" between them), {tfds.PREFIX}NAME, or {hugging_face.PREFIX}NAME: {error}'
    ) from error
  if len(set(paths)) < len(paths):
    twice = schemes.shown(next(path for path in paths if paths.count(path) > 1))
    raise ConvertError(f"{argument('source', source)} names {twice} twice")
  return paths


def open_source(
  given: Source,
  *outputs: str,
  skips: bool = True,
  progress: Progress = HIDDEN,
) -> SampleSource | Unlisted:
  """Lists a source of any kind, but for those that an output must be there for.

  Args:
    given: what the user named.
    *outputs: where the conversion writes; checked to be elsewhere.
    skips: whether damage between records, and files that cannot be looked at, are
      passed over.
    progress: is told of each file of a folder.

  Raises:
    ConvertError: the source is none, or cannot be read.
    ValueError: something is said of masks that are not given.
  """
  if given.items is not None:
    return Unlisted(given.items, given.length)
  source, names, tfds_dir = given.path, given.names, given.tfds_dir
  places = [_whole(output) for output in outputs]
  masks = None if given.masks is None else _whole(given.masks)
  is_tfds = source.startswith(tfds.PREFIX)
  is_folder = not is_tfds and _is_folder(source)
  if is_tfds or is_folder or source.startswith(hugging_face.PREFIX):
    _check_has_masks(given)
  plain = is_folder and not _is_dataset(source)
  if given.annotations and not plain and not _is_archive(source):
    raise ConvertError(
      f"{argument('annotations', given.annotations[0])} are of a folder of images, or "
      f"of an archive of one, and {argument('source', source)} is none"
    )
  if is_tfds:
    data_dir = tfds_dir or os.environ.get("TFDS_DATA_DIR") or _TFDS_DIR
    folder = tfds.find_folder(
      source[len(tfds.PREFIX) :], os.path.abspath(os.path.expanduser(data_dir))
    )
  elif tfds_dir is not None:
    raise ConvertError(
      f'{argument("tfds_dir", tfds_dir)} is of a source "{tfds.PREFIX}NAME"'
    )
  else:
    folder = _whole(source).rstrip("/") or "/"
  if source.startswith(hugging_face.PREFIX):
    if masks is not None:
      raise ConvertError(f"{argument('masks', masks)} are of a folder of images")
    cached = hugging_face.find(source[len(hugging_face.PREFIX) :])
    for path in cached.paths:
      folders.check_apart(path, *places)
    return hugging_face.list_hugging_face(cached, source, names)
  if is_tfds or is_folder:
    folders.check_places(folder, masks, *places)
    return _open_folder(folder, masks, given, skips, progress)

  paths = find_files(source)
  if masks is not None:
    raise ConvertError(f"{argument('masks', masks)} are of a folder of images")
  for path in paths:
    folders.check_apart(path, *places)
    if _is_list(path):
      raise ConvertError(
        f"{argument('source', source)}: {path} is a list of im2rec, and holds no "
        "images: give the folder that its paths are below, with "
        f"{setting('annotations', path)}, or the {records.EXTENSION} files that were "
        "made of it"
      )
  kinds = dict.fromkeys(map(_kind_of_file, paths))
  if len(kinds) > 1:
    raise ConvertError(
      f"{argument('source', source)} matches {' and '.join(kinds)}: name one kind"
    )
  kind = next(iter(kinds))
  packed = _kind_of(paths[0]) if kind == _OTHERS else None
  if packed is not other_files.COMPRESSED and packed not in _ARCHIVES:
    _check_has_masks(given)
  if kind == _RECORDS:
    _only_for_examples(source, names)
    found = records.list_records(paths, skips)
  elif kind == _PARQUET:
    found = parquet.list_parquet(paths, names)
  elif kind == _ARROW:
    found = arrow.list_arrow(paths, names)
  elif kind == _NUMPY:
    found = stacks.list_stacks(paths, names)
  elif packed is other_files.COMPRESSED:
    return _open_compressed(paths, given, skips)
  elif packed in _ARCHIVES:
    found = _open_archives(paths, packed, given, skips, progress)
  else:
    found = tfrecords.list_tfrecords(paths, names, skips)
  return _with_parts(found, paths, source)
