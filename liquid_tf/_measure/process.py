"""The kernel's counts of this process, and its page cache."""

import os


def disk_bytes() -> int | None:
  """Bytes that this process has read from devices so far; None where not counted.

  What the page cache or a file system in memory answers is not among them.
  """
  try:
    return count("io", "read_bytes")
  except OSError:
    return None  # Not every container shows it.


def max_rss_bytes() -> int:
  """Most memory that this process has had.

  Not getrusage's, which goes on from the process that started this one.
  """
  return 1024 * count("status", "VmHWM")


def count(name: str, key: str) -> int:
  """The number after a key in a file of /proc/self."""
  with open(f"/proc/self/{name}") as file:
    for line in file:
      if line.startswith(f"{key}:"):
        return int(line.split()[1])
  raise OSError(f"/proc/self/{name} has no {key}")


def drop_from_page_cache(folder: str | os.PathLike, written: bool = False) -> None:
  """Makes the next buffered reads of a folder's files go to the disk.

  Args:
    folder: whose files.
    written: they are on the disk already, and need not be synced, which takes
      milliseconds a file.
  """
  for entry in os.scandir(folder):
    if not entry.is_file():
      continue
    fd = os.open(entry.path, os.O_RDONLY)
    try:
      if not written:
        os.fdatasync(fd)  # Pages that are not yet written stay.
      os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
      os.close(fd)
