"""Every command that a page, a help text or a message prints would run as printed.

Commands of a checkout are read, not run: the names of commands, targets, scripts and
flags, the values of flags, and the variables of `make`, must be there. `python` is that
of the checkout's environment, in its root.
"""

import ast
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pages
from absl import flags
from absl.testing import absltest, parameterized

from liquid_tf.cli import main, tool
from tools.bench.commands import BENCH

# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_ASSIGNMENT = re.compile(r"([A-Za-z_]+)=(.*)", re.S)
_PYTHON = re.compile(r"(\.venv/bin/)?python(3(\.\d+)?)?")
_SCRIPT = re.compile(r"\.ci/\w+|(tests|tools)/\S+\.(py|sh)")
_BEGINNING = re.compile(
  r"([A-Z_]+=\S+ +)*(liquid-tf|make|bazel|(\.venv/bin/)?python[\d.]*) "
)
# A line of prose may begin with these words, too.
_TYPED = re.compile(r"([A-Z_]+=\S+ +)*(liquid-tf [a-z]|\S*python[\d.]* (-m |\S+\.py))")
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# pip would ask an index for it, where the name is not ours.
_FROM_INDEX = re.compile(
  r"liquid[-_]tf\[|"
  r"\bpip3?\s+install(\s+[\w\"'<>=.,-]+)*?\s+[\"']?liquid[-_]tf(?![\w.-]*\.whl)\b"
)
_WITHOUT_VALUE = ("help", "version")


def _sources() -> Iterator[pathlib.Path]:
  """Files of Python, whose docstrings, comments and messages print some."""
  yield _ROOT / "setup.py"
  for folder in (".ci", "docs/examples", "liquid_tf", "ops", "tests", "tools"):
    yield from (_ROOT / folder).rglob("*.py")


def _of_page(text: str) -> Iterator[str]:
  for block in pages.blocks(text, ""):
    yield from block.code.replace("\\\n", " ").splitlines()
  yield from _spans(re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S))


def _spans(text: str) -> Iterator[str]:
  for span in _SPAN.findall(text):
    yield " ".join(span.split())


def _of_text(text: str) -> Iterator[str]:
  for line in text.replace("\\\n", " ").splitlines():
    if _TYPED.match(line.strip()):
      yield line.strip()
  yield from _spans(text)


def _of_source(path: pathlib.Path) -> Iterator[str]:
  text = path.read_text()
  nodes = list(ast.walk(ast.parse(text)))
  if path.stem.endswith("_test"):
    # Its other strings are what it tests with.
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(n) or "" for n in nodes if isinstance(n, documented)]
  else:
    texts = [n.value for n in nodes if isinstance(n, ast.Constant)]
    # What stands in braces is known when it runs.
    texts += [
      "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
      for node in nodes
      if isinstance(node, ast.JoinedStr)
    ]
  for one in texts:
    if isinstance(one, str):
      yield from _of_text(one)
  yield from _spans("\n".join(re.findall(r"^ *# ?(.*)", text, re.M)))


@functools.cache
def _makefile() -> str:
  return (_ROOT / "Makefile").read_text()


@functools.cache
def _read_by_make() -> str:
  """Where a variable that the Makefile does not set is taken from the environment."""
  files = [*(_ROOT / "third_party").glob("*.bzl"), *(_ROOT / "tools").rglob("*.*[hy]")]
  return "\n".join([_makefile(), *(file.read_text() for file in files)])


def _make_problem(words: list[str], variables: list[str]) -> str:
  for word in words:
    given = _ASSIGNMENT.fullmatch(word)
    if given:
      variables.append(given[1])
    elif not word.startswith("-") and not re.search(
      rf"^{re.escape(word)}:(?!=)", _makefile(), re.M
    ):
      return f"{word} is no target of the Makefile"
  for name in variables:
    assigned = re.search(rf"^{name} *(:=|=)", _makefile(), re.M)
    if assigned:
      return f"the Makefile sets {name} by {assigned[1]}, which no environment changes"
    if not re.search(rf"\b{name}\b", _read_by_make()):
      return f"nothing reads {name}"
  return ""


def _label_problem(label: str) -> str:
  folder, _, name = label.removeprefix("-")[2:].partition(":")
  if folder.endswith("..."):
    folder = _ROOT / folder.removesuffix("...")
    return "" if any(folder.rglob("BUILD")) else f"{label} has no package"
  build = _ROOT / folder / "BUILD"
  if not build.exists():
    return f"{label} is no package"
  name = name or pathlib.Path(folder).name
  return "" if f'"{name}"' in build.read_text() else f"{label} is no target"


