"""What the kernel says about this process, and about files in memory."""

import os


def disk_bytes() -> int | None:
  """Bytes that this process has read from devices so far; None where not counted.

  What the page cache or a file system in memory answers is not among them.
  """
  try:
    with open("/proc/self/io") as file:
      for line in file:
        if line.startswith("read_bytes:"):
          return int(line.split()[1])
  except OSError:
    pass  # Not every container shows it.
  return None


def max_rss_bytes() -> int:
  """Most memory that this process has had.

  Not getrusage's, which goes on from the process that started this one.
  """
  with open("/proc/self/status") as file:
    for line in file:
      if line.startswith("VmHWM:"):
        return int(line.split()[1]) * 1024
  raise OSError("/proc/self/status has no VmHWM")


def anonymous_bytes() -> int:
  """Memory of this process that no file is behind."""
  with open("/proc/self/smaps_rollup") as file:
    for line in file:
      if line.startswith("Anonymous:"):
        return int(line.split()[1]) * 1024
  raise OSError("/proc/self/smaps_rollup has no Anonymous")


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
