"""RecordIO files become samples: labels, class names, indexes, damage."""

import hashlib
import json
import os
import pathlib

import examples
import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import recordio
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources.samples import splits_of_files
from liquid_tf._store import manifest, names
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Channels

_MAGIC = bytes.fromhex("0a23d7ce")


class ConvertRecordsTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"

  def _write(self, labels, name="train", *, index=True, seed=0) -> list[bytes]:
    images = examples.images(len(labels), seed)
    path = f"{self.root}/{name}.rec"
    with recordio.Writer(path, index=index) as writer:
      for i, (label, image) in enumerate(zip(labels, images)):
        header = recordio.Header(label=label, id=100 + i)
        writer.write(recordio.pack(header, image), *([100 + i] if index else []))
    self.offsets = [record.offset for record in recordio.Reader(path).records()]
    return images

  def _convert(self, source="*.rec", mix="png:1,raw:1", about=(), **options):
    source = Source(os.path.join(self.root, source), **dict(about))
    output = options.pop("output", self.output)
    return convert(source, output, mix, progress=False, **options)

  @parameterized.parameters(True, False)
  def test_images_and_class_numbers(self, index):
    images = self._write([0, 1, 5, 1, 0, 2], index=index)
    report = stored.sound(self._convert())
    self.assertEqual((report.samples, report.skipped), (6, []))
    for record in stored.records(self.output):
      self.assertEqual(record["labels"], [[0, 1, 5, 1, 0, 2][record["id"]]])
      if record["shard"].format == "png":
        self.assertEqual(record["contents"], images[record["id"]])
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["features"]["label"], {"dtype": "int64", "shape": []})
    self.assertEqual(loaded["source"]["kind"], "recordio")

  def test_an_index_changes_nothing_but_the_names(self):
    self._write([0, 1, 2, 3])
    self._convert()
    os.unlink(f"{self.root}/train.idx")
    other = f"{self.root}/other"
    self._convert(output=other, workers=1)
    found = []
    for path in (self.output, other):
      files = photos.files(path)
      for name in ("dataset.json", "names.npy", "names.bin"):
        del files[name]
      found.append(files)
    self.assertEqual(*found)
    for path, first in ((self.output, 100), (other, 0)):
      loaded = names.load(manifest.load(path))
      wanted = [f"train.rec/{first + i}" for i in range(4)]
      self.assertEqual([loaded[i] for i in range(4)], wanted)

  def test_lists_name_classes_and_files_are_splits(self):
    self._write([0, 1, 2, 1])
    self._write([2, 0], "val", seed=1)
    for name, lines in (
      ("train", "100\t0\tcat/a.png\n101\t1\tcow/b.png\n102\t2\tdog/c.png\n"),
      ("val", "100\t2\tdog/a.png\n101\t0\tcat/b.png\n"),
    ):
      pathlib.Path(self.root, f"{name}.lst").write_text(lines)
    self._convert()
    loaded = manifest.load(self.output)
    self.assertEqual(loaded.classes, ["cat", "cow", "dog"])
    self.assertEqual(loaded["splits"]["val"], {"samples": 2, "index": 1})
    # A folder of two classes names neither.
    pathlib.Path(self.root, "val.lst").write_text("100\t2\tcat/a.png\n")
    self._convert(output=f"{self.root}/unnamed")
    self.assertIsNone(manifest.load(f"{self.root}/unnamed").classes)

  @parameterized.named_parameters(
    ("vectors", [(1.0, 2.5), (3.0, 4.0)], {"dtype": "float32", "shape": [2]}),
    ("unequal", [(1.0,), (3.0, 4.0)], {"dtype": "float32", "shape": [None]}),
    ("fractions", [0.5, 2.0], {"dtype": "float32", "shape": [1]}),
    ("negative", [-1.0, 2.0], {"dtype": "float32", "shape": [1]}),
    ("none", [float("nan")] * 2, None),
  )
  def test_labels(self, labels, wanted):
    self._write(labels)
    stored.sound(self._convert())
    feature = manifest.load(self.output)["features"].get("label")
    self.assertEqual(feature, wanted)
    for record in stored.records(self.output):
      label = labels[record["id"]]
      flat = list(label) if isinstance(label, tuple) else [label]
      self.assertEqual(record["labels"], [] if wanted is None else flat)
    if wanted and wanted["shape"] == [2]:
      _, found = next(iter(liquid_tf.dataset(self.output, 2, shuffle=False)))
      self.assertEqual(sorted(found.numpy().tolist()), sorted(map(list, labels)))

  def test_an_index_of_another_file_is_an_error(self):
    self._write([0, 1, 2])
    index = pathlib.Path(self.root, "train.idx")
    for lines in (
      f"100\t0\n102\t{self.offsets[2]}\n",
      f"100\t0\n101\t{self.offsets[1] + 4}\n102\t{self.offsets[2]}\n",
      f"100\t0\n101\t{self.offsets[1]}\n102\t{self.offsets[2]}\n103\t99999999\n",
    ):
      index.write_text(lines)
      with self.assertRaisesRegex(ConvertError, "train.idx does not list the records"):
        self._convert()
    index.unlink()
    self.assertEqual(self._convert().samples, 3)

  def test_a_list_of_files(self):
    images = self._write([0], "b") + self._write([1, 2], "a", seed=1)
    os.mkdir(f"{self.root}/d")
    images += self._write([3], "d/z", seed=2)
    # In the order of the list, not of the paths; "d" is the folder's .rec files.
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.root)
    report = convert("b.rec;a*.rec;d", self.output, "png:1", progress=False)
    stored.sound(report)
    self.assertEqual(report.samples, 4)
    found = {r["id"]: (r["contents"], r["labels"]) for r in stored.records(self.output)}
    self.assertEqual(found, {i: (images[i], [i]) for i in range(4)})
    loaded = names.load(manifest.load(self.output))
    self.assertEqual(
      [loaded[i] for i in range(4)],
      ["b.rec/100", "a.rec/100", "a.rec/101", "d/z.rec/100"],
    )

  def test_lists_that_are_wrong(self):
    self._write([0], "a")
    self._write([0], "a;b")
    self.assertEqual(self._convert("a;b.rec").samples, 1)
    path = f"{self.root}/a.rec"
    for source, message in (
      (f"{path};", 'before and after every ";"'),
      (f"{path};{path}", "a.rec twice"),
      (f"{path};{self.root}/*[.]rec", "a.rec twice"),
      (f"{path};{self.root}/none.rec", "none.rec: there is no such file"),
      (f"{path};gs://bucket/a.rec", "must be on a local disk"),
      ("gs://bucket/a.rec", "must be on a local disk.*gcloud storage cp"),
      ("gs://bucket/photos.liquid", "must be on a local disk.*liquid_tf.copy"),
    ):
      with self.assertRaisesRegex(ConvertError, message):
        convert(source, f"{self.root}/other", "png:1", progress=False)
    for name in ("masks", "annotations"):
      with self.assertRaisesRegex(ValueError, f"{name} .*must be a local path"):
        Source(self.root, **{name: "gs://bucket/x"})

  def test_records_of_several_parts(self):
    images = examples.images(3)
    # Behind the end of a PNG file nothing is read.
    images[1] += b"\0" * (-(24 + len(images[1])) % 4) + _MAGIC * 3 + b"end"
    with recordio.Writer(f"{self.root}/train.rec") as writer:
      for i, image in enumerate(images):
        writer.write(recordio.pack(recordio.Header(i), image), i)
    self._convert(mix="png")
    found = {r["id"]: r["contents"] for r in stored.records(self.output)}
    self.assertEqual([found[i] for i in range(3)], images)

  @parameterized.parameters(
    ("flowers_train.rec flowers_val.rec flowers_test.rec", "train val test"),
    ("a-val.rec b_0_train.rec c_train_1.rec", "val train train"),
    ("m-train.tfrecord-00000-of-00002 m-validation-00000-of-00001", "train validation"),
    ("train2017.rec val.rec?part=train.rec", "train val"),
    # As im2rec names what it makes with the prefix "test".
    ("test_train.rec test_val.rec", "train val"),
    ("my_trains.rec contest.rec", "train train"),
    ("train.rec more.rec", "train train"),
  )
  def test_names_of_files_say_splits(self, names, wanted):
    urls = [f"https://host/{name}" for name in names.split()]
    splits, split_of = splits_of_files(urls)
    self.assertEqual([splits[split] for split in split_of], wanted.split())

  def test_files_as_im2rec_names_them_are_splits(self):
    self._write([0, 1, 2], "flowers_train")
    self._write([2], "flowers_val", seed=1)
    self._convert()
    splits = manifest.load(self.output)["splits"]
    found = {name: split["samples"] for name, split in splits.items()}
    self.assertEqual(found, {"train": 3, "val": 1})
    self._write([1], "more")
    with self.assertRaisesRegex(
      ConvertError,
      "flowers_val.rec is named like the split val, and .*more.rec like no",
    ):
      self._convert(output=f"{self.root}/other")

  def test_labels_of_unequal_number_are_told(self):
    self._write([(1.0,), (3.0, 4.0)])
    with self.assertLogs("liquid_tf", "WARNING") as logged:
      self._convert()
    [line] = logged.output
    self.assertRegex(
      line, "from 1 to 2 labels, which no batch can hold: .*give all sam"
    )
    self._write([(1.0, 2.0), (3.0, 4.0)])
    with self.assertNoLogs("liquid_tf", "WARNING"):
      self._convert(output=f"{self.root}/equal")

  def test_errors_name_the_file(self):
    self._write([0, 1])
    path = pathlib.Path(self.root, "train.rec")
    with recordio.Writer(path, append=True) as writer:
      writer.write(recordio.pack(recordio.Header(1.0), b"no image"), 5)
    with self.assertRaisesRegex(ConvertError, rf'source \("{path}"\): 1 of 3'):
      self._convert()
    self._write([0], "a")
    with self.assertRaisesRegex(ConvertError, r'/a.rec and 1 more"\): 1 of 4'):
      self._convert(existing="replace")

  def test_what_holds_no_records_says_where_they_are(self):
    self._write([0])
    pathlib.Path(self.root, "train.lst").write_text("0\t1\ta.png\n")
    elsewhere = self.create_tempdir().full_path
    with self.assertRaisesRegex(
      ConvertError,
      rf'folder of RecordIO .* images: give the files, as "{self.root}/\*.rec"',
    ):
      convert(self.root, f"{elsewhere}/dataset", "png", progress=False)
    with self.assertRaisesRegex(
      ConvertError,
      r'is a list of im2rec, .* with annotations=".*/train.lst", or the .rec',
    ):
      self._convert("train.lst")
    # An image more, and it is a folder of images.
    photos.save(f"{self.root}/images/a.png", photos.photo("coffee")[:9, :9])
    os.rename(f"{self.root}/train.rec", f"{self.root}/images/train.rec")
    report = self._convert("images", on_error="skip:50%")
    self.assertEqual(report.samples, 1)

  def _damage(self, *records, name="train"):
    """Damages the heads of records, of which adjacent ones make one stretch."""
    path = pathlib.Path(self.root, f"{name}.rec")
    data = bytearray(path.read_bytes())
    for record in records:
      data[self.offsets[record]] ^= 1
    path.write_bytes(data)

  @parameterized.parameters(
    (True, 4, "of 3 records by the index"), (False, 2, "without")
  )
  def test_damage_counts_towards_the_limit(self, index, lost, reason):
    self._write([0] * 50, index=index)
    self._damage(3, 4, 5, 20)
    held = 46 + lost
    with self.assertRaisesRegex(
      ConvertError,
      rf"{lost} of {held} samples .*\({lost} lost, as train.rec, offset "
      rf'{self.offsets[3]}: \d+ bytes {reason}.* at most 1 % .*on_error="skip:',
    ):
      self._convert(on_error="skip")
    listed = pathlib.Path(self.output, "_problems.jsonl").read_text().splitlines()
    paths = [f"train.rec, offset {self.offsets[record]}" for record in (3, 20)]
    self.assertEqual([json.loads(line)["path"] for line in listed], paths)
    share = f"skip:{100 * lost / held + 0.1:.1f}%"
    report = stored.sound(self._convert(on_error=share, existing="resume"))
    self.assertEqual(report.samples, 46)
    # In the order of the file, and not of the offsets' digits.
    self.assertEqual([one["path"] for one in report.skipped], paths)
    self.assertLess(str(self.offsets[20]), str(self.offsets[3]))
    loaded = names.load(manifest.load(self.output))
    wanted = [i + 100 for i in range(50) if i not in (3, 4, 5, 20)]
    first = [loaded[i] for i in range(46)]
    keys = wanted if index else range(46)
    self.assertEqual(first, [f"train.rec/{key}" for key in keys])

  def test_records_behind_the_end_are_lost(self):
    self._write([0] * 8)
    os.truncate(f"{self.root}/train.rec", self.offsets[5] + 20)
    with self.assertRaisesRegex(ConvertError, r"3 of 8 samples .*skip:37.5%"):
      self._convert(on_error="skip")
    self.assertEqual(self._convert(on_error="skip:38%", existing="resume").samples, 5)

  def test_damage_and_an_index_of_another_file(self):
    self._write([0] * 8)
    self._damage(2)
    index = pathlib.Path(self.root, "train.idx")
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(lines[:-1]))
    with self.assertRaisesRegex(ConvertError, "train.idx does not list the records"):
      self._convert(on_error="skip:100%")

  def test_damage_is_passed_over_and_reported(self):
    self._write([0, 1, 2, 3])
    path = pathlib.Path(self.root, "train.rec")
    data = bytearray(path.read_bytes())
    data[self.offsets[1]] ^= 1
    path.write_bytes(data)
    report = stored.sound(self._convert(on_error="skip:100%"))
    self.assertEqual(report.samples, 3)
    self.assertEqual(report.skipped[0]["path"], f"train.rec, offset {self.offsets[1]}")
    self.assertIn("no RecordIO magic", report.skipped[0]["reason"])
    with self.assertRaisesRegex(ConvertError, f"train.rec.* {self.offsets[1]}"):
      self._convert(output=f"{self.root}/strict")

  def test_records_without_images_are_counted(self):
    with recordio.Writer(f"{self.root}/train.rec") as writer:
      writer.write(b"short")
      writer.write(recordio.pack(recordio.Header(1.0), b"no image"))
      writer.write(recordio.pack(recordio.Header(1.0), examples.images(1)[0]))
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 1)
    reasons = [one["reason"] for one in report.skipped]
    self.assertIn("shorter than the 24-byte header", reasons[0])
    self.assertLen(reasons, 2)

  def test_nothing_to_read(self):
    path = pathlib.Path(self.root, "train.rec")
    path.write_bytes(b"")
    with self.assertRaisesRegex(ConvertError, "train.rec holds no records"):
      self._convert()
    path.write_bytes(b"\0" * 64)
    with self.assertRaisesRegex(ConvertError, "holds no records: .* no RecordIO magic"):
      self._convert(on_error="skip:100%")
    pathlib.Path(self.root, "other.rec.txt").write_text("x")
    with self.assertRaisesRegex(
      ConvertError, "matches files of TFRecords and RecordIO files"
    ):
      self._convert("*.rec*")
    with self.assertRaisesRegex(ConvertError, "are of sources of tf.train.Examples"):
      self._convert(about={"label_feature": "x"})


