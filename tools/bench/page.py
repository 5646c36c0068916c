"""A page of Markdown whose sections different benchmarks write."""

import os
import pathlib
import statistics
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple


class Section(NamedTuple):
  """A part of a page.

  Attributes:
    title: a heading of the second level; "" for a body that is a whole page.
    body: what stands under it, with no heading of that level.
  """

  title: str
  body: str


def write(path: str | os.PathLike, section: Section) -> None:
  """Puts a section into a page: in place of the one of its title, or at the end.

  Args:
    path: of the page; made where it is not there.
    section: to write.
  """
  page = pathlib.Path(path)
  if not section.title:
    page.write_text(section.body)
    return
  lines = page.read_text().splitlines() if page.exists() else ["# Benchmarks"]
  heading = f"## {section.title}"
  headings = [i for i, line in enumerate(lines) if line.startswith("## ")]
  start = next((i for i in headings if lines[i] == heading), len(lines))
  end = next((i for i in headings if i > start), len(lines))
  before, after = "\n".join(lines[:start]).rstrip(), "\n".join(lines[end:])
  parts = [before, heading, section.body.strip(), after.strip()]
  page.write_text("\n\n".join(part for part in parts if part) + "\n")


def section(
  title: str, result: dict[str, Any] | Sequence[dict[str, Any]], *parts: str
) -> Section:
  """Makes the section of a benchmark.

  Args:
    title: of the section.
    result: of one run, or those of several that are shown in one.
    *parts: what was measured and how, and the tables; empty ones are left out.

  Returns:
    These between the commands and the machine.
  """
  every = [result] if isinstance(result, dict) else result
  commands = "\n".join(one["evidence"]["command"] for one in every)
  revisions = sorted({one["evidence"]["revision"] or "unknown" for one in every})
  evidence = every[0]["evidence"] | {"revision": ", ".join(revisions)}
  body = [f"```\n{commands}\n```", *parts, machine(evidence)]
  return Section(title, "\n\n".join(part.strip() for part in body if part))


def table(
  head: Sequence[str | None],
  rows: Iterable[Sequence[Any]],
  words: Collection[int] = (0,),
) -> str:
  """Makes a table of Markdown.

  Args:
    head: of each column; None for a first one without.
    rows: their cells.
    words: columns that stand to the left; the others are numbers, to the right.
  """
  rules = ["---" if i in words else "---:" for i in range(len(head))]
  bare, named = ("| ", head[1:]) if head[0] is None else ("", head)
  lines = [named, rules, *rows]
  return bare + "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def span(values: Sequence[float], form: str = ".0f") -> str:
  """The median of some numbers, with the least and the most."""
  found = (statistics.median(values), min(values), max(values))
  middle, least, most = (format(value, form) for value in found)
  return f"{middle} ({least} to {most})"


def versions(of: dict[str, str]) -> str:
  """Names with their versions, as "python 3.11, numpy 1.26"."""
  return ", ".join(f"{name} {version}" for name, version in of.items())


def machine(evidence: dict[str, Any]) -> str:
  """A table of where and with what something was measured."""
  disk = evidence["disk"]
  return f"""| | |
| --- | --- |
| CPU | {evidence["cpu"]}, {evidence["cpus"]} processors |
| load before | {evidence["load_before"]} (above zero: other programs ran) |
| memory | {evidence["memory_bytes"] / 2**30:.0f} GiB |
| disk | {f"{disk['filesystem']} on {disk['device']}" if disk else "unknown"} |
| versions | {versions(evidence["versions"])} |
| revision | {evidence["revision"] or "unknown"} |"""
