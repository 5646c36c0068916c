"""House rules that no compiler checks.

core <- codecs, containers, sampler, reader <- kernels <- liquid_tf <- tools
"""

import importlib
import inspect
import pathlib
import pkgutil
import re

from absl.testing import absltest, parameterized

import liquid_tf

# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from|import)\s+tools\b", re.MULTILINE)
_TENSORFLOW = ("absl/", "tensorflow/", "tsl/", "xla/", "Eigen/", "google/protobuf/")
_MIDDLE = ("codecs", "containers", "sampler", "reader")


def _sources(folder: str) -> list[pathlib.Path]:
  """C++ sources of a folder that are not kernels, ops or their helpers."""
  return [
    path
    for path in sorted((_ROOT / folder).rglob("*"))
    if path.suffix in (".h", ".cc", ".cuh")
    and not path.stem.endswith(("_ops", "_kernels"))
    and not path.stem.startswith("kernel_")
  ]


def _breaches(path: pathlib.Path, forbidden: tuple[str, ...]) -> list[str]:
  return [
    f"{path.relative_to(_ROOT)} includes {name}"
    for name in _INCLUDE.findall(path.read_text())
    if name.startswith(forbidden)
  ]


def _public_modules() -> list[str]:
  return ["liquid_tf"] + [
    module.name
    for module in pkgutil.iter_modules(liquid_tf.__path__, "liquid_tf.")
    if not module.name.rpartition(".")[2].startswith("_")
  ]


def _public_objects(module):
  """Yields (name, object) of the functions, classes and methods defined there."""
  for name, value in vars(module).items():
    if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
      continue
    if inspect.isfunction(value) or inspect.isclass(value):
      yield f"{module.__name__}.{name}", value
    if inspect.isclass(value):
      for member, method in vars(value).items():
        if not member.startswith("_") and inspect.isfunction(method):
          yield f"{module.__name__}.{name}.{member}", getattr(value, member)


class LayersTest(parameterized.TestCase):
  @parameterized.parameters("core", "gpu", *_MIDDLE)
  def test_core_knows_no_tensorflow(self, folder):
    sources = _sources(f"ops/{folder}")
    self.assertNotEmpty(sources)
    wrong = [line for path in sources for line in _breaches(path, _TENSORFLOW)]
    self.assertEmpty(wrong)

  def test_core_includes_only_core(self):
    layers = tuple(f"ops/{folder}/" for folder in (*_MIDDLE, "dataset", "gpu"))
    wrong = [line for path in _sources("ops/core") for line in _breaches(path, layers)]
    self.assertEmpty(wrong)

  @parameterized.parameters(*_MIDDLE)
  def test_middle_does_not_include_kernels(self, folder):
    wrong = [
      line
      for path in _sources(f"ops/{folder}")
      for line in _breaches(path, ("ops/dataset/", "ops/gpu/", "ops/tf_"))
    ]
    self.assertEmpty(wrong)

  def test_library_does_not_import_tools(self):
    wrong = [
      str(path.relative_to(_ROOT))
      for path in (_ROOT / "liquid_tf").rglob("*.py")
      if _IMPORT.search(path.read_text())
    ]
    self.assertEmpty(wrong)

  def test_ops_carry_the_prefix(self):
    names = [
      name
      for path in (_ROOT / "ops").rglob("*.cc")
      for name in re.findall(r'REGISTER_OP\(\s*"([^"]*)"', path.read_text())
    ]
    self.assertNotEmpty(names)
    self.assertEmpty([name for name in names if not name.startswith("Liquid>")])


class DocstringsTest(absltest.TestCase):
  def test_public_names_are_documented(self):
    missing = []
    for name in _public_modules():
      module = importlib.import_module(name)
      if not module.__doc__:
        missing.append(name)
      missing += [
        public for public, value in _public_objects(module) if not inspect.getdoc(value)
      ]
    self.assertEmpty(missing)

  def test_exported_names_exist(self):
    for name in getattr(liquid_tf, "__all__", []):
      self.assertTrue(hasattr(liquid_tf, name), name)


if __name__ == "__main__":
  absltest.main()
