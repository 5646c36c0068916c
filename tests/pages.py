"""Runs a page as a reader does who copies one block after the other.

The ```python blocks of a page are run in one namespace, in a folder of their own. A
```text block after one of them shows what it prints, where "..." stands for anything
in a line, and a line "..." for any number of lines. Blocks without a language are typed
at a shell; of these, whoever runs a page may run the lines that are `liquid-tf`.
"""

import contextlib
import dataclasses
import io
import os
import pathlib
import re
import shlex
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

_BLOCK = re.compile(
  r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```\n"
  r"(?:\n*```text\n(?P<shown>.*?)^```$)?",
  re.M | re.S,
)


@dataclasses.dataclass(frozen=True)
class Block:
  """What a page tells its reader to run.

  Attributes:
    line: of the page, where the code begins.
    code: what to run.
    shown: what the page says that it prints; None where the page says nothing.
  """

  line: int
  code: str
  shown: str | None


def blocks(text: str, language: str = "python") -> list[Block]:
  """The blocks of a page in one language, in order; those of a shell have none, ""."""
  return [
    Block(
      text.count("\n", 0, found.start("code")) + 1,
      textwrap.dedent(found["code"]),
      found["shown"],
    )
    for found in _BLOCK.finditer(text)
    if found["language"] == language
  ]


def commands(block: Block) -> list[list[str]]:
  """The words of each `liquid-tf` of a block, without the program's name."""
  lines = block.code.replace("\\\n", " ").splitlines()
  return [shlex.split(line)[1:] for line in lines if line.startswith("liquid-tf ")]


def matches(shown: str, printed: str) -> bool:
  """Whether a page shows what was printed."""
  parts = []
  for line in shown.strip().split("\n"):
    if line.strip() == "...":
      parts.append(r"(?:.*\n)*?")
    else:
      parts.append(".*".join(map(re.escape, line.rstrip().split("..."))) + r"\n")
  lines = [line.rstrip() for line in printed.strip().split("\n")]
  return re.fullmatch("".join(parts), "\n".join([*lines, ""])) is not None


def run(
  page: pathlib.Path,
  folder: str | os.PathLike,
  names: Mapping[str, Any] | None = None,
  command: Callable[[list[str]], None] | None = None,
) -> list[tuple[Block, str]]:
  """Runs a page, and compares what it prints with what it shows.

  Args:
    page: a Markdown file.
    folder: where to run it; programs that it starts find the packages of this process.
    names: what the page takes as given, such as a model.
    command: runs the words after `liquid-tf`; by default only Python is run.

  Returns:
    Each block of Python, and what it printed.

  Raises:
    AssertionError: a block prints something else than the page shows.
    UserWarning: Keras warns of what the page does.
  """
  done = []
  text = page.read_text()
  typed = blocks(text, "") if command else []
  namespace = {"__name__": "__main__", **(names or {})}
  path = os.pathsep.join(os.path.abspath(path) for path in sys.path)
  before = os.getcwd()
  os.chdir(folder)
  try:
    with mock.patch.dict(os.environ, PYTHONPATH=path), warnings.catch_warnings():
      warnings.filterwarnings("error", category=UserWarning, module=r"keras\.")
      for block in sorted([*blocks(text), *typed], key=lambda block: block.line):
        if block in typed:
          for words in commands(block):
            command(words)
          continue
        # Line numbers of errors are then those of the page.
        code = "\n" * (block.line - 1) + block.code
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
          exec(compile(code, os.fspath(page), "exec"), namespace)
        output = printed.getvalue()
        done.append((block, output))
        if block.shown is not None and not matches(block.shown, output):
          raise AssertionError(
            f"{page}:{block.line} shows\n{block.shown}and prints\n{output}"
          )
  finally:
    os.chdir(before)
  return done
