"""Strings that name several files, as dmlc-core's InputSplit takes them."""

import os
import pathlib

import photos
import tensorflow as tf

from liquid_tf import recordio
from liquid_tf.errors import RecordIOError


class RecordIOUriTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, name: str, *sizes: int) -> str:
    """A file of records that hold its name, over and over, and their number."""
    path = self.folder / name
    path.parent.mkdir(exist_ok=True)
    with recordio.Writer(path) as writer:
      for number, size in enumerate(sizes):
        writer.write((name.encode() * size)[: size - 1] + b"%d" % number)
    return str(path)

  def _places(self, path, part=(0, 1), index=None) -> list[tuple[str, int]]:
    reader = recordio.Reader(path, part=part, index=index)
    return [(os.path.basename(one.path), one.offset) for one in reader.records()]

  def _records(self, path, parts: int) -> list[list[bytes]]:
    return [list(recordio.Reader(path, part=(i, parts))) for i in range(parts)]

  def test_golden_bounds(self):
    # Records of 108, 28, 28 and 8 * 28 bytes, and 388 together.
    paths = [self._write("a.rec", 100), self._write("b.rec", 20, 20)]
    paths.append(self._write("c.rec", *[20] * 8))
    # 388 / 3 is 132 rounded up to a multiple of 4: the bounds are 132 and 264 of all,
    # so 24 of b and 100 of c, and the heads from there on.
    first, second, third = (self._places(";".join(paths), (i, 3)) for i in range(3))
    self.assertEqual(first, [("a.rec", 0), ("b.rec", 0)])
    self.assertEqual(
      second,
      [("b.rec", 28), ("c.rec", 0), ("c.rec", 28), ("c.rec", 56), ("c.rec", 84)],
    )
    self.assertEqual(third, [("c.rec", at) for at in (112, 140, 168, 196)])
    # The order is the string's. Here the bounds lie in c, and in the last record of b.
    found = [self._places(";".join(paths[::-1]), (i, 3)) for i in range(3)]
    heads = [places[0] for places in found]
    self.assertEqual(heads, [("c.rec", 0), ("c.rec", 140), ("a.rec", 0)])

  def test_parts_are_those_of_the_concatenation(self):
    paths = [self._write("a.rec", 7, 900, 1), self._write("b.rec", *range(2, 60))]
    paths += [self._write("empty.rec"), self._write("c.rec", 33)]
    together = self.folder / "together.rec"
    together.write_bytes(b"".join(pathlib.Path(path).read_bytes() for path in paths))
    for parts in range(1, 30):
      found = self._records(";".join(paths), parts)
      self.assertEqual(found, self._records(str(together), parts))
    self.assertLen(sum(found, []), 62)
    for i in range(3):
      dataset = recordio.dataset(";".join(paths), shard=(i, 3))
      self.assertEqual(
        list(dataset.as_numpy_iterator()), self._records(str(together), 3)[i]
      )

  def test_files_of_mxnet(self):
    folder = photos.shared_data("open", "recordio", "mxnet191")
    if folder is None:
      self.skipTest("no records of MXNet on this machine")
    names = ("im2rec_packlabel", "magic_raw", "im2rec_resize96_png", "jpeg_with_magic")
    paths = [f"{folder}/{name}.rec" for name in names]
    together = self.folder / "together.rec"
    together.write_bytes(b"".join(pathlib.Path(path).read_bytes() for path in paths))
    for parts in (1, 2, 3, 5, 8, 50):
      found = self._records(";".join(paths), parts)
      self.assertEqual(found, self._records(str(together), parts))
    first, *_ = recordio.Reader(f"{paths[2]};{paths[0]}", part=(1, 2))
    self.assertEqual(recordio.unpack(first)[0].id, 1)

  def test_folders_and_patterns(self):
    paths = [self._write(name, 8) for name in ("b.rec", "a.rec", "d/z.rec", "d/y.rec")]
    (self.folder / "d" / "notes.txt").write_text("no records")
    (self.folder / "d" / ".hidden.rec").write_text("no records")
    here = str(self.folder)
    for uri, names in (
      (f"{here}/*.rec", ["a", "b"]),
      (f"{here}/d", ["y", "z"]),
      (f"{here}/d/", ["y", "z"]),
      (here, ["a", "b"]),
      (f"{paths[0]};{here}/d;{here}/[a].rec", ["b", "y", "z", "a"]),
      (f"{paths[0]};{paths[0]}", ["b", "b"]),
    ):
      found = [name for name, _ in self._places(uri)]
      self.assertEqual(found, [f"{name}.rec" for name in names], uri)

  def test_indexes(self):
    paths = [self._write("a.rec", *[9] * 3), self._write("b.rec", 500, 1)]
    beside = [path.replace(".rec", ".idx") for path in paths]
    for index in (True, ";".join(beside), beside, str(self.folder)):
      found = [self._places(";".join(paths), (i, 2), index) for i in range(2)]
      self.assertEqual(found[1], [("b.rec", 0), ("b.rec", 508)])
    with self.assertRaisesRegex(RecordIOError, "no.idx: .*write_index makes one"):
      recordio.Reader(paths[0], index=f"{self.folder}/no.idx")
    with self.assertRaisesRegex(ValueError, r"index \(1 files\)"):
      recordio.Reader(";".join(paths), index=beside[0])

  def test_names_with_such_characters(self):
    path = self._write("a;b.rec", 4)
    other, magic = self._write("b.rec", 5), self._write("[b].rec", 6)
    self.assertEqual(self._places(path), [("a;b.rec", 0)])
    for given in ([path, other], [pathlib.Path(path), other]):
      self.assertEqual(self._places(given), [("a;b.rec", 0), ("b.rec", 0)])
    self.assertEqual(self._places(pathlib.Path(path)), [("a;b.rec", 0)])
    # A file of this very name goes before what it matches as a pattern.
    self.assertEqual(self._places(f"{magic};{other}"), [("[b].rec", 0), ("b.rec", 0)])
    for given in ([f"{other};{other}"], pathlib.Path(f"{other};{other}")):
      with self.assertRaisesRegex(RecordIOError, "there is no such file"):
        recordio.Reader(given)

  def test_errors(self):
    path = self._write("a.rec", 3)
    for uri in (f"{path};", f";{path}", f"{path};;{path}", ";"):
      with self.assertRaisesRegex(ValueError, 'before and after every ";"'):
        recordio.Reader(uri)
      with self.assertRaisesRegex(ValueError, 'before and after every ";"'):
        recordio.dataset(uri)
    for name in ("no.rec", "no*.rec", "no/a.rec", "a.rec "):
      name = str(self.folder / name)
      for uri in (name, f"{path};{name}"):
        with self.assertRaises(RecordIOError) as caught:
          recordio.Reader(uri)
        wanted = f"cannot read {name}: there is no such file"
        self.assertEqual(str(caught.exception), wanted)
    (self.folder / "bare").mkdir()
    with self.assertRaisesRegex(RecordIOError, "bare: the folder has no .rec file"):
      recordio.Reader(f"{path};{self.folder}/bare")

  def test_another_file_system(self):
    tf.io.gfile.makedirs("ram://uri")
    for name in ("b", "a"):
      for extension in (".rec", ".idx"):
        path = self._write(f"{name}.rec", 5, 6).replace(".rec", extension)
        tf.io.gfile.copy(path, f"ram://uri/{name}{extension}", overwrite=True)
    local = str(self.folder / "b.rec")
    for uri, names in (
      ("ram://uri", ["a", "b"]),
      ("ram://uri/*.rec", ["a", "b"]),
      (f"{local};ram://uri/b.rec;ram://uri/a.rec", ["b", "b", "a"]),
    ):
      found = [name for name, offset in self._places(uri) if not offset]
      self.assertEqual(found, [f"{name}.rec" for name in names])
    self.assertLen(self._places("ram://uri/b.rec;ram://uri/a.rec", (1, 2), True), 2)
    for uri in ("ram://uri/c.rec", "ram://uri/a.rec;ram://uri/c*.rec"):
      with self.assertRaisesRegex(RecordIOError, r"ram://uri/c.*: there is no such"):
        recordio.Reader(uri)


if __name__ == "__main__":
  tf.test.main()
