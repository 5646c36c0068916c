"""A page of Markdown whose sections different commands write."""

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any


def write_section(path: str | os.PathLike, title: str, body: str) -> None:
  """Puts a section into a page: in place of the one of its title, or at the end.

  Args:
    path: of the page; made where it is not there.
    title: of the section, a heading of the second level.
    body: what stands under it, with no heading of that level.
  """
  page = pathlib.Path(path)
  lines = page.read_text().splitlines() if page.exists() else ["# Benchmarks"]
  heading = f"## {title}"
  headings = [i for i, line in enumerate(lines) if line.startswith("## ")]
  start = next((i for i in headings if lines[i] == heading), len(lines))
  end = next((i for i in headings if i > start), len(lines))
  before, after = "\n".join(lines[:start]).rstrip(), "\n".join(lines[end:])
  parts = [before, heading, body.strip(), after.strip()]
  page.write_text("\n\n".join(part for part in parts if part) + "\n")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], words: int = 1) -> str:
  """A table of Markdown: its first `words` columns to the left, others to the right."""
  rules = ["---"] * words + ["---:"] * (len(head) - words)
  lines = [head, rules, *rows]
  return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def machine(evidence: dict[str, Any]) -> str:
  """A table of where and with what something was measured."""
  disk = evidence["disk"]
  versions = ", ".join(f"{name} {v}" for name, v in evidence["versions"].items())
  return f"""| | |
| --- | --- |
| CPU | {evidence["cpu"]}, {evidence["cpus"]} processors |
| load before | {evidence["load_before"]} (above zero: other programs ran) |
| memory | {evidence["memory_bytes"] / 2**30:.0f} GiB |
| disk | {f"{disk['filesystem']} on {disk['device']}" if disk else "unknown"} |
| versions | {versions} |
| revision | {evidence["revision"] or "unknown"} |"""
