"""A folder seen through FUSE: what io_uring reads there can misbehave too.

  python tests/faults/mirror.py FOLDER MOUNTPOINT

io_uring reads in the kernel, past any preloaded library. Below this mount every read
becomes a `pread` of this process, which runs with fault_shim.cc preloaded. Reads only;
as root, and with nothing but /dev/fuse. It says "ready" on stdout, and ends when the
mount is gone.
"""

import concurrent.futures
import ctypes
import errno
import os
import stat
import struct
import sys

_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ = 1, 2, 3, 14, 15
_RELEASE, _INIT, _INTERRUPT, _DESTROY, _BATCH_FORGET = 18, 26, 36, 38, 42
_OPENDIR, _READDIR, _RELEASEDIR = 27, 28, 29

# Flags of INIT's answer: reads at once, direct ones too, of up to _MAX_PAGES.
_INIT_FLAGS = 1 << 0 | 1 << 15 | 1 << 22
_MAX_PAGES = 256
_DIRECT_IO = 1 << 0  # of OPEN's answer: nothing is cached

_REQUEST = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_SECONDS = 3600  # that names and sizes may be remembered


def _attributes(path: str, node: int) -> bytes:
  """A struct fuse_attr."""
  info = os.stat(path)
  return struct.pack(
    "<6Q10I",
    *(node, info.st_size, info.st_blocks),
    *(int(info.st_atime), int(info.st_mtime), int(info.st_ctime)),
    *(0, 0, 0, info.st_mode, info.st_nlink, info.st_uid, info.st_gid),
    *(0, info.st_blksize, 0),
  )


def _listing(path: str, first: int, size: int) -> bytes:
  """Entries of a folder as struct fuse_dirent, from number `first` on.

  Args:
    path: of the folder.
    first: how many were told before.
    size: bytes at most.
  """
  told = b""
  for number, name in enumerate(sorted(os.listdir(path))[first:], first + 1):
    encoded = os.fsencode(name)
    # The number of a node, which nobody asks for, and of no known type.
    entry = struct.pack("<QQII", number, number, len(encoded), 0) + encoded
    entry += bytes(-len(entry) % 8)
    if len(told) + len(entry) > size:
      break
    told += entry
  return told


class Mirror:
  """Answers the kernel's requests about one folder.

  Args:
    folder: what is shown.
    device: /dev/fuse, of a mount.
  """

  def __init__(self, folder: str, device: int):
    self._device = device
    self._nodes = {1: folder}
    self._numbers = {folder: 1}

  def serve(self) -> None:
    """Until the mount is gone. Reads may hang, each in a thread of its own."""
    with concurrent.futures.ThreadPoolExecutor(256) as pool:
      while True:
        try:
          request = os.read(self._device, 2 << 20)
        except OSError as error:
          if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
            continue
          return
        _, opcode, unique, node, *_ = _REQUEST.unpack_from(request)
        body = request[_REQUEST.size :]
        if opcode in (_FORGET, _BATCH_FORGET, _INTERRUPT):
          continue
        if opcode == _READ:
          pool.submit(self._answer, opcode, unique, node, body)
        else:
          self._answer(opcode, unique, node, body)

  def _answer(self, opcode: int, unique: int, node: int, body: bytes) -> None:
    try:
      code, data = 0, self._do(opcode, node, body)
    except OSError as error:
      code, data = -error.errno, b""
    try:
      os.write(self._device, _ANSWER.pack(16 + len(data), code, unique) + data)
    except OSError:
      pass  # Whoever asked is gone.

  def _do(self, opcode: int, node: int, body: bytes) -> bytes:
    if opcode == _INIT:
      read_ahead = struct.unpack_from("<I", body, 8)[0]
      return struct.pack(
        "<4IHHIIHHI7I",
        *(7, 31, read_ahead, _INIT_FLAGS, 64, 48, 1 << 20, 1, _MAX_PAGES, 0),
        *(0,) * 8,
      )
    if opcode == _LOOKUP:
      path = os.path.join(self._nodes[node], os.fsdecode(body.rstrip(b"\0")))
      os.stat(path)
      number = self._numbers.setdefault(path, len(self._numbers) + 1)
      self._nodes[number] = path
      times = struct.pack("<4Q2I", number, 0, _SECONDS, _SECONDS, 0, 0)
      return times + _attributes(path, number)
    if opcode == _GETATTR:
      return struct.pack("<QII", _SECONDS, 0, 0) + _attributes(self._nodes[node], node)
    if opcode == _OPEN:
      path = self._nodes[node]
      # Others than records may be mapped into memory.
      flags = _DIRECT_IO if path.endswith(".rec") else 0
      return struct.pack("<QII", os.open(path, os.O_RDONLY), flags, 0)
    if opcode == _READ:
      handle, offset, size = struct.unpack_from("<QQI", body)
      return os.pread(handle, size, offset)
    if opcode == _OPENDIR:
      return struct.pack("<QII", 0, 0, 0)
    if opcode == _READDIR:
      _, first, size = struct.unpack_from("<QQI", body)
      return _listing(self._nodes[node], first, size)
    if opcode == _RELEASEDIR:
      return b""
    if opcode == _RELEASE:
      os.close(struct.unpack_from("<Q", body)[0])
      return b""
    if opcode == _DESTROY:
      return b""
    raise OSError(errno.ENOSYS, "not here")


def main(arguments: list[str]) -> int:
  folder, target = arguments
  device = os.open("/dev/fuse", os.O_RDWR)
  options = f"fd={device},rootmode={stat.S_IFDIR:o},user_id=0,group_id=0,allow_other"
  libc = ctypes.CDLL(None, use_errno=True)
  if libc.mount(b"mirror", os.fsencode(target), b"fuse", 0, options.encode()):
    print(os.strerror(ctypes.get_errno()), file=sys.stderr)
    return 1
  print("ready", flush=True)
  Mirror(folder, device).serve()
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
