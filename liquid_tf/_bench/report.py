"""The page that `tools/bench.py --compare --report` writes."""

from typing import Any


def table(result: dict[str, Any]) -> str:
  """The comparison as a Markdown table, in images per second."""
  lines = [
    "| ours | images/s | stock tf.data | images/s | ratio | promised |",
    "| --- | ---: | --- | ---: | ---: | ---: |",
  ]
  for name, pair in result["pairs"].items():
    lines.append(
      f"| {name} | {_rate(pair['ours'])} | {pair['peer']} | {_rate(pair['stock'])} | "
      f"{pair['ratio']:.2f} | {pair['wanted']:.1f} |"
    )
  return "\n".join(lines)


def _rate(rates: dict[str, float]) -> str:
  return f"{rates['median']:.0f} ({rates['min']:.0f} to {rates['max']:.0f})"


def markdown(result: dict[str, Any]) -> str:
  """A whole page: what was measured, how, with what, and the table."""
  evidence = result["evidence"]
  versions = ", ".join(f"{name} {v}" for name, v in evidence["versions"].items())
  disk = evidence["disk"]
  side, batch_size = result["side"], result["batch_size"]
  return f"""# Benchmarks

Timings differ between machines, and on a busy one from minute to minute: the ratios
count. This page is what the command below wrote.

## Beside stock tf.data

```
{evidence["command"]}
```

{result["images"]} photographs of {side}x{side} RGB pixels, cut from larger ones or from
their continuation by mirror images, in batches of {batch_size}; {result["threads"]}
tf.data threads on both sides. Ours, stock, ours, stock, {result["rounds"]} times, each
in a fresh process of {result["epochs"]} epochs, of which the first does not count:
the median (least to most) of the others.

{table(result)}

* *Ours* has every record in its cache from the second epoch on (`cache="100%"`).
* *Stock* is `from_tensor_slices(files).shuffle(n)`, `map` of `tf.io.read_file` and
  `tf.io.decode_image` with `num_parallel_calls=AUTOTUNE`, `batch({batch_size})` and
  `prefetch(AUTOTUNE)`, with all files in a warm page cache. A parallel `batch` and
  `deterministic=False` were tried and change nothing.
* The PNG records are the bytes of the PNG files. BMP is stock's nearest to raw.
* Both give uint8 [{batch_size}, {side}, {side}, 3], which nobody uses.

| | |
| --- | --- |
| CPU | {evidence["cpu"]}, {evidence["cpus"]} processors |
| load before | {evidence["load_before"]}; others were at work where it is above zero |
| memory | {evidence["memory_bytes"] / 2**30:.0f} GiB |
| disk | {f"{disk['filesystem']} on {disk['device']}" if disk else "unknown"} |
| versions | {versions} |
| revision | {evidence["revision"] or "unknown"} |

## A dataset of your own

`python -m tools.bench --dataset=photos.liquid --cache=30% --cold` measures a pipeline
and, by the same code with the other stage switched off, what loading and decoding
would reach by themselves: `efficiency` is the share of the lower one. `--json` gives
every figure of every epoch, the disk bytes by the kernel's own count, and the least and
most per full batch of each format, of kept and of loaded samples.
"""
