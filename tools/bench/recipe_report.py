"""The section that `python -m tools.bench recipe --report` writes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.bench import page, recipe_sets, recipes

TITLE = "Recipes of ImageNet"

_HEAD = (
  "| loader | stored | gives | images/s, median | best | processor ms an image | "
  "MB on disk | to the best peer, full size | to the best peer, same size | "
  "to FFCV at 256 | to uint8 |\n"
  "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)
_AGAINST = ("full", "same", "ffcv-256", "uint8")
_DOES = {
  "train": "a random window of 8 to 100 % of the area and a ratio of 3:4 to 4:3, "
  "resized; half of them mirrored; mean and deviation",
  "evaluate": f"the shorter side resized to {recipes.SHORTER}, the centre; mean and "
  "deviation",
}


class _Promise(NamedTuple):
  """What training is to reach: a row of ours, against what, and the least ratio."""

  format: str
  stored: str
  dtype: str
  against: str
  wanted: float


_PROMISES = (
  _Promise("l3", "256", "float32", "uint8", 0.6),
  _Promise("l3", "256", "bfloat16", "uint8", 0.7),
  _Promise("jpeg", "full", "float32", "full", 1.3),
  _Promise("l3", "256", "float32", "full", 4.0),
  _Promise("l3", "256", "float32", "ffcv-256", 2.5),
)


def table(result: dict[str, Any], recipe: str) -> str:
  """What one recipe gave, as a Markdown table; ratios are those of the medians."""
  lines = [_HEAD]
  for row in result["rows"]:
    if row["recipe"] != recipe:
      continue
    found = row.get("ratios", {})
    ratios = (f"{found[key]['median']:.2f}" if key in found else "" for key in _AGAINST)
    lines.append(
      f"| {row['what']} | {row['stored']} | {row['dtype']} | {row['median']:,.0f} | "
      f"{row['max']:,.0f} | {row['cpu_ms']:.3f} | {row['bytes'] / 1e6:.1f} | "
      f"{' | '.join(ratios)} |"
    )
  return "\n".join(lines)


def promises(result: dict[str, Any]) -> Iterator[str]:
  """What was promised of training, as lines: reached or missed, and by how much.

  The peers must all have run, at both sizes.
  """
  rows = [row for row in result["rows"] if row["recipe"] == "train" and "ratios" in row]
  for promise in _PROMISES:
    for row in rows:
      fits = (row["format"], row["stored"], row["dtype"]) == promise[:3]
      ratio = row["ratios"].get(promise.against)
      if fits and ratio and not (result["skipped"] and promise.against == "full"):
        ok = min(ratio["median"], ratio["best"]) >= promise.wanted
        yield (
          f"{row['what']}, {row['stored']}, {row['dtype']}, to {ratio['what']}"
          f"{', uint8' if promise.against == 'uint8' else ''}: {ratio['median']:.2f} "
          f"by medians, {ratio['best']:.2f} by the best epochs; {promise.wanted} was "
          f"promised{'' if ok else ', missed'}."
        )


def text(result: dict[str, Any]) -> str:
  """Tables, promises and who was skipped, for the screen."""
  parts = []
  for recipe in result["others"]:
    parts.append(f"{recipe}: {_DOES[recipe]}\n{table(result, recipe)}")
  lines = [*promises(result), *_skipped(result), *result["unlike"]]
  return "\n".join([*parts, *lines])


def section(result: dict[str, Any], image: str | None) -> str:
  """What was measured, how, with what, a picture if there is one, the tables."""
  tables = "\n\n".join(
    f"*{recipe}*: {_DOES[recipe]}. Other programs kept {busy} processors busy "
    f"meanwhile, on average.\n\n{table(result, recipe)}"
    for recipe, busy in result["others"].items()
  )
  again = ""
  if result["images"] > result["distinct"]:
    again = f" ({result['distinct']} different ones, which come again)"
  lines = [
    '*Ours* has every record in its cache from the second epoch on (`cache="100%"`). '
    "JPEG of full size is the files' bytes; JPEG at 256 is the files that peers read. "
    "Other formats at 256 come from `convert(transforms=[Resize(shorter=256)])` of the "
    "files, without further loss.",
    "*tf.data*: `decode_and_crop_jpeg` of the window alone, `tf.image.resize` without "
    "antialiasing, in a `map` with `num_parallel_calls=AUTOTUNE`, `batch`, "
    "`prefetch(AUTOTUNE)`. For evaluation the window is taken first, then resized.",
  ]
  for peer in result["peers"].values():
    versions = ", ".join(f"{name} {v}" for name, v in peer["versions"].items())
    for recipe, settings in peer["settings"].items():
      lines.append(f"*{versions}*, {recipe}: `{settings}`.")
  lines += [*_skipped(result), *result["unlike"]]
  lines += [
    "Peers have all files in a warm page cache, where stored at 256 JPEG of quality "
    f"{recipe_sets.QUALITY}. FFCV's file is made of pages of 8 MiB, and never smaller. "
    "Nothing uses the batches.",
    *promises(result),
  ]
  notes = "\n".join(f"* {line}" for line in lines)
  picture = f"\n![Images per second of each loader]({image})\n" if image else ""
  side = recipes.SIDE
  return f"""```
{result["evidence"]["command"]}
```

{result["images"]} JPEG files{again} in batches of {result["batch_size"]}, to
{side}x{side} pixels, with {result["threads"]} threads on all sides. All took turns, a
fresh process each, in {result["rounds"]} rounds; of {result["epochs"]} epochs the first
one does not count. Processor time is user and system time of the process and its
children. Left out: {result["left_out"]} files of the folder that are no RGB JPEGs.
{picture}
{tables}

{notes}

{page.machine(result["evidence"])}
"""


def _skipped(result: dict[str, Any]) -> list[str]:
  return [f"{name} was skipped: {why}." for name, why in result["skipped"].items()]
