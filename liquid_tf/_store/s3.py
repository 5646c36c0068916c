"""Objects of s3://bucket/key, by botocore.

Errors are sentences with the path and what to do. They never have credentials.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from liquid_tf._native import credentials

_EXPIRED = {"ExpiredToken", "InvalidToken", "RequestExpired", "TokenRefreshRequired"}
_DENIED = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "403", "Forbidden"}
_UNKNOWN_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch"}
_ELSEWHERE = {
  *("PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed"),
  *("IllegalLocationConstraintException", "301", "307"),
}
_NO_FILE = {"NoSuchKey", "NotFound", "404"}


def split(path: str) -> tuple[str, str]:
  """Bucket and key of "s3://bucket/key"; the key may be empty.

  Raises:
    OSError: there is no bucket in it.
  """
  bucket, _, key = path.partition("://")[2].partition("/")
  if not credentials.is_bucket(bucket):
    raise OSError(f"{path} must name a bucket, as s3://bucket/key")
  return bucket, key


def client() -> Any:
  """botocore's client of S3, one for the process and each forked child; thread-safe.

  Raises:
    ModuleNotFoundError: botocore is not installed.
    OSError: the environment's configuration is wrong.
  """
  with explained("s3://"):
    return credentials.client()


def size(path: str) -> int | None:
  """Bytes of an object, or None where there is none.

  Raises:
    OSError: the store does not say.
  """
  bucket, key = split(path)
  try:
    with explained(path):
      return credentials.client().head_object(Bucket=bucket, Key=key)["ContentLength"]
  except FileNotFoundError:
    return None


def pages(path: str, **more: Any) -> Iterator[dict[str, Any]]:
  """Yields the answers to a listing of keys that begin with a path.

  Args:
    path: as "s3://bucket/key".
    **more: of the request; its own `Prefix` counts for more than the path.

  Raises:
    OSError: the store does not list them.
  """
  bucket, key = split(path)
  with explained(path):
    every = credentials.client().get_paginator("list_objects_v2")
    yield from every.paginate(**{"Bucket": bucket, "Prefix": key, **more})


def names_in(directory: str) -> set[str]:
  """Names of the objects and folders in a folder; none where there is nothing.

  Raises:
    OSError: it cannot be listed.
  """
  _, key = split(directory)
  prefix = key if not key or key.endswith("/") else f"{key}/"
  names = set()
  for page in pages(directory, Prefix=prefix, Delimiter="/"):
    names |= {found["Key"] for found in page.get("Contents", ())}
    names |= {found["Prefix"] for found in page.get("CommonPrefixes", ())}
  # An object of the folder's own name marks it in some stores.
  return {name.removeprefix(prefix).rstrip("/") for name in names} - {""}


def write(path: str, contents: bytes) -> None:
  """Makes an object, or replaces it; readers see all of it or nothing.

  Raises:
    OSError: the store does not take it.
  """
  bucket, key = split(path)
  with explained(path):
    credentials.client().put_object(Bucket=bucket, Key=key, Body=contents)


def remove(path: str) -> None:
  """Removes an object, if there is one.

  Raises:
    OSError: the store refuses.
  """
  bucket, key = split(path)
  with explained(path):
    credentials.client().delete_object(Bucket=bucket, Key=key)


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
  """Turns what botocore raises into a sentence about `path`.

  Raises:
    FileNotFoundError: there is no such object.
    OSError: whatever else is wrong.
  """
  credentials.require()
  from botocore import exceptions

  try:
    yield
  except exceptions.ClientError as error:
    code = str(error.response.get("Error", {}).get("Code", ""))
    kind = FileNotFoundError if code in _NO_FILE else OSError
    raise kind(f"{path}: {_meaning(code)}") from None
  except exceptions.NoCredentialsError:
    raise OSError(f"{path}: {credentials.WITHOUT_CREDENTIALS}") from None
  except exceptions.BotoCoreError as error:
    raise OSError(f"{path}: {error}") from None


def _meaning(code: str) -> str:
  if code in _NO_FILE:
    return "there is no such file"
  if code == "NoSuchBucket":
    return "there is no such bucket"
  if code in _DENIED:
    return (
      "the store denies access: the credentials of the environment must be allowed to "
      "do this; of a bucket that they may not list, missing files are denied, too"
    )
  if code in _EXPIRED:
    return f"the credentials have expired ({code}): renew those of the environment"
  if code in _UNKNOWN_KEYS:
    return (
      f"the store does not accept the credentials ({code}): look at those of the "
      "environment, and at AWS_ENDPOINT_URL"
    )
  if code in _ELSEWHERE:
    return f"the bucket lies in another region ({code}): set AWS_REGION to it"
  return f"the store answers with {code or 'an error without a code'}"
