"""Epochs of a dataset as batches, from the engine (ops/direct/direct_loader.h).

Its functions may wait, and let other threads of Python run meanwhile.
"""

import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._native import direct
from liquid_tf._native.direct_gpu import Images, OnGpu
from liquid_tf.errors import RecordError

# In the order of LiquidDType.
DTYPES = (
  *("bool", "uint8", "uint16", "int32", "int64"),
  *("float16", "bfloat16", "float32", "float64", "string", "variant"),
)
_BFLOAT16, _STRING = DTYPES.index("bfloat16"), DTYPES.index("string")

# What the ends of functions raise, by their LiquidStatus.
_OK, _CANCELLED = 0, 7
_ERRORS: dict[int, type[Exception]] = {
  1: ValueError,
  2: FileNotFoundError,
  3: RecordError,
  4: RecordError,
  5: RecordError,
  6: OSError,
}


class Cancelled(Exception):
  """The epoch was cancelled while something waited for it."""


class Closed(RuntimeError):
  """The loader is closed."""


class _Numbers(ctypes.Structure):
  _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class _Format(ctypes.Structure):
  _fields_ = [("message", direct.Bytes), ("chosen", direct.Bytes)]


class _Draws(ctypes.Structure):
  _fields_ = [
    ("message", direct.Bytes),
    ("groups", ctypes.c_void_p),
    ("groups_size", ctypes.c_uint64),
    ("record_blocks", ctypes.c_void_p),
    ("record_blocks_size", ctypes.c_uint64),
    ("formats", ctypes.POINTER(_Format)),
    ("formats_size", ctypes.c_uint64),
  ]


class _Output(ctypes.Structure):
  _fields_ = [("dtype", ctypes.c_int32), ("shape", _Numbers)]


class _Gpu(ctypes.Structure):
  _fields_ = [
    ("number", ctypes.c_int32),
    ("dtypes", ctypes.c_void_p),
    ("dtypes_size", ctypes.c_uint64),
    ("cache_bytes", ctypes.c_uint64),
  ]


class _Plan(ctypes.Structure):
  _fields_ = [
    ("draws", _Draws),
    ("decode", direct.Bytes),
    ("outputs", ctypes.POINTER(_Output)),
    ("outputs_size", ctypes.c_uint64),
    ("mean_image", ctypes.c_void_p),
    ("mean_shape", ctypes.c_int64 * 3),
    ("gpu", ctypes.c_void_p),
  ]


class _Place(ctypes.Structure):
  _fields_ = [
    ("epoch", ctypes.c_int64),
    ("step", ctypes.c_uint64),
    ("rest", ctypes.c_bool),
  ]


class _Mixes(ctypes.Structure):
  _fields_ = [
    ("epochs", ctypes.c_uint64),
    *(
      (name, ctypes.c_void_p)
      for name in ("samples", "cached", "fill", "resident", "kept")
    ),
  ]


class _Epoch(ctypes.Structure):
  _fields_ = [
    ("fidelity", _Numbers),
    ("mixes", _Mixes),
    ("borrowed", _Numbers),
    ("skipped", _Numbers),
  ]


class _Array(ctypes.Structure):
  _fields_ = [
    ("dtype", ctypes.c_int32),
    ("shape", _Numbers),
    ("data", ctypes.c_void_p),
    ("offsets", ctypes.c_void_p),
  ]


class _Batch(ctypes.Structure):
  _fields_ = [
    ("outputs", ctypes.POINTER(_Array)),
    ("outputs_size", ctypes.c_uint64),
    ("next", _Place),
    ("borrowed", _Numbers),
    ("skipped", _Numbers),
    ("images", ctypes.POINTER(_Array)),
    ("images_size", ctypes.c_uint64),
  ]


class Draws(NamedTuple):
  """Inputs of an interleave, as the ops take them.

  Attributes:
    message: an InterleaveMessage.
    groups: uint16 [samples], or empty.
    record_blocks: uint32 [records], or empty.
    formats: a FormatMessage, and uint8 [samples] or empty, of each.
  """

  message: bytes
  groups: np.ndarray
  record_blocks: np.ndarray
  formats: Sequence[tuple[bytes, np.ndarray]]


