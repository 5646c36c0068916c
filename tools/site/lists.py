"""Lists as Python-Markdown wants them: what belongs to an item is indented by four.

CommonMark, which the pages are written for, wants it below the item's first letter.
"""

import re

_ITEM = re.compile(r"( *(?:[-*]|\d+\.) +)\S")


def widen(text: str) -> str:
  """The text with four spaces for each list around a line.

  Args:
    text: Markdown; fenced code in it stays as it is, but moves with its item.
  """
  result = []
  begins: list[int] = []  # Columns where the text of the open items begins.
  fenced = False
  for line in text.split("\n"):
    column = len(line) - len(line.lstrip())
    fence = line.lstrip().startswith("```")
    if line.strip() and not fenced:
      while begins and column < begins[-1]:
        begins.pop()
    inside = begins[-1] if begins else 0
    result.append(" " * 4 * len(begins) + line[inside:] if line.strip() else "")
    if fence:
      fenced = not fenced
    item = _ITEM.match(line)
    if item and not fenced and not fence:
      begins.append(len(item.group(1)))
  return "\n".join(result)
