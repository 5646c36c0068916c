"""The names of a dataset's files, by the version that wrote them."""

import re

_FILE = re.compile(
  r"(dataset(-\d+)?\.json|index(-\d+)?\.npy|labels(-\d+)?\.npy"
  r"|names(-\d+)?\.(npy|bin)|column-\d+-\d+\.(npy|bin)|PCR_index(-\d+)?\.pb"
  r"|.*\.(rec|idx|pcr))\Z",
  re.DOTALL,
)


def is_file(name: str) -> bool:
  """Whether a file of this name may be a dataset's."""
  return bool(_FILE.match(name))
