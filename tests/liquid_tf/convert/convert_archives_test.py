"""Archives are read where they lie, and give what the folder gives that they are of."""

import io
import os
import pathlib
import shutil
import struct
import warnings
import zipfile

import numpy as np
import photos
import steady
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf.errors import ConvertError


def _encoded(seed: int, extension: str = "PNG") -> bytes:
  pixels = np.random.default_rng(seed).integers(0, 256, (6, 7, 3), np.uint8)
  data = io.BytesIO()
  photos.Image.fromarray(pixels).save(data, extension)
  return data.getvalue()


class _ArchiveTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.path = f"{self.root}/photos"

  def _tree(self, *names: str) -> None:
    for number, name in enumerate(names):
      path = pathlib.Path(self.path, name)
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(_encoded(number) if path.suffix == ".png" else b"some words")

  def _convert(self, source, output="dataset", **options):
    return convert(
      source, f"{self.root}/{output}", "png:1,raw:1", progress=False, **options
    )

  def _contents(self, output: str) -> list[tuple]:
    view = liquid_tf.open(f"{self.root}/{output}")
    return [(one["name"], one.get("label"), one["image"].tobytes()) for one in view]

  def _is_as_folder(self, archive: str, folder: str | None = None, **given) -> None:
    """Checks that datasets of an archive and of its folder have the same bytes."""
    reports = [
      self._convert(Source(path, **given), output)
      for path, output in ((archive, "of_archive"), (folder or self.path, "of_folder"))
    ]
    self.assertEqual(reports[0].classes, reports[1].classes)
    self.assertEqual(reports[0].splits, reports[1].splits)
    files = [photos.files(reports[n].output) for n in range(2)]
    for found in files:
      found.pop("dataset.json")
    self.assertEqual(files[0], files[1])
    self.assertEqual(self._contents("of_archive"), self._contents("of_folder"))

  def _faults(self, source=None) -> dict[str, str]:
    """Lists a source and reads all of it; the reasons for what cannot be read."""
    found = open_source(Source(source or self.archive), skips=True)
    faults = {one.path: one.reason for one in found.skipped if one.samples}
    for position, columns in enumerate(zip(*found.columns(range(len(found)), None))):
      error = found.load(*map(tf.constant, columns))["error"].numpy().decode()
      faults |= {found.path(position): error} if error else {}
    return faults

  def _refused(self, pattern: str, source=None, skips: bool = False) -> None:
    given = source if isinstance(source, Source) else Source(source or self.archive)
    with self.assertRaisesRegex(ConvertError, pattern):
      open_source(given, skips=skips)


