"""The pages of the reference, from the names that the package makes public.

Names are read from the sources, so that TensorFlow need not be installed.
"""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
_PACKAGE = ROOT / "liquid_tf"

# Pages of the names of `liquid_tf` itself: file, title and names, in reading order.
TOPICS = (
  (
    "datasets",
    "Make and change datasets",
    (
      *("convert", "Source", "inspect", "verify"),
      *("append", "remove", "annotate", "compact", "export", "copy"),
    ),
  ),
  ("views", "Choose samples", ("open", "mixture")),
  ("training", "Train", ("dataset", "loader", "Cache", "position", "stats")),
  ("profiling", "Profile", ("profile",)),
)

# What functions return: shown on the pages of those, but no names of the package, since
# no program makes one.
RESULTS = {
  "datasets": (
    "_convert.convert.ConvertReport",
    "_edit.edit.EditReport",
    "_export.export.ExportReport",
  ),
  "views": ("_view.view.View", "_view.mixture.Mixture"),
  "training": (
    "_loader.device_array.DeviceArray",
    "_loader.loader.Loader",
    "_loader.ragged.RaggedArray",
    "_pipeline.stats.Stats",
  ),
  "profiling": ("_profile.profile.Profile",),
}


def names() -> dict[str, str]:
  """The public names of `liquid_tf` by the module that defines each.

  Modules are left out, and so is `__version__`.
  """
  stub = ast.parse((_PACKAGE / "__init__.pyi").read_text())
  return {
    alias.asname: node.module
    for node in stub.body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
    if alias.asname and not alias.asname.startswith("_")
  }


def modules() -> list[str]:
  """The public modules, without the package's name."""
  return sorted(
    path.stem for path in _PACKAGE.glob("*.py") if not path.stem.startswith("_")
  )


def members(module: str) -> list[str]:
  """The public names of a module: its `__all__`, else what it defines."""
  body = ast.parse((_PACKAGE / f"{module}.py").read_text()).body
  for node in body:
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
      return sorted(ast.literal_eval(node.value))
  defined = [
    node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)
  ]
  return sorted(name for name in defined if not name.startswith("_"))


def anchors() -> set[str]:
  """The anchors that the reference must have: one for each name, and each result."""
  found = {f"liquid_tf.{name}" for name in [*names(), *modules()]}
  found |= {f"liquid_tf.{path}" for paths in RESULTS.values() for path in paths}
  for module in modules():
    found |= {f"liquid_tf.{module}.{name}" for name in members(module)}
  return found


def _first_paragraph(node: ast.AST) -> str:
  return " ".join(ast.get_docstring(node).split("\n\n")[0].split())


def _summary(module: str, name: str) -> str:
  """The first paragraph of a definition's docstring."""
  path = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
  [found] = [
    node
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
  ]
  return _first_paragraph(found)


def _row(link: str, summary: str) -> str:
  return f"| {link} | {summary} |"


def _index() -> str:
  lines = [
    "# All names",
    "`import liquid_tf` imports no TensorFlow until a name is used. "
    "`liquid_tf.__version__` is the version, a string.",
  ]
  defined = names()
  for page, title, found in TOPICS:
    rows = [
      _row(f"[`{name}`]({page}.md#liquid_tf.{name})", _summary(defined[name], name))
      for name in found
    ]
    lines += [
      f"## {title}",
      "\n".join(["| name | what it is |", "| --- | --- |", *rows]),
    ]
  rows = [
    _row(
      f"[`{path.rpartition('.')[2]}`]({page}.md#liquid_tf.{path})",
      _summary(*path.rsplit(".", 1)),
    )
    for page, paths in RESULTS.items()
    for path in paths
  ]
  lines += [
    "## Results",
    "Functions return these. An annotation that must name one, such as `View`, imports "
    "it under `if typing.TYPE_CHECKING:` from the module that makes it, "
    "`liquid_tf._view.view`; everything else finds its methods on the object.",
    "\n".join(["| class | what it is |", "| --- | --- |", *rows]),
  ]
  rows = [
    _row(
      f"[`{name}`]({name}.md)",
      _first_paragraph(ast.parse((_PACKAGE / f"{name}.py").read_text())),
    )
    for name in modules()
  ]
  lines += [
    "## Modules",
    "\n".join(["| module | what it is for |", "| --- | --- |", *rows]),
  ]
  return "\n\n".join(lines) + "\n"


def pages() -> dict[str, str]:
  """The Markdown of every page of the reference, by its path in the site's sources."""
  found = {"reference/index.md": _index()}
  for page, title, shown in TOPICS:
    entries = [f"::: liquid_tf.{name}" for name in (*shown, *RESULTS[page])]
    found[f"reference/{page}.md"] = "\n\n".join([f"# {title}", *entries]) + "\n"
  for name in modules():
    options = "    options:\n      heading_level: 1\n"
    found[f"reference/{name}.md"] = f"::: liquid_tf.{name}\n{options}"
  return found
