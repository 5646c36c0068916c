"""Which encoding of a sample is looked for first."""

from liquid_tf._store.manifest import Manifest

# Formats that keep pixels, those that decode fastest first; the others hold less.
_BY_SPEED = ("raw", "bmp", "l3", "l3-compact", "png", "webp", "jpeg", "pcr")


def by_preference(manifest: Manifest) -> list[str]:
  """The formats of a dataset in the order in which another encoding is looked for:
  those without loss first, and of these the ones that decode fastest."""
  formats = manifest["formats"]
  return sorted(
    formats, key=lambda name: (not formats[name]["lossless"], _BY_SPEED.index(name))
  )
