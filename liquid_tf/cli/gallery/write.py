"""Writes the gallery of a dataset."""

import os
from typing import Any

from liquid_tf._native.limits import Limits
from liquid_tf._store import files
from liquid_tf._store import manifest as manifests
from liquid_tf._store.progress import Progress
from liquid_tf._view.sample_reader import SampleReader
from liquid_tf._view.view import View
from liquid_tf.cli.gallery import page
from liquid_tf.cli.gallery.figure import Figures
from liquid_tf.cli.gallery.groups import groups


def write(
  samples: str | View,
  result: dict[str, Any],
  output: str,
  each: int,
  limits: Limits,
  progress: bool = False,
) -> None:
  """Writes a page of pictures of a dataset, by class.

  Files that are missing or damaged do not stop it: their samples say so.

  Args:
    samples: a dataset directory, or a view.
    result: of `inspect` or `verify` of them, which has formats.
    output: the page.
    each: pictures of a class at most.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    progress: whether a progress bar appears on stderr.

  Raises:
    ManifestError: the index, or what lies beside it, cannot be read.
    OSError: the page cannot be written.
  """
  view = samples if isinstance(samples, View) else _damaged_or_not(samples)
  manifest = view.manifest
  reader = SampleReader(manifest, view.index, limits)
  figures = Figures(manifest, reader)
  chosen = groups(view, each)
  bar = Progress(progress)
  bar.start("gallery", sum(len(group.positions) for group in chosen))
  shown, damaged = [], []
  for group in chosen:
    made = []
    for position in group.positions:
      figure = figures.make(view.places.item(position))
      made.append(figure.html)
      if figure.damaged:
        damaged.append(int(view.numbers[position]))
      bar.step()
    shown.append(made)
  bar.close()
  text = page.render(result, chosen, shown, damaged)
  files.write_file(os.path.abspath(output), text.encode("utf-8"))


def _damaged_or_not(path: str) -> View:
  """All samples of a dataset, of which files may be missing."""
  manifest = manifests.load(path, check_files=False)
  return View(manifest, manifests.load_index(manifest), list(manifest["splits"]))
