"""Images that a dataset has already, by what their source calls them."""

import numpy as np

from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._edit.passed_source import PassedSource
from liquid_tf._store import names, texts
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ConvertError, argument, setting

CHOICES = ("refuse", "skip", "add")


def without_duplicates(
  source: SampleSource, manifest: Manifest, duplicates: str
) -> SampleSource:
  """A source without the images whose names samples of a dataset have or had.

  Names of removed samples count, so that what was removed does not come back. A number
  in a file of records is no name.

  Args:
    source: what is to be added.
    manifest: of the dataset.
    duplicates: "skip" leaves such images out, "refuse" forbids them, "add" allows them.

  Returns:
    The source, or a part of it, which may have no samples.

  Raises:
    ConvertError: there are such images, and they are refused.
    ManifestError: the dataset's names are damaged.
  """
  if duplicates == "add" or not source.has_names:
    return source
  wanted = [texts.encode(source.name(position)) for position in range(len(source))]
  known = set(wanted).intersection(names.load(manifest).every())
  if not known:
    return source
  new = np.array([name not in known for name in wanted])
  if duplicates == "skip":
    return PassedSource(source, np.flatnonzero(new))
  first, count = int(new.argmin()), int((~new).sum())
  raise ConvertError(
    f"{argument('source', source.named)}: {count} of {len(new)} images have names "
    f"that samples of {manifest.directory} have or had, as {source.name(first)}: "
    f"leave them out with {setting('duplicates', 'skip')}, or, if they are other "
    f"images, add them with {setting('duplicates', 'add')}"
  )
