"""Progressive compressed records by themselves (Kuchnik et al.; docs/formats/pcr.md).

Datasets of this project with the format `pcr` are read by `liquid_tf.dataset`. This
module reads and writes folders of records as the authors' released tools do:

  with liquid_tf.pcr.Writer("records") as writer:
    writer.write(jpeg, label=3)
  for record in liquid_tf.pcr.Reader("records", fidelity=2):
    print(record.name, len(record.images), record.labels)
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import pcr_sqlite, storage
from liquid_tf._store.files import write_file
from liquid_tf._store.pcr_index import (
  INDEX,
  DamagedIndex,
  PcrEntry,
  decode_index,
  encode_index,
)
from liquid_tf._tensorflow import tf
from liquid_tf.errors import PcrError, WrongArgument

__all__ = ["Reader", "Record", "Writer"]

_SQLITE = "PCR.db"
_EXTENSION = ".pcr"


class Record(NamedTuple):
  """One record at some fidelity.

  Attributes:
    name: base name of its file.
    images: a JPEG file for each image.
    labels: shape [images], int32; -1 where there is none.
    examples: a serialized tf.train.Example for each image; empty where there is none.
  """

  name: str
  images: list[bytes]
  labels: np.ndarray
  examples: list[bytes]


def _read_index(path: str) -> list[PcrEntry]:
  if not path.endswith(".pb"):
    return pcr_sqlite.read_index(path)
  with open(path, "rb", opener=storage.regular) as file:
    return decode_index(file.read())


class Reader(Sequence[Record]):
  """The records of a folder, a sequence of `Record`. Thread-safe.

  Args:
    directory: holds the `.pcr` files.
    fidelity: scan groups to read of each record, at least 1; above a record's number,
      and None, mean all.
    index: path of the index: a `.pb`, or SQLite as the released converter's "sql"
      backend writes it. By default `PCR_index.pb` or else `PCR.db` in the folder.

  Raises:
    PcrError: there is no index, it is damaged, or a file is not in it.
    ValueError: `fidelity` is below 1.
  """

  def __init__(
    self,
    directory: str | os.PathLike,
    *,
    fidelity: int | None = None,
    index: str | os.PathLike | None = None,
  ):
    if fidelity is not None and fidelity < 1:
      raise WrongArgument("fidelity", fidelity, "must be at least 1, or None for all")
    self._directory = storage.absolute(directory)
    self._fidelity = fidelity
    path = self._find_index() if index is None else storage.absolute(index)
    try:
      entries = _read_index(path)
    except DamagedIndex as error:
      raise PcrError(f"{path}: {error}") from None
    except (OSError, ValueError) as error:
      raise PcrError(
        f"cannot read the index {path}: {ops.reason(error, path)}"
      ) from error
    # Some writers put whole paths into their index.
    self._entries: dict[str, PcrEntry] = {}
    for entry in entries:
      self._entries.setdefault(os.path.basename(entry.name), entry)
    for name in sorted(os.listdir(self._directory)):
      if name.endswith(_EXTENSION) and name not in self._entries:
        raise PcrError(
          f"{os.path.join(self._directory, name)} is not in the index {path}: use the "
          "index that was written with it"
        )
    self._names = list(self._entries)

  def _find_index(self) -> str:
    for name in (INDEX, _SQLITE):
      path = os.path.join(self._directory, name)
      if os.path.exists(path):
        return path
    raise PcrError(
      f"{self._directory} has no {INDEX} and no {_SQLITE}: give index=, without "
      "which nothing says where scan groups end"
    )

  @property
  def groups(self) -> int:
    """The most scan groups that a record has."""
    return max((entry.groups for entry in self._entries.values()), default=0)

  def __len__(self) -> int:
    return len(self._names)

  # No slices: one would read all of its records.
  def __getitem__(  # type: ignore[override]
    self, position: int
  ) -> Record:
    """Reads one record.

    Raises:
      PcrError: its file is missing, cut off or damaged, or is not what the index says.
      IndexError: there is no such record.
    """
    name = self._names[position]
    entry = self._entries[name]
    path = os.path.join(self._directory, name)
    fidelity = min(self._fidelity or entry.groups, entry.groups)
    total = entry.prefix_bytes(entry.groups)
    try:
      size = os.path.getsize(path)
      if size > total:
        raise PcrError(f"{path} has {size} bytes, but its index says {total}")
      with open(path, "rb", opener=storage.regular) as file:
        prefix = file.read(entry.prefix_bytes(fidelity))
      read = entry.read(prefix, fidelity)
    except OSError as error:
      raise PcrError(f"cannot read {path}: {error.strerror}") from error
    except tf.errors.OpError as error:
      raise PcrError(f"{path}: {ops.reason(error)}") from error
    return Record(
      name,
      read.images.numpy().tolist(),
      read.labels.numpy(),
      read.examples.numpy().tolist(),
    )

  def __iter__(self) -> Iterator[Record]:
    for position in range(len(self)):
      yield self[position]


class Writer:
  """Writes JPEG files as records `PCR_0.pcr`, `PCR_1.pcr`, … and their index.

  The index is written last, by `close`, or where a `with` block ends without an error.
  Not thread-safe.

  Args:
    directory: made if it is not there; must hold no index.
    images_per_record: images of each record but the last, which has the rest.
    groups: the last scan of each scan group, as (1, 2, 5, 10); None for a group for
      each scan.
    limits: the largest image, and most scans, that are taken.

  Raises:
    PcrError: the folder has an index.
    ValueError: an argument is wrong.
    OSError: the folder cannot be made.
  """

  def __init__(
    self,
    directory: str | os.PathLike,
    *,
    images_per_record: int = 64,
    groups: Sequence[int] | None = None,
    limits: Limits = Limits(),
  ):
    if images_per_record < 1:
      raise WrongArgument("images_per_record", images_per_record, "must be at least 1")
    self._directory = storage.absolute(directory)
    self._count = images_per_record
    self._groups = list(groups or [])
    self._limits = limits
    self._images: list[bytes] = []
    self._labels: list[int] = []
    self._examples: list[bytes] = []
    self._entries: list[PcrEntry] = []
    os.makedirs(self._directory, exist_ok=True)
    if os.path.exists(os.path.join(self._directory, INDEX)):
      raise PcrError(f"{self._directory} has a {INDEX}: choose another folder")

  def write(self, image: bytes, label: int = -1, example: bytes = b"") -> None:
    """Adds an image; its pixels stay as they are.

    Args:
      image: a JPEG file. It becomes progressive without loss; EXIF and comments go.
      label: in [-2^31, 2^31); -1 for none.
      example: a serialized tf.train.Example with other features.

    Raises:
      PcrError: it is no JPEG file, damaged, or of a kind that is not supported.
      OSError: a record cannot be written.
    """
    if not image.startswith(b"\xff\xd8"):
      raise PcrError(f"image begins with {image[:8]!r}, and must be a JPEG file")
    made = ops.lib().liquid_transcode_image(
      contents=image, target="pcr", orientation=1, **self._limits.attributes()
    )
    error = made.error.numpy().decode(errors="replace")
    if error:
      raise PcrError(f"image cannot be stored: {error}")
    self._images.append(made.encoded.numpy())
    self._labels.append(label)
    self._examples.append(example)
    if len(self._images) == self._count:
      self._flush()

  def _flush(self) -> None:
    try:
      written = ops.lib().liquid_write_pcr(
        images=self._images,
        labels=np.array(self._labels, np.int32),
        examples=self._examples,
        groups=self._groups,
      )
    except tf.errors.OpError as error:
      raise PcrError(f"cannot make a record: {ops.reason(error)}") from error
    name = f"PCR_{len(self._entries)}{_EXTENSION}"
    write_file(os.path.join(self._directory, name), written.record.numpy())
    self._entries.append(
      PcrEntry(name, written.lengths.numpy(), written.crc32cs.numpy())
    )
    self._images, self._labels, self._examples = [], [], []

  def close(self) -> None:
    """Writes what is left, and the index.

    Raises:
      OSError: a file cannot be written.
    """
    if self._images:
      self._flush()
    write_file(os.path.join(self._directory, INDEX), encode_index(self._entries))

  def __enter__(self) -> "Writer":
    return self

  def __exit__(self, kind: type[BaseException] | None, *unused: object) -> None:
    if kind is None:
      self.close()
