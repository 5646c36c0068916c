"""Folders of S3: objects that are sent in parts, several at a time.

A killed process leaves parts of objects behind, which S3 keeps with their sizes and
checksums. Bytes of a dataset follow from its source, so a part that is there and has
the right bytes is right, from any sender.
"""

import base64
import contextlib
import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping
from concurrent import futures
from typing import Any

from liquid_tf._convert.stores.store import Stored
from liquid_tf._store import s3, storage

# Parts that are under way, each in memory.
_AT_ONCE = 8
# Bytes of a part, and the most parts that S3 takes.
_MIB = 1 << 20
_PART = 8 * _MIB
_MOST_PARTS = 10_000
# Metadata of an object: the CRC-32C of all its bytes.
_CRC = "liquid-crc32c"


def part_bytes(size: int) -> int:
  """Bytes of each part of an object but the last: whole MiB, 8 of them if possible."""
  return max(_PART, -(-size // (_MOST_PARTS * _MIB)) * _MIB)


class S3Store:
  """A folder of a bucket, as "s3://bucket/photos.liquid".

  Args:
    url: of the folder.

  Raises:
    ImportError: botocore is not installed.
    OSError: the folder cannot be listed.
  """

  def __init__(self, url: str):
    self.url = url
    self._client = s3.client()
    self._bucket, key = s3.split(url.rstrip("/") + "/")
    self._prefix = key
    self._parts = futures.ThreadPoolExecutor(_AT_ONCE)
    with s3.explained(url):
      self.files = dict(self._list())
      self._uploads = self._list_uploads()

  def _pages(self, operation: str) -> Iterator[dict[str, Any]]:
    pages = self._client.get_paginator(operation)
    return iter(pages.paginate(Bucket=self._bucket, Prefix=self._prefix, Delimiter="/"))

  def _list(self) -> Iterator[tuple[str, Stored]]:
    for page in self._pages("list_objects_v2"):
      for entry in page.get("Contents", ()):
        if name := entry["Key"].removeprefix(self._prefix):
          yield name, Stored(entry["Size"], entry["ETag"])
      # Folders are in the way, whatever they hold.
      for entry in page.get("CommonPrefixes", ()):
        yield entry["Prefix"].removeprefix(self._prefix), Stored(0, "")

  def _list_uploads(self) -> dict[str, list[str]]:
    """Uploads that were begun and never ended: their identities by name."""
    result: dict[str, list[str]] = {}
    for page in self._pages("list_multipart_uploads"):
      for entry in page.get("Uploads", ()):
        name = entry["Key"].removeprefix(self._prefix)
        result.setdefault(name, []).append(entry["UploadId"])
    return result

  def _object(self, name: str) -> dict[str, str]:
    return {"Bucket": self._bucket, "Key": self._prefix + name}

  @property
  def begun(self) -> set[str]:
    return set(self._uploads)

  def send(self, path: str, name: str, crc: int) -> Stored:
    size = os.path.getsize(path)
    with s3.explained(storage.join(self.url, name)):
      found = self.files.get(name)
      if found is None or found.size != size or self._crc(name) != crc:
        tag = self._send(path, name, size, crc)
        found = self.files[name] = Stored(size, tag)
      self._abort(name)
    return found

  def _send(self, path: str, name: str, size: int, crc: int) -> str:
    """Sends a file, in one piece where it is small; returns its ETag."""
    if size > _PART:
      return self._send_parts(path, name, size, crc)
    with open(path, "rb") as file:
      return self._put(file.read(), name, crc)

  def _put(self, data: bytes, name: str, crc: int) -> str:
    answer = self._client.put_object(
      **self._object(name),
      Body=data,
      Metadata={_CRC: f"{crc:08x}"},
      ChecksumCRC32=_crc32(data),
    )
    return answer["ETag"]

  def _crc(self, name: str) -> int | None:
    """The checksum an object was sent with; None where this package did not send it."""
    found = self._client.head_object(**self._object(name))["Metadata"].get(_CRC, "")
    try:
      return int(found, 16)
    except ValueError:
      return None

  def _send_parts(self, path: str, name: str, size: int, crc: int) -> str:
    each = part_bytes(size)
    upload, there = self._begun(path, name, each)
    if upload is None:
      answer = self._client.create_multipart_upload(
        **self._object(name),
        Metadata={_CRC: f"{crc:08x}"},
        ChecksumAlgorithm="CRC32",
      )
      upload = answer["UploadId"]

    def send(number: int) -> dict[str, Any]:
      data = _part(path, number, each)
      tag = there.get(number)
      if tag is None:
        answer = self._client.upload_part(
          **self._object(name),
          UploadId=upload,
          PartNumber=number,
          Body=data,
          ChecksumCRC32=_crc32(data),
        )
        tag = answer["ETag"]
      return {"PartNumber": number, "ETag": tag, "ChecksumCRC32": _crc32(data)}

    parts = list(self._parts.map(send, range(1, -(-size // each) + 1)))
    answer = self._client.complete_multipart_upload(
      **self._object(name), UploadId=upload, MultipartUpload={"Parts": parts}
    )
    return answer["ETag"]

  def _begun(
    self, path: str, name: str, each: int
  ) -> tuple[str | None, dict[int, str]]:
    """The upload of a file that was begun and has most of it, and its right parts.

    Returns:
      Its identity, or None, and the ETag of each part that need not be sent.
    """
    best, there = None, {}
    for upload in self._uploads.get(name, ()):
      right = self._right_parts(path, name, upload, each)
      if len(right) > len(there):
        best, there = upload, right
    if best is not None:
      self._uploads[name].remove(best)
    return best, there

  def _right_parts(
    self, path: str, name: str, upload: str, each: int
  ) -> dict[int, str]:
    pages = self._client.get_paginator("list_parts")
    found = (
      part
      for page in pages.paginate(**self._object(name), UploadId=upload)
      for part in page.get("Parts", ())
    )
    return {
      part["PartNumber"]: part["ETag"]
      for part in found
      if _is_right(part, _part(path, part["PartNumber"], each))
    }

  def _abort(self, name: str) -> None:
    """Removes what was begun of an object."""
    for upload in self._uploads.pop(name, ()):
      with contextlib.suppress(self._client.exceptions.NoSuchUpload):
        self._client.abort_multipart_upload(**self._object(name), UploadId=upload)

  def put(self, data: bytes, name: str) -> None:
    with s3.explained(storage.join(self.url, name)):
      tag = self._put(data, name, storage.crc32c(data))
    self.files[name] = Stored(len(data), tag)

  def remove(self, name: str) -> None:
    with s3.explained(storage.join(self.url, name)):
      self._abort(name)
      if name in self.files:
        self._client.delete_object(**self._object(name))
    self.files.pop(name, None)

  def close(self) -> None:
    self._parts.shutdown(cancel_futures=True)


def _crc32(data: bytes) -> str:
  """The CRC-32 of bytes, as S3 writes it."""
  return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def _part(path: str, number: int, each: int) -> bytes:
  """The bytes of a part of a file; parts are counted from 1."""
  with open(path, "rb") as file:
    file.seek((number - 1) * each)
    return file.read(each)


def _is_right(part: Mapping[str, Any], data: bytes) -> bool:
  """Whether a part that S3 has is of these bytes, as its checksums say.

  An ETag is the MD5 of a part, unless it was encrypted by some keys.
  """
  return part["Size"] == len(data) and (
    part.get("ChecksumCRC32") == _crc32(data)
    or part["ETag"].strip('"') == hashlib.md5(data, usedforsecurity=False).hexdigest()
  )
