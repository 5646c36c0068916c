"""Finds the engine, and the op library that fits the running TensorFlow.

The engine (libliquid_engine.so) needs no framework, and a process has one. An op
library is small: TensorFlow's ops over that engine, for one minor version of it.
"""

import importlib.util
import os
import pathlib
import re
from collections.abc import Iterator

from liquid_tf import _version

ENGINE = "libliquid_engine.so"
_LIBRARY = "_liquid_ops.so"
_PACKAGED = re.compile(r"_liquid_ops_tf(\d)(\d+)\.so")
_DEFINED = re.compile(r"^#define TF_(MAJOR|MINOR|PATCH)_VERSION (\d+)", re.M)
_MARKER = re.compile(rb"liquid_ops built for TensorFlow (\d+\.\d+)([\w.+-]*)")
# The version of the engine's symbols (ops/engine.lds), which an op library asks for.
_ENGINE_ID = re.compile(rb"LIQUID_ENGINE_([0-9a-f]{16})")


def minor(version: str) -> str:
  """The minor version of TensorFlow that a version belongs to, such as "2.16"."""
  return ".".join(version.split(".")[:2])


def installed() -> tuple[str, str] | None:
  """Folder and version of the TensorFlow that is installed; imports nothing.

  Returns:
    None where there is none; "?" for the version where its headers are missing.
  """
  found = importlib.util.find_spec("tensorflow")
  if found is None or not found.origin:
    return None
  folder = pathlib.Path(found.origin).parent
  defined = {}
  # Newer versions have it in the second one.
  for name in ("version.h", "release_version.h"):
    header = folder / "include/tensorflow/core/public" / name
    if header.exists():
      defined |= dict(_DEFINED.findall(header.read_text()))
  parts = [defined.get(name, "?") for name in ("MAJOR", "MINOR", "PATCH")]
  return os.fspath(folder), ".".join(parts) if "?" not in parts else "?"


def package() -> pathlib.Path:
  """The folder of the package, in which an installed op library lies."""
  return pathlib.Path(os.path.abspath(__file__)).parents[1]


def packaged_name(tensorflow_version: str) -> str:
  """Name of the op library for a TensorFlow in the package's folder."""
  return f"_liquid_ops_tf{minor(tensorflow_version).replace('.', '')}.so"


def packaged() -> list[str]:
  """Minor versions that the package's own op libraries serve, the oldest first."""
  found = [_PACKAGED.fullmatch(path.name) for path in package().glob("*.so")]
  numbers = sorted((int(match[1]), int(match[2])) for match in found if match)
  return [f"{major}.{minor}" for major, minor in numbers]


def _checkout_folders() -> list[pathlib.Path]:
  """Folders in which built libraries may lie in a checkout, the preferred one first.

  Under Bazel the runfiles mirror the checkout, so that `ops/` is beside the package;
  in the checkout itself Bazel's links lie under `build/`, one folder for each
  TensorFlow.
  """
  root = package().parent
  return [root / "ops", *sorted(root.glob("build/bazel*/bin/ops"))]


def _candidates(tensorflow_version: str) -> list[pathlib.Path]:
  """`LIQUID_OPS_LIBRARY` rules out all others."""
  override = os.environ.get("LIQUID_OPS_LIBRARY")
  if override:
    return [pathlib.Path(override)]
  own = package() / packaged_name(tensorflow_version)
  return [own, *(folder / _LIBRARY for folder in _checkout_folders())]


def _engine_folders() -> Iterator[pathlib.Path]:
  """Folders in which the engine may lie, the preferred one first.

  An op library works with the engine that it was linked to, which lies beside it.
  """
  override = os.environ.get("LIQUID_OPS_LIBRARY")
  if override:
    yield pathlib.Path(override).parent
  yield package()
  folders = _checkout_folders()
  tensorflow = installed()
  if tensorflow:
    wanted = minor(tensorflow[1])
    for folder in folders:
      path = folder / _LIBRARY
      if path.is_file() and (built_for(os.fspath(path)) or [""])[0] == wanted:
        yield folder
  yield from folders


def engine() -> str:
  """Finds the engine; imports no framework.

  `LIQUID_ENGINE_LIBRARY` names another one.

  Returns:
    The path of the library.

  Raises:
    ImportError: there is none.
  """
  override = os.environ.get("LIQUID_ENGINE_LIBRARY")
  if override:
    if not os.path.isfile(override):
      raise ImportError(
        f'LIQUID_ENGINE_LIBRARY ("{override}") must be the path of {ENGINE}'
      )
    return override
  for folder in _engine_folders():
    if (folder / ENGINE).is_file():
      return os.fspath(folder / ENGINE)
  places = ", ".join(f'"{folder}"' for folder in dict.fromkeys(_engine_folders()))
  raise ImportError(
    f"liquid_tf found no {ENGINE} in {places}: install a wheel of liquid_tf, or run "
    "`make setup` in a checkout"
  )


