"""Opens the store of a URL, and names the local folder of what is not yet sent."""

import hashlib
import os
import posixpath

from liquid_tf._convert.arguments import local_path_of
from liquid_tf._convert.stores.file_system_store import FileSystemStore
from liquid_tf._convert.stores.s3_store import S3Store
from liquid_tf._convert.stores.store import Store
from liquid_tf._store import schemes


def open_store(url: str) -> Store:
  """Lists a folder of a store, which need not be there.

  Raises:
    ImportError: a library for it is not installed.
    OSError: the store does not answer, or refuses.
  """
  if schemes.is_s3(url):
    return S3Store(url)
  return FileSystemStore(url)


def staging_folder(output: str, staging: str | os.PathLike | None) -> str:
  """Where the journal and the shards lie that are not yet sent.

  Args:
    output: URL of the dataset.
    staging: what the user named; None: a folder below XDG_CACHE_HOME or ~/.cache, the
      same for the same output.

  Raises:
    ValueError: the user named no local path.
  """
  if staging is not None:
    return local_path_of("staging", staging)
  output = output.rstrip("/")
  cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
  digest = hashlib.sha256(output.encode()).hexdigest()[:16]
  return os.path.join(cache, "liquid_tf", f"{posixpath.basename(output)}-{digest}")
