"""PCR, figures 5 and 7: bytes and similarity of each scan group."""

from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import jpegs, show
from tools.bench.papers.figure import Setting, emptied

# Few, so that more records, and so more images, are compared.
_RECORD_IMAGES = 16
_QUICK_IMAGES = 4
# The groups that the paper trains with.
_SHOWN = (1, 2, 5)


def measure(setting: Setting) -> dict[str, Any]:
  """Converts images to progressive compressed records, which measures them."""
  most = _QUICK_IMAGES if setting.quick else None
  with emptied(setting.folder / "scans") as folder:
    what, files, groups = jpegs.converted(
      setting, folder, 1, most, images=_RECORD_IMAGES
    )
    return {
      "what": what,
      "images": len(files),
      "source_bytes": sum(file.stat().st_size for file in files),
      "groups": groups,
    }


def _shares(result: Mapping[str, Any]) -> list[float]:
  """Bytes of each group's prefix, of those of all groups."""
  sizes = [group["bytes"] for group in result["groups"]]
  return [size / sizes[-1] for size in sizes]


def table(result: Mapping[str, Any]) -> str:
  shares, count = _shares(result), len(result["groups"])
  rows = [
    [
      number,
      f"{group['bytes'] / result['images']:,.0f}",
      f"{share:.2f}",
      "" if group["mssim"] is None else f"{group['mssim']:.4f}",
    ]
    for number, (group, share) in enumerate(zip(result["groups"], shares), start=1)
  ]
  table = page.table(["scan groups", "bytes an image", "of all", "MSSIM"], rows)
  if count < max(_SHOWN):
    return table
  ratios = [
    [f"group 5, of all {count}", "about 0.5", f"{shares[4]:.2f}"],
    ["group 1, of group 5", "0.2", f"{shares[0] / shares[4]:.2f}"],
    ["group 1, of all", "about 0.1", f"{shares[0]:.2f}"],
  ]
  return f"{table}\n\n{page.table(['bytes', 'paper', 'here'], ratios)}"


def words(result: Mapping[str, Any]) -> dict[str, Any]:
  return {
    "mean_bytes": result["source_bytes"] / result["images"],
    "record_images": _RECORD_IMAGES,
    "share": _shares(result)[0],
  }


def draw(result: Mapping[str, Any], canvas: Any) -> None:
  numbers = range(1, len(result["groups"]) + 1)
  left, right = canvas.subplots(1, 2)
  sizes = [group["bytes"] / result["images"] / 1e3 for group in result["groups"]]
  left.bar(numbers, sizes, color="tab:gray")
  left.set_ylabel("KB an image")
  similar = [group["mssim"] for group in result["groups"]]
  if None not in similar:
    right.plot(numbers, similar, "o-", color="tab:red")
  right.set_ylabel("MSSIM")
  for axes in (left, right):
    axes.set_xticks(numbers)
    show.style(axes, "y", xlabel="scan groups")