class SharedRecordsTest(parameterized.TestCase, tf.test.TestCase):
  """What MXNet 1.9.1 wrote, and says itself."""

  @parameterized.parameters(
    ("im2rec_packlabel", "jpeg"),
    ("im2rec_passthrough", "jpeg"),
    ("im2rec_resize160_q90", "jpeg"),
    ("im2rec_resize96_png", "png"),
  )
  def test_bytes_and_labels_are_those_that_mxnet_reads(self, name, mix):
    folder = photos.shared_data("open", "recordio", "mxnet191")
    if folder is None:
      self.skipTest("no shared data beside the checkout")
    wanted = json.loads(
      pathlib.Path(folder, "expected_by_mxnet_1.9.1.json").read_text()
    )[f"{name}.rec"]
    output = f"{self.create_tempdir().full_path}/dataset"
    stored.sound(
      convert(
        f"{folder}/{name}.rec",
        output,
        mix,
        transforms=[Channels(3)],
        progress=False,
      )
    )
    found = stored.records(output)
    self.assertLen(found, len(wanted))
    for record in found:
      entry = wanted[record["id"]]
      digest = hashlib.sha256(record["contents"]).hexdigest()
      self.assertEqual(digest, entry["payload_sha256"])
      self.assertEqual(record["labels"], np.atleast_1d(entry["label"]).tolist())
    classes = manifest.load(output).classes
    if name != "im2rec_packlabel":
      self.assertIn("134", classes)


if __name__ == "__main__":
  tf.test.main()
