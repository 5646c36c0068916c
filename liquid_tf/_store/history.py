"""The versions of a dataset, and what each takes on the disk."""

import collections
import os
from typing import Any

from liquid_tf._store import contents, versions
from liquid_tf._store import manifest as manifests


def history(path: str | os.PathLike) -> list[dict[str, Any]]:
  """Lists the versions of a dataset, from their manifests.

  Args:
    path: a dataset directory.

  Returns:
    A dict for each, the oldest first: `version`, `made_by` (convert, append, remove,
    annotate, compact or index-jpeg), `samples`, `bytes` of all its files, and
    `own_bytes`, of those that no other version has.

  Raises:
    ManifestError: the directory is no dataset, or a version's manifest is wrong.
  """
  path = os.fspath(path)
  manifests.load(path, check_files=False)
  found = [
    manifests.load(path, version, check_files=False)
    for version in versions.in_directory(path)
  ]
  sizes = [
    {file.name: file.bytes or 0 for file in contents.every(m.data)} for m in found
  ]
  uses = collections.Counter(name for files in sizes for name in files)
  return [
    {
      "version": manifest["version"],
      "made_by": manifest["made_by"],
      "samples": manifest["samples"],
      "bytes": sum(files.values()),
      "own_bytes": sum(size for name, size in files.items() if uses[name] == 1),
    }
    for manifest, files in zip(found, sizes)
  ]
