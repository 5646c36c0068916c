"""A text for every sample number: all in one file, and where each ends in another."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from liquid_tf._store import arrays
from liquid_tf._store.contents import ENDS
from liquid_tf._store.files import AtomicFile
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ManifestError

# Bytes that are gathered for a write.
_GATHERED = 1 << 20
# Of texts, compared at a time.
_CHUNK_ROWS = 1 << 20
# Of texts, read at a time.
_READ_ROWS = 1 << 16


class Texts:
  """Texts by sample number. Immutable; those of a local dataset are mapped.

  Args:
    ends: shape [n + 1], uint64, where each text begins and ends in `text`.
    text: uint8, all of them in UTF-8, one after another.
  """

  def __init__(self, ends: np.ndarray, text: np.ndarray):
    self._ends = ends
    self._text = text

  def __len__(self) -> int:
    return len(self._ends) - 1

  def encoded(self, number: int) -> bytes:
    """A text as it is stored."""
    begin, end = self._ends[number : number + 2].tolist()
    return self._text[begin:end].tobytes()

  def every(self) -> Iterator[bytes]:
    """Yields all texts as they are stored, some millions a second."""
    for begin in range(0, len(self), _READ_ROWS):
      ends = self._ends[begin : begin + _READ_ROWS + 1].astype(np.int64)
      text = self._text[ends[0] : ends[-1]].tobytes()
      for first, end in itertools.pairwise((ends - ends[0]).tolist()):
        yield text[first:end]

  def put(self, put: Callable[[bytes], object]) -> np.ndarray:
    """Gives all texts to a writer; returns where each begins and ends."""
    for begin in range(0, len(self._text), _GATHERED):
      put(self._text[begin : begin + _GATHERED].tobytes())
    return self._ends

  def __getitem__(self, number: int) -> str:
    """A text; bytes that are no UTF-8 are Python's surrogate escapes.

    Raises:
      IndexError: there is no such sample number.
    """
    if not 0 <= number < len(self):
      raise IndexError(f"sample ({number}) must be in [0, {len(self)})")
    return self.encoded(number).decode(errors="surrogateescape")


def encode(text: str) -> bytes:
  """A text as it is stored."""
  return text.encode(errors="surrogateescape")


def write(
  directory: str,
  stem: str,
  texts: Iterable[bytes],
  count: int,
  first: Texts | None = None,
) -> dict[str, Any]:
  """Writes STEM.npy and STEM.bin.

  Args:
    directory: of the dataset.
    stem: of the files' names.
    texts: as they are stored.
    count: how many there are.
    first: those that stand in front of them; None for none.

  Returns:
    The manifest's entry of them.

  Raises:
    OSError: a file cannot be written.
  """
  begin = 0 if first is None else len(first)
  ends = np.zeros(begin + count + 1, ENDS)
  gathered: list[bytes] = []
  with AtomicFile(os.path.join(directory, f"{stem}.bin")) as file:
    checked = arrays.Checked(file.write)
    if first is not None:
      ends[: begin + 1] = first.put(checked.write)
    end = written = checked.size
    for number, text in enumerate(texts, begin):
      gathered.append(text)
      end += len(text)
      ends[number + 1] = end
      if end - written >= _GATHERED:
        checked.write(b"".join(gathered))
        gathered, written = [], end
    checked.write(b"".join(gathered))
    file.commit()
  return {
    "ends": arrays.write(directory, f"{stem}.npy", ends),
    "text": {"path": f"{stem}.bin", "bytes": end, "crc32c": checked.crc32c},
  }


def load(manifest: Manifest, entry: dict[str, Any], key: str) -> tuple:
  """Reads two files and checks every byte of them.

  Args:
    manifest: of the dataset.
    entry: of the files, in the manifest.
    key: of the entry, for errors.

  Returns:
    What `Texts` is made of.

  Raises:
    ManifestError: a file is missing or damaged.
  """
  count = manifest["next_sample"]
  path = manifest.path(entry["ends"]["path"])
  ends = arrays.load(
    path,
    ENDS,
    (count + 1,),
    entry["ends"]["crc32c"],
    manifest.says("next_sample", f"{key}.ends.crc32c"),
  )
  path, size = manifest.path(entry["text"]["path"]), entry["text"]["bytes"]
  crc = entry["text"]["crc32c"]
  text = arrays.mapped(path, crc)
  says = manifest.says(f"{key}.text.bytes", f"{key}.text.crc32c")
  if len(text) != size:
    raise ManifestError(f"{path} has {len(text)} bytes, but {says[0]} says {size}")
  arrays.check_crc(text, path, crc, says[1])
  if ends[0] != 0 or ends[-1] != size or not _ascend(ends):
    path = manifest.path(entry["ends"]["path"])
    raise ManifestError(
      f"{path} must ascend from 0 to {size}, the bytes of {entry['text']['path']}"
    )
  return ends, text


def _ascend(ends: np.ndarray) -> bool:
  for begin in range(0, len(ends) - 1, _CHUNK_ROWS):
    part = ends[begin : begin + _CHUNK_ROWS + 1]
    if (part[1:] < part[:-1]).any():
      return False
  return True
