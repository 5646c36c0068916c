"""EXIF orientations in files that other programs read."""

import struct
import zlib

# Formats whose files have room for EXIF.
FORMATS = ("jpeg", "png", "webp")

# Flags of WebP's extended header.
_HAS_EXIF, _HAS_ALPHA = 0x08, 0x10


def _tiff(orientation: int) -> bytes:
  """A directory of one entry: tag 0x0112, one short."""
  entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
  return b"MM\0*" + struct.pack(">IH", 8, 1) + entry + b"\0\0\0\0"


def _to_jpeg(file: bytes, tiff: bytes) -> bytes:
  # Before any other APP1: readers take the first.
  payload = b"Exif\0\0" + tiff
  return (
    file[:2] + b"\xff\xe1" + struct.pack(">H", len(payload) + 2) + payload + file[2:]
  )


def _png_chunk(name: bytes, data: bytes) -> bytes:
  crc = zlib.crc32(name + data)
  return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def _to_png(file: bytes, tiff: bytes) -> bytes:
  result, at = [file[:8]], 8
  while at < len(file):
    end = at + 12 + int.from_bytes(file[at : at + 4], "big")
    name = file[at + 4 : at + 8]
    if name != b"eXIf":
      result.append(file[at:end])
    if name == b"IHDR":
      result.append(_png_chunk(b"eXIf", tiff))
    at = end
  return b"".join(result)


def _webp_chunk(name: bytes, data: bytes) -> bytes:
  return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _webp_header(chunks: list[tuple[bytes, bytes]]) -> bytes:
  """The extended header's data: that of the file, or one made for its only chunk."""
  name, data = chunks[0]
  if name == b"VP8X":
    return bytes([data[0] | _HAS_EXIF]) + data[1:]
  if name == b"VP8L":
    bits = int.from_bytes(data[1:5], "little")
    width, height, has_alpha = bits & 0x3FFF, bits >> 14 & 0x3FFF, bits >> 28 & 1
  else:
    width, height = (int.from_bytes(data[i : i + 2], "little") & 0x3FFF for i in (6, 8))
    width, height, has_alpha = width - 1, height - 1, 0
  flags = _HAS_EXIF | _HAS_ALPHA * has_alpha
  return struct.pack("<I", flags) + b"".join(
    side.to_bytes(3, "little") for side in (width, height)
  )


def _to_webp(file: bytes, tiff: bytes) -> bytes:
  chunks, at = [], 12
  while at + 8 <= len(file):
    size = int.from_bytes(file[at + 4 : at + 8], "little")
    chunks.append((file[at : at + 4], file[at + 8 : at + 8 + size]))
    at += 8 + size + size % 2
  kept = [chunk for chunk in chunks if chunk[0] not in (b"VP8X", b"EXIF")]
  body = b"WEBP" + b"".join(
    _webp_chunk(*chunk)
    for chunk in [(b"VP8X", _webp_header(chunks)), *kept, (b"EXIF", tiff)]
  )
  return b"RIFF" + struct.pack("<I", len(body)) + body


_WRITERS = {"jpeg": _to_jpeg, "png": _to_png, "webp": _to_webp}


def with_orientation(file: bytes, name: str, orientation: int) -> bytes:
  """An image file that states an orientation; its pixels are not turned.

  EXIF that is there and states none gives way.

  Args:
    file: a sound one.
    name: of its format, one of `FORMATS`.
    orientation: 2 to 8, as EXIF numbers them.
  """
  return _WRITERS[name](file, _tiff(orientation))
