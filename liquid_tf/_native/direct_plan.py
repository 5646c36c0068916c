"""The planner, as Python asks it (ops/direct/direct_plan.h)."""

import ctypes
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from liquid_tf._native import direct

# In the order of PartPolicy (ops/sampler/worker_part.h).
POLICIES = ("pad", "drop", "uneven")


class _Worker(ctypes.Structure):
  _fields_ = [
    ("index", ctypes.c_uint64),
    ("count", ctypes.c_uint64),
    ("policy", ctypes.c_int32),
  ]


class _Part(ctypes.Structure):
  _fields_ = [
    ("starts", ctypes.c_void_p),
    ("lengths", ctypes.c_void_p),
    ("repeated", ctypes.c_uint64),
    ("dropped", ctypes.c_uint64),
  ]


class _PlannedEpoch(ctypes.Structure):
  _fields_ = [
    ("plan", direct.Bytes),
    ("first", ctypes.c_int64),
    ("epoch", ctypes.c_int64),
  ]


class WorkerPart(NamedTuple):
  """Part of a worker.

  Attributes:
    starts: where its samples of each format begin, in stored order.
    lengths: how many these are; they wrap at the end.
    repeated: samples that another worker has, too.
    dropped: samples that would have been in it, and are in none.
  """

  starts: list[int]
  lengths: list[int]
  repeated: int
  dropped: int


@functools.cache
def _functions() -> ctypes.CDLL:
  functions = direct.functions()
  pointer, number = ctypes.c_void_p, ctypes.c_uint64
  functions.liquid_direct_worker_part.argtypes = [
    *(pointer, number, pointer, pointer),
    direct.Problem,
  ]
  functions.liquid_direct_worker_part.restype = ctypes.c_bool
  functions.liquid_direct_plan_epoch.argtypes = [
    *(pointer, pointer, pointer, number),
    direct.Problem,
  ]
  functions.liquid_direct_plan_epoch.restype = ctypes.c_bool
  return functions


def worker_part(
  samples: Sequence[int], index: int, count: int, policy: str
) -> WorkerPart:
  """Finds the samples of one of several workers.

  Args:
    samples: of each format.
    index: of the worker.
    count: of workers.
    policy: of POLICIES.

  Raises:
    ValueError: there is no such part.
  """
  counts = np.array(samples, np.uint64)
  starts, lengths = np.empty_like(counts), np.empty_like(counts)
  part = _Part(starts.ctypes.data, lengths.ctypes.data)
  worker = _Worker(index, count, POLICIES.index(policy))
  done, problem = direct.call(
    _functions().liquid_direct_worker_part,
    counts.ctypes.data,
    len(counts),
    ctypes.addressof(worker),
    ctypes.addressof(part),
  )
  if not done:
    raise ValueError(problem)
  return WorkerPart(starts.tolist(), lengths.tolist(), part.repeated, part.dropped)


def plan_epoch(
  plan: bytes, first: int, epoch: int, draws: int
) -> tuple[np.ndarray, np.ndarray]:
  """Plans an epoch.

  Args:
    plan: a PlanMessage.
    first: the epoch before which nothing is held.
    epoch: its number.
    draws: of the epoch.

  Returns:
    The format of each draw, int32 [draws], and the sample in the format's stored order,
    int64 [draws].

  Raises:
    ValueError: the plan is none.
  """
  formats, samples = np.empty(draws, np.int32), np.empty(draws, np.int64)
  planned = _PlannedEpoch(direct.bytes_of(plan), first, epoch)
  done, problem = direct.call(
    _functions().liquid_direct_plan_epoch,
    ctypes.addressof(planned),
    formats.ctypes.data,
    samples.ctypes.data,
    draws,
  )
  if not done:
    raise ValueError(problem)
  return formats, samples
