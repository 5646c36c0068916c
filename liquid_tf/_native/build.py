"""Builds an op library for the TensorFlow of this process.

Only the sources that face TensorFlow are compiled. All else, third-party libraries
included, is the engine, which no version of TensorFlow changes.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from liquid_tf._native import engine, library
from liquid_tf.errors import BuildError

_MOST_LINES = 20  # of what the compiler says


class Target(NamedTuple):
  """A TensorFlow to build for.

  Attributes:
    version: such as "2.22.0".
    flags: what its headers are compiled with, their folder included.
    libraries: the folder of its shared libraries.
  """

  version: str
  flags: list[str]
  libraries: str


def running() -> Target:
  """The TensorFlow of this process."""
  import tensorflow as tf

  return Target(
    tf.__version__, tf.sysconfig.get_compile_flags(), tf.sysconfig.get_lib()
  )


def compiler() -> str:
  """The C++ compiler: CXX, else g++.

  Raises:
    BuildError: there is none.
  """
  name = os.environ.get("CXX") or "g++"
  found = shutil.which(name)
  if found is None:
    raise BuildError(
      f"the compiler ({name}) was not found: install g++ 11 or later, or set CXX"
    )
  return found


def _run(command: list[str], doing: str) -> None:
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode:
    said = "\n".join(done.stderr.splitlines()[:_MOST_LINES])
    raise BuildError(f"{doing} failed: {' '.join(command)}\n{said}")


def _compile(
  target: Target,
  folder: pathlib.Path,
  jobs: int,
  progress: Callable[[int, int], None],
) -> list[str]:
  """Compiles the sources into objects in `folder`; returns their paths."""
  kit = library.kit()
  recipe = json.loads((kit / "kit.json").read_text())
  flags = ["-std=c++17", *recipe["copts"], *target.flags, "-fPIC", "-w", f"-I{kit}"]
  command = [compiler(), *flags, f"-DLIQUID_TF_VERSION={target.version}"]

  def one(source: str) -> str:
    to = str(folder / (source.replace("/", "_") + ".o"))
    _run([*command, "-c", str(kit / source), "-o", to], f"compiling {source}")
    return to

  objects = []
  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    waiting = [pool.submit(one, source) for source in recipe["sources"]]
    try:
      for done in concurrent.futures.as_completed(waiting):
        objects.append(done.result())
        progress(len(objects), len(waiting))
    except BaseException:
      pool.shutdown(wait=False, cancel_futures=True)
      raise
  return sorted(objects)


def _link(target: Target, objects: list[str], made: str, output: str) -> None:
  """Links `made`, which finds the engine from the place of `output`."""
  path = library.engine()
  to_engine = os.path.relpath(os.path.dirname(path), os.path.dirname(output))
  # The second one is absent where TensorFlow is built as one library.
  names = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
  present = [name for name in names if os.path.exists(f"{target.libraries}/{name}")]
  command = [compiler(), "-shared", "-s", "-o", made, *objects]
  command += [f"-Wl,--version-script,{library.kit() / 'exports.lds'}"]
  command += ["-Wl,--as-needed", "-Wl,-z,defs", path, f"-L{target.libraries}"]
  command += [f"-l:{name}" for name in present]
  _run([*command, f"-Wl,-rpath,$ORIGIN/{to_engine}"], "linking")


def _check(path: str) -> None:
  import tensorflow as tf

  engine.load()
  try:
    tf.load_op_library(path)
  except tf.errors.NotFoundError as error:  # as it calls undefined symbols
    raise BuildError(f"the library that was built does not load: {error}") from error


def build(
  target: Target,
  output: str,
  jobs: int,
  progress: Callable[[int, int], None] = lambda done, count: None,
) -> None:
  """Builds an op library, and loads it as a proof.

  Args:
    target: the TensorFlow that it is for, which is the process's own.
    output: path of the file, which is replaced.
    jobs: compilers at a time; each takes about 1 GB.
    progress: is told how many of how many sources are compiled.

  Raises:
    BuildError: no compiler, or it fails, or what it makes does not load.
    ImportError: the package has no sources of its ops, or no engine.
    OSError: `output` cannot be written.
  """
  output = os.path.abspath(output)
  # In the same folder, so that it can take the place of the other at once.
  with tempfile.TemporaryDirectory(dir=os.path.dirname(output)) as folder:
    objects = _compile(target, pathlib.Path(folder), jobs, progress)
    made = os.path.join(folder, os.path.basename(output))
    _link(target, objects, made, output)
    _check(made)
    os.replace(made, output)
