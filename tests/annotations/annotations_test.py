"""Public names have types, and a type checker is shown each of them."""

import ast
import inspect
import pathlib
import pkgutil
import sys
import typing

from absl.testing import absltest

# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "tools" / "site"))

import reference  # noqa: E402

# The values of dicts whose keys docstrings list, and what is passed on to Keras.
_MAY_BE_ANY = ("dict[str, typing.Any]", "Mapping[str, typing.Any]")


def _used(source: str) -> set[str]:
  """The dotted names of a program that begin with liquid_tf, imports resolved."""
  tree = ast.parse(source)
  modules = {"liquid_tf": "liquid_tf"}
  for node in ast.walk(tree):
    if isinstance(node, ast.ImportFrom) and node.module.startswith("liquid_tf"):
      modules |= {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
  found = set(modules.values())
  for node in ast.walk(tree):
    parts = []
    while isinstance(node, ast.Attribute):
      parts.append(node.attr)
      node = node.value
    if isinstance(node, ast.Name) and node.id in modules:
      names = [modules[node.id], *reversed(parts)]
      found |= {".".join(names[: i + 1]) for i in range(len(names))}
  return found


def _functions():
  """Yields (name, function) of every public function and method."""
  for name in sorted(reference.anchors()):
    value = pkgutil.resolve_name(name)
    if inspect.isfunction(value):
      yield name, value
    if inspect.isclass(value):
      for member, method in vars(value).items():
        method = getattr(method, "fget", None) or getattr(method, "__func__", method)
        shown = member in ("__init__", "__getitem__") or not member.startswith("_")
        # A protocol's __init__ is Python's.
        ours = inspect.isfunction(method) and method.__module__ != "typing"
        if shown and ours:
          yield f"{name}.{member}", method


def _without_type(name: str, function) -> list[str]:
  """What of a function's signature is not annotated, or is Any."""
  wrong = []
  for one in typing.get_overloads(function) or (function,):
    found = inspect.signature(one)
    annotations = {p.name: p.annotation for p in found.parameters.values()}
    kinds = {p.name: p.kind for p in found.parameters.values()}
    if not name.endswith(".__init__"):
      annotations["return"] = found.return_annotation
    for argument, annotation in annotations.items():
      text = inspect.formatannotation(annotation)
      for allowed in _MAY_BE_ANY:
        text = text.replace(allowed, "")
      passed_on = kinds.get(argument) == inspect.Parameter.VAR_KEYWORD
      own = argument in ("self", "cls")
      missing = annotation is inspect.Parameter.empty and not own
      if missing or ("Any" in text and not passed_on):
        wrong.append(f"{name}: {argument}")
  return wrong


class AnnotationsTest(absltest.TestCase):
  def test_the_checked_program_has_every_public_name(self):
    program = (_ROOT / "tests" / "annotations" / "every_name.py").read_text()
    wanted = reference.anchors() | {"liquid_tf.__version__"}
    self.assertEmpty(wanted - _used(program))

  def test_a_missing_name_is_found(self):
    program = "import liquid_tf\nfrom liquid_tf import pcr\nliquid_tf.open(pcr.Reader)"
    found = _used(program)
    self.assertContainsSubset({"liquid_tf.open", "liquid_tf.pcr.Reader"}, found)
    self.assertNotIn("liquid_tf.pcr.Writer", found)

  def test_every_argument_and_result_has_a_type(self):
    functions = dict(_functions())
    for name in (
      "liquid_tf.dataset",
      "liquid_tf._view.view.View.split",
      "liquid_tf.keras.Resume.step",
    ):
      self.assertIn(name, functions)
    wrong = [w for name, one in functions.items() for w in _without_type(name, one)]
    self.assertEmpty(wrong)

  def test_methods_of_results_are_documented(self):
    results = [name for name in dict(_functions()) if name.startswith("liquid_tf._")]
    self.assertContainsSubset({"liquid_tf._pipeline.stats.Stats.verdict"}, results)
    missing = [
      name
      for name, one in _functions()
      if name in results and ".__" not in name and not inspect.getdoc(one)
    ]
    self.assertEmpty(missing)

  def test_a_missing_type_is_found(self):
    def function(a: int, b, *, c: typing.Any = 0, **more: typing.Any) -> str:
      raise NotImplementedError

    self.assertEqual(_without_type("f", function), ["f: b", "f: c"])


if __name__ == "__main__":
  absltest.main()
