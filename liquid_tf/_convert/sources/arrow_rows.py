"""Rows with images, of Parquet or Arrow: what each column is, and an item of a row.

  image  struct {bytes, path}, bytes of a file, or a path beside the rows' own file
  label  class numbers, whose names Hugging Face's metadata has; texts; or numbers

Everything else that is one number or text a row is a column of the dataset.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from liquid_tf._convert.sources import items, reading
from liquid_tf._convert.sources.annotations import image_folder
from liquid_tf._convert.sources.annotations.annotations import BOXES
from liquid_tf._convert.sources.annotations.annotations import LABELS as BOX_LABELS
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.items import Origin
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.samples import DEFAULT_SPLIT, stat_files
from liquid_tf._store import schemes, storage
from liquid_tf._store.columns import TAKEN
from liquid_tf._words import few, said
from liquid_tf.errors import ConvertError

if TYPE_CHECKING:
  import pyarrow

# In the order in which they count.
_IMAGES = ("image", "img", "jpg", "jpeg", "png", "webp", "picture", "photo")
_LABELS = ("label", "labels", "target", "class")
_NAMES = ("name", "file_name", "filename", "__key__")
_SPLIT = "split"
_METADATA = b"huggingface"
_BYTES, _PATH = "bytes", "path"
# Rows whose paths tell whether paths are right.
_FIRST = 8
# An image that a path names is read whole; larger files are none.
_LARGEST = 1 << 30


class RowFile(Protocol):
  """A file of rows.

  Attributes:
    path: of the file, or its URL.
    schema: of its columns.
    rows: how many it says it has.
  """

  path: str
  schema: "pyarrow.Schema"
  rows: int

  def batches(self, columns: Sequence[str]) -> Iterator["pyarrow.RecordBatch"]:
    """Yields rows, a few at a time, of some columns, or parts of columns as "a.b".

    Raises:
      ConvertError: rows cannot be read.
    """


class Columns(NamedTuple):
  """Columns of rows, by what they are.

  Attributes:
    image: name of the images' column.
    label: of the labels'; or None.
    split: of the one that names splits; or None.
    more: of those that are kept.
    classes: names of the classes; or None.
    notes: sentences on those that are not.
    has_boxes: whether `objects` has boxes.
    box_classes: names of their classes; or None.
  """

  image: str
  label: str | None
  split: str | None
  more: Sequence[str]
  classes: list[str] | None
  notes: Sequence[str]
  has_boxes: bool = False
  box_classes: list[str] | None = None


class _Names(NamedTuple):
  """How rows get their names.

  Attributes:
    column: with a text of each, or "a.b" for a part of one; None where there is none,
      or a text would name two.
    by_split: whether the split's name goes before it.
  """

  column: str | None
  by_split: bool = False


def _features(schema: "pyarrow.Schema", what: str) -> dict[str, Mapping[str, Any]]:
  """Hugging Face's description of the columns, by name; none where there is none."""
  text = (schema.metadata or {}).get(_METADATA)
  if text is None:
    return {}
  try:
    found = json.loads(text)["info"]["features"]
    return {name: one for name, one in found.items() if isinstance(one, Mapping)}
  except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
    raise ConvertError(
      f"{what}: the metadata {_METADATA.decode()} of its schema is damaged "
      f"({type(error).__name__}: {error}): write the file again"
    ) from error


def _is_text(kind: "pyarrow.DataType") -> bool:
  from pyarrow import types

  if types.is_dictionary(kind):
    kind = kind.value_type
  return types.is_string(kind) or types.is_large_string(kind)


def _is_bytes(kind: "pyarrow.DataType") -> bool:
  from pyarrow import types

  # All images of a file may be at paths.
  return types.is_binary(kind) or types.is_large_binary(kind) or types.is_null(kind)


