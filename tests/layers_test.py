"""House rules that no compiler checks: who may import whom, and what is documented."""

import ast
import collections
import importlib
import inspect
import pathlib
import pydoc
import re
import sys

from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import transforms

# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT / "tools" / "site"))

import wording  # noqa: E402

_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
_TENSORFLOW = ("absl/", "tensorflow/", "tsl/", "xla/", "Eigen/", "google/protobuf/")


# The folders of ops, by the same rule. A folder that is not named belongs to the one
# that holds it: the folder of a format to that of the registry of formats.
_OPS_ORDER = (
  ("core",),
  ("message",),
  ("codecs", "http", "sampler"),
  ("codecs/l3/device", "containers/recordio", "image"),
  ("codecs/jpeg/device", "containers/pcr", "image/device"),
  ("reader",),
  ("engine",),
  ("kernel", "gpu/plan"),
  ("gpu/driver", "dataset"),
  ("gpu/loader",),
  ("direct",),
  ("dataset/source",),
  ("dataset/decode", "dataset/interleave", "gpu/tf"),
  ("gpu",),
)
_OPS_RANK = {name: rank for rank, names in enumerate(_OPS_ORDER) for name in names}
# These see TensorFlow; others do in files that register ops and kernels.
_WITH_TENSORFLOW = ("kernel", "dataset", "gpu/tf")
_REGISTER = ("_ops", "_kernels")

# The rooms and the modules beside them. Each imports from earlier lines only, and not
# from its neighbours in a line.
_ORDER = (
  ("_words",),
  ("errors",),
  ("_extras", "_version", "transforms"),
  ("_tensorflow",),
  ("_native",),
  ("codecs", "_store"),
  ("pcr", "pil", "_view", "_cost"),
  ("_pipeline",),
  ("_graph", "_loader"),
  ("_measure", "_recordio", "graph"),
  ("recordio",),
  ("_convert",),
  ("_edit", "_export", "_gpu", "_keras", "_profile"),
  ("gpu", "keras"),
  ("cli",),
)
_RANK = {name: rank for rank, names in enumerate(_ORDER) for name in names}


