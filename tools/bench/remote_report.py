"""The section that `python -m tools.bench remote --report` writes."""

from typing import Any

from tools.bench import page, remote

_HEAD = (
  *("images", "by", "images/s", "images/s, late answers"),
  *("left", "promised", "of curl's", "late, of curl's", "left where one in ten fails"),
)


def title(result: dict[str, Any]) -> str:
  """Of the section."""
  link = result["link_gbit"]
  over = f", over {link:g} Gbit/s" if link else ""
  return f"Servers whose answers come late{over}"


def table(result: dict[str, Any]) -> str:
  """Rates and ratios, as a Markdown table."""
  rows = []
  for name, entry in result["sizes"].items():
    size = f"{entry['images']} of {entry['image_bytes'] / 1e3:.0f} KB"
    rates = {side: _rate(result, entry, side) for side in entry["rates"]}
    for scheme, kept in entry["kept"].items():
      of_curl = [entry["of_curl"][f"{scheme}{late}"] for late in ("", " delayed")]
      row = [size, f"`{scheme}://`", rates[scheme], rates[f"{scheme} delayed"]]
      row += [f"{kept:.2f}", f"{result['promised'][name]:.2f}"]
      ratios = [*of_curl, entry["failing"][scheme]]
      rows.append([*row, *(f"{ratio:.2f}" for ratio in ratios)])
    rows.append([size, "curl", rates["curl"], rates["curl delayed"], *[""] * 5])
  return page.table(_HEAD, rows, words=2)


def _rate(result: dict[str, Any], entry: dict[str, Any], side: str) -> str:
  """A rate, and what it is of the network's."""
  rate = entry["rates"][side]["median"]
  if not result["link_gbit"]:
    return f"{rate:.0f}"
  share = rate * entry["image_bytes"] * 8 / (result["link_gbit"] * 1e9)
  return f"{rate:.0f} ({share:.0%})"


def section(result: dict[str, Any]) -> str:
  """What was measured, how, with what, and the table."""
  sides = " and ".join(f"{side} x {side}" for side in remote.SIDES.values())
  link = result["link_gbit"]
  over = (
    f"The network carries {link:g} Gbit/s, which `tc` sees to, and the rates' share\n"
    "of that stands beside them: what is asked, and headers, have to pass too.\n"
    if link
    else ""
  )
  return f"""```
{result["evidence"]["command"]}
```

Raw images of {sides} pixels, from nginx on the same machine, which shares its
processors. Its Lua module waits {result["delay"] * 1e3:.0f} ms before each late answer.
{over}Nothing is cached. Over `s3://` nginx is a store that looks at no signature. Each
side runs in a fresh process, all in turn; the rates are medians, and the first epoch of
each process does not count. curl gets the same shards by `--parallel`, and throws them
away.
{result["promised"]["curl"]:.2f} of its rate is promised. In the last column one in ten
late answers is an error or a broken connection; {result["promised"]["failing"]:.2f} of
the rate with late answers is promised.

{table(result)}

{page.machine(result["evidence"])}"""
