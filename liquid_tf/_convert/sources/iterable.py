"""Samples that come as items: of the user's Python code, or of a file's reader.

An iterable is run once, into a spool in the output's journal: its images in one file,
and what is told of each in a table. A sequence is read by position whenever it is
needed, and has the table alone. Both are gone through again by a run that resumes, and
compared with the table, so that a dataset is of one state of them.
"""

import array
import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import pillow
from liquid_tf._convert.journal import changed_source
from liquid_tf._convert.sources import item_values, items
from liquid_tf._convert.sources.annotations.annotations import BOXES
from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf._convert.sources.item_spool import Places, Spool
from liquid_tf._convert.sources.items import Item, Origin
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.masks import decode_mask
from liquid_tf._convert.sources.samples import (
  RecordSource,
  Sample,
  SampleError,
  stat_file,
)
from liquid_tf._store.columns import Column
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._store.progress import Progress
from liquid_tf.errors import ConvertError, WrongArgument

# Part of the journal, and so removed with it.
FOLDER = JOURNAL + "-items"
_AS_NUMBERS = "give its numbers as a NumPy array"

_Some = Iterable[Mapping[str, Any]]
Items = _Some | Sequence[Mapping[str, Any]] | Callable[[], _Some]


def is_sequence(given: Any) -> bool:
  """Whether items are read by position."""
  return hasattr(given, "__len__") and hasattr(given, "__getitem__")


def check_items(given: Any, length: Any) -> None:
  """Raises WrongArgument unless these can give items, and be as many."""
  if isinstance(given, (str, bytes, os.PathLike, Mapping)) or not (
    is_sequence(given) or callable(given) or isinstance(given, Iterable)
  ):
    raise WrongArgument(
      "items",
      given,
      "must be a sequence or an iterable of mappings, or a function that returns one",
    )
  if length is not None and (type(length) is not int or length < 1):
    raise WrongArgument("length", length, "must be a whole number from 1 on, or None")


def is_listed(directory: str) -> bool:
  """Whether items were listed, or begun to be, below a folder; see `Unlisted.list`."""
  return os.path.isdir(os.path.join(directory, FOLDER))


class ItemSource(RecordSource):
  """Samples of items, in their order.

  Args:
    spool: of all items.
    unlisted: where they come from.
  """

  has_names = True

  def __init__(self, spool: Spool, unlisted: "Unlisted"):
    self._given, self._origin = unlisted.given, unlisted.origin
    named = self._origin.named
    files, masks = FileTable(), FileTable()
    self._images, self._masks = Places(spool.images), Places(spool.images)
    crcs, told, has_mask = array.array("q"), [], []
    for name, text, _, crc, *places in spool.rows():
      told.append(json.loads(text))
      crcs.append(crc)
      for table, where, (path, offset, length) in (
        (files, self._images, places[:3]),
        (masks, self._masks, places[3:]),
      ):
        where.add(path, offset, length)
        table.add(name, *((length, crc) if path is None else _stat(path)))
      has_mask.append(places[3] is not None or bool(places[5]))
    self._crcs = crcs
    names = [os.fsdecode(files.path(number)) for number in range(len(files))]
    labels, split_of, values, shapes, box_labels, is_raw = zip(*told)
    self._mask_is_raw = is_raw
    classes, self._labels, are_floats = item_values.labels(labels, named)
    splits, split_of = item_values.splits(names, split_of, self._origin)
    self._columns, notes = item_values.columns(names, values, self._origin)
    self._boxes = item_values.annotations(
      names, shapes, box_labels, spool, self._origin
    )
    if unlisted.box_classes is not None and self._boxes.features:
      self._boxes = dataclasses.replace(self._boxes, classes=unlisted.box_classes)
    if spool.bytes:
      notes.append(
        f"{named}: the images took {spool.bytes:,} bytes more beside the shards while "
        "they were converted"
      )
    every = range(len(files))
    super().__init__(
      "",
      unlisted.kind,
      PairTable(files, masks, every, every) if any(has_mask) else files,
      np.arange(len(files)),
      split_of,
      files.sizes,
      splits=splits,
      classes=classes or unlisted.classes,
      skipped=unlisted.skipped,
      notes=[*unlisted.notes, *notes, *self._boxes.notes],
      features=self._boxes.features,
      are_floats=are_floats,
      named=named,
      has_masks=item_values.all_or_none(names, has_mask, self._origin),
    )

  def path(self, position: int) -> str:
    return f"{self._origin.at(position)} ({self.name(position)})"

  def name(self, position: int) -> str:
    return self.files[position].path

  def read(self, position: int) -> Sample:
    image = self._images.read(position)
    mask = self._masks.read(position) if self.has_masks else b""
    if image is None or mask is None:
      item = self._item(position)
      image = item.image if image is None else image
      mask = item.mask if mask is None else mask
    if not image:
      raise SampleError("has no image")
    size = pillow.size_of(image) if BOXES in self.features else None
    fault = self._boxes.fault(position, size)
    if fault:
      raise SampleError(fault)
    example = self._boxes.example(position, size) if self.features else b""
    if self.has_masks and not self._mask_is_raw[position]:
      mask, problem = decode_mask(mask, advice=_AS_NUMBERS)
      if problem:
        raise SampleError(problem)
    return Sample(image, self._labels[position], example, mask)

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    rows = np.asarray(positions, np.int64)
    return {name: cells.column(rows) for name, cells in self._columns.items()}

  def _item(self, position: int) -> Item:
    """An item of a sequence, which must be what it was."""
    try:
      item = items.check(position, self._given[position], self._origin)
    except ConvertError as error:
      raise SampleError(str(error)) from error
    except Exception as error:  # Whatever the user's code raises.
      raise SampleError(_raised(error)) from error
    if item.crc != self._crcs[position]:
      raise SampleError("the sequence gives another item here than it did at first")
    return item


