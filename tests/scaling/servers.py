"""Dispatchers and workers of tf.data service in processes of their own."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence


def free_port() -> int:
  """A port of the loopback interface on which nobody listens."""
  with socket.socket() as probe:
    probe.bind(("localhost", 0))
    return probe.getsockname()[1]


class Server:
  """A running `tools.service` on a port that was free, or on a given one.

  `prefix` is a command that runs it, as `ip netns exec NAME`.

  Attributes:
    port: that it listens on.
    process: the running tool.
  """

  def __init__(
    self,
    role: str,
    *flags: str,
    port: int | None = None,
    prefix: Sequence[str] = (),
  ):
    path = os.pathsep.join(path for path in sys.path if path)
    self.port = port or free_port()
    self._command = [
      *prefix,
      *(sys.executable, "-m", "tools.service", role),
      *("--json", f"--port={self.port}", *flags),
    ]
    self._environment = {**os.environ, "PYTHONPATH": path}
    self.start()

  def start(self) -> None:
    """Starts it, or starts it again as it was."""
    self._errors = tempfile.TemporaryFile("w+")
    self.process = subprocess.Popen(
      self._command,
      env=self._environment,
      stdout=subprocess.PIPE,
      stderr=self._errors,
      text=True,
    )

  def wait(self) -> None:
    """Waits until it listens."""
    line = self.process.stdout.readline()
    if not line:
      code = self.process.wait()
      raise AssertionError(f"{self._command} ended with {code}: {self._read_errors()}")
    assert json.loads(line)["port"] == self.port, line

  def cpu_seconds(self) -> float:
    """Processor time of the process so far, of all its threads."""
    stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
    # Behind the name, which may hold anything, come the fields from the third on.
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

  def end(self) -> str:
    """Ends it by SIGTERM; returns what it wrote to stderr."""
    self.process.send_signal(signal.SIGTERM)
    self.process.wait(60)
    self.process.stdout.close()
    assert self.process.returncode == 0, self.process.returncode
    return self._read_errors()

  def _read_errors(self) -> str:
    self._errors.seek(0)
    return self._errors.read()

  def kill(self) -> None:
    """Ends it at once, as a machine that fails does."""
    self.process.kill()
    self.process.wait()
    self.process.stdout.close()


class Service:
  """A dispatcher and its workers, started side by side; for a `with` statement.

  Attributes:
    dispatcher: the dispatcher.
    workers: its workers.
    address: what `tf.data.experimental.service.distribute` needs.
  """

  def __init__(self, workers: int, *flags: str, static: bool = False):
    """Starts them.

    Args:
      workers: how many.
      *flags: of the dispatcher.
      static: whether the dispatcher is told the workers' addresses beforehand.
    """
    ports = [free_port() for _ in range(workers)]
    addresses = [f"localhost:{port}" for port in ports]
    if static:
      flags = (*flags, f"--workers={','.join(addresses)}")
    self.dispatcher = Server("dispatcher", *flags)
    self.address = f"grpc://localhost:{self.dispatcher.port}"
    of = f"--dispatcher=localhost:{self.dispatcher.port}"
    self.workers = [
      Server("worker", of, f"--address={address}", port=port)
      for port, address in zip(ports, addresses)
    ]

  def __enter__(self) -> "Service":
    for server in (self.dispatcher, *self.workers):
      server.wait()
    return self

  def __exit__(self, *_) -> None:
    for server in (*self.workers, self.dispatcher):
      server.kill()
