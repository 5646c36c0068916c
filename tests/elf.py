"""What a shared library shows to the dynamic linker, by binutils."""

import re
import subprocess
from typing import NamedTuple

_BINDING = re.compile(
  r"binding file (\S+) \[0\] to (\S+) \[0\]: (?:normal|protected) symbol `([^']+)'"
)


class Binding(NamedTuple):
  """A symbol that a file took from another (or itself), as LD_DEBUG=bindings says."""

  file: str
  provider: str
  symbol: str


def _lines(*command: str) -> list[str]:
  done = subprocess.run(command, capture_output=True, text=True, check=True)
  return done.stdout.splitlines()


def exported(path: str) -> set[str]:
  """Names that others can take from a library, without their versions."""
  lines = _lines("nm", "-D", "--defined-only", path)
  return {line.split()[-1].partition("@")[0] for line in lines}


def imported(path: str) -> set[str]:
  """Names that a library takes from others, without their versions."""
  lines = _lines("nm", "-D", "--undefined-only", path)
  return {line.split()[-1].partition("@")[0] for line in lines}


def defined(path: str) -> set[str]:
  """Names that a library has within, but for those of inline functions."""
  found = set()
  for line in _lines("nm", "--defined-only", path):
    fields = line.split()
    if len(fields) == 3 and fields[1] in "TtDdRrBbG":
      found.add(fields[2].partition("@")[0])
  return found


def variables(path: str) -> set[str]:
  """Names of what a library can change while it runs, those of inline ones too."""
  found = set()
  for line in _lines("objdump", "-t", path):
    match = re.search(r" O (\.data|\.bss|\.tdata|\.tbss)\t\w+ +(?:\.\w+ )?(\S+)$", line)
    if match:
      found.add(match[2].partition("@")[0])
  return found


def wanted_versions(path: str) -> dict[str, tuple[int, ...]]:
  """The newest version that a library asks of others, such as GLIBC: (2, 34)."""
  newest: dict[str, tuple[int, ...]] = {}
  text = "\n".join(_lines("readelf", "-V", "--wide", path))
  for name, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", text):
    version = tuple(int(part) for part in number.split("."))
    newest[name] = max(newest.get(name, ()), version)
  return newest


def dynamic(path: str) -> dict[str, list[str]]:
  """The values of the dynamic section, such as NEEDED: ["libc.so.6", …]."""
  found: dict[str, list[str]] = {}
  for line in _lines("readelf", "-d", "--wide", path):
    match = re.match(r"\s*0x\w+ \((\w+)\)\s+(?:.*\[(.*)\])?", line)
    if match:
      found.setdefault(match[1], []).append(match[2] or "")
  return found


def bindings(log: str) -> list[Binding]:
  """Every binding that a log of LD_DEBUG=bindings has."""
  return [Binding(*found) for found in _BINDING.findall(log)]