def _is_struct(kind: "pyarrow.DataType") -> bool:
  """Whether values are structs {bytes, path}."""
  from pyarrow import types

  if not types.is_struct(kind):
    return False
  fields = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
  return (
    set(fields) <= {_BYTES, _PATH}
    and _BYTES in fields
    and _is_bytes(fields[_BYTES])
    and (_PATH not in fields or _is_text(fields[_PATH]))
  )


def _is_scalar(kind: "pyarrow.DataType") -> bool:
  """Whether values are numbers or texts."""
  from pyarrow import types

  numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
  return numbers or _is_text(kind)


def _is_list(kind: "pyarrow.DataType") -> bool:
  from pyarrow import types

  is_list = types.is_list(kind) or types.is_large_list(kind)
  return is_list or types.is_fixed_size_list(kind)


def _is_texts(kind: "pyarrow.DataType") -> bool:
  """Whether values are lists of texts."""
  return _is_list(kind) and _is_text(kind.value_type)


def _is_column(kind: "pyarrow.DataType") -> bool:
  """Whether values are numbers, texts or lists of numbers."""
  if _is_list(kind):
    return _is_scalar(kind.value_type) and not _is_text(kind.value_type)
  return _is_scalar(kind)


def _is_kept(kind: "pyarrow.DataType") -> bool:
  """Whether values can be kept, as they are or as JSON."""
  return _is_column(kind) or _is_texts(kind)