def _bazel_problem(words: list[str]) -> str:
  for word in words:
    config = re.fullmatch(r"--config=(\w+)", word)
    if config and f":{config[1]} " not in (_ROOT / ".bazelrc").read_text():
      return f"{word} is not in .bazelrc"
    if re.match(r"-?//", word) and _label_problem(word):
      return _label_problem(word)
  return ""


def _helpers() -> dict[str, set[pathlib.Path]]:
  """Modules of tests that other tests import, and the folders where they lie."""
  found = {}
  for path in (_ROOT / "tests").rglob("*.py"):
    found.setdefault(path.stem, set()).add(path.parent)
  return found


def _script_problem(words: list[str], environment: dict[str, str]) -> str:
  path, *arguments = words
  script = _ROOT / path
  if not script.exists():
    return f"{path} is not there"
  if path.endswith(".sh"):
    return ""
  text = script.read_text()
  for argument in arguments:
    flag = re.match(r"\[?--(\w+)", argument)
    if (
      flag
      and flag[1] not in _WITHOUT_VALUE
      and not re.search(rf'"(--)?{flag[1]}"', text)
    ):
      return f"{path} has no --{flag[1]}"
  if not path.endswith(".py"):
    return ""
  paths = environment.get("PYTHONPATH", "").split(":")
  seen = {script.parent, *(_ROOT / part for part in paths if part)}
  imported = [node for node in ast.parse(text).body if isinstance(node, ast.Import)]
  for name in (alias.name for node in imported for alias in node.names):
    if name not in sys.stdlib_module_names and not (_helpers().get(name, seen) & seen):
      return f"{path} imports {name}, which PYTHONPATH does not name"
  return ""


def _python_problem(words: list[str], environment: dict[str, str]) -> str:
  if not words or words[0] == "-c":
    return ""
  if words[0] != "-m":
    return _script_problem(words, environment)
  module = words[1] if len(words) > 1 else "venv"
  if not module.startswith(("tools", "liquid_tf")):
    return ""
  if module == "tools.bench":
    return _program_problem(BENCH, words[2:])
  path = _ROOT.joinpath(*module.split("."))
  there = path.with_suffix(".py").exists() or path.is_dir()
  return "" if there else f"{module} is not there"


def _program_problem(program: main.Program, words: list[str]) -> str:
  if not words or words[0] in ("COMMAND", "NAME", "--help", "--version"):
    return ""
  name, *rest = words
  if name not in program.commands:
    return f"{name} is no command"
  values = program.load(name).flags
  for word in rest:
    flag, assigned, value = word.strip("[]").removeprefix("--").partition("=")
    if not word.strip("[]").startswith("--") or flag == "help":
      continue
    if flag not in values and flag.removeprefix("no") not in values:
      return f"{name} has no --{flag}"
    if assigned and "{" not in value and value.upper() != value:
      try:
        values[flag].parser.parse(value)
      except (ValueError, flags.Error) as error:
        return f"{name} --{flag}: {error}"
  return ""


def problem(line: str) -> str | None:
  """Says what is wrong with a command line; None for one that is not of a checkout."""
  if not (_BEGINNING.match(f"{line} ") or _SCRIPT.match(line)):
    return None
  for part in re.split(r" (?:&&|\||;) ", line):
    words = shlex.split(part, comments=True)
    environment = {}
    while words and (given := _ASSIGNMENT.fullmatch(words[0])):
      environment[given[1]] = given[2]
      words.pop(0)
    if not words or any("{" in word for word in words[:2]):
      continue
    program, rest = words[0], words[1:]
    wrong = ""
    if program == "liquid-tf":
      wrong = _program_problem(main.LIQUID_TF, rest)
    elif program == "make":
      wrong = _make_problem(rest, list(environment))
    elif program == "bazel":
      wrong = _bazel_problem(rest)
    elif _PYTHON.fullmatch(program):
      wrong = _python_problem(rest, environment)
    elif _SCRIPT.fullmatch(program) and not any(_ROOT.glob(program)):
      wrong = f"{program} is not there"
    elif _SCRIPT.fullmatch(program) and rest:
      wrong = _script_problem(words, environment)
      if not wrong and not os.access(_ROOT / program, os.X_OK):
        wrong = f"{program} is not executable: python runs it"
    if wrong:
      return wrong
  return ""


