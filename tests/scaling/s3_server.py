"""moto's S3 server, with a network that is slow or breaks.

`python s3_server.py PORT [HOST]`, by default on the loopback interface only.

Requests to /_faults set what happens to those that follow, as a JSON object: `delay`,
seconds before an answer; `deny`, whether all are refused as by wrong keys;
`break_every`, of how many reads one is cut off in the middle (0: none).
"""

import itertools
import json
import sys
import time

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_DENIED = (
  b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>InvalidAccessKeyId</Code>'
  b"<Message>The AWS Access Key Id you provided does not exist</Message></Error>"
)


class Faulty:
  """A WSGI application in front of moto's."""

  def __init__(self):
    self._moto = DomainDispatcherApplication(create_backend_app)
    self._faults = {"delay": 0, "deny": False, "break_every": 0}
    self._reads = itertools.count(1)
    self._requests = 0

  def __call__(self, environ, start_response):
    if environ["PATH_INFO"] == "/_faults":
      length = int(environ.get("CONTENT_LENGTH") or 0)
      self._faults |= json.loads(environ["wsgi.input"].read(length) or b"{}")
      start_response("200 OK", [("Content-Type", "application/json")])
      return [json.dumps({"requests": self._requests}).encode()]
    self._requests += 1
    time.sleep(self._faults["delay"])
    if self._faults["deny"]:
      headers = [("Content-Type", "application/xml")]
      start_response("403 Forbidden", headers)
      return [] if environ["REQUEST_METHOD"] == "HEAD" else [_DENIED]
    answer = self._moto(environ, start_response)
    every = self._faults["break_every"]
    is_read = environ["REQUEST_METHOD"] == "GET" and "HTTP_RANGE" in environ
    if every and is_read and next(self._reads) % every == 0:
      # Fewer bytes than Content-Length says, and the connection closes.
      body = b"".join(answer)
      return [body[: len(body) // 2]]
    return answer


if __name__ == "__main__":
  [port, *host] = sys.argv[1:]
  server = make_server(*(host or ["127.0.0.1"]), int(port), Faulty(), threaded=True)
  print("ready", flush=True)
  server.serve_forever()
