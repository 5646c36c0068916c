"""Names of samples as those of files, which every file system takes."""

import os

from liquid_tf._convert.sources.image_files import is_named_so

# Bytes of a part of a path. File systems allow 255, of which an extension and a number
# take some.
_MOST = 200
_UNSAFE = frozenset(["/", "\\", "%", "\x7f", *map(chr, range(32))])


def safe(part: str) -> str:
  """A part of a path that every file system takes: what it cannot hold is %-encoded."""
  # Hidden files are no samples, and ".." is no folder of ours.
  unsafe = _UNSAFE | {"."} if part.startswith(".") else _UNSAFE
  result = "".join(_encoded(char) if char in unsafe else char for char in part)
  if len(os.fsencode(result)) <= _MOST:
    return result or "%"
  result = result[:_MOST]
  while len(os.fsencode(result)) > _MOST:
    result = result[:-1]
  return result


def _encoded(char: str) -> str:
  return f"%{ord(char):02X}"


def _text(part: str) -> str:
  """A part in UTF-8: bytes that are none are %-encoded."""
  return "".join(
    f"%{ord(char) - 0xDC00:02X}" if 0xDC80 <= ord(char) <= 0xDCFF else char
    for char in part
  )


def stem(name: str) -> str:
  """A sample's name without the extension of its image, if it has one."""
  return os.path.splitext(name)[0] if is_named_so(os.fsencode(name)) else name


def below(name: str, *folders: str) -> str:
  """Where a sample's file lies in folders, as it did in the source; no extension.

  Args:
    name: of the sample, a path with "/".
    folders: its split, and its class, as they are called. The name may begin with them.
  """
  parts = [part for part in stem(name).split("/") if part]
  for folder in folders:
    if len(parts) > 1 and parts[0] == folder:
      del parts[0]
  *above, last = map(_text, map(safe, parts or [name]))
  # No folder is called as a file may be.
  above = [
    "%2E".join(part.rsplit(".", 1)) if is_named_so(os.fsencode(part)) else part
    for part in above
  ]
  return "/".join([*above, last])


def key_of(name: str) -> str:
  """The key of a sample in webdataset: its name up to the first dot of the last part.

  Other dots of that part are written as "_".
  """
  folder, slash, last = below(name).rpartition("/")
  return folder + slash + last.replace(".", "_")
