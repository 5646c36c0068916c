"""Docstrings as Markdown: an extension of Griffe, which reads the reference."""

import ast
import copy
import re

import griffe

_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
_PAGE = re.compile(r"\bdocs/([\w/]+)\.md\b")


def fence_examples(text: str, language: str = "python") -> str:
  """The text with a fence around each indented block between paragraphs."""
  lines = text.split("\n")
  result: list[str] = []
  before = ""  # The last line that is not empty.
  place = 0
  while place < len(lines):
    block = []
    if (
      not before.startswith(" ") and not _SECTION.match(before) and not lines[place - 1]
    ):
      while place + len(block) < len(lines) and (
        lines[place + len(block)].startswith("  ")
        or (block and not lines[place + len(block)])
      ):
        block.append(lines[place + len(block)])
    if not block:
      result.append(lines[place])
      before = lines[place] or before
      place += 1
      continue
    place += len(block)
    margin = min(len(line) - len(line.lstrip()) for line in block if line)
    code = "\n".join(line[margin:] for line in block).rstrip("\n")
    result += [f"```{language}", code, "```", ""]
    before = ""
  return "\n".join(result)


def _text(node: ast.expr, values: dict[str, str]) -> str:
  """A string, or an f-string of names alone."""
  if isinstance(node, ast.Constant):
    return node.value
  return "".join(
    values[part.value.id] if isinstance(part, ast.FormattedValue) else part.value
    for part in node.values
  )


def _made(call: ast.Call, factory: ast.FunctionDef) -> ast.FunctionDef:
  """What a factory makes that ends in `return _named(function, name, docstring)`."""
  [inner] = [node for node in factory.body if isinstance(node, ast.FunctionDef)]
  names = [argument.arg for argument in factory.args.args]
  values = dict(zip(names, [argument.value for argument in call.args], strict=True))
  _, name, docstring = factory.body[-1].value.args
  made = copy.deepcopy(inner)
  made.name = _text(name, values)
  made.body = [ast.Expr(ast.Constant(_text(docstring, values)))]
  return ast.copy_location(ast.fix_missing_locations(made), call)


def _is_factory(node: ast.stmt) -> bool:
  last = node.body[-1] if isinstance(node, ast.FunctionDef) else None
  return (
    isinstance(last, ast.Return)
    and isinstance(last.value, ast.Call)
    and getattr(last.value.func, "id", "") == "_named"
  )


class Docstrings(griffe.Extension):
  """Shows what stands in docstrings otherwise than in pages.

  Examples become blocks of code, and paths of pages links. Functions that others make
  (`decode_png = _decoder("png", …)`) are shown as those that are written out.
  """

  def on_module_node(self, *, node, **kwargs):
    """Called for each module before its names are read."""
    if not isinstance(node, ast.Module):
      return
    factories = {part.name: part for part in node.body if _is_factory(part)}
    for place, part in enumerate(node.body):
      call = part.value if isinstance(part, ast.Assign) else None
      factory = factories.get(getattr(getattr(call, "func", None), "id", ""))
      if factory:
        node.body[place] = _made(call, factory)

  def on_object(self, *, obj, **kwargs):
    """Called for each object that was read."""
    if obj.docstring:
      text = fence_examples(obj.docstring.value)
      # Each page of the reference lies in one folder below the site's top.
      obj.docstring.value = _PAGE.sub(r"[\g<0>](../\1.md)", text)