class _Chooser:
  """Chooses columns of a schema.

  Args:
    schema: of the columns.
    what: has them, for people.
  """

  def __init__(self, schema: "pyarrow.Schema", what: str):
    self._what = what
    self._types = dict(zip(schema.names, schema.types))
    if len(self._types) < len(schema.names):
      twice = next(name for name in schema.names if schema.names.count(name) > 1)
      raise ConvertError(f"{what} has two columns {twice}")
    self._features = _features(schema, what)

  def _wrong(self, problem: str) -> ConvertError:
    columns = ", ".join(f"{name} ({kind})" for name, kind in self._types.items())
    return ConvertError(f"{self._what} {problem}; its columns are {columns}")

  def _marked(self, kind: str) -> list[str]:
    """The columns that the metadata describe as of a type of Hugging Face's."""
    marked = (n for n, one in self._features.items() if one.get("_type") == kind)
    return [name for name in marked if name in self._types]

  def image(self, given: str | None) -> str:
    """The column of images.

    Args:
      given: its name, where the user gave one.
    """
    if given is not None:
      kind = self._types.get(given)
      if kind is None or not (_is_struct(kind) or _is_bytes(kind) or _is_text(kind)):
        has = "is not there" if kind is None else f"is {kind}"
        raise self._wrong(
          f"must have images in its column {given}, as a struct {{bytes, path}}, bytes "
          f"or paths, but it {has}"
        )
      return given
    binary = [n for n, kind in self._types.items() if _is_struct(kind)]
    binary = binary or [n for n, kind in self._types.items() if _is_bytes(kind)]
    texts = [n for n, kind in self._types.items() if _is_text(kind) and n in _IMAGES]
    for found in (self._marked("Image"), binary, texts):
      known = [name for name in _IMAGES if name in found]
      if found:
        if len(found) > 1 and not known:
          advice = said("image_feature=…")
          raise self._wrong(
            f"has images in {few(found)}: choose one with {advice}, and convert the "
            "others apart"
          )
        return (known or found)[0]
    raise self._wrong(
      "has no column of images, as a struct {bytes, path}, bytes or paths: name one "
      f"with {said('image_feature=…')}"
    )

  def label(self, given: str | None, image: str) -> str | None:
    """The column of labels, or None.

    Args:
      given: its name, where the user gave one; "" for none.
      image: the column of images.
    """
    if given == "":
      return None
    if given is not None:
      kind = self._types.get(given)
      if kind is None or not _is_column(kind) or given == image:
        has = "is not there" if kind is None else f"is {kind}"
        raise self._wrong(f"must have labels in its column {given}, but it {has}")
      return given
    known = [n for n in _LABELS if n in self._types and _is_column(self._types[n])]
    marked = self._marked("ClassLabel")
    if len(marked) == 1:
      return marked[0]
    if len(marked) > 1 and not known:
      raise self._wrong(
        f"has classes in {few(marked)}: choose one with {said('label_feature=…')}"
      )
    return known[0] if known else None

  def classes(self, label: str | None) -> list[str] | None:
    """Names of the classes that Hugging Face's metadata have."""
    return self._names_of(label, self._features.get(label, {}))

  def _names_of(self, label: str | None, feature: Mapping[str, Any]) -> Any:
    names = feature.get("names")
    if names is None:
      return None
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
      raise self._wrong(f"has metadata whose names of {label} are no list of texts")
    if len(set(names)) < len(names):
      twice = next(name for name in names if names.count(name) > 1)
      raise self._wrong(f"has metadata in which two classes of {label} are {twice}")
    return names

  def has_boxes(self, given: Sequence[str]) -> bool:
    """Whether `objects` has boxes, and is wanted.

    Args:
      given: columns that the user wants; none for all.
    """
    from pyarrow import types

    kind = self._types.get(image_folder.OBJECTS)
    if kind is None or (given and image_folder.OBJECTS not in given):
      return False
    if _is_list(kind):
      kind = kind.value_type
    return types.is_struct(kind) and kind.get_field_index(image_folder.BOX) >= 0

  def told_of_boxes(self) -> list[str]:
    """Sentences on what of `objects` is read, and what is not."""
    objects, box = image_folder.OBJECTS, image_folder.BOX
    kind = self._types[objects]
    kind = kind.value_type if _is_list(kind) else kind
    names = [kind.field(i).name for i in range(kind.num_fields)]
    label = next((n for n in image_folder.CATEGORIES if n in names), None)
    more = ", ".join(name for name in names if name not in (box, label))
    notes = [f"{self._what}: {objects} are boxes, whose {box} is [x, y, width, height]"]
    return notes + [f"{self._what}: {more} of {objects} are not kept"] * bool(more)

  def box_classes(self) -> list[str] | None:
    """Names of the classes of boxes that Hugging Face's metadata have."""
    found: Any = self._features.get(image_folder.OBJECTS, {})
    # Lists are features around one, or such in a list.
    found = found.get("feature", found)
    for name in image_folder.CATEGORIES:
      one = found.get(name) if isinstance(found, Mapping) else None
      one = one.get("feature", one) if isinstance(one, Mapping) else one
      one = one[0] if isinstance(one, list) and one else one
      if isinstance(one, Mapping):
        return self._names_of(f"{image_folder.OBJECTS}.{name}", one)
    return None

  def names(self, image: str) -> list[str]:
    """The columns that may name rows, or parts of columns."""
    kind = self._types[image]
    has_path = _is_struct(kind) and kind.get_field_index(_PATH) >= 0
    result = [f"{image}.{_PATH}"] if has_path else []
    result += [image] if _is_text(kind) else []
    others = (n for n in _NAMES if n in self._types and n != image)
    return result + [name for name in others if _is_text(self._types[name])]

  def split(self) -> str | None:
    """The column that names splits, or None."""
    kind = self._types.get(_SPLIT)
    return None if kind is None or not _is_text(kind) else _SPLIT

  def more(
    self, given: Sequence[str], others: Sequence[str | None]
  ) -> tuple[list[str], list[str]]:
    """The columns to keep, and sentences on those that cannot be kept.

    Args:
      given: those that the user wants; none for all.
      others: that are something else.
    """
    lacking = [name for name in given if name not in self._types]
    if lacking:
      raise self._wrong(f"has no column {lacking[0]}")
    ours = [name for name in given if name in items.KEYS]
    if ours:
      raise self._wrong(f"has {ours[0]}, which is no column of a dataset: rename it")
    wrong = [name for name in given if not _is_kept(self._types[name])]
    if wrong:
      kind = self._types[wrong[0]]
      raise self._wrong(
        f"has {wrong[0]}, which cannot be kept: it must be of numbers, texts or lists "
        f"of them, but is {kind}"
      )
    if given:
      return list(given), self._as_json(given)
    left = [name for name in self._types if name not in others]
    taken = [name for name in left if name in TAKEN or name in items.KEYS]
    nested = [n for n in left if n not in taken and not _is_kept(self._types[n])]
    more = [n for n in left if n not in taken and n not in nested]
    notes = self._as_json(more)
    if taken:
      notes.append(
        f"{self._what}: {', '.join(taken)}: not kept, as a dataset calls other things "
        "so: rename what is wanted before"
      )
    if nested:
      notes.append(
        f"{self._what}: {', '.join(nested)}: not kept, as a row has no number, text or "
        "list of them"
      )
    return more, notes

  def _as_json(self, names: Sequence[str]) -> list[str]:
    """A sentence on the columns of lists of texts among some; or none."""
    lists = [name for name in names if _is_texts(self._types[name])]
    text = f"{self._what}: {', '.join(lists)}: lists of texts, kept as JSON"
    return [text] if lists else []


