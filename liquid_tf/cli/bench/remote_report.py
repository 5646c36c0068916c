"""The section that `liquid-tf bench remote --report` writes."""

from typing import Any

from liquid_tf.cli.bench import page, remote

TITLE = "Servers whose answers come late"

_HEAD = (
  *("images", "by", "images/s", "images/s, late answers"),
  *("left", "promised", "of curl's", "late, of curl's"),
)


def table(result: dict[str, Any]) -> str:
  """Rates and ratios, as a Markdown table."""
  rows = []
  for name, entry in result["sizes"].items():
    rates = {side: f"{each['median']:.0f}" for side, each in entry["rates"].items()}
    size = f"{entry['images']} of {entry['image_bytes'] / 1e3:.0f} KB"
    for scheme, kept in entry["kept"].items():
      of_curl = [entry["of_curl"][f"{scheme}{late}"] for late in ("", " delayed")]
      row = [size, f"`{scheme}://`", rates[scheme], rates[f"{scheme} delayed"]]
      row += [f"{kept:.2f}", f"{result['promised'][name]:.2f}"]
      rows.append([*row, *(f"{ratio:.2f}" for ratio in of_curl)])
    rows.append([size, "curl", rates["curl"], rates["curl delayed"], *[""] * 4])
  return page.table(_HEAD, rows, words=2)


def section(result: dict[str, Any]) -> str:
  """What was measured, how, with what, and the table."""
  sides = " and ".join(f"{side} x {side}" for side in remote.SIDES.values())
  return f"""```
{result["evidence"]["command"]}
```

Raw images of {sides} pixels, from nginx on the same machine, which shares its
processors. Its Lua module waits {result["delay"] * 1e3:.0f} ms before each late answer.
Nothing is cached. Over `s3://` nginx is a store that looks at no signature. Each side
runs in a fresh process, all in turn; the rates are medians, and the first epoch of each
process does not count. curl gets the same shards by `--parallel`, and throws them away.
{result["promised"]["curl"]:.2f} of its rate is promised.

{table(result)}

{page.machine(result["evidence"])}"""
