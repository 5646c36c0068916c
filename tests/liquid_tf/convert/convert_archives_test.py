"""Archives are read where they lie, and give what the folder gives that they are of."""

import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import tarfile
import warnings
import zipfile
from unittest import mock

import examples
import http_server
import numpy as np
import photos
import steady
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import compressed
from liquid_tf._convert.sources.open_source import find_files, open_source
from liquid_tf.errors import ConvertError


def _encoded(seed: int, extension: str = "PNG") -> bytes:
  pixels = np.random.default_rng(seed).integers(0, 256, (6, 7, 3), np.uint8)
  data = io.BytesIO()
  photos.Image.fromarray(pixels).save(data, extension)
  return data.getvalue()


def _text(value: str | bytes) -> str:
  return value.decode() if isinstance(value, bytes) else value


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
    given = source if isinstance(source, Source) else Source(source or self.archive)
    found = open_source(given, skips=True)
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


class TarTest(_ArchiveTest):
  def setUp(self):
    super().setUp()
    self.archive = f"{self.root}/data.tar"

  def _write(self, *members: tuple, path=None, **options) -> None:
    with tarfile.open(path or self.archive, "w", **options) as archive:
      for name, data in members:
        self._add(archive, name, data)

  def _add(self, archive, name: str, data: bytes, **given) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in given.items():
      setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))

  def _labelled(self, *keys: str) -> list[tuple]:
    return [
      one
      for i, key in enumerate(keys)
      for one in ((f"{key}.png", _encoded(i)), (f"{key}.cls", str(i % 3).encode()))
    ]

  @parameterized.parameters(
    tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT
  )
  def test_a_folder_of_classes(self, form):
    self._tree(
      "train/a/0.png", f"train/b/{'long' * 20}/1.png", "val/a/2.x.png", "val/b/é.png"
    )
    self._tree("val/b/README.txt")
    with tarfile.open(self.archive, "w", format=form) as archive:
      archive.add(self.path, ".")
    self._is_as_folder(self.archive)

  def test_webdataset(self):
    rows = [
      {"label": "7", "txt": "a cät", "json": {"size": 3, "url": "x", "more": [1, "b"]}},
      {"label": "2", "txt": "", "json": {"url": "y", "nothing": None, "size": 4}},
      {"label": " 0\n", "txt": "words", "json": {"url": "z", "size": 5}},
    ]
    vectors = np.arange(12, dtype=np.float64).reshape(3, 4) / 8
    for part in range(2):
      members = []
      for i, row in enumerate(rows):
        vector = io.BytesIO()
        np.save(vector, vectors[i])
        members += [
          (f"deep/{part}{i}.PNG", _encoded(i)),
          (f"deep/{part}{i}.cls", row["label"].encode()),
          (f"deep/{part}{i}.txt", row["txt"].encode()),
          (f"deep/{part}{i}.json", json.dumps(row["json"]).encode()),
          (f"deep/{part}{i}.feature.npy", vector.getvalue()),
          (f"deep/{part}{i}.wav", b"sound"),
        ]
      self._write(*members, path=f"{self.root}/set-{('train', 'val')[part]}-000.tar")
    report = self._convert(f"{self.root}/set-*.tar")
    self.assertEqual(report.splits, {"train": 3, "val": 3})
    self.assertEqual(report.skipped, [])
    self.assertIn("6 files .wav are not kept", report.notes[0])
    found = {one["name"]: one for one in liquid_tf.open(report.output)}
    self.assertEqual(
      sorted(found), [f"deep/{p}{i}" for p in range(2) for i in range(3)]
    )
    for i, row in enumerate(rows):
      one = found[f"deep/1{i}"]
      self.assertAllEqual(
        one["image"], np.asarray(photos.Image.open(io.BytesIO(_encoded(i))))
      )
      self.assertEqual(one["label"], int(row["label"]))
      self.assertEqual(_text(one["txt"]), row["txt"])
      self.assertEqual(_text(one["url"]), row["json"]["url"])
      self.assertEqual(_text(one["more"]), ['[1, "b"]', "", ""][i])
      self.assertEqual(one["json_size"], row["json"]["size"])
      self.assertAllEqual(one["feature"], vectors[i].astype(np.float32))

  def test_labels_by_json_and_names_that_are_there_in_two_archives(self):
    for part in "ab":
      members = [("0.png", _encoded(0)), ("0.json", b'{"label": "cat"}')]
      members += [("1.png", _encoded(1)), ("1.json", b'{"label": "ant"}')]
      self._write(*members, path=f"{self.root}/{part}.tar")
      self._write(*members, path=f"{self.root}/set{'ab'.index(part) + 9:02}.tar")
    braces = find_files(f"{self.root}/set{{09..10}}.tar")
    self.assertEqual(
      braces, [f"{self.root}/set{number}.tar" for number in ("09", "10")]
    )
    for wrong in ("{9..8}", "{0..1000000}"):
      self._refused(r"must be of 1 to 1,000,000 files", f"{self.root}/set{wrong}.tar")
    report = self._convert(f"{self.root}/a.tar;{self.root}/b.tar")
    self.assertEqual(report.classes, {"ant": 2, "cat": 2})
    names = sorted(one["name"] for one in liquid_tf.open(report.output))
    self.assertEqual(names, ["a.tar/0", "a.tar/1", "b.tar/0", "b.tar/1"])

  @parameterized.parameters(
    ([("x.cls", b"1")], "data.tar/x", "has no image, but only .cls"),
    ([("x.png", b"1"), ("x.jpg", b"1")], "data.tar/x", "has two images, .png and .jpg"),
    ([("x.png", b"1"), ("x.png", b"1")], "data.tar/x", "has two files .png"),
    ([("0.txt", b"1")], "data.tar/0", "has files apart from its others"),
    (
      [("x.png", b"1"), ("x.cls", b"cat")],
      "data.tar/x",
      "has a class name as its label",
    ),
    ([("x.png", b"1"), ("x.cls", b"\xff")], "data.tar/x", ".cls cannot be read"),
    ([("x.png", b"1"), ("x.json", b"{")], "data.tar/x", ".json cannot be read"),
    ([("x.png", b"1"), ("x.json", b"[" * 99999)], "data.tar/x", ".json cannot be read"),
    ([("x.png", b"1"), ("x.npy", b"\x93NUMPY")], "data.tar/x", ".npy cannot be read"),
    (
      [("x.png", b"1"), ("x.txt", b"1"), ("x.json", b'{"txt": 2}')],
      "data.tar/x",
      "two values",
    ),
    ([("x.png", b""), ("x.cls", b"1")], "data.tar/x", "its image is empty"),
    ([("../x.png", b"1")], "data.tar/../x.png", "leads out of its archive"),
  )
  def test_faults_of_one_sample(self, members, path, reason):
    self._write(*self._labelled("0", "1", "2"), *members)
    faults = self._faults()
    self.assertEqual(list(faults), [path])
    self.assertIn(reason, faults[path])

  def test_masks(self):
    for suffix, image, mask in (
      (None, "png", "mask.png"),
      (None, "rgb.png", "Mask.PNG"),
      (".seg", "png", "seg.png"),
      (".rgb:.seg", "rgb.png", "seg.png"),
    ):
      numbers = np.random.default_rng(3).integers(0, 9, (2, 6, 7), np.uint8)
      members = []
      for i in range(2):
        data = io.BytesIO()
        photos.Image.fromarray(numbers[i]).save(data, "PNG")
        members += [
          (f"{i}.{mask}", data.getvalue()),
          (f"{i}.{image}", _encoded(i)),
        ]
        if suffix and ":" in suffix:
          members.append((f"{i}.depth.png", _encoded(i)))
      self._write(*members)
      source = open_source(Source(self.archive, mask_suffix=suffix))
      self.assertEqual((len(source), source.skipped), (2, []))
      for i in range(2):
        sample = source.read(i)
        self.assertEqual(sample.image, _encoded(i))
        # Behind the header of a raw encoding.
        self.assertEqual(sample.mask[16:], numbers[i].tobytes())
      left = f"{self.archive}: 2 files .depth.png are not kept"
      self.assertEqual(source.notes, [left] if suffix == ".rgb:.seg" else [])

  def test_faults_of_masks(self):
    seg = photos.Image.fromarray(np.zeros((6, 7), np.uint8))
    lossy = io.BytesIO()
    seg.save(lossy, "JPEG")
    members = self._labelled("0", "1")
    for name, reason in (
      ("1.mask.png", "mask must be gray or have a palette, but is RGB"),
      ("1.mask.jpg", "mask is of JPEG, which may have .* lossy_masks=True"),
    ):
      data = lossy.getvalue() if name.endswith("jpg") else _encoded(5)
      self._write(*members, (name, data))
      faults = self._faults()
      self.assertRegex(faults.pop("data.tar/1"), reason)
      self.assertEqual(faults, {"data.tar/0": "has no mask, which others have"})
    self.assertEqual(
      list(self._faults(Source(self.archive, lossy_masks=True))), ["data.tar/0"]
    )
    self._write(*members, ("1.seg.png", _encoded(5)))
    [reason] = self._faults().values()
    self.assertIn(
      "has two images, .png and .seg.png: if one is a mask, call it 1.mask.png, or "
      'name it with mask_suffix=".seg"; else write anew',
      reason,
    )
    self._write(*members)
    for suffix, reason in (
      ("_seg", "must begin with a dot"),
      (".seg", "fits no image of .*data.tar: none has a file KEY.seg.png"),
    ):
      with self.assertRaisesRegex(ValueError, f"mask_suffix .* {reason}"):
        open_source(Source(self.archive, mask_suffix=suffix))
    with self.assertRaisesRegex(ValueError, "lossy_masks .* needs masks"):
      open_source(Source(self.archive, lossy_masks=True))

  def test_a_claim_of_a_huge_array(self):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (1 << 60,)}
    np.lib.format.write_array_header_1_0(header, shape)
    self._write(*self._labelled("0"), ("x.png", b"1"), ("x.npy", header.getvalue()))
    self.assertIn("another than its header says", self._faults()["data.tar/x"])

  def test_a_label_that_is_missing(self):
    self._write(*self._labelled("0", "1", "2"), ("x.png", _encoded(4)))
    with self.assertRaisesRegex(
      ConvertError,
      "1 without a label, as data.tar/x"
      '.*with on_error="skip:25%" and existing="resume", or mend',
    ):
      self._convert(self.archive)
    report = self._convert(self.archive, existing="resume", on_error="skip:50%")
    self.assertEqual(report.samples, 3)

  def test_a_column_of_numbers_and_texts(self):
    told = [("0.json", b'{"n": 1}'), ("1.json", b'{"n": "a"}')]
    labelled = self._labelled("0", "1")
    self._write(*labelled[:2], told[0], *labelled[2:], told[1])
    self._refused(
      r"n must have .*, but has 1 .*and 'a' .*: write n alike everywhere, or give the "
      "samples with Source.from_iterable"
    )

  def test_a_pattern_of_http(self):
    self._write(*self._labelled("0", "1"), path=f"{self.root}/a-000000.tar")
    with http_server.HttpServer(self.root) as server:
      self.assertLen(open_source(Source(f"{server.url}/a-{{000000..000000}}.tar")), 2)
      self._refused(
        "a server lists no folders: name its files, as a-{000000..000003}.tar",
        f"{server.url}/a-*.tar",
      )

  def test_links_and_holes(self):
    with tarfile.open(self.archive, "w") as archive:
      self._add(archive, "a/0.png", _encoded(0))
      for name, kind in (
        ("1", tarfile.SYMTYPE),
        ("2", tarfile.LNKTYPE),
        ("3", tarfile.FIFOTYPE),
      ):
        self._add(archive, f"a/{name}.png", b"", type=kind, linkname="0.png")
      self._add(archive, "b/5.png", _encoded(1))
    faults = self._faults()
    self.assertIn("is a link", faults["data.tar/a/1.png"])
    self.assertIn("is a link", faults["data.tar/a/2.png"])
    self.assertIn("is no file", faults["data.tar/a/3.png"])
    with open(f"{self.root}/4.png", "wb") as file:
      file.write(_encoded(0))
      file.truncate(1 << 20)
    command = ["tar", "-C", self.root, "--sparse", "-cf", self.archive, "4.png"]
    subprocess.run([*command, "--hole-detection=seek"], check=True)
    self._refused("4.png is stored with holes", skips=True)

  def test_archives_that_are_cut_off_or_damaged(self):
    self._write(*self._labelled("0", "1", "2"), format=tarfile.USTAR_FORMAT)
    whole = pathlib.Path(self.archive).read_bytes()
    third = whole.index(b"2.png")
    negative = bytearray(whole)
    negative[third + 124 : third + 136] = b"\xff" * 12
    negative[third + 148 : third + 156] = b" " * 8
    checksum = sum(negative[third : third + 512])
    negative[third + 148 : third + 156] = b"%06o\0 " % checksum
    for number, damaged in enumerate(
      (
        whole[: third + 700],
        whole[: third + 100],
        whole[:third],
        whole[:third] + b"x" * 512 + whole[third + 512 :],
        bytes(negative),
      )
    ):
      with self.subTest(number):
        pathlib.Path(self.archive).write_bytes(damaged)
        self._refused("data.tar is damaged or cut off at offset .*mend or remove it")
        faults = self._faults()
        self.assertEqual(list(faults)[0], "data.tar")
        self.assertLessEqual(len(faults), 2)
        self.assertIn("damaged or cut off", faults["data.tar"])
    for damaged in (b"", whole[:100], b"x" * 600):
      pathlib.Path(self.archive).write_bytes(damaged)
      self._refused("data.tar")

  @parameterized.parameters(True, False)
  def test_what_follows_the_end(self, labelled):
    first = self._labelled("0", "1") if labelled else [("0.png", _encoded(0))]
    self._write(("9.png", _encoded(9)))
    other = pathlib.Path(self.archive).read_bytes()
    self._write(*first)
    whole = pathlib.Path(self.archive).read_bytes()
    for more, note in (
      (b"", None),
      (b"\0" * 3_000_000, None),
      (other, f"{len(other):,} bytes follow the end of the archive data.tar: nothing"),
      (b"\0" * 2_000_000 + other, f"{len(other):,} bytes follow the end"),
    ):
      pathlib.Path(self.archive).write_bytes(whole + more)
      found = open_source(Source(self.archive), skips=False)
      self.assertLen(found, len(first) // 2 or 1)
      self.assertLen(found.notes, int(note is not None))
      self.assertStartsWith("".join(found.notes), note or "")

  def test_headers_cannot_take_the_memory(self):
    self._write(*self._labelled("0"))
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    data = pathlib.Path(self.archive).read_bytes()
    end = data.index(b"\0" * 1024, data.index(b"0.cls") + 512)
    end = -(-end // 512) * 512
    pathlib.Path(self.archive).write_bytes(data[:end] + info.tobuf(tarfile.GNU_FORMAT))
    self._refused("data.tar is damaged .*a header claims 1099511627776 bytes")


class CompressedTest(_ArchiveTest):
  def setUp(self):
    super().setUp()
    self.archive = f"{self.root}/data-train.tfrecord"

  def _records(self, compression: str, path: str, first: int = 0) -> None:
    rows = [
      {"image/encoded": _encoded(i), "image/class/label": i}
      for i in range(first, first + 4)
    ]
    plain = f"{self.root}/records/of"
    examples.write(plain, rows)
    with tf.io.TFRecordWriter(path, compression) as writer:
      for record in tf.data.TFRecordDataset(plain).as_numpy_iterator():
        writer.write(record)

  def _of_folder(self, source: str, **options) -> dict[str, bytes]:
    found = photos.files(self._convert(source, **options).output)
    return {name: data for name, data in found.items() if name != "dataset.json"}

  @parameterized.parameters("GZIP", "ZLIB")
  def test_records(self, compression):
    for part, split in enumerate(("train", "val")):
      for folder, how in (("plain", ""), ("packed", compression)):
        os.makedirs(f"{self.root}/{folder}", exist_ok=True)
        self._records(how, f"{self.root}/{folder}/data-{split}.tfrecord", part * 4)
    wanted = self._of_folder(f"{self.root}/plain/*", output="wanted")
    report = self._convert(f"{self.root}/packed/*")
    self.assertEqual(report.splits, {"train": 4, "val": 4})
    self.assertIn("decompressed files took", report.notes[-1])
    found = photos.files(report.output)
    self.assertEqual(found.keys() - wanted.keys(), {"dataset.json"})
    self.assertTrue(all(found[name] == data for name, data in wanted.items()))
    names = {one["name"] for one in liquid_tf.open(report.output)}
    self.assertIn("data-val.tfrecord/3", names)

  def test_a_folder_in_a_compressed_tar_archive(self):
    self._tree("a/0.png", "b/1.png")
    shutil.make_archive(self.path, "gztar", self.root, "photos")
    self._is_as_folder(f"{self.root}/photos.tar.gz")
    wanted = self._contents("of_folder")
    with http_server.HttpServer(self.root) as server:
      for kind in ("bz2", "xz"):
        name = f"photos.tar.{kind}"
        with tarfile.open(f"{self.root}/{name}", f"w:{kind}") as archive:
          archive.add(self.path, "photos")
        report = self._convert(f"{server.url}/{name}", f"of_{kind}")
        self.assertEqual(report.classes, {"a": 1, "b": 1})
        self.assertEqual(self._contents(f"of_{kind}"), wanted)
    os.rename(f"{self.root}/photos.tar.xz", f"{self.root}/unnamed")
    self.assertEqual(self._convert(f"{self.root}/unnamed").samples, 2)
    source = Source(f"{self.root}/unnamed", annotations=f"{self.root}/x.csv")
    self._refused("annotations .* are of a folder", source)

  def test_members_one_after_another_and_zeros(self):
    whole = b"".join(map(_encoded, range(3))) + b"\0" * 1000
    for kind in (gzip, bz2, lzma):
      parts = [kind.compress(part) for part in (whole[:100], b"", whole[100:])]
      packed = b"".join(parts) + b"\0" * 100
      # A chunk may end anywhere, and hold more than a piece.
      for chunk, piece in ((len(packed), 1 << 20), (7, 60), (50, 3), (1000, 10)):
        with mock.patch.object(compressed, "_PIECE", piece):
          chunks = (packed[i : i + chunk] for i in range(0, len(packed), chunk))
          pieces = list(compressed._pieces(chunks))
        self.assertEqual(b"".join(pieces), whole)
        self.assertLessEqual(max(map(len, pieces)), piece)

  def test_damage(self):
    self._records("GZIP", self.archive)
    whole = pathlib.Path(self.archive).read_bytes()
    for damaged, reason in (
      (whole[: len(whole) // 2], "is cut off: its compressed data has no end"),
      (whole[:-1], "is cut off"),
      (whole[:-5] + b"\0" + whole[-4:], "is damaged: .*incorrect data check"),
      (whole + b"\x1f\x8bxx", "is damaged"),
      (whole[:20] + b"\xff" * 50 + whole[70:], "is damaged"),
    ):
      with self.subTest(reason):
        pathlib.Path(self.archive).write_bytes(damaged)
        with self.assertRaisesRegex(
          ConvertError, f"data-train.tfrecord {reason}.*; mend or remove it, or skip"
        ):
          self._convert(self.archive)
        shutil.rmtree(f"{self.root}/dataset")
    pathlib.Path(self.archive).write_bytes(whole[:-1])
    report = self._convert(self.archive, on_error="skip:50%")
    self.assertEqual((report.samples, len(report.skipped)), (4, 1))

  @parameterized.parameters(bz2, lzma)
  def test_damage_of_others(self, kind):
    self._records("", self.archive)
    whole = kind.compress(pathlib.Path(self.archive).read_bytes())
    for damaged, reason in (
      (whole[: len(whole) // 2], "is cut off: its compressed data has no end"),
      (whole[:-1], "is cut off"),
      (whole[:200] + b"\xff" * 50 + whole[250:], "is damaged"),
      (whole + whole[:4] + b"xxxxxxxxxxxx", "is (damaged|cut off)"),
    ):
      with self.subTest(reason):
        pathlib.Path(self.archive).write_bytes(damaged)
        with self.assertRaisesRegex(
          ConvertError, f"data-train.tfrecord {reason}.*; mend or remove it, or skip"
        ):
          self._convert(self.archive, existing="replace")

  def test_a_file_that_asks_for_much_memory(self):
    self._records("", self.archive)
    data = lzma.compress(pathlib.Path(self.archive).read_bytes())
    pathlib.Path(self.archive).write_bytes(data)
    with mock.patch.object(compressed, "_MOST_MEMORY", 1 << 20):
      with self.assertRaisesRegex(ConvertError, "is damaged: .*[Mm]emory"):
        self._convert(self.archive)

  @parameterized.parameters(
    (gzip, r"29,\d+ to more than 5,"), (bz2, "1,048,576"), (lzma, "1,048,576")
  )
  def test_a_file_that_is_made_to_fill_the_disk(self, kind, grows):
    pathlib.Path(self.archive).write_bytes(kind.compress(b"\0" * 30_000_000))
    with mock.patch.object(compressed, "_LARGE", 1 << 20):
      with self.assertRaisesRegex(
        ConvertError, f"data-train.tfrecord grows from .*{grows}"
      ):
        self._convert(self.archive)

  def test_killed_and_resumed(self):
    for part in range(3):
      self._records("GZIP", f"{self.root}/part-{part}", part * 4)
    wanted = self._of_folder(f"{self.root}/part-*", output="wanted")
    spool = pathlib.Path(f"{self.root}/dataset/_journal.db-items")
    decompress, done = compressed._decompress, []

    def killed(path, place, shown):
      if len(done) == 2:
        pathlib.Path(place + ".part").write_bytes(b"half of it")
        raise KeyboardInterrupt
      done.append(shown)
      return decompress(path, place, shown)

    with mock.patch.object(compressed, "_decompress", killed):
      with self.assertRaises(KeyboardInterrupt):
        self._convert(f"{self.root}/part-*")
    self.assertLen(list(spool.iterdir()), 3)
    done.clear()

    def last(path, place, shown):
      done.append(shown)
      return decompress(path, place, shown)

    with mock.patch.object(compressed, "_decompress", last):
      found = self._of_folder(f"{self.root}/part-*", existing="resume")
    self.assertEqual(done, ["part-2"])
    self.assertEqual(found, wanted)
    self.assertFalse(spool.exists())


if __name__ == "__main__":
  tf.test.main()
