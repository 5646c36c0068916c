"""RecordIO files by themselves: MXNet's container (docs/formats/recordio.md).

Datasets of this project keep their samples in such files, and are read by
`liquid_tf.dataset`. This module reads and writes any of them, as MXNet and DALI do:

  with liquid_tf.recordio.Writer("photos.rec") as writer:
    header = liquid_tf.recordio.Header(label=3.0, id=7)
    writer.write(liquid_tf.recordio.pack(header, jpeg), key=7)
  for record in liquid_tf.recordio.Reader("photos.rec", part=(0, 2)):
    header, jpeg = liquid_tf.recordio.unpack(record)
  records = liquid_tf.recordio.dataset("photos.rec", shard=(0, 2))
"""

from liquid_tf import _tensorflow  # noqa: F401 - says how to install it
from liquid_tf._recordio.header import Header, pack, unpack
from liquid_tf._recordio.lists import ListEntry, read_list, write_list
from liquid_tf._recordio.pipeline import dataset
from liquid_tf._recordio.reader import Loss, Reader, Record
from liquid_tf._recordio.writer import Writer, write_index

__all__ = [
  "Header",
  "ListEntry",
  "Loss",
  "Reader",
  "Record",
  "Writer",
  "dataset",
  "pack",
  "read_list",
  "unpack",
  "write_index",
  "write_list",
]
