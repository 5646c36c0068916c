"""nginx over a folder of datasets: a server of HTTP, and a store of S3 to read from.

Its Lua module delays answers without using a processor, and lets some fail. A folder in
the root is a bucket: its list of objects is a file, and nobody looks at signatures.
`enter_link` gives the network between both a speed.
"""

import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import time
from xml.sax import saxutils

_CLONE_NEWNET = 0x40000000
# What may pass at once, and what may wait for its turn.
_BURST, _WAITING = "2mb", "50ms"

_MODULES = pathlib.Path("/usr/lib/nginx/modules")
_LUA = ("ndk_http_module.so", "ngx_http_lua_module.so")
_LIST = "list.xml"
# One of ten answers is 503, or none: nginx's 444 breaks the connection.
_FAIL = "if math.random(10) == 1 then return ngx.exit(({503, 444})[math.random(2)]) end"
_INSTALL = "apt-get install nginx-light libnginx-mod-http-lua"


def why_not() -> str | None:
  """What is missing to start one here; None for nothing."""
  if shutil.which("nginx") is None:
    return f"nginx is not installed ({_INSTALL})"
  if not all((_MODULES / name).exists() for name in _LUA):
    return f"nginx has no Lua module in {_MODULES} ({_INSTALL})"
  return None


class Nginx:
  """A server of a folder's files on loopback; for a `with` statement.

  Attributes:
    url: where they are, answered at once.
    delayed_url: where every answer comes late.
    failing_url: where so it does, and one in ten is an error or a broken connection.
  """

  def __init__(self, root: str | os.PathLike, workdir: str | os.PathLike, delay: float):
    """Prepares it.

    Args:
      root: a folder of buckets, which are folders.
      workdir: gets what nginx writes.
      delay: seconds before each late answer.
    """
    self._root = pathlib.Path(root).absolute()
    self._workdir = pathlib.Path(workdir).absolute()
    self._delay = delay
    self._process = None
    self._ports = _free_ports(3)
    self.url, self.delayed_url, self.failing_url = (
      f"http://127.0.0.1:{port}" for port in self._ports
    )

  def __enter__(self) -> "Nginx":
    self._workdir.mkdir(parents=True, exist_ok=True)
    buckets = sorted(path for path in self._root.iterdir() if path.is_dir())
    for bucket in buckets:
      lists = self._workdir / bucket.name
      lists.mkdir(exist_ok=True)
      (lists / _LIST).write_text(_list_of(bucket))
    config = self._workdir / "nginx.conf"
    config.write_text(self._config([bucket.name for bucket in buckets]))
    self._process = subprocess.Popen(
      ["nginx", "-p", str(self._workdir), "-c", str(config), "-e", "stderr"],
      stderr=subprocess.PIPE,
      text=True,
    )
    for port in self._ports:
      self._wait(port)
    return self

  def __exit__(self, *_) -> None:
    self._process.terminate()
    self._process.wait()
    self._process.stderr.close()

  def _wait(self, port: int) -> None:
    """Until it listens.

    Raises:
      ChildProcessError: it ended instead.
    """
    while True:
      try:
        socket.create_connection(("127.0.0.1", port)).close()
        return
      except ConnectionRefusedError:
        if self._process.poll() is not None:
          said = self._process.stderr.read().strip() or "it said nothing"
          raise ChildProcessError(f"nginx ended: {said}") from None
        time.sleep(0.02)

  def _config(self, buckets: list[str]) -> str:
    modules = "".join(f"load_module {_MODULES / name};\n" for name in _LUA)
    # Its workers are another user's, who may not see the folder.
    user = "user root;\n" if os.geteuid() == 0 else ""
    places = "".join(
      f"""
    location = /{name} {{
      default_type application/xml;
      alias {self._workdir / name / _LIST};
    }}"""
      for name in buckets
    )
    late = f"ngx.sleep({self._delay}) "
    servers = "".join(
      f"""
  server {{
    listen 127.0.0.1:{port};
    root {self._root};
    {first}{places}
  }}"""
      for port, first in zip(self._ports, ("", _lua(late), _lua(late + _FAIL)))
    )
    temporary = "".join(
      f"  {kind}_temp_path {self._workdir};\n"
      for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""{modules}{user}daemon off;
worker_processes 2;
pid {self._workdir / "nginx.pid"};
events {{
  worker_connections 1024;
}}
http {{
{temporary}  access_log off;
  sendfile on;
  keepalive_requests 1000000;{servers}
}}
"""


def _lua(code: str) -> str:
  """Runs before each answer."""
  return f"access_by_lua_block {{ {code} }}"


def _list_of(bucket: pathlib.Path) -> str:
  """What S3 answers to the question for the objects of a bucket's only folder."""
  [folder] = [path for path in bucket.iterdir() if path.is_dir()]
  entries = "".join(
    f"<Contents><Key>{saxutils.escape(f'{folder.name}/{path.name}')}</Key>"
    f"<Size>{path.stat().st_size}</Size></Contents>"
    for path in sorted(folder.iterdir())
  )
  return (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    f"<Name>{bucket.name}</Name><IsTruncated>false</IsTruncated>{entries}"
    "</ListBucketResult>"
  )


def _free_ports(count: int) -> list[int]:
  """Ports of the loopback interface on which nobody listens."""
  probes = [socket.socket() for _ in range(count)]
  for probe in probes:
    probe.bind(("127.0.0.1", 0))
  ports = [probe.getsockname()[1] for probe in probes]
  for probe in probes:
    probe.close()
  return ports


def enter_link(gbit_per_s: float) -> None:
  """Leaves the machine's network for one where loopback carries so much.

  The calling thread does, and all processes that it starts from now on.

  Args:
    gbit_per_s: bits per second of both directions together, in 10^9.

  Raises:
    ChildProcessError: it cannot be made here; the message says why.
  """
  libc = ctypes.CDLL(None, use_errno=True)
  if libc.unshare(_CLONE_NEWNET) != 0:
    why = os.strerror(ctypes.get_errno())
    raise ChildProcessError(f"no network of its own, which needs root: {why}")
  rate = f"{gbit_per_s * 1000:.0f}mbit"
  limit = ["tc", "qdisc", "add", "dev", "lo", "root", "tbf"]
  limit += ["rate", rate, "burst", _BURST, "latency", _WAITING]
  for command in (["ip", "link", "set", "lo", "up"], limit):
    try:
      done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
      raise ChildProcessError(
        f"no network of its own: {command[0]} is not installed (iproute2)"
      ) from error
    if done.returncode != 0:
      said = done.stderr.strip()
      raise ChildProcessError(f"no network of its own: {' '.join(command)}: {said}")