def _imports(source: str) -> list[str]:
  """Every module that a file imports, wherever in the file, as a dotted name."""
  result = []
  for node in ast.walk(ast.parse(source)):
    if isinstance(node, ast.Import):
      result += [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      if node.level:
        result.append(".")
      elif node.module == "liquid_tf":
        result += [f"liquid_tf.{alias.name}" for alias in node.names]
      else:
        result.append(node.module)
  return result


def _room(path: str) -> str:
  """The room of a file of the package, or the module beside the rooms."""
  return pathlib.PurePath(path).parts[1].removesuffix(".py")


def _breaches_of_order(path: str, source: str) -> list[str]:
  """What a file of the package imports against the order."""
  room = _room(path)
  wrong = []
  for module in _imports(source):
    parts = module.split(".")
    if parts[0] in ("tools", "tests", "") or module == "liquid_tf":
      wrong.append(f"{path} imports {module}")
    elif parts[0] == "liquid_tf" and parts[1] != room:
      if _RANK[parts[1]] >= _RANK[room]:
        wrong.append(f"{path} imports {module}")
  return wrong


def _package_files() -> list[pathlib.Path]:
  return [
    path
    for path in sorted((_ROOT / "liquid_tf").rglob("*.py"))
    if path.name != "__init__.py" or path.parent.name != "liquid_tf"
  ]


def _cycles(graph: dict[str, set[str]]) -> list[list[str]]:
  """Modules that import each other around a circle."""
  state: dict[str, int] = {}
  found = []

  def visit(module: str, way: list[str]) -> None:
    state[module] = 1
    for other in sorted(graph.get(module, ())):
      if state.get(other) == 1:
        found.append([*way[way.index(other) :], other] if other in way else [other])
      elif other in graph and other not in state:
        visit(other, [*way, other])
    state[module] = 2

  for module in sorted(graph):
    if module not in state:
      visit(module, [module])
  return found


def _graph() -> dict[str, set[str]]:
  """Module to the modules of the package that it imports, also inside functions."""
  files = {
    ".".join(path.relative_to(_ROOT).with_suffix("").parts): path
    for path in _package_files()
  }
  graph = {}
  for module, path in files.items():
    graph[module] = set()
    for node in ast.walk(ast.parse(path.read_text())):
      if isinstance(node, ast.Import):
        graph[module].update(alias.name for alias in node.names)
      elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
          full = f"{node.module}.{alias.name}"
          graph[module].add(full if full in files else node.module)
  return graph


def _ops_files() -> list[pathlib.Path]:
  return [
    path
    for path in sorted((_ROOT / "ops").rglob("*"))
    if path.suffix in (".h", ".cc", ".cu", ".cuh")
  ]


def _folder(path: str) -> str:
  """The folder of `_OPS_ORDER` that a file, as ops/x/y.h, belongs to; or ""."""
  parents = pathlib.PurePath(path).relative_to("ops").parents
  return next((str(folder) for folder in parents if str(folder) in _OPS_RANK), "")


def _breaches_of_ops(path: str, source: str) -> list[str]:
  """What a file of ops includes against the order."""
  own = _folder(path)
  registers = pathlib.PurePath(path).stem.endswith(_REGISTER)
  wrong = []
  for name in _INCLUDE.findall(source):
    if name.startswith(_TENSORFLOW):
      if not registers and not own.startswith(_WITH_TENSORFLOW):
        wrong.append(f"{path} includes {name}")
    elif name.startswith("ops/"):
      folder = _folder(name)
      below = folder and _OPS_RANK[folder] < _OPS_RANK[own]
      if folder != own and not below and not (registers and folder == "kernel"):
        wrong.append(f"{path} includes {name}")
    elif name.startswith(("tests/", "tools/", "liquid_tf/")):
      wrong.append(f"{path} includes {name}")
  return wrong


def _public_modules() -> list[str]:
  return ["liquid_tf"] + [
    f"liquid_tf.{path.stem}"
    for path in (_ROOT / "liquid_tf").glob("*.py")
    if not path.stem.startswith("_")
  ]


def _public_objects(module):
  """Yields (name, object) of the public functions, classes and methods of a module."""
  names = dir(module) if module is liquid_tf else vars(module)
  for name in getattr(module, "__all__", names):
    value = getattr(module, name)
    if name.startswith("_") or not getattr(value, "__module__", "").startswith(
      "liquid_tf"
    ):
      continue
    if inspect.isfunction(value) or inspect.isclass(value):
      yield f"{module.__name__}.{name}", value
    if inspect.isclass(value):
      for member, method in vars(value).items():
        if not member.startswith("_") and inspect.isfunction(method):
          yield f"{module.__name__}.{name}.{member}", getattr(value, member)


class OrderTest(parameterized.TestCase):
  def test_every_room_has_a_place(self):
    rooms = {_room(path.relative_to(_ROOT).as_posix()) for path in _package_files()}
    self.assertEqual(rooms, set(_RANK))

  def test_imports_go_one_way(self):
    wrong = []
    for path in _package_files():
      name = path.relative_to(_ROOT).as_posix()
      wrong += _breaches_of_order(name, path.read_text())
    self.assertEmpty(wrong)

  def test_no_module_imports_itself_around_a_circle(self):
    self.assertEmpty(_cycles(_graph()))

  def test_a_circle_is_found(self):
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}}
    self.assertEqual(_cycles(graph), [["a", "b", "c", "a"]])

  @parameterized.parameters(
    ("liquid_tf/_store/x.py", "from liquid_tf._graph import stats"),
    ("liquid_tf/_convert/x.py", "from liquid_tf._profile.noise import check"),
    ("liquid_tf/_profile/x.py", "from liquid_tf._export import export"),
    ("liquid_tf/_profile/x.py", "from liquid_tf.cli import tool"),
    ("liquid_tf/_pipeline/x.py", "import liquid_tf"),
    ("liquid_tf/_pipeline/x.py", "from . import stats"),
    ("liquid_tf/_pipeline/x.py", "def f():\n  from liquid_tf import recordio"),
    ("liquid_tf/cli/x.py", "from tools import convert"),
    ("liquid_tf/errors.py", "from liquid_tf._native import ops"),
  )
  def test_an_import_against_the_order_is_found(self, path, source):
    self.assertLen(_breaches_of_order(path, source), 1)

  def test_an_import_along_the_order_is_none(self):
    source = (
      "import numpy\nfrom liquid_tf._store import files\nfrom tensorflow import io"
    )
    self.assertEmpty(_breaches_of_order("liquid_tf/_pipeline/x.py", source))

  def test_tools_only_call_the_commands(self):
    for path in (_ROOT / "tools").glob("*.py"):
      source = path.read_text()
      self.assertLess(len(source.splitlines()), 10, path)
      imports = {name for name in _imports(source) if name != "sys"}
      self.assertContainsSubset(imports, {"liquid_tf.cli"}, path)

  def test_the_top_is_short(self):
    top = [path.name for path in (_ROOT / "liquid_tf").iterdir() if path.is_file()]
    self.assertLessEqual(len(top), 20, top)


