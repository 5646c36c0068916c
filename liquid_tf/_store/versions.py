"""The versions of a dataset, and the names of their files.

A version is a manifest: dataset.json is version 1, dataset-N.json version N. What else
a version adds has its number in its name as well, and later versions share it.
versions.json lists them for servers that list no folder; where a dataset has none,
version 1 is the only one.
"""

import json
import os
import re

from liquid_tf._store.schemes import is_http
from liquid_tf._store.storage import file_size, is_json, join, names_in, read_right

MANIFEST = "dataset.json"
LIST = "versions.json"

# Of the list, in bytes: a hundred thousand versions.
_MOST_LIST = 1 << 20

_MANIFEST = re.compile(r"dataset(?:-([1-9]\d{0,9}))?\.json\Z")
# Shards may have any name that a manifest lists; these are what is written.
_SHARD = re.compile(r"(v\d+-)?([A-Za-z0-9_-]+-)?[a-z0-9-]+-\d+-of-\d+\.(rec|idx|pcr)\Z")
_BESIDE = re.compile(
  r"(index(-\d+)?\.npy|labels(-\d+)?\.npy|names(-\d+)?\.(npy|bin)"
  r"|column-\d+-\d+\.(npy|bin)|PCR_index(-\d+)?\.pb)\Z"
)


def file_name(name: str, version: int) -> str:
  """File name in a version: index.npy, and from version 2 on index-2.npy."""
  if version == 1:
    return name
  stem, extension = os.path.splitext(name)
  return f"{stem}-{version}{extension}"


def manifest_file(version: int) -> str:
  """Name of the manifest of a version."""
  return file_name(MANIFEST, version)


def of_manifest(name: str) -> int | None:
  """The version whose manifest has this name, or None."""
  match = _MANIFEST.match(name)
  if match is None or match.group(1) == "1":
    return None
  return int(match.group(1) or 1)


def in_directory(directory: str) -> list[int]:
  """The versions in a directory or at a URL, ascending; one listing.

  Raises:
    OSError: it cannot be listed.
  """
  if is_http(directory):
    return _listed(directory)
  found = map(of_manifest, names_in(directory))
  return sorted(version for version in found if version is not None)


def encode_list(found: list[int]) -> bytes:
  """The bytes of the list of these versions."""
  return json.dumps({"versions": sorted(found)}).encode() + b"\n"


def _listed(directory: str) -> list[int]:
  """The versions that the list has, or that are there without one.

  Raises:
    OSError: it cannot be read, or is no such list.
  """
  path = join(directory, LIST)
  size = file_size(path)
  if size is None:
    return [1] if exists(directory, 1) else []
  if size > _MOST_LIST:
    raise OSError(f"{path} has {size} bytes, and must have at most {_MOST_LIST}")
  contents = read_right(path, is_json)
  try:
    found = json.loads(contents)["versions"]
    if not found or not all(type(one) is int and 0 < one < 10**10 for one in found):
      raise ValueError
  except (KeyError, RecursionError, TypeError, ValueError):
    wanted = encode_list([1, 2]).decode().strip()
    raise OSError(f"{path} must be a list of versions such as {wanted}") from None
  found.sort()
  # A new version is listed before it is there.
  while found and not exists(directory, found[-1]):
    found.pop()
  return found


def exists(directory: str, version: int) -> bool:
  """Whether the manifest of a version is there.

  Raises:
    OSError: it cannot be looked at.
  """
  return file_size(join(directory, manifest_file(version))) is not None


def said(versions: list[int]) -> str:
  """Versions for people: 1, 2 and 5."""
  *others, last = map(str, versions)
  return f"{', '.join(others)} and {last}" if others else last


def is_written(name: str) -> bool:
  """Whether `convert` and what adds versions give files such names, manifests apart."""
  return bool(_SHARD.match(name) or _BESIDE.match(name))


def is_file(name: str) -> bool:
  """Whether a file of this name may be a dataset's."""
  is_shard = name.endswith((".rec", ".idx", ".pcr"))
  is_known = name == LIST or bool(_BESIDE.match(name))
  return is_shard or is_known or of_manifest(name) is not None
