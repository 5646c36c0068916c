"""The section that `liquid-tf bench constancy --report` writes."""

from typing import Any

from liquid_tf.cli.bench import constancy, page

TITLE = "How even the batches are"


def table(result: dict[str, Any]) -> str:
  """Mean and standard deviation per full batch, as a Markdown table."""
  lines = [
    "| mix | policy | loads | deviation | MB from disk | deviation | in mean samples "
    "| MB an epoch | by the kernel |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
  ]
  for row in result["rows"]:
    loads, read = row["loads"], row["disk_bytes"]
    lines.append(
      f"| {row['mix']} | {row['policy']} | {loads['mean']:.1f} | "
      f"{loads['deviation']:.2f} | {read['mean'] / 1e6:.2f} | "
      f"{read['deviation'] / 1e6:.3f} | {row['bytes_deviation_in_samples']:.2f} | "
      f"{row['epoch_disk_bytes'] / 1e6:.1f} | {row['kernel_disk_bytes'] / 1e6:.1f} |"
    )
  return "\n".join(lines)


def section(result: dict[str, Any]) -> str:
  """What was measured, how, with what, and the table."""
  batches = result["rows"][0]["batches"]
  limit = (
    f"The page cache was **not** limited: {result['unlimited']}."
    if result["unlimited"]
    else f"The page cache is held to {result['cache']} of the stored bytes by a "
    "version 1 memory cgroup, beside what the process uses and 16 MiB to spare, once "
    "one epoch has filled it."
  )
  return f"""```
{result["evidence"]["command"]}
```

{result["images"]} photographs of {result["side"]}x{result["side"]} RGB pixels in
batches of {result["batch_size"]}, {result["cache"]} of them cached: *liquid* by
regions, *minio* by what came first (CoorDL), *page* by the kernel. Each row is a fresh
process of {result["epochs"]} epochs and counts its {batches} full batches behind the
first one, as `stats().batches` does: *loads*, images that came from the disk on account
of the batch, and their bytes. {limit}

{table(result)}

*liquid* holds the loads even, to one, of each format and of all together: a deviation
of at most {constancy.MOST_DEVIATION}. Bytes are as even as loads where all records have
one size, as raw and BMP have here. PNG has not: which of its records a batch meets is
left to chance, so the bytes of L of them deviate by about √L times what one does.
*page* counts an image as a load if any page of it was missing, and as its bytes those
pages; the kernel reads ahead, beyond the image too.

{page.machine(result["evidence"])}"""
