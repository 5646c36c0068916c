"""moto's S3 server, which checks signatures, with a network that is slow or breaks.

`python tests/scaling/s3_server.py PORT [HOST]`, by default on loopback only.

Requests to /_faults set what happens to those that follow, as a JSON object: `delay`,
seconds before an answer; `deny`, whether all are refused as by wrong keys; `keys`, the
secret and the token of each access key's identifier, by which requests must be signed
then (null: nobody asks); `lasts`, after how many reads the only key has a new token (0:
never), which /_keys tells as a `credential_process` of botocore's does. Of the reads of
objects, one in `break_every` is cut off in the middle, one in `busy_every` is told to
slow down, and one in `wrong_every` has a wrong bit (0: none). The answer says how many
`requests` there were, and the `token`.
"""

import datetime
import itertools
import json
import sys
import time

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_SKEW = 900  # seconds between clocks at most, as Amazon's


def _error(code: str) -> list[bytes]:
  text = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code></Error>'
  return [text.encode()]


class _Signed:
  """What the signature of a request says, as botocore would have made it."""

  def __init__(self, environ: dict):
    self._environ = environ
    parts = environ.get("HTTP_AUTHORIZATION", "").replace(",", "").split()
    parts = dict(part.split("=", 1) for part in parts if "=" in part)
    self._signature = parts.get("Signature")
    self._names = parts.get("SignedHeaders", "").split(";")
    self.key, *self._scope = parts.get("Credential", "").split("/")
    self.token = self._header("x-amz-security-token")

  def _header(self, name: str) -> str:
    field = name.upper().replace("-", "_")
    return self._environ.get(f"HTTP_{field}") or self._environ.get(field, "")

  def is_fresh(self) -> bool:
    sent = datetime.datetime.strptime(self._header("x-amz-date"), "%Y%m%dT%H%M%SZ")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return abs((now - sent).total_seconds()) < _SKEW

  def is_by(self, secret: str) -> bool:
    request = AWSRequest(
      self._environ["REQUEST_METHOD"],
      f"http://{self._environ['HTTP_HOST']}{self._environ['RAW_URI']}",
      {name: self._header(name) for name in self._names},
    )
    request.context["timestamp"] = self._header("x-amz-date")
    request.context["payload_signing_enabled"] = True
    auth = S3SigV4Auth(Credentials(self.key, secret), "s3", self._scope[1])
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return auth.signature(text, request) == self._signature


class Faulty:
  """A WSGI application in front of moto's."""

  def __init__(self):
    self._moto = DomainDispatcherApplication(create_backend_app)
    self._faults = {
      **{"delay": 0, "deny": False, "keys": None, "lasts": 0},
      **{"break_every": 0, "busy_every": 0, "wrong_every": 0},
    }
    self._reads = itertools.count(1)
    self._requests = 0
    self._accepted = 0  # reads, since `lasts` was set

  def _token(self) -> str:
    lasts = self._faults["lasts"]
    return f"token{self._accepted // lasts}" if lasts else ""

  def _keys(self) -> bytes:
    [(key, (secret, _))] = self._faults["keys"].items()
    keys = {"AccessKeyId": key, "SecretAccessKey": secret}
    end = {"Version": 1, "Expiration": "2100-01-01T00:00:00Z"}
    return json.dumps({**keys, **end, "SessionToken": self._token()}).encode()

  def _refusal(self, environ: dict) -> str | None:
    if self._faults["deny"]:
      return "InvalidAccessKeyId"
    if self._faults["keys"] is None:
      return None
    signed = _Signed(environ)
    if signed.key not in self._faults["keys"]:
      return "InvalidAccessKeyId"
    secret, token = self._faults["keys"][signed.key]
    if signed.token != (self._token() or token):
      return "ExpiredToken"
    if not signed.is_fresh():
      return "RequestTimeTooSkewed"
    return None if signed.is_by(secret) else "SignatureDoesNotMatch"

  def __call__(self, environ, start_response):
    if environ["PATH_INFO"] == "/_faults":
      length = int(environ.get("CONTENT_LENGTH") or 0)
      faults = json.loads(environ["wsgi.input"].read(length) or b"{}")
      self._faults |= faults
      if "lasts" in faults:
        self._accepted = 0
      start_response("200 OK", [("Content-Type", "application/json")])
      counts = {"requests": self._requests, "token": self._token()}
      return [json.dumps(counts).encode()]
    if environ["PATH_INFO"] == "/_keys":
      start_response("200 OK", [("Content-Type", "application/json")])
      return [self._keys()]
    self._requests += 1
    time.sleep(self._faults["delay"])
    headers = [("Content-Type", "application/xml")]
    refusal = self._refusal(environ)
    if refusal:
      start_response("403 Forbidden", headers)
      return [] if environ["REQUEST_METHOD"] == "HEAD" else _error(refusal)
    is_read = environ["REQUEST_METHOD"] == "GET" and "HTTP_RANGE" in environ
    number = next(self._reads) if is_read else 0
    self._accepted += is_read

    def is_due(fault: str) -> bool:
      every = self._faults[fault]
      return bool(number and every and number % every == 0)

    if is_due("busy_every"):
      start_response("503 Slow Down", headers)
      return _error("SlowDown")
    answer = self._moto(environ, start_response)
    if is_due("break_every"):
      # Fewer bytes than Content-Length says, and the connection closes.
      body = b"".join(answer)
      return [body[: len(body) // 2]]
    if is_due("wrong_every"):
      body = b"".join(answer)
      return [bytes([body[0] ^ 1]) + body[1:]] if body else []
    return answer


if __name__ == "__main__":
  [port, *host] = sys.argv[1:]
  server = make_server(*(host or ["127.0.0.1"]), int(port), Faulty(), threaded=True)
  print("ready", flush=True)
  server.serve_forever()
