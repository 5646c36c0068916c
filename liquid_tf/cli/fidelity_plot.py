"""The plot of `liquid-tf inspect --plot`."""

import os
from collections.abc import Sequence
from typing import Any


def plot(fidelity: Sequence[dict[str, Any]], path: str | os.PathLike) -> None:
  """Draws what each scan group costs and gives to an image file.

  Args:
    fidelity: `bytes` and `mssim` of each group, as the manifest's `pcr.fidelity`.
    path: the image; its extension names the format.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: the extension of `path` is of no image format.
  """
  import matplotlib

  matplotlib.use("Agg")
  from matplotlib import pyplot

  groups = range(1, len(fidelity) + 1)
  figure, axes = pyplot.subplots(figsize=(7, 4))
  axes.bar(groups, [entry["bytes"] / 1e6 for entry in fidelity], color="tab:gray")
  axes.set_xlabel("scan group")
  axes.set_xticks(groups)
  axes.set_ylabel("MB that an epoch reads")
  if all(entry["mssim"] is not None for entry in fidelity):
    similarity = axes.twinx()
    similarity.plot(groups, [entry["mssim"] for entry in fidelity], "o-")
    similarity.set_ylabel("MSSIM")
    similarity.set_ylim(top=1.01)
  figure.tight_layout()
  figure.savefig(path, dpi=120)
  pyplot.close(figure)
