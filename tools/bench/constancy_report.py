"""The section that `python -m tools.bench constancy --report` writes."""

from typing import Any

from tools.bench import constancy, page

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
    else "A version 1 memory cgroup holds the page cache to "
    f"{result['cache']} of the stored bytes, beside what the process uses and 16 MiB "
    "to spare, after one epoch has filled it."
  )
  return f"""```
{result["evidence"]["command"]}
```

{result["images"]} photographs of {result["side"]}x{result["side"]} RGB pixels in
batches of {result["batch_size"]}, {result["cache"]} of them cached. *liquid* caches
by regions, *minio* what was drawn first (CoorDL), *page* what the kernel keeps. Each
row is a fresh process of {result["epochs"]} epochs, and counts its {batches} full
batches after the first epoch, as `stats().batches` does: *loads*, the images that
came from the disk on account of the batch, and their bytes. {limit}

{table(result)}

*liquid* keeps the number of loads constant to one, of each format and of all
together: a deviation of at most {constancy.MOST_DEVIATION}. If all records have one
size, as raw and BMP have here, bytes are as constant as loads. Records of PNG differ
in size, and chance decides which ones a batch draws, so the bytes of L of them
deviate by about √L times the deviation of one. *page* counts an image as a load if
any of its pages was missing, and counts those pages as its bytes; the kernel also
reads ahead, beyond the image.

{page.machine(result["evidence"])}"""