class OpsOrderTest(parameterized.TestCase):
  def test_every_folder_has_a_place(self):
    lost = [path for path in _ops_files() if not _folder(f"{path.relative_to(_ROOT)}")]
    self.assertEmpty(lost)
    used = {_folder(f"{path.relative_to(_ROOT)}") for path in _ops_files()}
    self.assertContainsSubset(set(_OPS_RANK) - used, {"gpu"})

  def test_includes_go_one_way(self):
    wrong = []
    for path in _ops_files():
      wrong += _breaches_of_ops(f"{path.relative_to(_ROOT)}", path.read_text())
    self.assertEmpty(wrong)

  @parameterized.parameters(
    ("ops/core/x.h", '#include "ops/codecs/codec.h"'),
    ("ops/codecs/png/x.cc", '#include "ops/reader/file.h"'),
    ("ops/codecs/x.h", '#include "ops/kernel/tf_status.h"'),
    ("ops/codecs/l3/host/x.h", '#include "ops/codecs/l3/device/l3_device.h"'),
    ("ops/sampler/x.h", '#include "ops/codecs/codec.h"'),
    ("ops/image/x.h", '#include "ops/reader/file.h"'),
    ("ops/dataset/source/x.cc", '#  include "ops/dataset/decode/crop.h"'),
    ("ops/dataset/decode/x.cc", '#include "ops/dataset/interleave/epoch_answer.h"'),
    ("ops/gpu/plan/x.cc", '#include "ops/gpu/driver/nvrtc.h"'),
    ("ops/codecs/x_kernels.cc", '#include "ops/engine/stats.h"'),
    ("ops/engine/x.h", '#include "ops/kernel/tf_status.h"'),
    ("ops/engine/x.cc", '#include "absl/container/flat_hash_map.h"'),
    ("ops/reader/x.cc", "#include <tensorflow/core/framework/tensor.h>"),
    ("ops/gpu/driver/x.h", '#include "absl/strings/str_cat.h"'),
    ("ops/core/x.cc", '#include "tests/ops/testing.h"'),
  )
  def test_an_include_against_the_order_is_found(self, path, source):
    self.assertLen(_breaches_of_ops(path, source), 1)

  @parameterized.parameters(
    ("ops/codecs/x_kernels.cc", '#include "ops/kernel/tf_status.h"'),
    ("ops/codecs/png/x.cc", '#include "ops/codecs/codec.h"'),
    ("ops/codecs/x_ops.cc", '#include "tensorflow/core/framework/op.h"'),
    ("ops/dataset/source/x.cc", '#include "ops/reader/file.h"\n#include <vector>'),
  )
  def test_an_include_along_the_order_is_none(self, path, source):
    self.assertEmpty(_breaches_of_ops(path, source))

  def test_ops_carry_the_prefix(self):
    names = [
      name
      for path in (_ROOT / "ops").rglob("*.cc")
      for name in re.findall(r'REGISTER_OP\(\s*"([^"]*)"', path.read_text())
    ]
    self.assertNotEmpty(names)
    self.assertEmpty([name for name in names if not name.startswith("Liquid>")])


def _map() -> dict[str, str]:
  """Each file of the three trees, without suffix, and its line of the map."""
  page = (_ROOT / "docs" / "architecture.md").read_text()
  folder, rows = "", {}
  for line in page.partition("\n## Every file\n")[2].splitlines():
    if heading := re.match("### `(.*?)`", line):
      folder = heading[1]
    elif row := re.fullmatch(r"\| (`.*?`) \| (.*) \|", line):
      rows |= {f"{folder}/{name}": row[2] for name in re.findall("`(.*?)`", row[1])}
  return rows


