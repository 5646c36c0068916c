"""A server of HTTP/1.1 on loopback with the files of a folder; fails when told to."""

import functools
import http.server
import pathlib
import re
import ssl
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"

  def __init__(self, server: "HttpServer", *args):
    self._files = server
    with server.lock:
      server.connections += 1
    super().__init__(*args)

  def log_message(self, *_):
    pass

  def do_GET(self):
    with self._files.lock:
      again = self.path in self._files.requests
      self._files.requests.append(self.path)
      failure = self._files.failure(again)
    name = self.path.partition("?")[0].lstrip("/")
    try:
      data = (self._files.root / name).read_bytes()
    except OSError:
      self.send_error(404)
      return
    if isinstance(failure, int):
      self.send_error(failure)
      return
    first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
    self.send_response(206 if first < len(data) else 416)
    part = data[first : last + 1]
    place = f"{first}-{first + len(part) - 1}" if part else "*"
    self.send_header("Content-Range", f"bytes {place}/{len(data)}")
    self.send_header("ETag", f'"{hash(data):x}"')
    self.send_header("Content-Length", str(len(part)))
    self.end_headers()
    if failure == "break":
      part, self.close_connection = part[: len(part) // 2], True
    if failure == "flip" and part:
      part = bytes([part[0] ^ 1]) + part[1:]
    self.wfile.write(part)


class HttpServer:
  """For a `with` statement.

  Attributes:
    url: where the files of the folder are.
    requests: targets that were asked for.
    connections: how many were made.
    failure: of a request, by whether the same target was asked for before: a status,
      "break" the connection in the midst of the body, "flip" a bit of it, or None.
  """

  def __init__(self, root: str, certificate: str | None = None):
    """Starts it, with TLS where a file of a certificate and its key is named."""
    self.root, self.requests, self.lock = pathlib.Path(root), [], threading.Lock()
    self.connections = 0
    self.failure = lambda again: None
    self._server = http.server.ThreadingHTTPServer(
      ("127.0.0.1", 0), functools.partial(_Handler, self)
    )
    # A client keeps its connections.
    self._server.daemon_threads, self._server.block_on_close = True, False
    scheme = "http"
    if certificate:
      scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(certificate)
      self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
    self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
    self._thread = threading.Thread(target=self._server.serve_forever)
    self._thread.start()

  def __enter__(self) -> "HttpServer":
    return self

  def __exit__(self, *_) -> None:
    self._server.shutdown()
    self._thread.join()
    self._server.server_close()
