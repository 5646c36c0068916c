"""Datasets to train from, what a run of one delivered, and runs in new processes."""

import contextlib
import functools
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import photos
import tensorflow as tf

from liquid_tf._convert.convert import convert


def make(
  root: str,
  mix: str = "png:5,raw:3,webp:2",
  *,
  per_class: int = 25,
  sides: tuple[int, int] = (24, 24),
  extension: str = "png",
  **options,
) -> str:
  """Converts crops of four photographs.

  Args:
    root: where; the source goes to `root`/source.
    mix: as for `liquid_tf.convert`.
    per_class: images of each photograph.
    sides: smallest and largest side of an image, in pixels.
    extension: of the source files.
    **options: of `liquid_tf.convert`.

  Returns:
    Path of the dataset directory.
  """
  source, output = os.path.join(root, "source"), os.path.join(root, "dataset")
  photos.class_folders(
    source, per_class=per_class, classes=4, sides=sides, extension=extension
  )
  convert(source, output, mix, progress=False, **options)
  return output


def ids(dataset: tf.data.Dataset) -> list[list[int]]:
  """Sample numbers of every batch of one run through a dataset of dicts."""
  return [batch["id"].numpy().reshape(-1).tolist() for batch in dataset]


def flat(batches: Iterable[list[int]]) -> list[int]:
  """The samples of batches, one after another."""
  return [sample for batch in batches for sample in batch]


def digest(element: Any) -> str:
  """A hash of every value, shape and dtype in an element."""
  state = hashlib.sha256()
  for value in tf.nest.flatten(element, expand_composites=True):
    array = np.asarray(value)
    data = b"\0".join(array.reshape(-1)) if array.dtype == object else array.tobytes()
    state.update(f"{array.dtype}{array.shape}".encode() + data)
  return state.hexdigest()


def digests(dataset: Iterable) -> list[str]:
  """Hashes of every element of one run through a dataset."""
  return [digest(element) for element in dataset]


def draws(dataset: tf.data.Dataset) -> list[tuple[int, str, str]]:
  """[(id, format, hash of the pixels)] of one run through a dataset of dicts."""
  found = []
  for batch in dataset:
    pixels = [digest(image) for image in batch["image"]]
    formats = [name.decode() for name in batch["format"].numpy()]
    found += zip(batch["id"].numpy().tolist(), formats, pixels)
  return found


def save_and_die(dataset: tf.data.Dataset, prefix: str, batches: int) -> None:
  """Saves an iterator after each of some batches; kills the process after the next.

  For `in_new_process`.
  """
  iterator = iter(dataset)
  checkpoint = tf.train.Checkpoint(iterator=iterator)
  for _ in range(batches):
    next(iterator)
    checkpoint.write(prefix)
  next(iterator)
  os.kill(os.getpid(), signal.SIGKILL)


def restored_digests(dataset: tf.data.Dataset, prefix: str) -> list[str]:
  """Hashes of what comes after a checkpoint of an iterator."""
  iterator = iter(dataset)
  tf.train.Checkpoint(iterator=iterator).restore(prefix)
  return digests(iterator)


def in_new_process(
  function: Callable, exit_code: int = 0, **arguments
) -> tuple[Any, str]:
  """Calls a function of a test file in a process that has run nothing of TensorFlow.

  It is a child of one that has imported TensorFlow, which takes seconds.

  Args:
    function: at the top level of its module; arguments and result are JSON.
    exit_code: that the process must end with; -9 for one that kills itself.
    **arguments: of the function.

  Returns:
    The result, or None where the exit code is not 0, and what it wrote to stderr.
  """
  call = {
    "module": pathlib.Path(inspect.getfile(function)).stem,
    "function": function.__name__,
    "arguments": arguments,
    "environment": dict(os.environ),
    "directory": os.getcwd(),
  }
  with tempfile.TemporaryDirectory() as folder:
    status = os.path.join(folder, "status")
    os.mkfifo(status)
    with _LOCK:
      parent = _parent(os.environ.get("KERAS_BACKEND", ""))
      parent.stdin.write(json.dumps(call | {"folder": folder}) + "\n")
      parent.stdin.flush()
    found = int(pathlib.Path(status).read_text())
    log = pathlib.Path(folder, "stderr").read_text(errors="replace")
    if found != exit_code:
      raise AssertionError(f"exit code {found} instead of {exit_code}\n{log}")
    if exit_code != 0:
      return None, log
    return json.loads(pathlib.Path(folder, "result").read_text()), log


_LOCK = threading.Lock()


@functools.cache
def _parent(backend: str) -> subprocess.Popen:
  """The process whose children make the calls of `in_new_process`.

  Args:
    backend: of Keras, which comes with TensorFlow and reads it from the environment as
      it is imported: one parent for each.
  """
  del backend
  return subprocess.Popen(
    [sys.executable, __file__],
    # Children read the level of their environment no more, as it is imported.
    env={
      **os.environ,
      "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
      "TF_CPP_MIN_LOG_LEVEL": "0",
    },
    stdin=subprocess.PIPE,
    text=True,
  )


def _serve() -> None:
  """Makes a child for each line of stdin, which makes the call of that line."""
  for line in sys.stdin:
    call = json.loads(line)
    if not os.fork():
      # This one waits for the other, and says how it ended.
      child = os.fork()
      if not child:
        return _call(**call)
      ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
      pathlib.Path(call["folder"], "status").write_text(str(ended))
      os._exit(0)
    with contextlib.suppress(ChildProcessError):
      while os.waitpid(-1, os.WNOHANG)[0]:
        pass


def _call(
  module: str,
  function: str,
  arguments: dict[str, Any],
  environment: dict[str, str],
  directory: str,
  folder: str,
) -> None:
  """Makes a call, in a child: stderr and the result go to files in a folder."""
  os.environ.clear()
  os.environ.update(environment)
  os.chdir(directory)
  for number, name in ((0, os.devnull), (1, os.devnull), (2, f"{folder}/stderr")):
    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
  result = getattr(importlib.import_module(module), function)(**arguments)
  pathlib.Path(folder, "result").write_text(json.dumps(result))


if __name__ == "__main__":
  _serve()
