"""How much memory this process may still take, as the kernel tells it."""

import pathlib
from collections.abc import Iterator

# Of a cgroup by version: its limit and its use, both files; and the line of memory.stat
# that counts pages of files, not used lately, of the group and all below it.
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")


def free_memory(root: str = "/") -> int:
  """Bytes that this process may still take: the least of the machine and its cgroups.

  Args:
    root: folder that has `proc` and `sys`.

  Raises:
    OSError: the machine does not tell.
  """
  base = pathlib.Path(root)
  meminfo = base / "proc/meminfo"
  available = _count(meminfo, "MemAvailable:")
  if available is None:
    raise OSError(f"{meminfo} has no MemAvailable")
  rooms = [_room(group, *files) for group, files in _cgroups(base)]
  return max(0, min([1024 * available, *(r for r in rooms if r is not None)]))


def _cgroups(base: pathlib.Path) -> Iterator[tuple[pathlib.Path, tuple[str, str, str]]]:
  """Folders of the cgroups that limit us, each with its files: ours and all above."""
  mounts = {
    "": (base / "sys/fs/cgroup", _VERSION_2),
    "memory": (base / "sys/fs/cgroup/memory", _VERSION_1),
  }
  try:
    lines = (base / "proc/self/cgroup").read_text().splitlines()
  except OSError:
    lines = []  # No /proc: the topmost ones are all there is.
  paths = dict.fromkeys(mounts, "/")
  for line in lines:
    _, controllers, path = line.split(":", 2)
    paths.update(dict.fromkeys(controllers.split(","), path))
  for controller, (mount, files) in mounts.items():
    # In a container that sees only its own group, as the topmost one, the others of
    # its path are not there.
    own = pathlib.PurePosixPath(paths[controller].lstrip("/"))
    for group in (own, *own.parents):
      yield mount / group, files


def _room(group: pathlib.Path, limit: str, usage: str, unused: str) -> int | None:
  """Bytes below a cgroup's limit; None where it has none."""
  try:
    most, used = (group / limit).read_text().strip(), int((group / usage).read_text())
    # Before the limit is reached, the kernel takes back what only caches a file.
    used -= min(used, _count(group / "memory.stat", unused) or 0)
    return None if most == "max" else int(most) - used
  except (OSError, ValueError):
    return None


def _count(path: pathlib.Path, name: str) -> int | None:
  """The number after `name` in a file of such lines; None where it is not there."""
  try:
    lines = path.read_text().splitlines()
  except OSError:
    return None
  fields = map(str.split, lines)
  return next((int(field[1]) for field in fields if field[:1] == [name]), None)
