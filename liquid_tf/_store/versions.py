"""The versions of a dataset, and the names of their files.

A version is a manifest: dataset.json is version 1, dataset-N.json version N. What else
a version adds has its number in its name as well, and later versions share it.
"""

import itertools
import os
import re

from liquid_tf._store.schemes import is_http
from liquid_tf._store.storage import file_size, join, names_in

MANIFEST = "dataset.json"

_MANIFEST = re.compile(r"dataset(?:-([1-9]\d{0,9}))?\.json\Z")
# Shards may have any name that a manifest lists; these are what is written.
_SHARD = re.compile(r"(v\d+-)?([A-Za-z0-9_-]+-)?[a-z0-9-]+-\d+-of-\d+\.(rec|idx|pcr)\Z")
_BESIDE = re.compile(
  r"(index(-\d+)?\.npy|labels(-\d+)?\.npy|names(-\d+)?\.(npy|bin)"
  r"|column-\d+-\d+\.(npy|bin)|PCR_index(-\d+)?\.pb)\Z"
)


def file_name(name: str, version: int) -> str:
  """What a version calls a file: index.npy, and from version 2 on index-2.npy."""
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

  A server of HTTP lists nothing: it is asked for one version after another, from 1 on
  until one is missing.

  Raises:
    OSError: it cannot be listed.
  """
  if is_http(directory):
    every = itertools.count(1)
    return list(itertools.takewhile(lambda v: exists(directory, v), every))
  found = map(of_manifest, names_in(directory))
  return sorted(version for version in found if version is not None)


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
  return is_shard or of_manifest(name) is not None or bool(_BESIDE.match(name))
