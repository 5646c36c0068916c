"""A small Google Cloud Storage on loopback, where TensorFlow finds Google's.

TensorFlow's gs:// has no setting for another server, but its libcurl takes a proxy
(https_proxy) and certificates (CURL_CA_BUNDLE). So this is a proxy that answers for
Google's hosts itself, with a certificate of its own:

`python tests/scaling/gcs_server.py PORT CERTIFICATE KEY`, on loopback only.

It has the parts of the JSON API that TensorFlow uses: look, list, read ranges, write,
delete. A PUT to http://127.0.0.1:PORT/_faults sets what happens to the requests that
follow, as a JSON object, and gives what happened: `deny`, whether all are refused;
`break_every`, of how many reads one is cut off in the middle (0: none).
"""

import http.server
import itertools
import json
import re
import ssl
import sys
import threading
import urllib.parse

HOSTS = ("www.googleapis.com", "storage.googleapis.com")
_UPDATED = "2024-01-01T00:00:00.000Z"


class _Store:
  """Objects by (bucket, name); the server's threads share it."""

  def __init__(self):
    self.lock = threading.Lock()
    self.objects: dict[tuple[str, str], bytes] = {}
    self.sessions: dict[str, tuple[str, str]] = {}
    self.faults = {"deny": False, "break_every": 0}
    self.counts = {"requests": 0, "reads": 0, "broken": 0}
    self.tokens: set[str] = set()
    self.numbers = itertools.count(1)

  def listing(self, bucket: str, query: dict[str, str]) -> dict:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
    items, prefixes = [], set()
    for of, name in sorted(self.objects):
      if of != bucket or not name.startswith(prefix):
        continue
      rest = name[len(prefix) :]
      if delimiter and delimiter in rest:
        prefixes.add(prefix + rest.split(delimiter)[0] + delimiter)
      else:
        items.append({"name": name})
    # In pages, as Google's come.
    size, begin = int(query.get("maxResults", 7)), int(query.get("pageToken", 0))
    page = {"items": items[begin : begin + size], "prefixes": sorted(prefixes)}
    if begin + size < len(items):
      page["nextPageToken"] = str(begin + size)
    return page


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  disable_nagle_algorithm = True
  store: _Store
  tls: ssl.SSLContext

  def log_message(self, *_):
    pass

  def do_CONNECT(self):
    host = self.path.partition(":")[0]
    if host not in HOSTS:
      self._answer(502)
      self.close_connection = True
      return
    self.send_response(200)
    self.end_headers()
    self.wfile.flush()
    try:
      # From here on this connection is one to Google.
      connection = self.tls.wrap_socket(self.connection, server_side=True)
      type(self)(connection, self.client_address, self.server)
      connection.close()
    except OSError:
      pass  # The client went.
    self.close_connection = True

  def _answer(self, code: int, body: bytes = b"", **headers: str):
    self.send_response(code)
    for name, value in headers.items():
      self.send_header(name.replace("_", "-"), value)
    self.send_header("Content-Length", str(len(body)))
    self.end_headers()
    self.wfile.write(body)

  def _json(self, value: dict):
    self._answer(200, json.dumps(value).encode(), Content_Type="application/json")

  def _body(self) -> bytes:
    if self.headers.get("Transfer-Encoding") != "chunked":
      return self.rfile.read(int(self.headers.get("Content-Length") or 0))
    pieces = []
    while size := int(self.rfile.readline(), 16):
      pieces.append(self.rfile.read(size))
      self.rfile.readline()
    self.rfile.readline()
    return b"".join(pieces)

  def _serve(self):
    store = self.store
    body = self._body()
    url = urllib.parse.urlsplit(self.path)
    query = dict(urllib.parse.parse_qsl(url.query))
    with store.lock:
      if url.path == "/_faults":
        store.faults |= json.loads(body or b"{}")
        self._json({**store.counts, "tokens": sorted(store.tokens)})
        return
      store.counts["requests"] += 1
      store.tokens.add(self.headers.get("Authorization", ""))
      if store.faults["deny"]:
        self._answer(403, b'{"error": {"code": 403, "message": "Forbidden"}}')
        return
      for pattern, serve in _ROUTES:
        if match := re.fullmatch(pattern, f"{self.command} {url.path}"):
          serve(self, *map(urllib.parse.unquote, match.groups()), query, body)
          return
      self._answer(404)

  do_GET = do_PUT = do_POST = do_DELETE = _serve

  def _bucket(self, bucket, query, body):
    # Every bucket exists.
    self._json({"name": bucket, "location": "EU"})

  def _list(self, bucket, query, body):
    self._json(self.store.listing(bucket, query))

  def _stat(self, bucket, name, query, body):
    data = self.store.objects.get((bucket, name))
    if data is None:
      self._answer(404)
    else:
      self._json({"size": str(len(data)), "generation": "1", "updated": _UPDATED})

  def _delete(self, bucket, name, query, body):
    gone = self.store.objects.pop((bucket, name), None) is None
    self._answer(404 if gone else 204)

  def _begin(self, bucket, query, body):
    if query["uploadType"] == "media":  # all at once
      self.store.objects[bucket, query["name"]] = body
      self._json({})
      return
    session = f"/upload/session/{next(self.store.numbers)}"
    self.store.sessions[session] = bucket, query["name"]
    self._answer(200, Location=f"https://{HOSTS[0]}{session}")

  def _write(self, session, query, body):
    self.store.objects[self.store.sessions[session]] = body
    self._json({})

  def _read(self, bucket, name, query, body):
    store = self.store
    data = store.objects.get((bucket, name))
    if data is None:
      self._answer(404)
      return
    store.counts["reads"] += 1
    first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups()
    part = data[int(first) : int(last) + 1]
    if not part:
      self._answer(416)
      return
    every = store.faults["break_every"]
    if every and store.counts["reads"] % every == 0:
      store.counts["broken"] += 1
      self.send_response(206)
      self.send_header("Content-Length", str(len(part)))
      self.end_headers()
      self.wfile.write(part[: len(part) // 2])
      self.close_connection = True
      return
    self._answer(206, part)


_BUCKET, _NAME = r"([^/]+)", r"([^/]+)"
_ROUTES = (
  (rf"GET /storage/v1/b/{_BUCKET}", _Handler._bucket),
  (rf"GET /storage/v1/b/{_BUCKET}/o", _Handler._list),
  (rf"GET /storage/v1/b/{_BUCKET}/o/{_NAME}", _Handler._stat),
  (rf"DELETE /storage/v1/b/{_BUCKET}/o/{_NAME}", _Handler._delete),
  (rf"POST /upload/storage/v1/b/{_BUCKET}/o", _Handler._begin),
  (r"PUT (/upload/session/\d+)", _Handler._write),
  (rf"GET /{_BUCKET}/(.+)", _Handler._read),
)


if __name__ == "__main__":
  port, certificate, key = sys.argv[1:]
  _Handler.store = _Store()
  _Handler.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  _Handler.tls.load_cert_chain(certificate, key)
  server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), _Handler)
  print("ready", flush=True)
  server.serve_forever()