class PrintedCommandsTest(parameterized.TestCase):
  def _check(self, where: pathlib.Path | str, lines: Iterator[str]) -> int:
    count = 0
    for line in lines:
      found = problem(line)
      count += found is not None
      if found:
        with self.subTest(f"{where}: {line}"):
          self.fail(found)
    return count

  def test_of_pages(self):
    # The changelog tells of commands that were.
    paths = [*{*_ROOT.glob("*.md")} - {_ROOT / "CHANGELOG.md"}]
    paths += (_ROOT / "docs").rglob("*.md")
    counts = [self._check(path, _of_page(path.read_text())) for path in paths]
    self.assertGreater(sum(counts), 120)

  def test_of_docstrings_comments_and_messages(self):
    counts = [self._check(path, _of_source(path)) for path in _sources()]
    self.assertGreater(sum(counts), 80)

  def test_of_the_help_of_every_command(self):
    texts = {
      f"{program.name} {name}": tool.usage(program.load(name))
      for program in (main.LIQUID_TF, BENCH)
      for name in program.commands
    }
    counts = [self._check(name, _of_text(text)) for name, text in texts.items()]
    self.assertGreater(sum(counts), 30)

  def test_of_make_help(self):
    said = subprocess.run(
      ["make", "--no-print-directory", "help"],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      check=True,
    ).stdout
    names = re.findall(r"^(make [\w-]+) ", said, re.M)
    variables = re.findall(r"\b([A-Z]\w+)=", said)
    lines = [*names, *(f"{name}=x make test" for name in variables)]
    self.assertEqual(self._check("make help", iter(lines)), len(lines))
    for name in ("make demo", "make test"):
      self.assertIn(name, names)
    for name in ("DATA", "STEPS", "TF_VERSION", "WHEEL_VERSIONS"):
      self.assertIn(name, variables)

  def test_none_installs_the_package_from_an_index(self):
    folders = (".ci", "docs", "liquid_tf", "ops", "requirements", "tests", "tools")
    paths = [path for folder in folders for path in (_ROOT / folder).rglob("*.*")]
    paths += [path for path in _ROOT.iterdir() if path.is_file()]
    paths.remove(pathlib.Path(__file__).resolve())
    read = 0
    for path in paths:
      if path.suffix in ("", ".md", ".py", ".sh", ".toml", ".txt", ".yml"):
        read += 1
        for part in re.split(r"\n\s*\n", path.read_text()):
          self.assertNotRegex(part, _FROM_INDEX, path)
    self.assertGreater(read, 500)

  @parameterized.parameters(
    ("pip install liquid-tf", True),
    ("pip install --upgrade liquid_tf", True),
    ('pip install "liquid-tf[cpu]"', True),
    ("brings `liquid-tf[plot]`", True),
    ("uv pip\ninstall jax liquid-tf", True),
    ("pip install ./liquid_tf-….whl", False),
    ("pip install liquid_tf-0.1.0-py3-none-any.whl", False),
    ("pip install dist/*.whl", False),
    ("pip install scikit-image\n`liquid-tf demo`", False),
    ("`make setup` installs it; liquid-tf runs", False),
  )
  def test_one_that_installs_from_an_index_is_found(self, text, found):
    self.assertEqual(_FROM_INDEX.search(text) is not None, found)

  @parameterized.parameters(
    ("make tset", "tset is no target"),
    ("make demo DATUM=folder", "nothing reads DATUM"),
    ("LANE=tf221 make test", "the Makefile sets LANE by :="),
    ("bazel test //tests/nowhere/...", "no package"),
    ("bazel test //tests:no_test", "no target"),
    ("bazel test --config=msan //tests/...", "not in .bazelrc"),
    ("python tests/bench/no_study.py", "not there"),
    ("python tests/bench/busy_study.py --rat=400", "no --rat"),
    ("python tests/liquid_tf/convert/many_files_test.py", "PYTHONPATH does not name"),
    ("python -m tools.conver", "not there"),
    ("tools/wheel/twice.py WHEEL_VERSIONS=2.21.0", "not executable"),
    ("liquid-tf convrt --input=a", "no command"),
    ("liquid-tf measur", "no command"),
    ("python -m tools.bench paper", "no command"),
    ("python -m tools.bench papers --quik", "no --quik"),
    ("liquid-tf convert --inpt=a", "no --inpt"),
    ("liquid-tf convert --input=a && liquid-tf edit b --apend=c", "no --apend"),
    ("liquid-tf convert --existing=resme", "one of <refuse"),
    ("liquid-tf profile --trials=many", "many"),
  )
  def test_one_that_would_not_run_is_found(self, line, reason):
    self.assertRegex(problem(line), reason)

  @parameterized.parameters(
    ("liquid-tf inspect photos.liquid --verify", ""),
    ("TF_VERSION=2.21.0 make test", ""),
    ("make wheels sdist", ""),
    ("PYTHONPATH=. .venv/bin/python tests/soak/soak.py --minutes=120", ""),
    (".ci/run", ""),
    ("pip install x", None),
    ("make_venv", None),
  )
  def test_one_that_runs_is_not(self, line, wanted):
    self.assertEqual(problem(line), wanted)


if __name__ == "__main__":
  absltest.main()
