"""Runs a dispatcher or a worker of tf.data service that knows the ops of liquid_tf.

  liquid-tf service dispatcher --port=5050 --work_dir=/var/lib/tfdata
  liquid-tf service worker --dispatcher=host:5050 --port=5051 --address=me:5051

The worker reads the datasets' files itself, under the paths that the client named.
Either runs until SIGTERM or Ctrl-C. TensorFlow's dispatcher never forgets a worker: one
that ends must be started again at its address, or all jobs wait for it. A dispatcher
with --work_dir writes a journal there, and goes on from it when it is started again
with the same port and directory. One without forgets its jobs when it ends: start its
workers again as well.
"""

import signal
import sys
import threading

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.integer("port", 0, "port to listen on; 0: any free one", 0, 65535)
_FLAGS.string(
  "work_dir",
  None,
  "folder of the dispatcher's journal, from which it can be started again",
)
_FLAGS.words(
  "workers",
  [],
  "addresses of all workers, in order, host:port or host:%port%; a dispatcher needs "
  "them for static sharding (DATA)",
)
_FLAGS.string("dispatcher", None, "host:port of a worker's dispatcher")
_FLAGS.string(
  "address",
  "localhost:%port%",
  "address at which clients reach the worker, host:port; %port% is its own port",
)
_FLAGS.words(
  "filesystems", [], "schemes of dataset URLs that need a TensorFlow plugin, as s3"
)
_FLAGS.switch("json", "one JSON object on stdout when it is ready: role, port, target")


def _dispatcher():
  import tensorflow as tf

  config = tf.data.experimental.service.DispatcherConfig(
    port=_FLAGS.port,
    protocol="grpc",
    work_dir=_FLAGS.work_dir,
    fault_tolerant_mode=_FLAGS.work_dir is not None,
    worker_addresses=_FLAGS.workers or None,
  )
  return tf.data.experimental.service.DispatchServer(config)


def _worker():
  import tensorflow as tf

  config = tf.data.experimental.service.WorkerConfig(
    dispatcher_address=_FLAGS.dispatcher,
    worker_address=_FLAGS.address,
    port=_FLAGS.port,
    protocol="grpc",
  )
  return tf.data.experimental.service.WorkerServer(config)


# Role: what makes it, and the flags of the other one.
_ROLES = {
  "dispatcher": (_dispatcher, ("dispatcher", "address")),
  "worker": (_worker, ("work_dir", "workers")),
}


def _main(arguments: list[str]) -> int:
  if len(arguments) != 1 or arguments[0] not in _ROLES:
    raise tool.FlagsError(
      f"arguments ({' '.join(arguments)}) must be one of {', '.join(_ROLES)}"
    )
  role = arguments[0]
  make, foreign = _ROLES[role]
  for name in foreign:
    if _FLAGS[name].present:
      raise tool.FlagsError(f"--{name} is no flag of a {role}")
  if role == "worker" and _FLAGS.dispatcher is None:
    raise tool.FlagsError("--dispatcher must be given, as --dispatcher=host:port")
  stop = threading.Event()
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: stop.set())
  from liquid_tf._native import ops
  from liquid_tf._store import schemes

  for scheme in _FLAGS.filesystems:
    schemes.require(f"{scheme}://")
  # Its kernels are what the datasets' graphs name: a worker runs them, and the
  # dispatcher makes splits of them.
  ops.lib()
  server = make()
  port = int(server._address.rpartition(":")[2])  # which has no public name
  tool.say(f"{role} listens on port {port}")
  if _FLAGS.json:
    tool.print_json({"role": role, "port": port})
    sys.stdout.flush()
  # Not server.join(), which no signal wakes.
  while not stop.wait(1):
    pass
  server.stop()
  if role == "worker":
    address = _FLAGS.address.replace("%port%", str(port))
    tool.say(
      f"worker ends. Jobs of {_FLAGS.dispatcher} wait until a worker listens at "
      f"{address} again: start one there, or the dispatcher and all workers anew"
    )
  return 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