class Place(NamedTuple):
  """Where an epoch goes on.

  Attributes:
    epoch: its number.
    step: batches of it that are left out.
    rest: whether other numbers of workers began it.
  """

  epoch: int
  step: int
  rest: bool


class Strings(NamedTuple):
  """Byte strings, one after another.

  Attributes:
    data: uint8 [bytes].
    offsets: uint64 [strings + 1], where each begins, then the end.
    shape: of the array that they make.
  """

  data: np.ndarray
  offsets: np.ndarray
  shape: tuple[int, ...]

  def array(self) -> np.ndarray:
    """An array of Python's bytes objects."""
    found = np.empty(len(self.offsets) - 1, object)
    data, ends = memoryview(self.data), self.offsets.tolist()
    for i in range(len(found)):
      found[i] = bytes(data[ends[i] : ends[i + 1]])
    return found.reshape(self.shape)


class Batch(NamedTuple):
  """A batch, and where its epoch goes on behind it.

  Attributes:
    outputs: arrays in the memory of the engine, which stays as long as one of them;
      bfloat16 as uint16. In the place of records, their images, of each view that has
      an array of its own.
    next: the place.
    borrowed: draws behind it that were delivered already.
    skipped: samples that were left out so far.
  """

  outputs: list[np.ndarray | Strings | list[OnGpu]]
  next: Place
  borrowed: list[int]
  skipped: list[int]


@functools.cache
def _functions() -> ctypes.CDLL:
  functions = direct.functions()
  pointer, number = ctypes.c_void_p, ctypes.c_uint64
  for name, arguments in (
    ("loader_create", [pointer, pointer]),
    ("loader_seek", [pointer, ctypes.c_int64, number, _Numbers, _Numbers, pointer]),
    ("loader_next_epoch", [pointer, pointer]),
    ("loader_begin", [pointer, pointer]),
    ("loader_next", [pointer, pointer]),
    ("loader_leave", [pointer]),
    ("loader_stats", [pointer, ctypes.c_bool, pointer]),
  ):
    function = getattr(functions, f"liquid_direct_{name}")
    function.argtypes = [*arguments, direct.Problem]
    function.restype = ctypes.c_int32
  for name, argument in (
    ("loader_free", pointer),
    ("loader_cancel", pointer),
    ("batch_release", pointer),
    ("stats_free", direct.Bytes),
  ):
    function = getattr(functions, f"liquid_direct_{name}")
    function.argtypes, function.restype = [argument], None
  take = functions.liquid_direct_batch_take_images
  take.argtypes, take.restype = [pointer, number], pointer
  return functions


def _call(name: str, *arguments: Any) -> None:
  """Calls a function, and raises what its end means."""
  function = getattr(_functions(), f"liquid_direct_{name}")
  end, problem = direct.call(function, *arguments)
  if end == _CANCELLED:
    raise Cancelled(problem)
  if end != _OK:
    raise _ERRORS.get(end, RuntimeError)(problem)


class _Memory:
  """Shows C arrays, and keeps what it shows."""

  def __init__(self):
    self._kept: list[Any] = []

  def numbers(self, values: Sequence[int] | np.ndarray) -> _Numbers:
    array = np.ascontiguousarray(values, np.int64).reshape(-1)
    return _Numbers(self.array(array), array.size)

  def array(self, array: np.ndarray) -> int:
    self._kept.append(array)
    return array.ctypes.data

  def bytes(self, data: bytes | np.ndarray) -> direct.Bytes:
    if isinstance(data, np.ndarray):
      return direct.Bytes(self.array(data), data.nbytes)
    self._kept.append(data)
    return direct.bytes_of(data)

  def draws(self, draws: Draws) -> _Draws:
    formats = (_Format * len(draws.formats))()
    for one, (message, chosen) in zip(formats, draws.formats):
      chosen = np.ascontiguousarray(chosen, np.uint8)
      one.message, one.chosen = self.bytes(message), self.bytes(chosen)
    self._kept.append(formats)
    groups = np.ascontiguousarray(draws.groups, np.uint16)
    blocks = np.ascontiguousarray(draws.record_blocks, np.uint32)
    return _Draws(
      self.bytes(draws.message),
      *(self.array(groups), groups.size),
      *(self.array(blocks), blocks.size),
      *(formats, len(formats)),
    )


