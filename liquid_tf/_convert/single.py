"""One image file turned into another."""

import os
import time
from collections.abc import Mapping
from typing import Any

from liquid_tf._convert import exif, pillow
from liquid_tf._convert.arguments import resumes_replaces
from liquid_tf._native import ops
from liquid_tf._native.encoders import resolve
from liquid_tf._native.limits import Limits
from liquid_tf._store import storage
from liquid_tf._store.files import write_file
from liquid_tf._store.formats import BY_EXTENSION
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError, WrongArgument


def format_of(path: str | os.PathLike) -> str | None:
  """The format that a file's name asks for, or None."""
  return BY_EXTENSION.get(os.path.splitext(os.fspath(path))[1].lower())


def convert_image(
  source: str | os.PathLike,
  output: str | os.PathLike,
  *,
  channels: int | None = None,
  existing: str = "refuse",
  encoders: Mapping[str, Mapping[str, Any]] | None = None,
  l3_version: int = 2,
  l3_patch: int = 0,
  l3_profile: str = "fast",
  limits: Limits = Limits(),
) -> dict[str, Any]:
  """Stores an image file in the format that the output's extension names.

  A lossless output is decoded again and compared with its source. WebP is written
  without loss. A file that already is in the format asked for is copied, except L3,
  which is encoded again so that its version and patches are those asked for. Pixels
  are not turned: the orientation of the source's EXIF goes to the output's.

  Args:
    source: a file of any format that `liquid_tf.codecs` decodes, or that Pillow reads
      for it, such as GIF, TIFF and CMYK JPEG; its first bytes tell.
    output: path with the extension of a format, such as .png.
    channels: 1 to 4, of the output; None keeps them. Only changes without loss are
      made.
    existing: "refuse" an output that is there, or "replace" it.
    encoders: of "png", "jpeg" and "l3-compact", as `convert` takes them.
    l3_version: 1 or 2.
    l3_patch: side of L3's patches in pixels, as in `codecs.encode_l3`.
    l3_profile: "fast" or "compact", likewise.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Returns:
    `input`, `output`, `format`, `shape`, `bits`, `source_bytes`, `bytes`,
    `pixel_bytes`, `by_pillow` (whether Pillow read it), `orientation` (of the source's
    EXIF, 1 to 8), `orientation_kept`, which is false where the output has no room for
    one other than 1, and `seconds`.

  Raises:
    ConvertError: the source cannot be stored as asked; the message says why.
    ValueError: `output` has another extension, or an option is out of its range.
    OSError: a file cannot be read or written.
  """
  begin = time.monotonic()
  options = resolve(encoders, are_records=False)
  _, replaces = resumes_replaces(existing, can_resume=False)
  source, output = os.path.abspath(source), os.path.abspath(output)
  target = format_of(output)
  if target is None:
    raise WrongArgument(
      "output", output, f"must end with one of {', '.join(BY_EXTENSION)}"
    )
  folder = os.path.dirname(output)
  if not os.path.isdir(folder):
    raise ConvertError(
      f"{argument('output', output)} is of a folder that does not exist"
    )
  if os.path.exists(output) and not replaces:
    raise ConvertError(f"{output} exists; {setting('existing', 'replace')} replaces it")
  with open(source, "rb", opener=storage.regular) as file:
    contents = file.read()
  _check(b"" if contents else b"the file is empty", source, target)
  # L3 has options of its own: by way of raw pixels, which the result is compared with.
  reason = ops.lib().liquid_why_unsupported(contents=contents, **limits.attributes())
  by_pillow, image = bool(reason != b""), contents
  if by_pillow:
    image, error = pillow.as_raw(contents, reason.numpy(), limits)
    _check(error, source, target)
  stored = ops.lib().liquid_transcode_image(
    contents=image,
    target="raw" if target == "l3" else target,
    orientation=1,
    channels=channels or 0,
    png_level=options["png"]["level"],
    jpeg_quality=options["jpeg"]["quality"],
    **limits.attributes(),
  )
  _check(stored.error.numpy(), source, target)
  encoded = stored.encoded.numpy()
  bits = int(stored.bits)
  if target == "l3":
    encoded = _encode_l3(
      encoded,
      bits,
      source,
      limits,
      version=l3_version,
      patch=l3_patch,
      profile=l3_profile,
      **options["l3-compact"],
    )
    found = ops.lib().liquid_scan_image(
      contents=encoded, orientation=1, **limits.attributes()
    )
    if int(found.pixels_hash) != int(stored.pixels_hash) or found.format not in (
      b"l3",
      b"l3-compact",
    ):
      raise ConvertError(f"{source} does not come back from l3 with the same pixels")
  orientation = _orientation(contents)
  if target in exif.FORMATS and _orientation(encoded) != orientation:
    encoded = exif.with_orientation(encoded, target, orientation)
  write_file(output, encoded)
  shape = stored.shape.numpy().tolist()
  return {
    "input": source,
    "output": output,
    "format": target,
    "shape": shape,
    "bits": bits,
    "source_bytes": len(contents),
    "bytes": len(encoded),
    "pixel_bytes": shape[0] * shape[1] * shape[2] * bits // 8,
    "by_pillow": by_pillow,
    "orientation": orientation,
    "orientation_kept": orientation == 1 or target in exif.FORMATS,
    "seconds": time.monotonic() - begin,
  }


def _check(error: bytes, source: str, target: str) -> None:
  if error:
    text = error.decode(errors="replace")
    raise ConvertError(f"{source} cannot be stored as {target}: {text}")


def _orientation(file: bytes) -> int:
  return int(ops.lib().liquid_orientation(contents=file, example=b"").orientation)


def _encode_l3(
  raw: bytes, bits: int, source: str, limits: Limits, **options: Any
) -> bytes:
  import tensorflow as tf

  from liquid_tf import codecs

  dtype = tf.uint16 if bits == 16 else tf.uint8
  pixels = codecs.decode(raw, dtype=dtype, limits=limits, format="raw")
  try:
    return codecs.encode_l3(pixels, **options).numpy()
  except tf.errors.InvalidArgumentError as error:
    raise ConvertError(
      f"{source} cannot be stored as l3: {ops.reason(error)}"
    ) from error
