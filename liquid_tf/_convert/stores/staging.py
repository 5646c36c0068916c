"""The local folder of a conversion whose output is in a store."""

import hashlib
import os
import posixpath

from liquid_tf._convert.arguments import local_path_of


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