class EngineLoader:
  """A loader of the engine.

  Args:
    draws: what is drawn.
    decode: a DecodeMessage.
    outputs: name of the type, and shape with None for sides that are not known, of each
      of its features.
    mean_image: float32 [height, width, channels], or empty.
    gpu: number of the GPU that decodes records ("variant") among them, the name of the
      images' type in each view, and bytes of its memory for the cache; None where there
      are none.

  Raises:
    ValueError: the messages do not fit each other, or a file is none.
    OSError: a file cannot be read.
    RuntimeError: the GPU is too old, or its driver reports an error.
  """

  def __init__(
    self,
    draws: Draws,
    decode: bytes,
    outputs: Sequence[tuple[str, Sequence[int | None]]],
    mean_image: np.ndarray,
    gpu: tuple[int, Sequence[str], int] | None = None,
  ):
    memory = _Memory()
    on_gpu = None
    if gpu is not None:
      dtypes = np.array([DTYPES.index(dtype) for dtype in gpu[1]], np.int32)
      on_gpu = _Gpu(gpu[0], memory.array(dtypes), len(dtypes), gpu[2])
    array = (_Output * len(outputs))()
    for one, (dtype, shape) in zip(array, outputs):
      sides = [-1 if side is None else side for side in shape]
      one.dtype, one.shape = DTYPES.index(dtype), memory.numbers(sides)
    mean = np.ascontiguousarray(mean_image, np.float32)
    plan = _Plan(
      memory.draws(draws),
      memory.bytes(decode),
      array,
      len(array),
      memory.array(mean),
      (ctypes.c_int64 * 3)(*mean.shape),
      None if on_gpu is None else ctypes.addressof(on_gpu),
    )
    made = ctypes.c_void_p()
    _call("loader_create", ctypes.addressof(plan), ctypes.addressof(made))
    self._made = made.value
    # By a function that may be under way, in another thread, when the loader is closed.
    # In its own thread, a handler of a signal runs when it has come back.
    self._used = threading.RLock()
    self._free = weakref.finalize(self, _free, self._made, os.getpid(), self._used)

  def close(self) -> None:
    """Ends its threads; of the others, only `stats` may be under way. Batches stay."""
    self._free()

  @property
  def is_open(self) -> bool:
    """Whether it has its threads."""
    return self._free.alive

  @property
  def _loader(self) -> int:
    if not self.is_open:
      raise Closed("the loader is closed")
    return self._made

  def seek(
    self,
    epoch: int,
    step: int,
    cached: Sequence[int],
    mixes: Sequence[int],
    rest: Draws | None,
  ) -> None:
    """Makes the next epoch `epoch`, from its batch `step` on; see `State.seek`.

    Raises:
      ValueError: there is no such place.
    """
    memory = _Memory()
    given = None if rest is None else ctypes.pointer(memory.draws(rest))
    _call(
      "loader_seek",
      *(self._loader, epoch, step),
      *(memory.numbers(cached), memory.numbers(mixes)),
      given and ctypes.addressof(given.contents),
    )

  def next_epoch(self) -> Place:
    """Where the epoch will begin that is next."""
    place = _Place()
    _call("loader_next_epoch", self._loader, ctypes.addressof(place))
    return Place(place.epoch, place.step, place.rest)

  def begin(
    self,
    fidelity: np.ndarray,
    mixes: Sequence[np.ndarray],
    borrowed: Sequence[int],
    skipped: Sequence[int],
  ) -> None:
    """Begins that epoch, and leaves one that runs.

    Args:
      fidelity: scan groups of its batches, the last one going on; none for all.
      mixes: samples, cached, fill, resident and kept, each int64 [epochs, formats], of
        the epochs up to it; none where formats share no samples.
      borrowed: of the batch before, where the epoch goes on.
      skipped: likewise.
    """
    memory = _Memory()
    tables = [np.ascontiguousarray(table, np.int64) for table in mixes]
    epoch = _Epoch(
      memory.numbers(fidelity),
      _Mixes(len(tables[0]), *map(memory.array, tables)) if tables else _Mixes(),
      memory.numbers(borrowed),
      memory.numbers(skipped),
    )
    _call("loader_begin", self._loader, ctypes.addressof(epoch))

  def next(self) -> Batch | None:
    """Waits for the next batch; None at the epoch's end.

    Raises:
      Cancelled: by `cancel`.
      RecordError: a record cannot be read or decoded.
      OSError: a server does not answer, or memory is short.
    """
    found = ctypes.c_void_p()
    _call("loader_next", self._loader, ctypes.addressof(found))
    return _batch(found.value) if found.value else None

  def leave(self) -> None:
    """Ends the epoch that runs."""
    _call("loader_leave", self._loader)

  def cancel(self) -> None:
    """Makes a `next` that waits in another thread raise `Cancelled`."""
    _functions().liquid_direct_loader_cancel(self._loader)

  def stats(self, batches: bool) -> str:
    """The counters as JSON. Any thread may call it.

    Raises:
      Closed: the loader is.
    """
    found = direct.Bytes()
    with self._used:
      _call("loader_stats", self._loader, batches, ctypes.addressof(found))
    try:
      return ctypes.string_at(found.data, found.size).decode()
    finally:
      _functions().liquid_direct_stats_free(found)