def _choose(files: Sequence[RowFile], names: ExampleNames, what: str) -> Columns:
  """Finds what the columns of all files are.

  Raises:
    ConvertError: that is not clear, or a file has other columns.
  """
  first = files[0]
  for file in files[1:]:
    # Metadata may say less, but nothing else.
    if not file.schema.equals(first.schema):
      raise ConvertError(
        f"{_shown(file)} has other columns ({_described(file)}) than {_shown(first)} "
        f"({_described(first)}): convert them apart"
      )
  described = [file for file in files if _METADATA in (file.schema.metadata or {})]
  chooser = _Chooser((described or files)[0].schema, what)
  others = [_Chooser(file.schema, _shown(file)) for file in described[1:]]
  image = chooser.image(names.image)
  label = chooser.label(names.label, image)
  for file, other in zip(described[1:], others):
    same = other.classes(label) == chooser.classes(label)
    if not same or other.box_classes() != chooser.box_classes():
      raise ConvertError(
        f"{_shown(file)} has other names of classes than {_shown(described[0])}: "
        "convert them apart"
      )
  split = chooser.split()
  has_boxes = chooser.has_boxes(names.more)
  objects = image_folder.OBJECTS if has_boxes else None
  wanted = [name for name in names.more if name != objects]
  if names.more and not wanted:
    more, notes = [], []
  else:
    more, notes = chooser.more(wanted, (image, label, split, objects))
  if has_boxes:
    notes += chooser.told_of_boxes()
  classes = chooser.classes(label)
  box_classes = chooser.box_classes() if has_boxes else None
  return Columns(image, label, split, more, classes, notes, has_boxes, box_classes)


def _shown(file: RowFile) -> str:
  return schemes.shown(file.path)


def _described(file: RowFile) -> str:
  return ", ".join(f"{f.name} {f.type}" for f in file.schema)


