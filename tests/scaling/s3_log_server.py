"""The S3 server of s3_server.py, with a log of what it was sent, and more faults.

`python tests/scaling/s3_log_server.py PORT`

GET /_log gives `again`, what was sent though it had been acknowledged: parts, and whole
objects, by their contents; and `parts` and `uses`, how many parts came, and how often
each kind of request. What came from a client that was gone before the answer is not
acknowledged. Requests to /_faults may also set `fail_every`, of how many requests one
is answered by 503, and `drop_every`, of how many one has its connection closed without
an answer. A body that ends too early is refused, as by S3.
"""

import collections
import hashlib
import io
import itertools
import json
import re
import socket
import sys
import threading

import s3_server
from werkzeug.serving import make_server

_SLOW_DOWN = (
  b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code>'
  b"<Message>Please reduce your request rate.</Message></Error>"
)


def _use(environ) -> str:
  """What a request is for, by its method and the names in its query."""
  names = re.findall(r"(?:^|&)(uploads|uploadId|list-type)", environ["QUERY_STRING"])
  return " ".join([environ["REQUEST_METHOD"], *names])


def _is_gone(connection: socket.socket) -> bool:
  """Whether the client at the other end has closed its connection, or was killed."""
  try:
    return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
  except BlockingIOError:
    return False
  except ConnectionError:
    return True


class Logging(s3_server.Faulty):
  """A WSGI application in front of the one with faults."""

  def __init__(self):
    super().__init__()
    self._faults |= {"fail_every": 0, "drop_every": 0}
    self._counts = itertools.count(1)
    self._lock = threading.Lock()
    self._known = set()
    self._again = []
    self._uses = collections.Counter()

  def _is_turn(self, name: str, count: int) -> bool:
    every = self._faults[name]
    return bool(every) and count % every == 0

  def __call__(self, environ, start_response):
    if environ["PATH_INFO"] == "/_faults":
      return super().__call__(environ, start_response)
    if environ["PATH_INFO"] == "/_log":
      start_response("200 OK", [("Content-Type", "application/json")])
      parts = self._uses["PUT uploadId"]
      log = {"again": self._again, "parts": parts, "uses": self._uses}
      return [json.dumps(log).encode()]
    count = next(self._counts)
    if self._is_turn("drop_every", count):
      environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
      start_response("200 OK", [])
      return []
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length)
    environ["wsgi.input"] = io.BytesIO(body)
    if self._is_turn("fail_every", count):
      start_response("503 Slow Down", [("Content-Type", "application/xml")])
      return [] if environ["REQUEST_METHOD"] == "HEAD" else [_SLOW_DOWN]
    if len(body) < length:
      start_response("400 Bad Request", [])
      return []
    return self._logged(environ, start_response, body)

  def _logged(self, environ, start_response, body: bytes):
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    number = re.search(r"partNumber=(\d+)", environ["QUERY_STRING"])
    what = (path, number and number[1], hashlib.md5(body).hexdigest())
    with self._lock:
      self._uses[_use(environ)] += 1
      if method == "PUT" and what in self._known:
        self._again.append(what)
    statuses = []

    def start(status, headers, *more):
      statuses.append(status)
      return start_response(status, headers, *more)

    answer = super().__call__(environ, start)
    if statuses and statuses[0].startswith("2"):
      with self._lock:
        if method == "PUT" and not _is_gone(environ["werkzeug.socket"]):
          self._known.add(what)
        elif method == "DELETE" and "uploadId" not in environ["QUERY_STRING"]:
          self._known = {known for known in self._known if known[0] != path}
    return answer


if __name__ == "__main__":
  server = make_server("127.0.0.1", int(sys.argv[1]), Logging(), threaded=True)
  print("ready", flush=True)
  server.serve_forever()