def built_for(path: str) -> tuple[str, str] | None:
  """Reads which TensorFlow a library was built for, without loading it.

  A library of another minor version fails to load with undefined symbols that
  explain nothing, so its marker is read first.

  Args:
    path: path of the shared object.

  Returns:
    (minor version, full version), such as ("2.16", "2.16.2"), or None where the
    file carries no marker.

  Raises:
    OSError: the file cannot be read.
  """
  found = _MARKER.search(pathlib.Path(path).read_bytes())
  if found is None:
    return None
  number, rest = (part.decode() for part in found.groups())
  return number, number + rest


def engine_id(path: str) -> str | None:
  """Reads the id of an engine, or that of the engine that a file was made for.

  Args:
    path: path of the engine, of an op library, or of engine.lds in a kit.

  Returns:
    16 hexadecimal digits; None where the file has no id.

  Raises:
    OSError: the file cannot be read.
  """
  found = _ENGINE_ID.search(pathlib.Path(path).read_bytes())
  return found[1].decode() if found else None


def find(tensorflow_version: str) -> str:
  """Finds the op library that was built for a TensorFlow version and the engine.

  Args:
    tensorflow_version: such as "2.16.2"; major and minor have to match.

  Returns:
    The path of the library.

  Raises:
    ImportError: there is no library, or none for this version; or there is no engine,
      or it is not the one that the library was linked to.
  """
  wanted = minor(tensorflow_version)
  searched = _candidates(tensorflow_version)
  others, of_another_engine = [], []
  for path in searched:
    if not path.is_file():
      continue
    version = built_for(os.fspath(path))
    if version is None:
      others.append(f'"{path}" is not a liquid_tf op library')
    elif version[0] != wanted:
      others.append(f'"{path}" was built for TensorFlow {version[1]}')
    elif not _is_for(path, engine()):
      # It would fail to load, with a version of symbols that explains nothing.
      of_another_engine.append(path)
    else:
      return os.fspath(path)
  if of_another_engine:
    raise ImportError(
      f'the op library "{of_another_engine[0]}" was built for another engine than '
      f'"{engine()}": run `liquid-tf build-ops`, or `make setup '
      f"TF_VERSION={tensorflow_version}` in a checkout, which build it for this one"
    )
  raise ImportError(_refusal(tensorflow_version, searched, others))


def _is_for(path: pathlib.Path, engine_path: str) -> bool:
  """Whether an op library or a kit's engine.lds is made for an engine."""
  wanted = engine_id(os.fspath(path))
  return wanted is not None and wanted == engine_id(engine_path)


def _refusal(version: str, searched: list[pathlib.Path], others: list[str]) -> str:
  """Says which TensorFlow is served, and how to serve another."""
  served = packaged()
  if served and not others:
    return (
      f"liquid_tf {_version.__version__} serves TensorFlow {', '.join(served)}, and "
      f"this is TensorFlow {version}: install one of those, or run "
      "`liquid-tf build-ops`, which builds the ops for this one"
    )
  build = f"run `make setup TF_VERSION={version}` in a checkout"
  if others:
    return (
      f"liquid_tf needs an op library built for TensorFlow {minor(version)} (running: "
      f"{version}), but {'; '.join(others)}. An op library works with one minor "
      f"version only: install that TensorFlow, or {build}."
    )
  places = ", ".join(f'"{path}"' for path in searched)
  return (
    f"liquid_tf found no op library for TensorFlow {minor(version)} at {places}: "
    f"{build}, or set LIQUID_OPS_LIBRARY to the file."
  )


def kit() -> pathlib.Path:
  """The folder from which `liquid-tf build-ops` builds op libraries for the engine.

  Raises:
    ImportError: there is none, or there is no engine.
  """
  found = engine()
  places = [package() / "_kit", *(folder / "kit" for folder in _checkout_folders())]
  for place in places:
    if (place / "kit.json").is_file() and _is_for(place / "engine.lds", found):
      return place
  raise ImportError(
    f'liquid_tf has no sources of its ops for "{found}" at "{places[0]}": install a '
    "wheel of it, or run `make setup` in a checkout"
  )
