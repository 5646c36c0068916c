"""The images of all sets in one folder, to cut photographs from."""

import os
import pathlib

from tools.bench.papers.figure import Setting


def folder(setting: Setting) -> str | None:
  """A folder of links to the images of all sets; None for scikit-image's."""
  paths = [(s.name, path) for s in setting.sets for path in s.paths]
  if not paths:
    return None
  place = pathlib.Path(setting.folder, "photographs")
  place.mkdir(parents=True, exist_ok=True)
  for name, path in paths:
    link = place / f"{name}-{os.path.basename(path)}"
    if not link.is_symlink():
      link.symlink_to(os.path.abspath(path))
  return os.fspath(place)
