"""What MkDocs calls while it builds the site (mkdocs.yml names this file)."""

import ast
import pathlib
import posixpath
import re

import reference
from docstrings import fence_examples
from lists import widen
from mkdocs.structure.files import File

_DOCS = reference.ROOT / "docs"
_RESULTS = reference.ROOT / "tools/bench/results"
# Pages that show a file which lies elsewhere in the repository.
_SHOWN = {
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "README.md": "index.md",
}
# Files that these pages link to, which browsers show by their extension.
_TEXTS = {"LICENSE": "license.txt", "NOTICE": "notice.txt"}
_FLAGS = re.compile(r"<code>[^<]*--[^<]*</code>")
_LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")


def _example(path) -> str:
  """A page that shows an example, under its first line."""
  source = path.read_text()
  title, _, rest = ast.get_docstring(ast.parse(source)).partition("\n")
  code = source.split('"""', 2)[2].strip()
  return (
    f"# {title.rstrip('.')}\n{fence_examples(rest, '')}\n\n"
    f"The program is `docs/examples/{path.name}` of the repository:\n\n"
    f"```python\n{code}\n```\n"
  )


def _results() -> str:
  """A page with links to the results that pages of benchmarks are made of."""
  lines = [
    "# Results as JSON",
    "The pages of benchmarks are made of these files. Each also has the figures of "
    "other runs, the machine and the versions.",
  ]
  for title, folder in (("Benchmarks", "."), ("Papers", "papers")):
    files = (_site_path(path) for path in sorted((_RESULTS / folder).glob("*.json")))
    lines += [
      f"## {title}",
      "\n".join(f"- [{posixpath.basename(file)}]({file})" for file in files),
    ]
  return "\n\n".join(lines) + "\n"


def _site_path(result: pathlib.Path) -> str:
  """The place of a result on the site."""
  return f"results/{result.relative_to(_RESULTS).as_posix()}"


def _moved() -> dict[str, str]:
  """The site's page, or part of one, for each file or folder that is none itself."""
  found = _SHOWN | _TEXTS
  found["tools/bench/results"] = "results.md"
  found["tools/bench/results/papers"] = "results.md#papers"
  for path in _RESULTS.rglob("*.json"):
    found[path.relative_to(reference.ROOT).as_posix()] = _site_path(path)
  for path in (_DOCS / "examples").glob("*.py"):
    found[f"docs/examples/{path.name}"] = f"examples/{path.stem}.md"
  for name in reference.modules():
    found[f"liquid_tf/{name}.py"] = f"reference/{name}.md"
  return found


def on_files(files, config):
  """Adds the pages that docs/ does not have."""
  pages = reference.pages()
  pages["results.md"] = _results()
  for name, page in _SHOWN.items():
    pages[page] = (reference.ROOT / name).read_text()
  for path in sorted((_DOCS / "examples").glob("*.py")):
    pages[f"examples/{path.stem}.md"] = _example(path)
    files.remove(files.get_file_from_path(f"examples/{path.name}"))
  copied = {path: _site_path(path) for path in _RESULTS.rglob("*.json")}
  copied |= {reference.ROOT / name: place for name, place in _TEXTS.items()}
  for path, place in copied.items():
    files.append(File.generated(config, place, abs_src_path=str(path)))
  for path, text in pages.items():
    files.append(File.generated(config, path, content=text))
  return files


def on_page_markdown(markdown, page, config, files):
  """Makes a page for a code-hosting site one of this site.

  Links into the repository go to the pages that show those files, and lists are
  indented as Python-Markdown wants them.
  """
  shown = {page: name for name, page in _SHOWN.items()}
  path = page.file.src_uri
  # Where the links of the text start from, in the repository.
  folder = posixpath.dirname(shown.get(path, f"docs/{path}"))
  moved = _moved()

  def rewrite(match):
    opening, target, anchor = match.groups(default="")
    wanted = posixpath.normpath(posixpath.join(folder, target))
    there = moved.get(wanted, wanted.removeprefix("docs/"))
    if wanted not in moved and not wanted.startswith("docs/"):
      return match.group()
    return opening + posixpath.relpath(there, posixpath.dirname(path) or ".") + anchor

  return widen(_LINK.sub(rewrite, markdown))


def on_page_content(html, page, config, files):
  """Keeps a line from ending inside a flag, after its hyphens."""

  def keep(match):
    return re.sub(r"--\w+", r'<span class="flag">\g<0></span>', match.group())

  return _FLAGS.sub(keep, html)
