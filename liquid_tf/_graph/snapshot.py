"""State that the iterators of one dataset share."""

import os
import threading
import uuid
import weakref
from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._cost.cache import Cache
from liquid_tf._native import ops
from liquid_tf._pipeline.state import State

# Which there are, each as its name and what tells it from others of that name. A
# finalizer may run wherever the lock is held.
_users: set[tuple[str, object]] = set()
_lock = threading.RLock()


class Snapshot(State):
  """State that the iterators of one dataset share: epochs, cache and counters.

  The epoch counter, the records that stay in memory between epochs, and the
  statistics live in a named resource, made when the first dataset uses it and
  forgotten with the last object of its name.

  Args:
    cache: part of the memory that lasts between epochs: a share of the dataset
      ("30%"), bytes, 0, or "auto"; or a `Cache`.
    memory: whole budget of the pipeline: bytes ("8GiB"), or "auto" for three quarters
      of what the machine has free and this process's other pipelines will not take.
    start: (epoch, step) of the first batch to give out; a step above 0 needs a cache
      that is not "auto".
    name: of the resource, which all of that name share; by default one of its own.

  Raises:
    ValueError: an argument is wrong; the message names it.
  """

  refused = tf.errors.InvalidArgumentError
  unmade = tf.errors.NotFoundError

  def __init__(
    self,
    cache: int | str | Cache = 0,
    memory: int | str = "auto",
    *,
    start: tuple[int, int] = (0, 0),
    name: str | None = None,
  ):
    super().__init__(cache, memory, start=start)
    self.name = name or f"liquid/{uuid.uuid4().hex}"
    user = (self.name, object())
    with _lock:
      _users.add(user)
    weakref.finalize(self, _forget, user, os.getpid())

  def seek(
    self,
    epoch: int,
    step: int = 0,
    cached: Sequence[int] = (),
    mixes: Sequence[int] = (),
    rest: tf.data.Dataset | None = None,
  ) -> None:
    """Makes the next new iterator run `epoch` from its batch `step` on."""
    # What Python it calls ends with it.
    self._rest = rest
    given = [] if rest is None else [rest._variant_tensor]
    with tf.init_scope(), tf.device("CPU:0"):
      counts = tf.constant(list(cached), tf.int64, [len(cached)])
      begun = tf.constant(list(mixes), tf.int64, [len(mixes)])
      ops.lib().liquid_seek_snapshot(self.name, epoch, step, counts, begun, given)

  def stats_json(self, batches: bool = False) -> str:
    """Counters as JSON; see `liquid_tf.stats`."""
    with tf.init_scope(), tf.device("CPU:0"):
      json = ops.lib().liquid_snapshot_stats(self.name, batches=batches)
    return json.numpy().decode()


def _forget(user: tuple[str, object], owner: int) -> None:
  if os.getpid() != owner:
    # A forked child: the snapshot is the parent's, and its locks may be taken.
    return
  name = user[0]
  # One that is made meanwhile waits, else its own would be forgotten.
  with _lock:
    _users.discard(user)
    if any(other == name for other, _ in _users):
      return
    try:
      with tf.init_scope(), tf.device("CPU:0"):
        ops.lib().liquid_delete_snapshot(name)
    except Exception:  # noqa: BLE001 - at interpreter exit TensorFlow may be gone.
      pass