class Rows:
  """Rows of files, in their order.

  Args:
    files: of the same columns.
    names: of columns that the user chose.
    splits: the split of each file.
    what: the source, for people.

  Attributes:
    columns: what columns are.
    begins: number of the first row of each file, and of all rows.
    count: how many rows the files say they have.

  Raises:
    ConvertError: a file cannot be read, or has columns that are not what they must be.
  """

  def __init__(
    self,
    files: Sequence[RowFile],
    names: ExampleNames,
    splits: Sequence[str],
    what: str,
  ):
    self.files, self._what = files, what
    _, told = stat_files([file.path for file in files])
    self._paths = [file.path for file in told]
    self.columns = _choose(files, names, what)
    self._splits = splits
    self._is_split = set(splits) != {DEFAULT_SPLIT}
    if self._is_split:
      self.columns = self.columns._replace(split=None)
    self.begins = np.append(0, np.cumsum([file.rows for file in files]))
    self.count = int(self.begins[-1])
    chooser = _Chooser(files[0].schema, what)
    self._naming = self._choose_names(chooser.names(self.columns.image))
    column = self._naming.column
    # A sample has its name anyway.
    self._kept = [n for n in self.columns.more if n != column or n in names.more]
    kinds = dict(zip(files[0].schema.names, files[0].schema.types))
    self._as_json = {name for name in self._kept if _is_texts(kinds[name])}
    wanted = [self.columns.image, self.columns.label, self.columns.split, *self._kept]
    if column is not None and "." not in column:
      wanted.append(column)
    if self.columns.has_boxes:
      wanted.append(image_folder.OBJECTS)
    self.wanted = list(dict.fromkeys(filter(None, wanted)))
    self._check_paths()

  def _check_paths(self) -> None:
    """Raises ConvertError where relative paths of the first rows lead nowhere."""
    path, name = self.files[0].path, self.columns.image
    if storage.is_remote(path):
      return
    batch = next(iter(self.files[0].batches([name])), None)
    if batch is None:
      return
    folder = os.path.dirname(os.path.abspath(path))
    relative = []
    for value in batch.column(name)[:_FIRST]:
      try:
        value = value.as_py()
      except ValueError:
        continue  # Who reads the row says so.
      if isinstance(value, Mapping):
        value = None if value.get(_BYTES) else value.get(_PATH)
      if isinstance(value, str) and not os.path.isabs(value) and "://" not in value:
        relative.append(value)
    if relative and not any(os.path.lexists(os.path.join(folder, v)) for v in relative):
      raise ConvertError(
        f"{path}: its first images ({relative[0]}, …) are not there: paths count from "
        f"the folder of the file, {folder}: move the file, or write absolute paths"
      )

  def _choose_names(self, candidates: Sequence[str]) -> _Names:
    for column in candidates:
      plain, below = [], []
      for file, split in zip(self.files, self._splits):
        for batch in file.batches([column]):
          for value in _texts(batch, column, _shown(file)):
            if value:
              plain.append(hash(value))
              below.append(hash((split, value)))
      if not plain:
        continue
      for hashes, by_split in ((plain, False), (below, True)):
        if len(np.unique(np.array(hashes, np.int64))) == len(hashes):
          return _Names(column, by_split)
    return _Names(None)

  def unlisted(self, kind: str) -> Unlisted:
    """The rows as items.

    Args:
      kind: what the manifest calls them.
    """
    return Unlisted(
      self,
      self.count,
      origin=Origin(self._what, "row", self.place),
      kind=kind,
      classes=self.columns.classes,
      notes=self.columns.notes,
      box_classes=self.columns.box_classes,
    )

  def place(self, number: int) -> str:
    """The file of a row, below the folder of all, and its number there."""
    file = min(
      int(np.searchsorted(self.begins, number, "right")) - 1, len(self.files) - 1
    )
    row = number - int(self.begins[file])
    return f"{self._paths[file]}, row {row}"

  def __iter__(self) -> Iterator[dict[str, Any]]:
    """Yields an item of each row.

    Raises:
      ConvertError: rows cannot be read, or are not as many as their file says.
    """
    for number, file in enumerate(self.files):
      row = 0
      for batch in file.batches(self.wanted):
        for at in range(batch.num_rows):
          yield self.item(number, row, batch, at)
          row += 1
      if row != file.rows:
        raise ConvertError(
          f"{_shown(file)} has {row} rows, and says that it has {file.rows}: it is "
          "damaged"
        )

  def item(
    self, number: int, row: int, batch: "pyarrow.RecordBatch", at: int
  ) -> dict[str, Any]:
    """One row as `items.check` takes it.

    Args:
      number: position of its file.
      row: its position in the file.
      batch: some rows of the file.
      at: its position there.
    """
    path, columns = self.files[number].path, self.columns
    try:
      values = {name: batch.column(name)[at].as_py() for name in self.wanted}
    except (ValueError, OverflowError) as error:
      raise ConvertError(f"{schemes.shown(path)}, row {row}: {error}") from error
    found = {"name": self._name(number, row, values)}
    found["image"] = self._image(values[columns.image], path, row)
    if self._is_split:
      found["split"] = self._splits[number]
    elif columns.split is not None:
      found["split"] = values[columns.split]
    if columns.label is not None:
      found["label"] = self._label(values[columns.label])
    if columns.has_boxes:
      where = f"{schemes.shown(path)}, row {row}"
      found |= self._boxes(values[image_folder.OBJECTS], where)
    kept = {name: values[name] for name in self._kept}
    for name in self._as_json & kept.keys():
      if kept[name] is not None:
        kept[name] = json.dumps(kept[name], ensure_ascii=False)
    return found | kept

  def _name(self, number: int, row: int, values: Mapping[str, Any]) -> str:
    column, by_split = self._naming
    value = None
    if column is not None:
      whole, _, part = column.rpartition(".")
      value = values[column] if column in values else (values[whole] or {}).get(part)
    if not value:
      return f"{self._paths[number]}/{row}"
    return f"{self._splits[number]}/{value}" if by_split else value

  def _label(self, value: Any) -> Any:
    if isinstance(value, bool):
      return int(value)
    # Hugging Face's number of a sample whose class is kept back.
    if value == "" or (self.columns.classes is not None and value == -1):
      return None
    return value

  def _boxes(self, value: Any, where: str) -> dict[str, Any]:
    """Boxes and their labels as items have them; see `item`."""
    found, labels, _ = image_folder.objects_of(value, where)
    boxes = [[y, x, y + height, x + width] for x, y, width, height in found]
    classes = self.columns.box_classes
    if classes is not None:
      wrong = [one for one in labels or () if one not in range(len(classes))]
      if wrong:
        raise ConvertError(
          f"{where}: {image_folder.OBJECTS} have the class {wrong[0]}, and there are "
          f"names of {len(classes)}"
        )
    return {BOXES: boxes} if labels is None else {BOXES: boxes, BOX_LABELS: labels}

  def _image(self, value: Any, path: str, row: int) -> Any:
    """The bytes of an image, or the path of a local one."""
    if isinstance(value, Mapping):
      value = value.get(_BYTES) or value.get(_PATH)
    if not value or isinstance(value, bytes):
      return value or items.NO_IMAGE
    if "://" in value:
      raise ConvertError(
        f"{schemes.shown(path)}, row {row}: its image is not there, but at {value}: "
        "download the images first, and write them or their paths into the rows"
      )
    if not storage.is_remote(path):
      return os.path.join(os.path.dirname(os.path.abspath(path)), value)
    return self._remote_image(value, path, row)

  def _remote_image(self, value: str, path: str, row: int) -> Any:
    """The bytes of an image beside rows of a store or a server."""
    where = f"{schemes.shown(path)}, row {row}"
    if os.path.isabs(value):
      raise ConvertError(
        f"{where}: its image ({value}) must be below the folder of the rows"
      )
    image = storage.join(reading.folder_of(path), value)
    try:
      size = storage.file_size(image)
      if size is None:
        raise ConvertError(f"{where}: there is no image {image}")
      if size > _LARGEST:
        raise ConvertError(f"{where}: {image} has {size} bytes, and is no image")
      return reading.read(image, 0, size) or items.NO_IMAGE
    except OSError as error:
      raise ConvertError(f"{where}: cannot read {error}") from error


def _texts(
  batch: "pyarrow.RecordBatch", column: str, where: str
) -> Iterator[str | None]:
  """Yields the texts of a column, or of a part of one."""
  array = batch.column(0)
  if column not in batch.schema.names:
    part = column.rpartition(".")[2]
    array = array.flatten()[array.type.get_field_index(part)]
  try:
    yield from array.to_pylist()
  except ValueError as error:
    raise ConvertError(f"{where}: column {column}: {error}") from error
