"""The names that a user meets, and the parameters of each, are few and stay few."""

import inspect
import types

from absl.testing import absltest

import liquid_tf

# Modules count, since each is one more place to look.
_MOST_NAMES = 26
_MOST_PARAMETERS = 138
# Of one function; these are what most of the pages are about.
_MOST_OF_ONE = {"convert": 17, "dataset": 19, "loader": 19, "profile": 18}
_MOST_OF_OTHERS = 15


def _names() -> list[str]:
  return [name for name in dir(liquid_tf) if not name.startswith("_")]


def _signatures() -> dict[str, inspect.Signature]:
  values = {name: getattr(liquid_tf, name) for name in _names()}
  return {
    name: inspect.signature(value)
    for name, value in values.items()
    if not isinstance(value, types.ModuleType)
  }


class FaceTest(absltest.TestCase):
  def test_few_names(self):
    self.assertContainsSubset({"convert", "dataset", "keras", "stats"}, _names())
    self.assertLessEqual(len(_names()), _MOST_NAMES, _names())

  def test_few_parameters(self):
    counts = {name: len(found.parameters) for name, found in _signatures().items()}
    self.assertLessEqual(sum(counts.values()), _MOST_PARAMETERS, counts)
    for name, count in counts.items():
      self.assertLessEqual(count, _MOST_OF_ONE.get(name, _MOST_OF_OTHERS), name)

  def test_a_loader_has_the_parameters_of_a_dataset(self):
    found = _signatures()
    defaults = [
      {name: one.default for name, one in found[face].parameters.items()}
      for face in ("dataset", "loader")
    ]
    self.assertEqual(*map(list, defaults))
    self.assertEqual(*defaults)

  def test_none_is_a_bundle(self):
    """A parameter that takes others would hide how many there are."""
    bundles = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    for name, found in _signatures().items():
      for parameter in found.parameters.values():
        self.assertNotIn(parameter.kind, bundles, f"{name}: {parameter}")


if __name__ == "__main__":
  absltest.main()
