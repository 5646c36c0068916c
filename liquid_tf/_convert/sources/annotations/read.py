"""Which kind of annotations a path names."""

import os
import pathlib

from liquid_tf._convert.sources.annotations import coco, tables, voc, yolo
from liquid_tf._convert.sources.annotations.annotations import Annotations
from liquid_tf.errors import ConvertError


def read(path: str) -> Annotations:
  """Reads a COCO file, a table, or a folder of VOC's or YOLO's files.

  Raises:
    ConvertError: it is none of these, or cannot be read.
  """
  if os.path.isdir(path):
    kinds = [
      reader
      for pattern, reader in (("*.xml", voc.read), ("*.txt", yolo.read))
      if any(pathlib.Path(path).rglob(pattern))
    ]
    if len(kinds) != 1:
      raise ConvertError(
        f'annotations ("{path}"): the folder must hold either .xml files, as of VOC, '
        "or .txt files, as of YOLO"
      )
    return kinds[0](path)
  extension = os.path.splitext(path)[1].lower()
  if extension in tables.READERS:
    return tables.read(path, extension)
  if extension == ".json":
    return coco.read(path)
  raise ConvertError(
    f'annotations ("{path}") must be a .json file of COCO, a table '
    f"({', '.join(tables.READERS)}), a .lst of im2rec, or a folder of VOC's or YOLO's "
    "files"
  )