def _free(loader: int, owner: int, used: "threading.RLock") -> None:
  # In a forked child its threads are gone, and its locks may be taken.
  if os.getpid() != owner:
    return
  _functions().liquid_direct_loader_cancel(loader)
  with used:
    _functions().liquid_direct_loader_free(loader)


class _Owner:
  """The memory of a batch."""

  def __init__(self, batch: int):
    release = _functions().liquid_direct_batch_release
    # Not when Python ends, where a thread may still use an array.
    weakref.finalize(self, release, batch).atexit = False


class _Shown:
  """Memory of a batch that NumPy takes as it is, and keeps."""

  def __init__(self, owner: _Owner, data: int, dtype: str, shape: tuple[int, ...]):
    self._owner = owner
    self.__array_interface__ = {
      "version": 3,
      "typestr": np.dtype(dtype).str,
      "shape": shape,
      "data": (data, False),
    }


def _shown(
  owner: _Owner, data: int | None, dtype: str, shape: tuple[int, ...]
) -> np.ndarray:
  if data is None or 0 in shape:
    return np.empty(shape, dtype)
  return np.asarray(_Shown(owner, data, dtype, shape))


def _integers(numbers: _Numbers) -> list[int]:
  size = numbers.size
  return list((ctypes.c_int64 * size).from_address(numbers.data)) if size else []


def _batch(address: int) -> Batch:
  owner = _Owner(address)
  batch = _Batch.from_address(address)
  take = _functions().liquid_direct_batch_take_images
  images = []
  for i in range(batch.images_size):
    one = batch.images[i]
    shape = tuple(_integers(one.shape))
    images.append(
      OnGpu(Images(ctypes.c_void_p(take(address, i))), shape, DTYPES[one.dtype])
    )
  return Batch(
    list(_outputs(owner, batch, images)),
    Place(batch.next.epoch, batch.next.step, batch.next.rest),
    _integers(batch.borrowed),
    _integers(batch.skipped),
  )


def _outputs(
  owner: _Owner, batch: _Batch, images: list[OnGpu]
) -> Iterator[np.ndarray | Strings | list[OnGpu]]:
  for output in batch.outputs[: batch.outputs_size]:
    shape = tuple(_integers(output.shape))
    # Of a batch on the host there is none without memory: no batch is empty.
    if images and output.data is None:
      yield images
      continue
    if output.dtype != _STRING:
      dtype = "uint16" if output.dtype == _BFLOAT16 else DTYPES[output.dtype]
      yield _shown(owner, output.data, dtype, shape)
      continue
    count = int(np.prod(shape, dtype=np.int64))
    offsets = _shown(owner, output.offsets, "uint64", (count + 1,))
    size = int(offsets[-1]) if count else 0
    yield Strings(_shown(owner, output.data, "uint8", (size,)), offsets, shape)
