"""What a benchmark is: its flags, its measurement, and what is shown of it."""

import ast
import contextlib
import dataclasses
import importlib
import inspect
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from liquid_tf._measure import evidence
from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags


@contextlib.contextmanager
def folder(values: Flags, *, beside: str | None = None) -> Iterator[str]:
  """Gives a folder to work in: --workdir, or one that is removed at the end.

  Args:
    values: with `workdir`.
    beside: where the other one is made; None for the system's place.
  """
  if values.workdir:
    os.makedirs(values.workdir, exist_ok=True)
  with tempfile.TemporaryDirectory(prefix="liquid_bench_", dir=beside) as temporary:
    yield os.path.abspath(values.workdir or temporary)


@dataclasses.dataclass(frozen=True)
class Benchmark:
  """A command of `python -m tools.bench`.

  Its module, which is imported when it runs, begins with what --help says, and has
  these functions:
    bench(place, ...): measures in or on a dataset or a folder (None where there is no
      flag of either), and returns what JSON can hold. It takes those of the flags that
      it names, as `given` reads them.
    text(result): where there is more to show at the end than `bench` has said.
    section(result[, image]): where there is --report, a `page.Section`, or None.
    plot(result, path): where there is --plot, draws a picture.

  Attributes:
    name: of the command, and of the module in this package.
    summary: what it does, in a few words.
    flags: its flags.
    on_disk: whether its folder must not be /tmp, which may be memory.
  """

  name: str
  summary: str
  flags: Flags
  on_disk: bool = False

  def command(self) -> tool.Command:
    """The command that runs it."""
    # Its docstring is read, not imported: it would import TensorFlow.
    source = pathlib.Path(__file__).with_name(f"{self.name}.py").read_text()
    about = ast.get_docstring(ast.parse(source))
    return tool.Command(about, self.flags, self._main)

  def _place(self) -> contextlib.AbstractContextManager[str | None]:
    if "workdir" in self.flags:
      return folder(self.flags, beside="." if self.on_disk else None)
    return contextlib.nullcontext(
      self.flags.dataset if "dataset" in self.flags else None
    )

  def _main(self, arguments: list[str]) -> int:
    tool.no_arguments(arguments)
    module = importlib.import_module(f"{__package__}.{self.name}")
    with self._place() as place:
      result = measure(module.bench, place, **given(self.flags, module.bench))
    shown = result
    if "merge" in self.flags:
      others = [json.loads(pathlib.Path(name).read_text()) for name in self.flags.merge]
      shown = [*others, result]
    if hasattr(module, "text"):
      tool.say(module.text(shown))
    self._show(module, shown)
    return common_flags.finish(self.flags, result)

  def _show(self, module: Any, shown: Any) -> None:
    """Draws and writes where --plot and --report say."""
    report = self.flags.report if "report" in self.flags else None
    images = []
    if "plot" in self.flags:
      images = [None]
      if self.flags.plot:
        module.plot(shown, self.flags.plot)
        if report:
          images = [os.path.relpath(self.flags.plot, pathlib.Path(report).parent)]
    if report and (section := module.section(shown, *images)):
      from tools.bench import page

      page.write(report, section)


def measure(
  bench: Callable[..., dict[str, Any]], place: str | None, **options: Any
) -> dict[str, Any]:
  """Runs a benchmark's `bench`; adds its options, and the evidence of how it was run.

  `say` and `pythons` are left out: the command is part of the evidence.
  """
  settings = {n: value for n, value in options.items() if n not in ("say", "pythons")}
  return settings | evidence.with_evidence(place, lambda: bench(place, **options))


def given(values: Flags, function: Callable) -> dict[str, Any]:
  """Keyword-only arguments of a function: the flags that it names, as it takes them.

  `pythons` are the interpreters of the --PEER_python that were given; `say` tells of
  progress.
  """
  found: dict[str, Any] = {}
  for name, parameter in inspect.signature(function).parameters.items():
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
      continue
    if name == "say":
      found[name] = tool.say
    elif name == "pythons":
      flags = [flag for flag in values if flag.endswith("_python")]
      pythons = {flag.removesuffix("_python"): values[flag].value for flag in flags}
      found[name] = {peer: python for peer, python in pythons.items() if python}
    elif name in values:
      found[name] = _READ.get(name, lambda value: value)(values[name].value)
  return found


def _numbers(name: str, values: Sequence[str], most: float) -> list[float]:
  """Reads a list flag of numbers from 0 to `most`.

  Raises:
    tool.FlagsError: one is none, or there are none.
  """
  try:
    result = [float(value) for value in values]
  except ValueError:
    result = []
  if not result or not all(0 <= number <= most for number in result):
    raise tool.FlagsError(
      f"--{name} ({','.join(values)}) must be numbers from 0 to {most:g}"
    )
  return result


def _processors(values: Sequence[str]) -> list[int]:
  most = len(os.sched_getaffinity(0))
  texts = values or [str(most)]
  if not all(text.isdigit() and 1 <= int(text) <= most for text in texts):
    raise tool.FlagsError(
      f"--processors ({','.join(texts)}) must be numbers from 1 to {most}"
    )
  return [int(text) for text in texts]


# How flags are read; all others as they are.
_READ: dict[str, Callable[[Any], Any]] = {
  "cache": tool.amount,
  "mixes": lambda values: _numbers("mixes", values, 1),
  "processors": _processors,
  # In bytes per second.
  "rates": lambda values: [int(r * 1e6) for r in _numbers("rates", values, 1e6)],
  "threads": lambda value: value or len(os.sched_getaffinity(0)),
}
