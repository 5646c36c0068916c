"""Images of a folder that a list of MXNet's im2rec names, with its labels."""

import os
from collections.abc import Callable, Iterable

import numpy as np
import tensorflow as tf

from liquid_tf import recordio
from liquid_tf._convert import labels
from liquid_tf._convert.graph import first_error
from liquid_tf._convert.sources.file_table import FileTable
from liquid_tf._convert.sources.folders import FolderSource, lister
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.samples import class_list, splits_of_files
from liquid_tf._native import ops
from liquid_tf._words import argument
from liquid_tf.errors import ConvertError, RecordIOError

EXTENSION = ".lst"


class ListedSource(FolderSource):
  """The images of a list that are in a folder, in the order of the list.

  Args:
    root: the folder.
    path: of the list.
    files: the images.
    entries: of each, in the list.
    split: of all.
    classes: names, or None.
    skipped: what is in no sample.

  Attributes:
    list: path of the list.
  """

  def __init__(
    self,
    root: str,
    path: str,
    files: FileTable,
    entries: list[recordio.ListEntry],
    split: str,
    classes: list[str] | None,
    skipped: list[LeftOut],
  ):
    none = np.zeros(len(files), np.uint8)
    super().__init__(root, None, files, none, none, classes, [split], skipped)
    self.kind = "list"
    self.list = path
    # The list is exact, and float32, which a sample has, may not be.
    self._labels = [np.array(entry.labels, "<f8").tobytes() for entry in entries]

  def columns(self, positions, targets):
    paths, masks, _ = super().columns(positions, targets)
    some = [self._labels[position] for position in positions]
    faults = [self._fault(np.frombuffer(one).tolist()) for one in some]
    return paths, masks, np.array(some, object), np.array(faults, object)

  def _fault(self, given: list[float]) -> bytes:
    fault = labels.fault(given)
    return os.fsencode(f"{self.list}: {fault}") if fault else b""

  def load(
    self, path: tf.Tensor, mask: tf.Tensor, label: tf.Tensor, fault: tf.Tensor
  ) -> dict[str, tf.Tensor]:
    loaded = super().load(path, mask, tf.zeros([]))
    return loaded | {
      "labels": tf.cast(tf.io.decode_raw(label, tf.float64), tf.float32),
      "crc32c": ops.lib().liquid_crc32c(label, loaded["crc32c"]),
      "error": first_error(loaded["error"], fault),
    }


def class_names(entries: Iterable[recordio.ListEntry]) -> list[str] | None:
  """Names of the classes of lists, whose paths have folders.

  None unless every image has one class number, and every number a folder of its own.
  Images whose labels are at fault say nothing.
  """
  folders: dict[int, str] = {}
  for entry in entries:
    if labels.fault(entry.labels):
      continue
    label = entry.labels[0]
    folder = os.path.dirname(entry.path.replace("\\", "/"))
    if len(entry.labels) > 1 or label < 0 or not label.is_integer() or not folder:
      return None
    if folders.setdefault(int(label), folder) != folder:
      return None
  return class_list(folders)


def _read(path: str, root: str) -> dict[bytes, recordio.ListEntry]:
  """Reads a list, by paths below the folder."""
  try:
    entries = recordio.read_list(path)
  except RecordIOError as error:
    raise ConvertError(str(error)) from error
  result: dict[bytes, recordio.ListEntry] = {}
  for entry in entries:
    name = os.path.normpath(entry.path)
    if os.path.isabs(name):
      name = os.path.relpath(name, root)
    key = os.fsencode(name)
    if key in result:
      raise ConvertError(f"{path} lists {name} twice: each image is one sample")
    result[key] = entry._replace(path=name)
  return result


def list_listed(
  root: str, path: str, skips: bool, step: Callable[[], None]
) -> ListedSource:
  """Lists the images of a folder that a list names.

  A path with the backslashes of Windows is the one with slashes, unless both are there.
  Their split is that of the list's name, as flowers_val.lst says it; classes have the
  names of folders where each class number has one of its own.

  Args:
    root: the folder that paths of the list are below, local or of S3.
    path: of the list.
    skips: whether files and folders that cannot be looked at are passed over.
    step: is called for each file of the folder.

  Raises:
    ConvertError: the list cannot be read, or names nothing that is there.
  """
  entries = _read(path, root)
  listed = lister(root).Walk(root, skips, step)
  # As Windows writes the paths of images.
  other = {name.replace(b"\\", b"/"): name for name in entries if b"\\" in name}
  found: dict[bytes, tuple[bytes, int, int]] = {}
  others, another = 0, b""
  for file in listed.files():
    name = file[0] if file[0] in entries else other.get(file[0])
    if name is not None:
      found[name] = file
    else:
      others, another = others + 1, another or file[0]
  if not found:
    first = next(iter(entries.values()), None)
    raise ConvertError(
      f"{argument('annotations', path)} list no image that is below {root}"
      + ("" if first is None else f": the first is {first.path}")
    )
  files = FileTable()
  # What the list says is lost, not what cannot be looked at.
  skipped = [one._replace(samples=0) for one in listed.skipped]
  for name, entry in entries.items():
    if name in found:
      files.add(*found[name])
    else:
      reason = f"is listed in {path}, but not below {root}"
      skipped.append(LeftOut(entry.path, reason, 1))
  if others:
    reason = f"does not list {others} files below {root}, as {os.fsdecode(another)}"
    skipped.append(LeftOut(path, reason))
  [split], _ = splits_of_files([path])
  return ListedSource(
    root,
    path,
    files,
    [entry for name, entry in entries.items() if name in found],
    split,
    class_names(entries.values()),
    skipped,
  )
