"""Tar archives as webdataset has them: files of one name are one sample.

The name of a sample is the path up to the first dot of its last part; what comes behind
says what a file is. A sample's files lie one after another.
"""

import collections
import dataclasses
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._convert.sources import (
  archives,
  image_files,
  item_values,
  items,
  safe_names,
  tars,
)
from liquid_tf._convert.sources.archives import Member, Place
from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf._convert.sources.left_out import LeftOut, most_telling
from liquid_tf._convert.sources.mask_names import MaskNames
from liquid_tf._convert.sources.masks import decode_mask
from liquid_tf._convert.sources.samples import (
  RecordSource,
  Sample,
  SampleError,
  SampleSource,
  SourceFile,
  class_list,
  name_files,
  splits_of_files,
  stat_files,
)
from liquid_tf._store import storage
from liquid_tf._store.columns import TAKEN, Column
from liquid_tf._words import few, said, setting
from liquid_tf.errors import ConvertError, WrongArgument

# Names that no column can have.
_RESERVED = frozenset((*items.KEYS, *TAKEN))
_JSON = "json_"
# Behind the key of one of several samples that would have the same.
_NUMBER = re.compile(r"-\d{8,}-*")
# Stands for the key of a sample, where only what is behind it matters.
_KEY = "KEY"
_WHOLE = 2**63
_MASKS = MaskNames(mask=b".mask")
_HEADERS = {
  (1, 0): np.lib.format.read_array_header_1_0,
  (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclasses.dataclass
class _Group:
  """The files of one sample.

  Attributes:
    archive: its position.
    key: its name.
    extensions: of all its files.
    image: the extension of its image, and where that is.
    mask: the same of its mask.
    told: what other files tell, by their extensions.
    problem: why it is no sample, or "".
  """

  archive: int
  key: str
  extensions: set[str] = dataclasses.field(default_factory=set)
  image: tuple[str, Place] | None = None
  mask: tuple[str, Place] | None = None
  told: dict[str, bytes] = dataclasses.field(default_factory=dict)
  problem: str = ""

  def add(self, extension: str, member: Member, names: MaskNames) -> bool:
    """Adds a file; returns whether anything is made of it."""
    is_twice = extension in self.extensions
    self.extensions.add(extension)
    # Of the path, only what is behind the key matters.
    path = os.fsencode(f"{_KEY}.{extension}")
    is_image = image_files.is_named_so(path)
    if is_twice:
      self.problem = f"has two files .{extension}"
    elif is_image and names.of_mask(path) == os.fsencode(_KEY):
      if self.mask is not None:
        self.problem = f"has two masks, .{self.mask[0]} and .{extension}"
      self.mask = extension, member.place
    elif is_image and names.image and names.of_image(path) != os.fsencode(_KEY):
      return False
    elif is_image:
      if self.image is not None:
        self.problem = self._two_images(self.image[0], extension)
      self.image = extension, member.place
    elif member.contents is not None:
      self.told[extension] = member.contents
    else:
      return False
    return True

  def _two_images(self, one: str, other: str) -> str:
    name = f"{os.path.basename(self.key)}.mask.png"
    kind = next((e.rpartition(".")[0] for e in (other, one) if "." in e), "")
    call = f"call it {name}"
    if kind:
      call += f", or name it with {setting('mask_suffix', f'.{kind}')}"
    return (
      f"has two images, .{one} and .{other}: if one is a mask, {call}; else write anew "
      "what is the image and its label or columns, with "
      f"{said('Source.from_iterable')} or as a folder"
    )


class _Groups:
  """The samples of archives, in their order.

  Args:
    names: of the masks.

  Attributes:
    every: all of them.
    others: how many files have an extension that nothing reads, by that.
  """

  def __init__(self, names: MaskNames):
    self._names = names
    self.every: list[_Group] = []
    self.others: collections.Counter[str] = collections.Counter()
    self._known: dict[tuple[int, str], _Group] = {}

  def see(self, archive: int, path: bytes, member: Member) -> None:
    """Adds a file of an archive to its group."""
    folder, slash, name = os.fsdecode(path).rpartition("/")
    stem, _, extension = name.partition(".")
    key, extension = f"{folder}{slash}{stem}", extension.lower()
    group = self._known.get((archive, key))
    if group is None:
      group = _Group(archive, key)
      self._known[archive, key] = group
      self.every.append(group)
    elif group is not self.every[-1]:
      group.problem = "has files apart from its others, which must follow each other"
    if not group.add(extension, member, self._names):
      self.others[extension] += 1

  @property
  def are_samples(self) -> bool:
    """Whether files tell of images beside them, as webdataset has them."""
    return any(
      group.image is not None and (group.told or group.mask) for group in self.every
    )

  @property
  def have_masks(self) -> bool:
    """Whether images have masks."""
    return any(group.image is not None and group.mask for group in self.every)


class _Json(NamedTuple):
  """A mapping, or a list of something else than numbers, as text."""

  text: str

  @classmethod
  def of(cls, value: Any) -> "_Json":
    """Writes a value that a JSON had."""
    text = json.dumps(value, ensure_ascii=False)
    try:
      text.encode()
    except UnicodeEncodeError:
      # Half of a pair of surrogates, which JSON has as an escape.
      text = json.dumps(value)
    return cls(text)


@dataclasses.dataclass
class _Known:
  """A sample as its files tell of it.

  Attributes:
    item: what its files tell. Lists in its columns are as a JSON has them, or `_Json`.
    beside: `name` of a JSON, and its `label` beside a file that has it; they may say
      again what these are, and else are columns.
  """

  item: items.Item
  beside: dict[str, Any]


def _known(number: int, group: _Group, origin: items.Origin) -> _Known:
  """Checks what a group tells; raises ValueError if it is no sample."""
  if not group.problem and group.image is None:
    found = ", ".join(f".{extension}" for extension in sorted(group.extensions))
    group.problem = f"has no image, but only {found}"
  if group.problem:
    raise ValueError(group.problem)
  has_label = any(extension.rpartition(".")[2] == "cls" for extension in group.told)
  given: dict[str, Any] = {"name": group.key, "image": b"of the archive"}
  lists: dict[str, list | _Json] = {}
  beside: dict[str, Any] = {}
  for extension, data in group.told.items():
    try:
      told = list(_told(extension, data))
    except (ValueError, RecursionError) as error:
      raise ValueError(f".{extension} cannot be read: {error}") from error
    for key, value in told:
      is_json = extension.rpartition(".")[2] == "json"
      is_beside = is_json and (key == "name" or (key == "label" and has_label))
      if is_json and key in _RESERVED and not is_beside and key != "label":
        key = f"{_JSON}{key}"
      if key in (beside if is_beside else given):
        raise ValueError(f"has two values for {key}")
      if is_beside:
        beside[key] = value
      elif isinstance(value, (list, _Json)) and key != "label":
        # They are columns, but not by themselves: others decide what they become.
        given[key], lists[key] = "", value
      else:
        given[key] = value
  try:
    item = items.check(number, given, origin)
  except ConvertError as error:
    begin = f"{origin.named}: {origin.one} {number} ({group.key}): "
    raise ValueError(str(error).removeprefix(begin)) from error
  item.columns.update(lists)
  return _Known(item, beside)


def _told(extension: str, data: bytes) -> Iterator[tuple[str, Any]]:
  """Yields label and columns that a file holds, by name.

  Raises:
    ValueError: it holds something else.
  """
  name, _, kind = extension.rpartition(".")
  name = name or kind
  if kind == "cls":
    yield "label", _label(data.decode().strip())
  elif kind == "txt":
    yield name, data.decode()
  elif kind == "npy":
    yield name, _array(data)
  else:
    found = json.loads(data)
    if not isinstance(found, dict):
      found = {name: found}
    for key, value in found.items():
      if value is not None:
        yield key, value if key == "label" or _is_plain(value) else _Json.of(value)


def _is_plain(value: Any) -> bool:
  """Whether a value is no mapping, and no list of something else than numbers."""
  if not isinstance(value, list):
    return not isinstance(value, dict)
  return all(
    type(one) is float or (type(one) is int and -_WHOLE <= one < _WHOLE)
    for one in value
  )


def _label(text: str) -> int | float | str:
  """A number where the text is one; else the name of a class."""
  for kind in (int, float):
    try:
      return kind(text)
    except ValueError:
      pass
  return text


def _array(data: bytes) -> np.ndarray:
  """The vector or number of a NumPy file; nothing is made before its size is known."""
  file = io.BytesIO(data)
  version = np.lib.format.read_magic(file)
  if version not in _HEADERS:
    raise ValueError(f"version {version} of the format is not read")
  shape, _, dtype = _HEADERS[version](file)
  if dtype.hasobject or len(shape) > 1:
    raise ValueError(f"{dtype} of shape {list(shape)} is no vector of numbers")
  if len(data) - file.tell() != math.prod(shape) * dtype.itemsize:
    raise ValueError("its size is another than its header says")
  return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape)


class WebdatasetSource(RecordSource):
  """Samples of webdataset's archives, in the order of archives and members.

  Args:
    paths: of the archives, or URLs.
    files: the same, as messages name them.
    split_of_file: names of the splits, and the position of each archive's.
    groups: the samples.
    given: what is known of each.
    skipped: what is in no sample.
    notes: on what is not kept.
    origin: of the samples.
    lossy_masks: whether masks are taken whose format may have changed their numbers.
  """

  has_names = True

  def __init__(
    self,
    paths: Sequence[str],
    files: Sequence[SourceFile],
    split_of_file: tuple[list[str], list[int]],
    groups: Sequence[_Group],
    given: Sequence[_Known],
    skipped: Sequence[LeftOut],
    notes: Sequence[str],
    origin: items.Origin,
    lossy_masks: bool,
  ):
    self._paths, self._archives = paths, files
    self._lossy_masks = lossy_masks
    self._archive_of = np.array([group.archive for group in groups], np.int64)
    places = [group.image[1] for group in groups]
    self._offsets = np.array([place.offset for place in places], np.int64)
    self._mask_offsets = np.array(
      [group.mask[1].offset for group in groups if group.mask], np.int64
    )
    table, masks = FileTable(), FileTable()
    names = _names(groups, given)
    # Of several archives, two may have one name.
    are_unique = len(set(names)) == len(groups)
    self._keys = [group.key for group in groups]
    for name, group, place in zip(names, groups, places):
      file = files[group.archive]
      name = name if are_unique else f"{file.path}/{group.key}"
      table.add(os.fsencode(name), place.size, file.mtime_ns)
      if group.mask:
        extension, place = group.mask
        masks.add(os.fsencode(f"{name}.{extension}"), place.size, file.mtime_ns)
    names = [os.fsdecode(table.path(number)) for number in range(len(table))]
    classes, self._labels, are_floats = item_values.labels(
      [one.item.label for one in given], origin.named
    )
    class_names = None if classes or are_floats else _class_names(given)
    if class_names is None:
      _keep_labels(given)
    told = [one.item.columns for one in given]
    as_json = _as_json(told, origin)
    self._columns, lacking = item_values.columns(names, told, origin)
    splits, numbers = split_of_file
    every = range(len(table))
    super().__init__(
      origin.named,
      "webdataset",
      PairTable(table, masks, every, every) if len(masks) else table,
      np.arange(len(table)),
      np.array(numbers, np.uint8)[self._archive_of],
      table.sizes,
      splits=splits,
      classes=classes or class_names,
      skipped=skipped,
      notes=[*notes, *as_json, *lacking],
      are_floats=are_floats,
      has_masks=len(masks) > 0,
      is_remote=any(map(storage.is_remote, paths)),
    )

  def path(self, position: int) -> str:
    archive = self._archives[self._archive_of[position]].path
    return f"{archive}/{self._keys[position]}"

  def name(self, position: int) -> str:
    return self.files[position].path

  def read(self, position: int) -> Sample:
    file = self.files[position]
    path = self._paths[self._archive_of[position]]
    image = _at(path, self._offsets[position], file.size)
    if not image:
      raise SampleError("its image is empty")
    mask = b""
    if self.has_masks:
      mask = _at(path, self._mask_offsets[position], file.mask_size)
      mask, problem = decode_mask(mask, self._lossy_masks)
      if problem:
        raise SampleError(problem)
    return Sample(image, self._labels[position], mask=mask)

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    rows = np.asarray(positions, np.int64)
    return {name: cells.column(rows) for name, cells in self._columns.items()}


def _at(path: str, offset: np.int64, size: int) -> bytes:
  """A file that lies in an archive."""
  return tars.read(path, Place(int(offset), size, size, size))


def _names(groups: Sequence[_Group], given: Sequence[_Known]) -> list[str]:
  """Names of samples: their keys, or whole, as the JSON of an export has them.

  Names of a JSON that are something else become a column.
  """
  told = [one.beside.get("name") for one in given]
  if all(n is None or _has_key(n, group.key) for n, group in zip(told, groups)):
    return [name or group.key for name, group in zip(told, groups)]
  _keep(given, "name")
  return [group.key for group in groups]


def _has_key(name: Any, key: str) -> bool:
  """Whether an export gives a name that key."""
  if not isinstance(name, str) or not name:
    return False
  try:
    begin = safe_names.key_of(name)
  except UnicodeEncodeError:
    return False
  # Of two samples with one key, both get their numbers.
  return key == begin or bool(_NUMBER.fullmatch(key.removeprefix(begin)))


def _class_names(given: Sequence[_Known]) -> list[str] | None:
  """Names of classes where .cls has their numbers, and the JSON beside it their names.

  None where one number has two names, or one name two numbers, or an item lacks either.
  """
  names: dict[int, str] = {}
  for one in given:
    name, label = one.beside.get("label"), one.item.label
    if not isinstance(name, str) or not isinstance(label, tuple):
      return None
    (number, *more) = label[1]
    if more or number < 0 or number % 1 or names.setdefault(int(number), name) != name:
      return None
  return class_list(names) if len(set(names.values())) == len(names) else None


def _keep_labels(given: Sequence[_Known]) -> None:
  """Makes labels of JSON a column, unless all say again what is beside them."""
  for one in given:
    told, label = one.beside.get("label"), one.item.label
    known = label if isinstance(label, str) else label and label[1][0]
    if told is not None and (told != known or isinstance(told, bool)):
      _keep(given, "label")
      return


def _keep(given: Sequence[_Known], key: str) -> None:
  """Makes a column of what JSON has beside names or labels."""
  taken = {name for one in given for name in one.item.columns}
  name = f"{_JSON}{key}"
  while name in taken:
    name = f"{_JSON}{name}"
  for one in given:
    if key in one.beside:
      one.item.columns[name] = one.beside[key]


def _as_json(given: Sequence[dict[str, Any]], origin: items.Origin) -> list[str]:
  """Makes texts of columns that have lists or mappings, but no vectors.

  Vectors are lists of equally many numbers in all samples.

  Returns:
    A sentence on them, if there are any.
  """
  lengths: dict[str, set[int]] = {}
  for columns in given:
    for name, value in columns.items():
      length = len(value) if isinstance(value, list) else -1
      lengths.setdefault(name, set()).add(0 if isinstance(value, _Json) else length)
  # All alike are one length that is not 0, or no lists.
  names = sorted(n for n, found in lengths.items() if 0 in found or len(found) > 1)
  for columns in given:
    for name in names:
      value = columns.get(name)
      if value is not None:
        columns[name] = (value if isinstance(value, _Json) else _Json.of(value)).text
  if not names:
    return []
  return [
    f"{origin.named}: lists and mappings that are not of equally many numbers are kept "
    f"as texts of JSON, in {few(names)}"
  ]


def _usable(
  groups: _Groups, files: Sequence[SourceFile], origin: items.Origin
) -> tuple[list[_Group], list[_Known], list[LeftOut]]:
  """Samples, what is known of them, and those that are none."""
  found, given, skipped = [], [], []
  kind = None
  for number, group in enumerate(groups.every):
    try:
      known = _known(number, group, origin)
      item = known.item
      kind = kind or item.label_kind
      if item.label_kind not in (None, kind):
        raise ValueError(f"has {item.label_kind} as its label, and others {kind}")
      if groups.have_masks and not group.mask:
        raise ValueError("has no mask, which others have")
    except ValueError as error:
      path = f"{files[group.archive].path}/{group.key}"
      skipped.append(LeftOut(path, str(error), 1))
      continue
    found.append(group)
    given.append(known)
    group.told = {}
  return found, given, skipped


def _mask_names(suffix: str | None) -> MaskNames:
  """How files of masks are named, behind the keys of samples."""
  if suffix is None:
    return _MASKS
  names = MaskNames.parse(suffix.lower())
  for end in (names.image, names.mask):
    # Before a dot it would belong to the key.
    if end and not end.startswith(b"."):
      raise WrongArgument(
        "mask_suffix",
        suffix,
        'must begin with a dot in archives of webdataset, as ".seg" of KEY.seg.png, or '
        '".rgb:.seg"',
      )
  return names


def _check_masks(groups: _Groups, named: str, suffix: str | None, lossy: bool) -> None:
  """Raises WrongArgument where something is said of masks, and there are none."""
  if groups.have_masks:
    return
  if suffix is not None:
    raise WrongArgument(
      "mask_suffix",
      suffix,
      f"fits no image of {named}: none has a file KEY{suffix.rpartition(':')[2]}.png, "
      "or of another extension, beside it",
    )
  if lossy:
    raise WrongArgument("lossy_masks", True, f"needs masks, and {named} has none")


def list_tars(
  paths: Sequence[str],
  annotated: bool,
  skips: bool,
  step: Callable[[], None],
  given: Sequence[str] | None = None,
  mask_suffix: str | None = None,
  lossy_masks: bool = False,
) -> SampleSource:
  """Lists tar archives: those of webdataset, or else of a folder, as `list_archives`.

  They are webdataset's if beside an image lies its mask, or a file of the same name
  that tells of it, as `tars.TELLING` has them.

  Args:
    paths: of the archives, or URLs.
    annotated: whether something else says what images show; of a folder alone.
    skips: whether damage is passed over, and reported.
    step: is called for each file.
    given: the files that these were decompressed of, which are named; or None.
    mask_suffix: what masks have behind the key, or images and masks, as of `Source`;
      None for ".mask".
    lossy_masks: whether masks are taken whose format may have changed their numbers.

  Raises:
    ConvertError: nothing can be read, or the layout is ambiguous.
    ValueError: there are no masks of that suffix.
  """
  named = given or paths
  _, files = stat_files(named)
  groups = _Groups(_mask_names(mask_suffix))
  members = archives.find_members(paths, files, tars.members, skips, step, groups.see)
  _check_masks(groups, name_files(named), mask_suffix, lossy_masks)
  if not groups.are_samples:
    return archives.as_folder(paths, files, members, tars.read, annotated, named)
  origin = items.Origin(name_files(named), "group")
  if annotated:
    raise ConvertError(
      f"{origin.named} is of webdataset, and has labels and columns of its own: leave "
      f"out {said('annotations=…')}"
    )
  found, known, skipped = _usable(groups, files, origin)
  skipped = [*members.skipped, *skipped]
  if not found:
    raise ConvertError(f"{origin.named} holds no samples{most_telling(skipped)}")
  notes = [*members.notes] + [
    f"{origin.named}: {count} files .{extension} are not kept"
    for extension, count in sorted(groups.others.items())
  ]
  splits = splits_of_files(named)
  return WebdatasetSource(
    paths, files, splits, found, known, skipped, notes, origin, lossy_masks
  )
