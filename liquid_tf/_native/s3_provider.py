"""Gives the op library access to buckets of s3:// (ops/direct/direct_s3.h).

The library asks when it reads s3://, on a thread of its own, every few minutes and
where a store refuses what it has. Credentials so stay in the memory of the process: no
op has them as an input, and no graph, checkpoint or message holds them.
"""

import atexit
import ctypes

from liquid_tf._native import aws

_Provider = ctypes.CFUNCTYPE(
  *(ctypes.c_int32, ctypes.c_char_p, ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64)
)
# How S3Provider (ops/http/s3_provider.h) ends.
_PROVIDED, _UNAVAILABLE, _REFUSED = 0, 1, 2


def register(path: str) -> None:
  """Makes the op library at `path` ask here, until Python ends."""
  give = ctypes.CDLL(path).liquid_direct_s3_provider
  give.argtypes, give.restype = [_Provider], None
  give(_provide)
  # A thread that asked later would wait for a Python that is gone. This waits for one
  # that asks now.
  atexit.register(give, _Provider())


@_Provider
def _provide(bucket: bytes, renew: bool, text: int, room: int) -> int:
  try:
    end, said = _answer(bucket.decode(errors="replace"), renew)
  except BaseException as error:  # C knows none
    end, said = _REFUSED, str(error) or type(error).__name__
  data = said.encode(errors="replace")
  if len(data) >= room:
    end, data = _REFUSED, b"the credentials are too long"
  ctypes.memmove(text, data + b"\0", len(data) + 1)
  return end


def _answer(bucket: str, renew: bool) -> tuple[int, str]:
  aws.require()
  from botocore import exceptions

  if renew:
    aws.renew()
  try:
    access = aws.access(bucket)
  except exceptions.NoCredentialsError:
    # A metadata server that has given some may be down.
    return (_UNAVAILABLE if renew else _REFUSED), aws.WITHOUT_CREDENTIALS
  except (
    exceptions.ConnectionError,
    exceptions.CredentialRetrievalError,
    exceptions.HTTPClientError,
    exceptions.MetadataRetrievalError,
  ) as error:
    return _UNAVAILABLE, str(error)
  parts = (access.address, access.region, access.key, access.secret, access.token)
  return _PROVIDED, "\n".join(parts)
