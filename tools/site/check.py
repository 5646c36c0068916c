"""Checks the built site: links lead somewhere, and a browser needs no network for it.

usage: check.py FOLDER

Every link of every page must lead to a file of the site and, after a "#", to a place
in it; links to other sites are left alone. Scripts, styles and pictures must be files
of the site. Every public name must have its place in the reference. Prints what is
wrong, a line each, and exits with 1 if anything is.
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

import reference

# What a browser loads by itself, by element and attribute.
_LOADED = {
  ("audio", "src"),
  ("iframe", "src"),
  ("img", "src"),
  ("link", "href"),
  ("object", "data"),
  ("script", "src"),
  ("source", "src"),
  ("video", "src"),
}
_REMOTE_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class _Page(html.parser.HTMLParser):
  """The places of a page, its links and what it loads."""

  def __init__(self, path: pathlib.Path):
    super().__init__()
    self.places: set[str] = set()
    self.links: list[tuple[int, str]] = []
    self.loads: list[tuple[int, str]] = []
    self.feed(path.read_text(encoding="utf-8"))

  def handle_starttag(self, tag, attributes):
    """Called for each element."""
    line = self.getpos()[0]
    for name, value in attributes:
      if name == "id" or (tag, name) == ("a", "name"):
        self.places.add(value)
      elif (tag, name) == ("a", "href"):
        self.links.append((line, value))
      elif (tag, name) in _LOADED:
        self.loads.append((line, value))
      elif name == "srcset":
        self.loads += [(line, part.split()[0]) for part in value.split(",")]


def _problem(
  link: str, page: pathlib.Path, root: pathlib.Path, pages: dict[pathlib.Path, _Page]
) -> str | None:
  """What is wrong with a link inside the site."""
  path, _, place = link.partition("#")
  path = urllib.parse.unquote(path.partition("?")[0])
  base = root if path.startswith("/") else page.parent
  target = (base / path.lstrip("/")).resolve() if path else page
  if target.is_dir():
    target /= "index.html"
  if root not in target.parents or not target.is_file():
    return "leads to no file of the site"
  if place and target.suffix == ".html":
    if urllib.parse.unquote(place) not in pages[target].places:
      return f'{target.relative_to(root)} has no place "{place}"'
  return None


def problems(root: pathlib.Path) -> list[str]:
  """What is wrong with the site in a folder, a line each."""
  root = root.resolve()
  pages = {path: _Page(path) for path in sorted(root.rglob("*.html"))}
  found = [] if pages else [f"{root}: there is no page"]
  for path, page in pages.items():
    for line, link in page.links + page.loads:
      where = f"{path.relative_to(root)}:{line}: {link}"
      remote = urllib.parse.urlparse(link).scheme or link.startswith("//")
      if remote and (line, link) in page.loads:
        found.append(f"{where}: is loaded from elsewhere")
      elif not remote:
        problem = _problem(link, path, root, pages)
        found += [f"{where}: {problem}"] if problem else []
  for path in sorted(root.rglob("*.css")):
    for link in _REMOTE_STYLE.findall(path.read_text(encoding="utf-8")):
      found.append(f"{path.relative_to(root)}: {link}: is loaded from elsewhere")
  places = set().union(
    *(page.places for path, page in pages.items() if path.parent.name == "reference")
  )
  for name in sorted(reference.anchors() - places):
    found.append(f"reference: {name}: a public name without a place")
  return found


def main(folder: str) -> int:
  found = problems(pathlib.Path(folder))
  print("\n".join(found) if found else f"{folder}: every link leads somewhere")
  return int(bool(found))


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  sys.exit(main(sys.argv[1]))
