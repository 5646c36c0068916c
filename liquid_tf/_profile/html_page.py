"""Pages of HTML that need no other file and no network, and their tables."""

import html
import unicodedata
from typing import Any

# Kinds of characters that hide or turn what stands around them.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# A page with this loads and runs nothing, for any text on it.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(title: Any, style: str, parts: list[str]) -> str:
  """A page with its style inside.

  Args:
    title: of the page.
    style: its CSS.
    parts: HTML of its body; empty ones are left out.
  """
  body = "\n".join(filter(None, parts))
  return (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f"<title>{text(title)}</title>\n<style>{style}</style>\n"
    f"</head>\n<body>\n{body}\n</body>\n</html>\n"
  )


def table(head: list[str], rows: list[list[str]]) -> str:
  """A table, as wide as it has to be."""

  def row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{text(cell)}</{tag}>' for cell in cells)}</tr>"

  body = "\n".join(row(cells, "td") for cells in rows)
  return f'<div class="wide"><table>\n{row(head, "th")}\n{body}\n</table></div>'


def text(value: Any) -> str:
  """Any characters as text of a page, of any origin."""
  shown = "".join(
    "\ufffd" if unicodedata.category(c) in _HIDDEN else c for c in str(value)
  )
  return html.escape(shown)
