"""Credentials, regions and endpoints of S3 stores, from botocore.

All of it comes from the environment of the process: AWS_ACCESS_KEY_ID and its like,
~/.aws, the metadata of a machine or a container. botocore is imported when something
of s3:// is met.

The engine asks here (ops/direct/direct_s3.h) when it reads s3://, on a thread of
its own, every few minutes and where a store refuses what it has. Credentials so stay in
the memory of the process: no op has them as an input, and no graph, checkpoint or
message holds them.
"""

import atexit
import ctypes
import dataclasses
import os
import re
import threading
from typing import Any, NamedTuple

from liquid_tf import _extras

# Seconds; of a metadata server and of an endpoint alike.
_CONNECT, _READ = 10, 60
_ATTEMPTS = 6
_CONNECTIONS = 32
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
WITHOUT_CREDENTIALS = (
  "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
  "AWS_PROFILE, or use a machine with a role"
)
# Not a private endpoint, whose name begins otherwise.
_AMAZON = re.compile(r"https?://s3[.-][\w.-]*amazonaws\.com(\.cn)?")

# A function that the engine calls.
_Provider = ctypes.CFUNCTYPE(
  *(ctypes.c_int32, ctypes.c_char_p, ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64)
)
# How S3Provider (ops/http/s3_provider.h) ends.
_PROVIDED, _UNAVAILABLE, _REFUSED = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class Access:
  """Access to the objects of a bucket, as requests need it.

  Attributes:
    address: URL of the bucket, to which "/" and a key are added.
    region: that signatures name.
    key: the access key's identifier.
    secret: that signs.
    token: of a session, or "".
  """

  address: str
  region: str
  key: str
  secret: str = dataclasses.field(repr=False)
  token: str = dataclasses.field(repr=False)


def is_bucket(name: str) -> bool:
  """Whether a bucket may have this name, which goes into an address."""
  return _BUCKET.fullmatch(name) is not None


class _Made(NamedTuple):
  session: Any
  client: Any


class _Process:
  """State of a process. A forked child has its own: its parent's lock may be taken."""

  def __init__(self):
    self.lock = threading.Lock()
    self.made: _Made | None = None


_process = _Process()
os.register_at_fork(after_in_child=_process.__init__)


def require() -> None:
  """Raises ModuleNotFoundError, with what to install, where botocore is missing."""
  with _extras.explained():
    import botocore.session  # noqa: F401


def client() -> Any:
  """botocore's client of S3, one for the process; thread-safe.

  Raises:
    ModuleNotFoundError: botocore is not installed.
    botocore.exceptions.BotoCoreError: the environment's configuration is wrong.
  """
  return _get().client


def renew() -> None:
  """Makes the next call look for credentials anew, wherever they come from."""
  with _process.lock:
    _process.made = None


def access(bucket: str) -> Access:
  """How to ask for the objects of a bucket now.

  Credentials that expire are those that hold for minutes.

  Raises:
    ModuleNotFoundError: botocore is not installed.
    ValueError: no bucket has such a name.
    botocore.exceptions.BotoCoreError: there are no credentials, or they cannot be had;
      or the environment's configuration is wrong.
  """
  from botocore import exceptions

  if not is_bucket(bucket):
    raise ValueError(f"{bucket} cannot be the name of a bucket")
  made = _get()
  credentials = made.session.get_credentials()
  if credentials is None:
    raise exceptions.NoCredentialsError
  found = credentials.get_frozen_credentials()
  region = made.client.meta.region_name
  return Access(
    _address(made.client.meta, bucket),
    "us-east-1" if region == "aws-global" else region,
    found.access_key,
    found.secret_key,
    found.token or "",
  )


def _address(meta: Any, bucket: str) -> str:
  """A bucket of Amazon's is a host, but no certificate holds for one with dots.

  Elsewhere it is a folder, unless the configuration says otherwise.
  """
  endpoint = meta.endpoint_url.rstrip("/")
  style = (meta.config.s3 or {}).get("addressing_style", "auto")
  if style == "auto":
    is_host = _AMAZON.fullmatch(endpoint) and "." not in bucket
    style = "virtual" if is_host else "path"
  if style == "path":
    return f"{endpoint}/{bucket}"
  scheme, _, host = endpoint.partition("://")
  return f"{scheme}://{bucket}.{host}"


def _get() -> _Made:
  with _process.lock:
    if _process.made is None:
      _process.made = _make()
    return _process.made


def _make() -> _Made:
  require()
  import botocore.config
  import botocore.session

  session = botocore.session.Session()
  # Amazon's other libraries read AWS_REGION.
  region = session.get_config_variable("region") or os.environ.get("AWS_REGION")
  config = botocore.config.Config(
    signature_version="s3v4",
    connect_timeout=_CONNECT,
    read_timeout=_READ,
    retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
    max_pool_connections=_CONNECTIONS,
    # Other stores than Amazon's do not know all of its checksums.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
    user_agent_extra="liquid_tf",
  )
  return _Made(session, session.create_client("s3", region, config=config))


def register(engine: ctypes.CDLL) -> None:
  """Makes the engine ask here, until Python ends."""
  give = engine.liquid_direct_s3_provider
  give.argtypes, give.restype = [_Provider], None
  give(_provide)
  # A thread that asked later would wait for a Python that is gone. This waits for one
  # that asks now.
  atexit.register(give, _Provider())


@_Provider
def _provide(bucket: bytes, anew: bool, text: int, room: int) -> int:
  try:
    end, said = _answer(bucket.decode(errors="replace"), anew)
  except BaseException as error:  # C knows none
    end, said = _REFUSED, str(error) or type(error).__name__
  data = said.encode(errors="replace")
  if len(data) >= room:
    end, data = _REFUSED, b"the credentials are too long"
  ctypes.memmove(text, data + b"\0", len(data) + 1)
  return end


def _answer(bucket: str, anew: bool) -> tuple[int, str]:
  require()
  from botocore import exceptions

  if anew:
    renew()
  try:
    found = access(bucket)
  except exceptions.NoCredentialsError:
    # A metadata server that has given some may be down.
    return (_UNAVAILABLE if anew else _REFUSED), WITHOUT_CREDENTIALS
  except (
    exceptions.ConnectionError,
    exceptions.CredentialRetrievalError,
    exceptions.HTTPClientError,
    exceptions.MetadataRetrievalError,
  ) as error:
    return _UNAVAILABLE, str(error)
  return _PROVIDED, "\n".join(dataclasses.astuple(found))
