"""Every object below a folder of S3, in the order of their keys' bytes, as `walk`."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.walk import part_passed_over, passed_over
from liquid_tf._store import s3, versions
from liquid_tf._store.manifest import JOURNAL
from liquid_tf.errors import ConvertError


def _pages(path: str, **more: Any) -> Iterator[dict[str, Any]]:
  """Yields what `s3.pages` does.

  Raises:
    ConvertError: the store does not list them.
  """
  try:
    yield from s3.pages(path, **more)
  except OSError as error:
    raise ConvertError(f"cannot list {error}") from error


def _inside(folder: str) -> str:
  return folder.rstrip("/") + "/"


def _prefix(folder: str) -> str:
  """The prefix of the keys of all objects in a folder."""
  _, key = s3.split(_inside(folder))
  return key


def is_folder(path: str) -> bool:
  """Whether there are objects below a path.

  Raises:
    ConvertError: listing failed.
  """
  [page] = _pages(_inside(path), PaginationConfig={"MaxItems": 1, "PageSize": 1})
  return bool(page.get("Contents"))


def is_dataset(folder: str) -> bool:
  """Whether a folder is a dataset, finished or not.

  Raises:
    ConvertError: listing failed.
  """
  prefix = _prefix(folder)
  return any(
    name == JOURNAL or versions.of_manifest(name) is not None
    for begin in (JOURNAL, "dataset")
    for page in _pages(_inside(folder) + begin, Delimiter="/")
    for name in (
      entry["Key"].removeprefix(prefix) for entry in page.get("Contents", ())
    )
  )


def stat(path: str) -> tuple[int, int]:
  """Size of an object, and when it was last changed, in nanoseconds.

  Raises:
    OSError: there is none, or listing failed.
  """
  bucket, key = s3.split(path)
  with s3.explained(path):
    found = s3.client().head_object(Bucket=bucket, Key=key)
  return found["ContentLength"], _nanoseconds(found["LastModified"])


def _nanoseconds(time: Any) -> int:
  return round(time.timestamp() * 1000) * 1_000_000


def folders(folder: bytes) -> Iterator[tuple[bytes, bool]]:
  """Yields the name of every visible entry of a folder, and whether it is a folder.

  Raises:
    ConvertError: the folder cannot be listed.
  """
  path = os.fsdecode(folder)
  prefix = _prefix(path)
  for page in _pages(_inside(path), Delimiter="/"):
    found = [(entry["Prefix"], True) for entry in page.get("CommonPrefixes", ())]
    found += [(entry["Key"], False) for entry in page.get("Contents", ())]
    for key, is_folder in found:
      name = os.fsencode(key.removeprefix(prefix).removesuffix("/"))
      if name and passed_over(name, is_folder) is None:
        yield name, is_folder


class Walk:
  """Lists the visible objects below a folder.

  Args:
    root: the folder.
    skips: has no meaning here: S3 lists nothing that cannot be looked at.
    step: is called for each object.

  Attributes:
    skipped: what is passed over.
  """

  def __init__(self, root: str, skips: bool, step: Callable[[], None]):
    del skips
    self.skipped: list[LeftOut] = []
    self._root = root
    self._step = step

  def files(self) -> Iterator[tuple[bytes, int, int]]:
    """Yields path below the root, size and time of change of each object.

    Raises:
      ConvertError: the folder cannot be listed.
    """
    prefix, last = _prefix(self._root), None
    for page in _pages(_inside(self._root)):
      for entry in page.get("Contents", ()):
        path = entry["Key"].removeprefix(prefix)
        # Some tools make an object for a folder.
        if not path or path.endswith("/"):
          continue
        found = part_passed_over(path)
        if found is None:
          self._step()
          time = _nanoseconds(entry["LastModified"])
          yield os.fsencode(path), entry["Size"], time
        elif found != last:
          last = found
          self.skipped.append(found)