def _stat(path: bytes) -> tuple[int, int]:
  """Size and time of a file; zeros of one that the scan will not be able to read."""
  try:
    return stat_file(os.fsdecode(path))
  except OSError:
    return 0, 0


def _raised(error: Exception) -> str:
  return f"it cannot be had: {type(error).__name__}: {error}"


@dataclasses.dataclass(frozen=True)
class Unlisted:
  """Items that are listed, and copied if they come once, when there is an output.

  Attributes:
    given: a sequence; or an iterable, or a function that returns one, run once.
    length: how many items an iterable has, where that is known.
    origin: of the items.
    kind: what the manifest calls the source.
    classes: names of the classes that labels are positions in; None where labels are
      names themselves, or nothing names them.
    box_classes: the same of boxes.
    skipped: what is in no item.
    notes: sentences on what is not kept.
  """

  given: Items
  length: int | None
  _: dataclasses.KW_ONLY
  origin: Origin = Origin()
  kind: str = "items"
  classes: list[str] | None = None
  box_classes: list[str] | None = None
  skipped: list[LeftOut] = dataclasses.field(default_factory=list)
  notes: Sequence[str] = ()

  def check_workers(self, workers: Any) -> None:
    """Raises WrongArgument for those of other machines."""
    if isinstance(workers, (list, tuple)):
      raise WrongArgument(
        "workers",
        workers,
        f"must be a number: {self.origin.named} is read by this process",
      )

  def list(
    self, directory: str, progress: Progress, replaces: bool = False
  ) -> ItemSource:
    """Goes through all items, or goes on with that.

    Args:
      directory: gets a folder of what is kept of them; of a conversion, it is held.
      progress: is told of each item.
      replaces: whether items that are not what they were take the place of those, as
        nothing was made of them yet.

    Raises:
      ConvertError: an item is none, or is not what it was when the conversion began;
        or the user's code raised an error.
      OSError: the spool cannot be written.
    """
    folder = os.path.join(directory, FOLDER)
    with contextlib.closing(Spool(folder, self.origin)) as spool:
      try:
        self._go_through(spool, directory, progress, replaces)
      finally:
        progress.close()
      return ItemSource(spool, self)

  def _every(self) -> tuple[Iterator[Any], int | None]:
    """An iterator over all items, and how many there are, where that is known."""
    given = self.given
    if is_sequence(given):
      return (given[number] for number in range(len(given))), len(given)
    return iter(given() if callable(given) else given), self.length

  def _go_through(
    self, spool: Spool, directory: str, progress: Progress, replaces: bool
  ) -> None:
    """Goes through all items, and adds those that are not in the spool."""
    number, kind, keeps = 0, None, not is_sequence(self.given)
    named, origin = self.origin.named, self.origin
    try:
      every, total = self._every()
    except ConvertError:
      raise
    except Exception as error:  # Whatever the user's code raises.
      raise ConvertError(f"{named}: {_raised(error)}") from error
    progress.start("spool" if keeps else "list", total)
    while True:
      try:
        found = next(every)
      except StopIteration:
        break
      except ConvertError:
        raise
      except Exception as error:  # Whatever the user's code raises.
        raise origin.wrong(number, None, _raised(error)) from error
      item = items.check(number, found, origin)
      kind = kind or item.label_kind
      if item.label_kind not in (None, kind):
        raise origin.wrong(
          number,
          item.name,
          f"label is {item.label_kind}, and {kind} before: give all {origin.one}s "
          "labels of one kind",
        )
      if number < spool.known:
        other = spool.difference(number, item, keeps)
        if other and not replaces:
          raise changed_source(directory, other)
        if other:
          spool.forget(number)
      if number >= spool.known:
        spool.add(number, item, keeps)
      number += 1
      progress.step()
    if number < spool.known:
      if not replaces:
        raise changed_source(
          directory, f"it has {number} {origin.one}s, and had {spool.known}"
        )
      spool.forget(number)
    if total not in (None, number):
      raise ConvertError(f"{named} gave {number} {origin.one}s, and not length={total}")
    if not number:
      raise ConvertError(f"{named} gave no {origin.one}s")
