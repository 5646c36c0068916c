"""Finds the kind of annotations that a path names."""

import os

from liquid_tf._convert.sources import walk
from liquid_tf._convert.sources.annotations import coco, tables, voc, yolo
from liquid_tf._convert.sources.annotations.annotations import Annotations
from liquid_tf._store import table_file
from liquid_tf._words import argument
from liquid_tf.errors import ConvertError


def _read_folder(root: str, skips: bool) -> Annotations:
  """Reads a folder of VOC's files or of YOLO's, whatever else is in it."""
  listed = walk.Walk(root, skips, lambda: None)
  xml: list[str] = []
  texts: list[str] = []
  lists: list[str] = []
  for path, _, _ in listed.files():
    name = os.fsdecode(path)
    extension = os.path.splitext(name)[1].lower()
    if yolo.is_names(name):
      lists.append(name)
    elif extension == ".xml":
      xml.append(name)
    elif extension == ".txt":
      texts.append(name)
  skipped = [one._replace(path=os.path.join(root, one.path)) for one in listed.skipped]
  if xml:
    # Lists of images are beside VOC's files.
    texts = [name for name in texts if yolo.has_boxes(os.path.join(root, name))]
  if bool(xml) == bool(texts):
    found = f"it holds {xml[0]} and {texts[0]}" if xml else "it holds neither"
    raise ConvertError(
      f"{argument('annotations', root)}: the folder must hold either .xml files, as "
      f"of VOC, or .txt files, as of YOLO; {found}"
    )
  if xml:
    return voc.read(root, xml, skipped)
  return yolo.read(root, texts, lists, skipped)


def is_table(path: str) -> bool:
  """Whether a path is that of a table, by its name."""
  return os.path.splitext(path)[1].lower() in table_file.EXTENSIONS


def read(
  path: str,
  skips: bool,
  named: tables.Named = tables.UNNAMED,
  found: set[str] | None = None,
) -> Annotations:
  """Reads a COCO file, a table, or a folder of VOC's or YOLO's files.

  Args:
    path: from the root on; of a file also a URL.
    skips: whether files and folders that cannot be looked at are passed over.
    named: columns of tables that the user names.
    found: gets those of them that a table has.

  Raises:
    ConvertError: it is none of these, or cannot be read.
  """
  if os.path.isdir(path):
    return _read_folder(path, skips)
  if is_table(path):
    return tables.read(path, named, found)
  if path.lower().endswith(".json"):
    return coco.read(path)
  raise ConvertError(
    f"{argument('annotations', path)} must be a .json file of COCO, a table "
    f"({', '.join(table_file.EXTENSIONS)}), a .lst of im2rec, or a folder of VOC's or "
    "YOLO's files"
  )