class ZipTest(_ArchiveTest):
  def setUp(self):
    super().setUp()
    self.archive = f"{self.root}/photos.zip"

  def _write(self, *members: tuple, method=zipfile.ZIP_DEFLATED, path=None) -> None:
    with (
      warnings.catch_warnings(),
      zipfile.ZipFile(path or self.archive, "w", method) as archive,
    ):
      warnings.simplefilter("ignore")  # Of names that are there twice.
      for name, data in members:
        archive.writestr(name, data)

  def _patch(self, data: bytes, begin: int) -> None:
    with open(self.archive, "r+b") as file:
      file.seek(begin)
      file.write(data)

  def _directory(self, name: bytes = b"b.png") -> int:
    """Where the directory's entry of a file begins."""
    return pathlib.Path(self.archive).read_bytes().rindex(name) - 46

  @parameterized.parameters(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
  def test_classes_and_splits(self, method):
    self._tree(
      "train/a/0.png", "train/b/1.png", "val/a/2.png", "val/b/no.txt", "val/b/x.png"
    )
    os.mkdir(f"{self.path}/train/c")
    files = sorted(pathlib.Path(self.path).rglob("*"), reverse=True)
    with zipfile.ZipFile(self.archive, "w", method) as archive:
      for file in files:
        archive.write(file, file.relative_to(self.path))
    self._is_as_folder(self.archive)

  def test_the_folder_around_everything_and_what_systems_leave(self):
    self._tree("a/0.png", "b/1.png", "b/deep/2.png")
    shutil.make_archive(self.path, "zip", self.root, "photos")
    with zipfile.ZipFile(self.archive, "a") as archive:
      archive.writestr("__MACOSX/photos/a/._0.png", b"x")
      archive.writestr("__MACOSX/", b"")
      archive.writestr("photos/.DS_Store", b"x")
      archive.writestr("README.txt", b"words")
    os.rename(self.archive, f"{self.root}/download")
    self._is_as_folder(f"{self.root}/download")
    report = self._convert(f"{self.root}/download")
    self.assertEqual(
      {one["path"] for one in report.skipped},
      {"download/__MACOSX", "download/photos/.DS_Store", "README.txt"},
    )

  def test_images_without_labels_and_annotations(self):
    self._tree("0.png", "1.png", "more/unnamed")
    pathlib.Path(self.path, "more/unnamed").write_bytes(_encoded(9))
    shutil.make_archive(self.path, "zip", self.root, "photos")
    self._is_as_folder(
      self.archive, annotations=self._table("0.png,a cat\n1.png,a dog\n")
    )
    self._refused(
      "go with a folder, and .* is an archive", self._source(annotations="x.lst")
    )
    self._refused("masks .* are of a folder of images", self._source(masks=self.path))
    self._refused("of sources of tf.train.Examples", self._source(label_feature="x"))

  def _source(self, **given) -> Source:
    return Source(self.archive, **given)

  def _table(self, rows: str) -> str:
    path = pathlib.Path(self.root, "captions.csv")
    path.write_text("file_name,caption\n" + rows)
    return str(path)

  def test_several_archives_and_splits_by_their_names(self):
    self._tree("train/a/0.png", "train/b/1.png", "val/a/2.png", "val/b/3.png")
    for split in ("train", "val"):
      shutil.make_archive(f"{self.root}/my_{split}", "zip", f"{self.path}/{split}")
    self._is_as_folder(f"{self.root}/my_*.zip")
    shutil.rmtree(f"{self.root}/of_archive")
    shutil.rmtree(f"{self.root}/of_folder")
    parts = [f"{self.root}/{name}.zip" for name in "ab"]
    for part, name in zip(parts, "ab"):
      shutil.make_archive(part[:-4], "zip", f"{self.path}/train", name)
    self._is_as_folder(";".join(parts), f"{self.path}/train")

  def test_names_that_lead_out_or_are_there_twice(self):
    for name, reason in (
      ("../2.png", "leads out of its archive"),
      ("/etc/2.png", "leads out of its archive"),
      ("b/../../2.png", "leads out of its archive"),
      ("C:/2.png", "leads out of its archive"),
      ("b/1.png", "is there twice"),
    ):
      self._write(
        ("a/0.png", _encoded(0)), ("b/1.png", _encoded(1)), (name, _encoded(2))
      )
      faults = self._faults()
      self.assertEqual(list(faults), [f"photos.zip/{name}"])
      self.assertIn(reason, faults[f"photos.zip/{name}"])
    with self.assertRaisesRegex(
      ConvertError, "1 lost, as photos.zip/b/1.png: is there twice"
    ):
      self._convert(self.archive)
    report = self._convert(self.archive, existing="resume", on_error="skip:50%")
    self.assertEqual(report.samples, 2)

  def test_damage_of_one_file(self):
    stored, deflated = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    for reason, method, offset, data in (
      # Of the entry in the directory: method, CRC, sizes, place of the local header.
      ("is encrypted", stored, 8, b"\1\0"),
      ("compressed by method 14", stored, 10, b"\x0e\0"),
      ("its size or its checksum is wrong", stored, 16, b"\0\0\0\0"),
      ("has two sizes", stored, 24, b"\7\0\0\0"),
      ("says of its place cannot be", stored, 20, b"\xff\xff\xff\x7f"),
      ("says of its place cannot be", stored, 42, b"\xff\xff\xff\x7f"),
      ("and there is none", stored, 42, None),
      ("would grow from", deflated, 24, b"\0\0\0\x7f"),
      ("size or its checksum", deflated, 24, b"\1\0\0\0"),
      ("size or its checksum", deflated, 24, b"\0\0\1\0"),
      ("has two sizes", deflated, 10, b"\0\0"),
      ("is a link", stored, 38, struct.pack("<I", 0o120777 << 16)),
    ):
      with self.subTest(reason):
        members = [(f"a/{name}.png", _encoded(i)) for i, name in enumerate("abc")]
        self._write(*members, method=method)
        begin = pathlib.Path(self.archive).read_bytes().index(b"a/b.png") - 30
        self._patch(
          data or struct.pack("<I", begin + 1), self._directory() - 2 + offset
        )
        faults = self._faults()
        self.assertEqual(list(faults), ["photos.zip/a/b.png"])
        self.assertIn(reason, faults["photos.zip/a/b.png"])

  def test_files_over_each_other(self):
    self._write(*((f"a/{name}.png", _encoded(i)) for i, name in enumerate("abc")))
    self._patch(b"\1\0\0\0", self._directory() - 2 + 42)
    self.assertEqual(list(self._faults()), ["photos.zip/a/a.png", "photos.zip/a/b.png"])
    self._patch(b"\0\0\0\0", self._directory() - 2 + 42)
    self.assertEqual(list(self._faults()), ["photos.zip/a/b.png"])

  def test_a_deflated_file_that_does_not_end_where_it_says(self):
    self._write(
      ("a.png", _encoded(0)), ("b.png", b"\0" * 50_000), ("c.png", _encoded(1))
    )
    data = pathlib.Path(self.archive).read_bytes()
    self._patch(b"\xff" * 9, data.index(b"b.png") + 5)
    self.assertRegex(self._faults()["photos.zip/b.png"], "cannot be inflated")

  def test_damage_of_an_archive(self):
    self._write(*((f"a/{name}.png", _encoded(i)) for i, name in enumerate("abc")))
    whole = pathlib.Path(self.archive).read_bytes()
    size = struct.unpack("<I", whole[-10:-6])[0]
    for damaged in (
      whole[:-30],
      whole[: len(whole) // 2],
      whole[:-10] + b"\xff\xff\xff\x7f" + whole[-6:],
      whole[: -22 - size] + b"\0\0\0\0" + whole[-18 - size :],
      b"",
      b"PK\3\4",
    ):
      pathlib.Path(self.archive).write_bytes(damaged)
      self._refused(
        "photos.zip cannot be read as a ZIP archive: .*; mend or remove it, or skip"
      )
      self._refused("photos.zip holds no files: .*damaged or cut off", skips=True)
    self._write(("d.png", _encoded(8)), path=f"{self.root}/right.zip")
    both = f"{self.root}/right.zip;{self.archive}"
    self.assertEqual(list(self._faults(both)), ["photos.zip"])

  def test_a_profile(self):
    self._tree(*(f"{name}/{i}.png" for name in "ab" for i in range(4)))
    shutil.make_archive(self.path, "zip", self.path)
    options = {"runs": (2, 0.02), "batch_size": 2, "say": None, "cache": 0}
    with steady.Machine().timed():
      found = liquid_tf.profile(self.archive, ["png", "raw"], **options)
    self.assertEqual(found.data["samples"], 8)


if __name__ == "__main__":
  tf.test.main()
