"""Bytes and rates as people read them."""


def size(count: float) -> str:
  """Bytes in the unit that fits: "812 B", "49.2 MB", "1.3 TB"."""
  for unit in ("B", "KB", "MB", "GB"):
    # What would be written as 1000 is 1 of the next unit.
    if count < (999.5 if unit == "B" else 999.95):
      return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
    count /= 1000
  return f"{count:.1f} TB"


def rate(bytes_per_second: float) -> str:
  """Bytes a second, likewise: "49.2 MB/s"."""
  return f"{size(bytes_per_second)}/s"
