"""Folders of progressive compressed records: ours, other people's, and broken ones."""

import os
import pathlib
import pickle
import sqlite3

import numpy as np
import pcr_messages
import photos
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import pcr
from liquid_tf._native import image_ops
from liquid_tf.errors import PcrError


class _Evil:
  def __reduce__(self):
    return os.system, ("touch evil_was_run",)


def _jpegs(count: int) -> list[bytes]:
  random = np.random.default_rng(5)
  result = []
  for _ in range(count):
    pixels = photos.crop(photos.photo("coffee"), (40, 50), random)
    result.append(tf.io.encode_jpeg(pixels, quality=80).numpy())
  return result


def _pixels(jpeg: bytes) -> np.ndarray:
  return image_ops.decode(jpeg, format="jpeg").numpy()


class PcrTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.jpegs = _jpegs(7)
    with pcr.Writer(self.folder, images_per_record=3) as writer:
      for i, jpeg in enumerate(self.jpegs):
        writer.write(jpeg, label=i - 1, example=b"" if i else b"\n\0")
    self.index = self.folder / "PCR_index.pb"

  def test_what_is_written_is_read(self):
    records = list(pcr.Reader(self.folder))
    self.assertEqual([r.name for r in records], [f"PCR_{i}.pcr" for i in range(3)])
    self.assertEqual([len(r.images) for r in records], [3, 3, 1])
    self.assertAllEqual(np.concatenate([r.labels for r in records]), np.arange(-1, 6))
    self.assertEqual(records[0].examples, [b"\n\0", b"", b""])
    images = [image for record in records for image in record.images]
    for image, jpeg in zip(images, self.jpegs, strict=True):
      self.assertAllEqual(_pixels(image), _pixels(jpeg))

  def test_a_fidelity_reads_a_prefix(self):
    full = pcr.Reader(self.folder)
    self.assertEqual(full.groups, 10)
    before = [b""] * 3
    for fidelity in range(1, 11):
      images = pcr.Reader(self.folder, fidelity=fidelity)[0].images
      for image, less in zip(images, before):
        self.assertStartsWith(image, less[:-2])
        self.assertGreater(len(image), len(less))
      before = images
    self.assertEqual(before, full[0].images)
    self.assertEqual(pcr.Reader(self.folder, fidelity=99)[0].images, full[0].images)
    # The rest of the file is not needed.
    path = self.folder / "PCR_0.pcr"
    path.write_bytes(path.read_bytes()[: full._entries["PCR_0.pcr"].prefix_bytes(2)])
    self.assertLen(pcr.Reader(self.folder, fidelity=2)[0].images, 3)
    with self.assertRaisesRegex(PcrError, r"PCR_0.pcr: .* at offset"):
      pcr.Reader(self.folder, fidelity=3)[0]

  @parameterized.parameters(0, -1)
  def test_there_is_no_fidelity_below_1(self, fidelity):
    with self.assertRaisesRegex(ValueError, "must be at least 1"):
      pcr.Reader(self.folder, fidelity=fidelity)

  def _parts(self, name: str) -> list[bytes]:
    entry = pcr.Reader(self.folder)._entries[name]
    data = (self.folder / name).read_bytes()
    ends = np.cumsum(entry.lengths)
    return [data[end - size : end] for end, size in zip(ends, entry.lengths)]

  def _as_the_released_converter(self, packed: bool) -> dict[str, list[int]]:
    """Writes every file again as the official library does; returns its lengths."""
    messages = pcr_messages.messages(packed)
    lengths = {}
    for name in [record.name for record in pcr.Reader(self.folder)]:
      head, *groups = self._parts(name)
      parts = [messages["MetadataRecord"].FromString(head).SerializeToString()]
      parts += [messages["ScanGroup"].FromString(g).SerializeToString() for g in groups]
      (self.folder / name).write_bytes(b"".join(parts))
      lengths[name] = [len(part) for part in parts]
    return lengths

  @parameterized.product(packed=[True, False], prefix=["", "/", "/data/records/"])
  def test_the_released_protobuf_index(self, packed, prefix):
    wanted = list(pcr.Reader(self.folder))
    lengths = self._as_the_released_converter(packed)
    index = pcr_messages.messages(packed)["DatasetOffsetsIndex"]()
    for name, sizes in lengths.items():
      # It repeats an entry for each scan group.
      for _ in sizes[1:]:
        index.records.add(name=prefix + name, offsets=sizes)
    self.index.write_bytes(index.SerializeToString())
    self._check_same(pcr.Reader(self.folder), wanted)

  def _check_same(self, reader, wanted):
    self.assertLen(reader, len(wanted))
    for found, record in zip(reader, wanted):
      self.assertEqual(found.name, record.name)
      self.assertEqual(found.images, record.images)
      self.assertAllEqual(found.labels, record.labels)

  def _write_sqlite(self, values: dict[str, bytes]) -> str:
    path = os.fspath(self.folder / "PCR.db")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE unnamed (key TEXT PRIMARY KEY, value BLOB)")
    database.executemany("INSERT INTO unnamed VALUES (?, ?)", values.items())
    database.commit()
    database.close()
    return path

  @parameterized.parameters(0, 2, 4)
  def test_the_released_sqlite_index(self, protocol):
    wanted = list(pcr.Reader(self.folder))
    lengths = self._as_the_released_converter(packed=True)
    values = {f"/{k}": pickle.dumps(v, protocol) for k, v in lengths.items()}
    values["m_classes"] = pickle.dumps(np.arange(3), protocol)
    values["m_batch_size"] = pickle.dumps(3, protocol)
    self._write_sqlite(values)
    self.index.unlink()
    self._check_same(pcr.Reader(self.folder), wanted)

  def test_a_pickle_is_never_run(self):
    path = self._write_sqlite({"/PCR_0.pcr": pickle.dumps(_Evil())})
    with self.assertRaisesRegex(PcrError, 'key "/PCR_0.pcr".* names .*system'):
      pcr.Reader(self.folder, index=path)
    self.assertFalse(os.path.exists("evil_was_run"))

  @parameterized.parameters(
    (b"", "cannot be read"),
    (b"\x80\x04.", "cannot be read"),
    (pickle.dumps("text"), "must be a list"),
    (pickle.dumps([1]), "must be a list"),
    (pickle.dumps([1, -2]), "must be a list"),
    (pickle.dumps([1, 2.5]), "must be a list"),
    (pickle.dumps([1, 2**31]), "must be a list"),
  )
  def test_wrong_pickles(self, value, what):
    path = self._write_sqlite({"PCR_0.pcr": value})
    with self.assertRaisesRegex(PcrError, f'key "PCR_0.pcr": .*{what}'):
      pcr.Reader(self.folder, index=path)

  def test_no_sqlite(self):
    path = self.folder / "other.db"
    path.write_bytes(b"no database at all, but longer than a header of one" * 9)
    with self.assertRaisesRegex(PcrError, "is no SQLite index"):
      pcr.Reader(self.folder, index=path)
    with self.assertRaisesRegex(PcrError, "cannot read the index .*gone.db"):
      pcr.Reader(self.folder, index=self.folder / "gone.db")

  def test_truncated_at_every_byte(self):
    path = self.folder / "PCR_2.pcr"
    good = path.read_bytes()
    reader = pcr.Reader(self.folder)
    for size in range(len(good)):
      path.write_bytes(good[:size])
      with self.assertRaisesRegex(PcrError, rf"{path}: .* at offset {size}$"):
        reader[2]
    path.write_bytes(good + b"\0")
    with self.assertRaisesRegex(PcrError, "but its index says"):
      reader[2]
    path.unlink()
    with self.assertRaisesRegex(PcrError, f"cannot read {path}"):
      reader[2]

  def test_an_index_of_other_records(self):
    contents = self.index.read_bytes()
    for bad, what in (
      (contents.replace(b"PCR_1", b"PCR_7"), "PCR_1.pcr is not in the index"),
      (contents[:-1], "PCR_index.pb: pcr: .* at offset"),
      (b"no index", "PCR_index.pb: pcr: .* at offset"),
      (b"", "PCR_0.pcr is not in the index"),
    ):
      self.index.write_bytes(bad)
      with self.assertRaisesRegex(PcrError, what):
        pcr.Reader(self.folder)
    # Entries exchanged: the parts of one record are not those of another.
    self.index.write_bytes(
      contents.replace(b"PCR_0", b"PCR_x")
      .replace(b"PCR_1", b"PCR_0")
      .replace(b"PCR_x", b"PCR_1")
    )
    for record in range(2):
      with self.assertRaisesRegex(PcrError, "PCR_[01].pcr"):
        pcr.Reader(self.folder)[record]
    self.index.unlink()
    with self.assertRaisesRegex(PcrError, "has no PCR_index.pb and no PCR.db"):
      pcr.Reader(self.folder)

  def test_what_a_writer_refuses(self):
    other = pcr.Writer(self.folder / "other")
    with self.assertRaisesRegex(PcrError, "must be a JPEG file"):
      other.write(b"\x89PNG")
    with self.assertRaisesRegex(PcrError, "cannot be stored"):
      other.write(self.jpegs[0][:-100])
    with self.assertRaisesRegex(PcrError, "choose another folder"):
      pcr.Writer(self.folder)
    with self.assertRaisesRegex(ValueError, "images_per_record"):
      pcr.Writer(self.folder / "other", images_per_record=0)

  def test_an_error_leaves_no_index(self):
    folder = self.folder / "other"
    with self.assertRaises(RuntimeError), pcr.Writer(folder) as writer:
      writer.write(self.jpegs[0])
      raise RuntimeError
    self.assertEmpty(os.listdir(folder))


if __name__ == "__main__":
  tf.test.main()
