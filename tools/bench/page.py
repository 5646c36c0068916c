"""Pages of Markdown: their templates, their tables, and sections that benchmarks write.

A template, `text/NAME.md`, is the text of a page or section; `{name}` in it stands for
a value, as str.format has it: `{images:,}`, `{promised[curl]:.2f}`.
"""

import os
import pathlib
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

_TEXT = pathlib.Path(__file__).with_name("text")


class Section(NamedTuple):
  """A part of a page.

  Attributes:
    title: a heading of the second level; "" for a body that is a whole page.
    body: what stands under it, with no heading of that level.
  """

  title: str
  body: str


def fill(name: str, /, **words: Any) -> str:
  """The text of a template; paragraphs that come to nothing are left out."""
  text = (_TEXT / f"{name}.md").read_text().format(**words)
  return re.sub(r"\n{3,}", "\n\n", text).strip()


def write(path: str | os.PathLike, section: Section) -> None:
  """Puts a section into a page: in place of the one of its title, or at the end.

  Args:
    path: of the page; made where it is not there.
    section: to write.
  """
  page = pathlib.Path(path)
  if not section.title:
    page.write_text(section.body + "\n")
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
  name: str, result: dict[str, Any] | Sequence[dict[str, Any]], /, **words: Any
) -> Section:
  """Makes the section, or the page, of a benchmark from its template.

  Args:
    name: of the template.
    result: of one run, or those of several that are shown in one. The template knows
      the values of the first, `commands`, `machine` and `notes`.
    **words: what else it knows.
  """
  every = [result] if isinstance(result, dict) else result
  revisions = sorted({one["evidence"]["revision"] or "unknown" for one in every})
  known = {
    "commands": "\n".join(one["evidence"]["command"] for one in every),
    "machine": machine(every[0]["evidence"] | {"revision": ", ".join(revisions)}),
    "notes": bullets(every[0].get("notes", ())),
  }
  text = fill(name, **every[0] | known | words)
  if text.startswith("## "):
    title, _, body = text.removeprefix("## ").partition("\n")
    return Section(title, body.strip())
  return Section("", text)


def bullets(lines: Iterable[str]) -> str:
  """Makes a list of sentences."""
  return "\n".join(f"* {line}" for line in lines)


def picture(title: str, image: str | None) -> str:
  """Shows an image where there is one."""
  return f"![{title}]({image})" if image else ""


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


def columns(
  items: Iterable[Any],
  cells: Sequence[tuple[str | None, Callable[[Any], Any]]],
  words: Collection[int] = (0,),
) -> str:
  """Makes a table with a row for each item.

  Args:
    items: what the rows are of.
    cells: the head of each column, and what an item has there.
    words: as `table` takes them.
  """
  rows = [[cell(item) for _, cell in cells] for item in items]
  return table([head for head, _ in cells], rows, words)


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
