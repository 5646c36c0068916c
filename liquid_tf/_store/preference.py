"""Order in which the encodings of a sample are looked for."""

from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.manifest import Manifest


def by_preference(manifest: Manifest) -> list[str]:
  """The formats of a dataset in the order in which another encoding is looked for:
  those without loss first, and of these the ones that decode fastest."""
  formats = manifest["formats"]

  def rank(name: str) -> tuple[bool, int, int]:
    row = BY_NAME[name]
    return not formats[name]["lossless"], row.cost, row.number

  return sorted(formats, key=rank)
