"""Files that are no source, by what they are: and the way in that there is."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from liquid_tf._convert.sources import image_files
from liquid_tf._words import said


class Kind(NamedTuple):
  """Files of one kind.

  Attributes:
    name: what one is.
    means: how to convert what is in it; see `advice`.
    extensions: that their names have.
    begins: first bytes, of which one has some; none where only names tell.
  """

  name: str
  means: str
  extensions: tuple[str, ...]
  begins: tuple[bytes, ...] = ()

  @property
  def advice(self) -> str:
    """How to convert what is in it, in the reader's words."""
    return self.means.format(annotations=said("annotations=…"))


_UNPACK = "unpack it, and give the folder"
_ALONE = "give its own path"
_FROM_PYTHON = (
  "read it in Python by its own library, and give its images by "
  "liquid_tf.Source.from_iterable"
)
_BESIDE = "give the folder of the images, and this file as {annotations}"
# What is read, where it is not among other files.
TAR = Kind(
  "a tar archive",
  _ALONE,
  (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz"),
)
COMPRESSED = Kind(
  "a compressed file",
  _ALONE,
  (".gz", ".bz2", ".xz"),
  (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"),
)
ZIP = Kind("a ZIP archive", _ALONE, (".zip",), (b"PK\3\4", b"PK\5\6"))
# The first that fits counts, as several kinds are ZIP archives, too; and in a folder
# those at the end tell least.
_KINDS = (
  TAR,
  Kind("a compressed tar archive", _UNPACK, (".tar.zst", ".tzst")),
  Kind("an archive of NumPy arrays", 'give the files, as "FOLDER/*.npz"', (".npz",)),
  Kind("a file of PyTorch", _FROM_PYTHON, (".pt", ".pth")),
  ZIP,
  Kind("a 7z archive", _UNPACK, (".7z",), (b"7z\xbc\xaf\x27\x1c",)),
  Kind("a RAR archive", _UNPACK, (".rar",), (b"Rar!",)),
  Kind(
    "a table of Parquet",
    'give the files, named so: "FOLDER/*.parquet"',
    (".parquet", ".pq"),
    (b"PAR1",),
  ),
  Kind(
    "a table of Arrow",
    'give the files, named so: "FOLDER/*.arrow"',
    (".arrow", ".feather"),
    (b"ARROW1",),
  ),
  Kind(
    "a file of HDF5", _FROM_PYTHON, (".h5", ".hdf5", ".he5"), (b"\x89HDF\r\n\x1a\n",)
  ),
  Kind(
    "an array of NumPy",
    'give the files, named so: "FOLDER/*.npy"',
    (".npy",),
    (b"\x93NUMPY",),
  ),
  Kind("a shard of MosaicML's MDS", _FROM_PYTHON, (".mds",)),
  Kind("a database of LMDB", _FROM_PYTHON, (".mdb", ".lmdb")),
  Kind(
    "a database of SQLite", _FROM_PYTHON, (".db", ".sqlite"), (b"SQLite format 3\0",)
  ),
  Kind("a file of FFCV", _FROM_PYTHON, (".beton",)),
  Kind("a pickle of Python", _FROM_PYTHON, (".pkl", ".pickle")),
  Kind("a file of MATLAB", _FROM_PYTHON, (".mat",), (b"MATLAB ",)),
  Kind("a file of ArrayRecord", "give the folder of TFDS", (".array_record",)),
  Kind(
    "a file of DICOM",
    f"{_FROM_PYTHON}, as the recipe for DICOM in the documentation does",
    (".dcm", ".dicom"),
  ),
  Kind(
    "a video",
    "save its frames as images, and give their folder",
    (".mp4", ".avi", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".m4v"),
    (b"\x1a\x45\xdf\xa3", b"\0\0\1\xba"),
  ),
  COMPRESSED,
  Kind("a compressed file", "decompress it first", (".zst",), (b"\x28\xb5\x2f\xfd",)),
  Kind("a table", _BESIDE, (".csv", ".tsv", ".json", ".jsonl", ".ndjson")),
  Kind(
    "a file of XML",
    "give the folder of the images, and that of the .xml files as {annotations}",
    (".xml",),
  ),
  Kind("a text", "give the folder of the images, or files of records", (".txt", ".md")),
)
# Tar has its mark behind the first header's fields.
_TAR, _TAR_AT = b"ustar", 257
HEAD = _TAR_AT + len(_TAR)

# Only of folders: a file of that name which holds none is damaged.
_RECORDS = Kind(
  "a file of TFRecords", 'give the files, as "FOLDER/*"', (".tfrecord", ".tfrecords")
)
_IMAGE = Kind("an image", "give its folder, or convert it alone by liquid-tf image", ())


def kind_of(path: str, head: bytes) -> Kind | None:
  """The kind of a file, by its name, or else by how it begins; None for no known one.

  Args:
    path: of the file.
    head: its first HEAD bytes, or fewer.
  """
  kind = _by_name(path, _KINDS)
  if kind is not None:
    return kind
  if image_files.is_named_so(os.fsencode(path)) or image_files.begins_so(head):
    return _IMAGE
  if head[_TAR_AT:HEAD] == _TAR:
    return TAR
  return next((kind for kind in _KINDS if head.startswith(kind.begins)), None)


def most_telling(paths: Iterable[str]) -> tuple[str, Kind] | None:
  """The file, of some that are no images, whose name says most; and its kind."""
  kinds = (_RECORDS, *_KINDS)
  found = ((path, _by_name(path, kinds)) for path in paths)
  known = [(path, kind) for path, kind in found if kind is not None]
  return min(known, key=lambda one: kinds.index(one[1]), default=None)


def _by_name(path: str, kinds: Iterable[Kind]) -> Kind | None:
  name = path.lower()
  return next((kind for kind in kinds if name.endswith(kind.extensions)), None)
