"""The section that `python -m tools.bench compare --report` writes."""

from typing import Any

from tools.bench import page

TITLE = "Beside other loaders"


def table(result: dict[str, Any]) -> str:
  """The comparison as a Markdown table, in images per second."""
  lines = [
    "| ours | images/s | peer | images/s | ratio | of the best | by processor time | "
    "promised |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
  ]
  for pair in result["pairs"]:
    lost = "" if pair["reached"] else ", missed"
    lines.append(
      f"| {pair['format']} | {_rate(pair['ours'])} | {pair['what']} | "
      f"{_rate(pair['theirs'])} | {pair['ratio']:.2f} | {pair['ratio_best']:.2f} | "
      f"{pair['ratio_cpu']:.2f} | {pair['wanted']:.1f}{lost} |"
    )
  return "\n".join(lines)


def _rate(rates: dict[str, float]) -> str:
  return f"{rates['median']:.0f} ({rates['min']:.0f} to {rates['max']:.0f})"


def section(result: dict[str, Any]) -> str:
  """What was measured, how, with what, and the table."""
  side, batch_size = result["side"], result["batch_size"]
  peers = ""
  for peer in result["peers"].values():
    versions = ", ".join(f"{name} {v}" for name, v in peer["versions"].items())
    for settings in peer["settings"]:
      peers += f"* *{versions}*: `{settings}`.\n"
  for name in result["left_out"]:
    peers += f"* *{name}* was left out: no interpreter with it was given.\n"
  others = ", ".join(f"{busy} for {name}" for name, busy in result["others"].items())
  return f"""```
{result["evidence"]["command"]}
```

{result["images"]} photographs of {side}x{side} RGB pixels, cut from larger ones or
from their mirrored continuation, in batches of {batch_size}, with {result["threads"]}
threads on all sides. Ours and each peer ran in turn, {result["rounds"]} times, each
in a fresh process of {result["epochs"]} epochs; the first one does not count. The
table gives the median (least to most) of the others. *Ratio* compares the medians,
*of the best* the most, and *by processor time* images per second of processor time.
Other programs kept so many processors busy meanwhile, on average: {others}.

{table(result)}

* *Ours* has every record in its cache from the second epoch on (`cache="100%"`). The
  peers have all files in a warm page cache.
* *tf.data* is `from_tensor_slices(files).shuffle(n)`, `map` of `tf.io.read_file` and
  `tf.io.decode_image` with `num_parallel_calls=AUTOTUNE`, `batch({batch_size})` and
  `prefetch(AUTOTUNE)`. For raw it is `tf.io.decode_raw` and `tf.reshape`, of files that
  hold the pixels and nothing else.
{peers}* The PNG and JPEG (quality 90, 4:2:0) records are the bytes of the files.
* All return uint8 [{batch_size}, {side}, {side}, 3], which nothing uses.

{page.machine(result["evidence"])}
"""