def _mapped_files() -> dict[str, str]:
  """The text of each such file, that of a header and its source together."""
  found: dict[str, str] = {}
  for tree in ("liquid_tf", "ops", "tools"):
    for path in sorted((_ROOT / tree).rglob("*")):
      if path.suffix in (".py", ".pyi", ".h", ".cc", ".cu", ".cuh"):
        name = path.relative_to(_ROOT).with_suffix("").as_posix()
        if path.name != "__init__.py" or path.parent.name == "liquid_tf":
          found[name] = found.get(name, "") + path.read_text()
  return found


class MapTest(absltest.TestCase):
  """docs/architecture.md, which alone should tell where a line stands."""

  def test_every_file_has_its_line(self):
    self.assertCountEqual(_map(), _mapped_files())

  def test_names_stand_in_the_files_that_are_said_to_hold_them(self):
    files = _mapped_files()
    texts = collections.defaultdict(str)
    for name, said in _map().items():
      texts[said] += files[name]
    lost = [
      (word, said)
      for said, text in texts.items()
      for name in re.findall("`(.*?)`", said)
      for word in re.findall(r"\w+", name)
      if word not in text
    ]
    self.assertEmpty(lost)


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

  def test_help_of_the_package_is_a_page_that_names_everything(self):
    text = pydoc.plain(pydoc.render_doc(liquid_tf))
    self.assertLess(len(text.splitlines()), 80)
    said = set(re.findall(r"\w+", liquid_tf.__doc__))
    public = {name for name in dir(liquid_tf) if not name.startswith("_")}
    modules = {name.partition(".")[2] for name in _public_modules()} - {""}
    self.assertContainsSubset(public | modules, said)

  def test_help_of_the_steps_is_what_they_say_of_themselves(self):
    text = pydoc.plain(pydoc.render_doc(transforms))
    self.assertNotRegex(text, r"\|  __\w+__")
    said = sum(
      len(inspect.getdoc(getattr(transforms, name)).splitlines())
      for name in transforms.__all__
    )
    page = len(transforms.__doc__.splitlines())
    self.assertLess(len(text.splitlines()), page + said + 12 * len(transforms.__all__))
    for name in set(transforms.__all__) - {"Step"}:
      # With what may be given.
      self.assertRegex(transforms.__doc__, rf"`{name}\(", name)
      self.assertIn(f" |  {name}(", text)

  def test_exported_names_exist(self):
    self.assertNotEmpty(dir(liquid_tf))
    for name in dir(liquid_tf):
      self.assertTrue(hasattr(liquid_tf, name), name)

  def test_importing_the_package_imports_no_tensorflow(self):
    # A command's --help would take seconds.
    source = (_ROOT / "liquid_tf" / "__init__.py").read_text()
    self.assertEqual(_imports(source), ["lazy_loader", "liquid_tf._extras"])
    for name, known in (
      (
        "_extras",
        ["contextlib", "collections.abc", "liquid_tf._words"],
      ),
      ("errors", ["liquid_tf._words"]),
    ):
      text = (_ROOT / "liquid_tf" / f"{name}.py").read_text()
      self.assertEqual(_imports(text), known)

  def test_docstrings_begin_with_a_verb_or_a_name(self):
    beginnings, words = wording.offenders(_ROOT / "liquid_tf")
    self.assertEmpty(beginnings)
    self.assertEmpty(words)

  def test_each_kind_of_offender_is_found(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, source in (
      ("module.py", '"""What it holds."""'),
      ("kinds.py", 'class Kind:\n  """Which kind."""\n\n  x = "Whoever asks"'),
      ("parts/functions.py", 'def f():\n  """\n  Of all samples.\n  """  # nobody'),
      ("parts/methods.py", 'class A:\n  async def f(self):\n    """What, if any."""'),
      ("good.py", '"""Offers what nobodys has."""\nx = "What"  # Which of them\n'),
    ):
      path = folder / name
      path.parent.mkdir(exist_ok=True)
      path.write_text(source)
    beginnings, words = wording.offenders(folder)
    self.assertEqual(
      [place.removeprefix(f"{folder}/") for place in beginnings],
      ["kinds.py:2", "module.py:1", "parts/functions.py:2", "parts/methods.py:3"],
    )
    self.assertEqual(
      [place.removeprefix(f"{folder}/") for place in words],
      ["kinds.py:4", "parts/functions.py:4"],
    )


if __name__ == "__main__":
  absltest.main()
