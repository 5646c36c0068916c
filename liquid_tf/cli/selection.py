"""The flags that choose samples of a dataset: `View.split`, `.where` and a version."""

from typing import TYPE_CHECKING

from liquid_tf.cli.flag_values import Flags

if TYPE_CHECKING:
  from liquid_tf._view.view import View

_NAMES = ("split", "where", "version")


def define(values: Flags) -> None:
  """Defines --split, --where and --version."""
  values.string(
    "split", None, "samples of a dataset: splits, or slices, as train[:10%]+val"
  )
  values.string(
    "where",
    None,
    "samples of a dataset for which this holds, as "
    "'height >= 256 and label == \"owl\"'",
  )
  values.integer("version", None, "of a dataset; by default the newest", 1)


def read(values: Flags, path: str) -> "str | View":
  """The samples that the flags choose; the path where they choose none.

  Raises:
    ManifestError: they are given, and the path is no sound dataset.
    ValueError: one is wrong, or no sample is chosen.
  """
  if not any(values[name].present for name in _NAMES):
    return path
  from liquid_tf._view import view as views

  view = views.open(path, values.version)
  if values.split is not None:
    view = view.split(values.split)
  if values.where is not None:
    view = view.where(values.where)
  return view
