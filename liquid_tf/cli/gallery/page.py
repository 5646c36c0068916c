"""The page of a gallery: one file that needs nothing else."""

import itertools
from typing import Any

from liquid_tf._cost import amounts
from liquid_tf._profile import html_page
from liquid_tf._profile.html_page import text
from liquid_tf.cli import tool
from liquid_tf.cli.gallery.groups import Group

# Classes that the list at the top names, and problems there.
_MOST_LINKS = 200
_MOST_PROBLEMS = 50

_STYLE = """
:root { color-scheme: light dark; --ink: #1a202c; --faint: #566070; --paper: #fff;
  --card: #f4f6f8; --line: #d9dfe6; --accent: #0b6e5f; --bad: #b3261e;
  --bad-card: #fdecea; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --faint: #9aa5b4; --paper: #14181e; --card: #1e242c;
    --line: #333c48; --accent: #62c9b5; --bad: #ff8a80; --bad-card: #3a1d1b; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; max-width: 90rem;
  padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; overflow-wrap: anywhere; }
h2 small { font-weight: 400; color: var(--faint); font-size: .85rem;
  white-space: nowrap; }
a { color: var(--accent); }
.path { color: var(--faint); margin: .15rem 0 1rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem 1.2rem .25rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; }
@media (max-width: 30rem) { th, td { font-size: .8rem; padding-right: .6rem; } }
.problems { background: var(--bad-card); border-left: .3rem solid var(--bad);
  margin: 1rem 0; padding: .6rem 1rem; overflow-wrap: anywhere; }
.problems p { margin: 0; font-weight: 600; }
.problems ul { margin: .3rem 0 0; padding-left: 1.2rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin-top: 1.2rem; }
nav a { background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
  color: var(--ink); padding: .1rem .7rem; text-decoration: none; max-width: 100%;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav small { color: var(--faint); }
.show { display: flex; gap: 1.2rem; margin-top: 1rem; }
.grid { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fill, minmax(min(11rem, 45%), 1fr)); }
figure { background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  margin: 0; min-width: 0; overflow: hidden; }
figure:target { outline: 3px solid var(--accent); }
figure svg { display: block; width: 100%; height: 10rem; overflow: hidden;
  background: var(--paper); }
figcaption { display: grid; font-size: .8rem; line-height: 1.4; padding: .4rem .6rem;
  overflow-wrap: anywhere; }
figcaption span { color: var(--faint); }
figcaption .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.damaged { border-color: var(--bad); border-width: 2px; }
figcaption .why { color: var(--bad); }
.pixels { image-rendering: pixelated; }
.boxes * { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2; }
.boxes .edge { stroke: #000; stroke-opacity: .55; stroke-width: 4; }
.boxes .point { stroke: #fff; stroke-width: 4; stroke-linecap: round; }
.empty { fill: var(--bad-card); }
.cross { fill: none; stroke: var(--bad); stroke-width: 4; }
body:has(#show-boxes:not(:checked)) .boxes,
body:has(#show-masks:not(:checked)) .mask { display: none; }
footer { color: var(--faint); font-size: .85rem; margin-top: 2.5rem; }
"""


def render(
  result: dict[str, Any],
  groups: list[Group],
  figures: list[list[str]],
  damaged: list[int],
) -> str:
  """The page.

  Args:
    result: of `inspect` or `verify`.
    groups: samples to show.
    figures: HTML of the samples of each group.
    damaged: numbers of samples on the page that are damaged.

  Returns:
    HTML with its style and pictures inside; no script, and nothing that is fetched.
  """
  title = result["path"].rstrip("/").rsplit("/", 1)[-1]
  read = sum(map(len, figures))
  head, *formats = tool.format_rows(result)
  parts = [
    f"<h1>{text(title)}</h1>",
    f'<p class="path">{text(result["path"])} · {text(result["created_by"])}</p>',
    html_page.table(head, formats),
    _summary(result),
    _problems(result["problems"], damaged),
    _links(groups),
    _switches(result["features"]),
    *map(_section, itertools.count(), groups, figures),
    f"<footer>{read} of {result['samples']} samples were read for this page, each in "
    "every format that it is stored in."
    + ("" if "verified" in result else " Others may be damaged: --verify reads all.")
    + "</footer>",
  ]
  return html_page.page(title, _STYLE, parts)


def _summary(result: dict[str, Any]) -> str:
  splits = ", ".join(f"{name} {count:,}" for name, count in result["splits"].items())
  features = ", ".join([*result["features"], *result["columns"]])
  return (
    f"<p>{result['samples']:,} samples ({text(splits)}), "
    f"{amounts.size(result['bytes'])} on disk. "
    f"Features: {text(features)}.</p>"
  )


def _problems(problems: list[str], damaged: list[int]) -> str:
  """Lists the problems, with links to the damaged samples of this page."""
  lines = [text(problem) for problem in problems[:_MOST_PROBLEMS]]
  if len(problems) > _MOST_PROBLEMS:
    lines.append(f"and {len(problems) - _MOST_PROBLEMS} more")
  if damaged:
    links = [
      f'<a href="#sample-{number}">#{number}</a>' for number in damaged[:_MOST_PROBLEMS]
    ]
    if len(damaged) > _MOST_PROBLEMS:
      links.append(f"and {len(damaged) - _MOST_PROBLEMS} more")
    lines.append(f"Damaged on this page: {', '.join(links)}")
  if not lines:
    return ""
  items = "\n".join(f"<li>{line}</li>" for line in lines)
  return f'<div class="problems"><p>Problems</p>\n<ul>\n{items}\n</ul></div>'


def _links(groups: list[Group]) -> str:
  if len(groups) < 2:
    return ""
  links = [
    f'<a href="#group-{i}"><bdi>{text(group.name)}</bdi> '
    f"<small>{group.count:,}</small></a>"
    for i, group in enumerate(groups[:_MOST_LINKS])
  ]
  if len(groups) > _MOST_LINKS:
    links.append(f"and {len(groups) - _MOST_LINKS} more classes")
  return "<nav>\n" + "\n".join(links) + "\n</nav>"


def _switches(features: dict[str, Any]) -> str:
  """Switches that hide boxes and masks, where there are some."""
  names = {"boxes": "boxes", "masks": "mask"}
  switches = [
    f'<label><input type="checkbox" id="show-{name}" checked> {name}</label>'
    for name, feature in names.items()
    if feature in features
  ]
  return f'<div class="show">{"".join(switches)}</div>' if switches else ""


def _section(number: int, group: Group, figures: list[str]) -> str:
  count = f"{group.count:,} samples"
  if len(figures) < group.count:
    count += f", {len(figures):,} shown"
  shown = "\n".join(figures)
  return (
    f'<section id="group-{number}">\n<h2><bdi>{text(group.name)}</bdi> '
    f'<small>{count}</small></h2>\n<div class="grid">\n{shown}\n</div>\n</section>'
  )
