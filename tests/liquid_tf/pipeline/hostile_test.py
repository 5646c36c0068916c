"""Whatever stands in a dataset's files, opening it ends, in one sentence."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import tempfile

import damaged
import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf import codecs, pcr, recordio
from liquid_tf._convert import single
from liquid_tf._convert.convert import convert
from liquid_tf._native import ops
from liquid_tf._store import manifest, pcr_index
from liquid_tf._view import inspection, sample_reader
from liquid_tf.errors import ConvertError, ManifestError, RecordIOError

_INDEX = manifest.INDEX
_SHARD = "png-00000-of-00001.rec"
_MOST = 2**64 - 1


def _put(path: str, kind: str) -> None:
  """Puts something that is no regular file in the place of one."""
  os.unlink(path)
  if kind == "a pipe":
    os.mkfifo(path)
  elif kind == "a device":
    os.symlink("/dev/zero", path)
  elif kind == "a folder":
    os.mkdir(path)
  else:
    # The name of a socket is short.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as one:
      one.bind(os.path.join(short, "s"))
      os.rename(os.path.join(short, "s"), path)


class HostileTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    source = photos.class_folders(
      f"{cls.root}/source", per_class=4, classes=3, sides=(24, 24)
    )
    cls.source = source
    for name, mix in (("dataset", "png:1,raw:1"), ("pcr", "pcr:1")):
      convert(source, f"{cls.root}/{name}", mix, progress=False)

  def setUp(self):
    super().setUp()
    # What hangs is ended, and is not waited for until the whole test is.
    signal.alarm(120)
    self.addCleanup(signal.alarm, 0)
    self.path = self._copy("dataset")

  def _copy(self, name: str) -> str:
    path = os.path.join(tempfile.mkdtemp(dir=self.root), name)
    return shutil.copytree(os.path.join(self.root, name), path)

  def _check_refused(self, path: str, pattern: str) -> None:
    """Opening fails with this; so does inspecting."""
    with self.assertRaisesRegex(ManifestError, pattern):
      liquid_tf.dataset(path, 4)
    self.assertRegex("\n".join(inspection.inspect(path)["problems"]), pattern)

  @parameterized.parameters("[", '{"a":')
  def test_json_that_is_nested_deep(self, opening):
    pathlib.Path(self.path, manifest.MANIFEST).write_text(opening * 100_000)
    self._check_refused(self.path, "dataset.json is no manifest: .* nested too deep")

  def test_a_manifest_that_is_too_long_is_not_read(self):
    file = os.path.join(self.path, manifest.MANIFEST)
    os.truncate(file, manifest.MOST_MANIFEST + 1)
    self._check_refused(self.path, "dataset.json has 268435457 bytes, and must have at")

  @parameterized.product(
    name=(manifest.MANIFEST, _INDEX, _SHARD),
    kind=("a pipe", "a device", "a folder", "a socket"),
  )
  def test_what_is_no_file_is_refused_at_once(self, name, kind):
    file = os.path.join(self.path, name)
    _put(file, kind)
    wanted = f"{file} cannot be read: is {kind}, and must be a regular file"
    self._check_refused(self.path, f"^{re.escape(wanted)}$")
    problems = inspection.verify(self.path)["problems"]
    self.assertEqual([p for p in problems if name in p], [wanted])

  @parameterized.parameters(_SHARD.replace(".rec", ".idx"), pcr_index.INDEX)
  def test_other_files_of_a_dataset_that_are_none(self, name):
    path = self._copy("pcr") if name == pcr_index.INDEX else self.path
    _put(os.path.join(path, name), "a pipe")
    problems = inspection.verify(path)["problems"]
    self.assertLen(problems, 1)
    self.assertRegex(problems[0], f"{name} cannot be read: is a pipe")

  def test_files_that_change_while_they_are_in_use(self):
    dataset = liquid_tf.dataset(self.path, 4)
    _put(os.path.join(self.path, _SHARD), "a pipe")
    with self.assertRaisesRegex(tf.errors.OpError, f"{_SHARD}.*: is a pipe, and must"):
      list(dataset)

  @parameterized.parameters("a pipe", "a device")
  def test_sources_that_are_no_files(self, kind):
    folder = self.create_tempdir().full_path
    for name in ("x.rec", "x.tfrecord", "x.png", "x.lst", "x.idx"):
      file = os.path.join(folder, name)
      pathlib.Path(file).touch()
      _put(file, kind)
    message = f"is {kind}, and must be a regular file"
    for name in ("x.rec", "x.tfrecord"):
      with self.assertRaisesRegex(ConvertError, f"{name}.* must be"):
        convert(os.path.join(folder, name), f"{folder}/out", "png", progress=False)
    with self.assertRaisesRegex(RecordIOError, message):
      recordio.Reader(os.path.join(folder, "x.rec"))
    with self.assertRaisesRegex(RecordIOError, message):
      recordio.read_list(os.path.join(folder, "x.lst"))
    source = os.path.join(folder, "source")
    shutil.copytree(self.source, source)
    [photo, *_] = sorted(pathlib.Path(source).rglob("*.png"))
    os.rename(os.path.join(folder, "x.png"), photo)
    read = ops.lib().liquid_read_file(path=os.fspath(photo))
    self.assertIn(message, read.error.numpy().decode())
    report = convert(source, f"{folder}/out", "png", progress=False)
    self.assertEqual(report.samples, 11)
    self.assertEqual([entry["reason"] for entry in report.skipped], ["is not a file"])

  def _write_rows(self, rows: np.ndarray) -> None:
    data = manifest.encode_index(rows)
    pathlib.Path(self.path, _INDEX).write_bytes(data)
    crc = manifest.crc32c(data)
    damaged.edit_manifest(self.path, lambda data: data["index"].update(crc32c=crc))

  def test_an_index_of_zeros(self):
    file = pathlib.Path(self.path, _INDEX)
    file.write_bytes(bytes(file.stat().st_size))
    self._check_refused(self.path, "index.npy is damaged")
    self._write_rows(np.zeros(12, manifest.INDEX_DTYPE))
    self._check_refused(self.path, r"index.npy: row 0 \(sample 0\): length \(0\) must")

  @parameterized.parameters(
    ("sample", 12, "be below 12"),
    ("sample", _MOST, "be below 12"),
    ("split", 1, "be that of its shard"),
    ("split", 255, "be that of its shard"),
    ("format", 255, "be that of its shard"),
    ("shard", 2, "be below 2"),
    ("shard", 2**32 - 1, "be below 2"),
    ("offset", 2, "be a multiple of 4"),
    ("offset", 2**63, "be a multiple of 4 that leaves room"),
    ("offset", _MOST - 3, "be a multiple of 4 that leaves room"),
    ("offset", 0, "come after the record of the row before"),
    ("length", 0, "be a multiple of 4 in"),
    ("length", 28, "be a multiple of 4 in"),
    ("length", 33, "be a multiple of 4 in"),
    ("length", 2**40, "be a multiple of 4 in"),
    ("length", _MOST, "be a multiple of 4 in"),
    ("height", 0, "be 24, as features.image"),
    ("width", 2**32 - 1, "be 24, as features.image"),
    ("channels", 1, "be 3, as features.image"),
    ("bits", 16, "be 8, as features.image"),
    ("orientation", 0, "be 1 to 8"),
    ("orientation", 9, "be 1 to 8"),
  )
  def test_rows_that_cannot_be(self, field, value, must):
    rows = np.array(manifest.load_index(manifest.load(self.path)))
    rows[field][3] = value
    self._write_rows(rows)
    self._check_refused(
      self.path,
      rf"/index.npy: row 3 \(sample [0-9]+\): {field} \({value}\) must {must}",
    )

  def test_no_row_gets_past_the_check_and_fails_behind_it(self):
    good = np.array(manifest.load_index(manifest.load(self.path)))
    random = np.random.default_rng(0)
    for _ in range(150):
      rows = good.copy()
      row, field = random.integers(len(rows)), random.choice(rows.dtype.names)
      top = np.iinfo(rows.dtype[field]).max
      change = int(random.choice([0, 1, 2, 4, 8, top, top // 2, top - 7]))
      rows[field][row] = (int(rows[field][row]) + change) % (top + 1)
      self._write_rows(rows)
      with contextlib.suppress(ManifestError):
        liquid_tf.dataset(self.path, 4)

  @parameterized.named_parameters(
    (
      "dtype",
      lambda features: features["image"].update(dtype="uint16"),
      r"row 0 .*: bits \(8\) must be 16, as features.image",
    ),
    (
      "channels",
      lambda features: features["image"]["shape"].__setitem__(2, 1),
      r"row 0 .*: channels \(3\) must be 1, as features.image",
    ),
    (
      "height",
      lambda features: features["image"]["shape"].__setitem__(0, 5),
      r"row 0 .*: height \([0-9]+\) must be 5, as features.image",
    ),
    (
      "fewer classes",
      lambda features: features["label"]["classes"].pop(),
      r"class_counts must have a number for each of features.label.classes \(2\)",
    ),
    (
      "fewer classes and counts",
      lambda features: [features["label"][key].pop() for key in _CLASSES],
      r"class_counts \(sum 8\) must count every one of samples \(12\)",
    ),
    (
      "no counts",
      lambda features: features["label"].pop("class_counts"),
      "class_counts must have a number for each",
    ),
    (
      "mask",
      lambda features: features.update(
        mask={"dtype": "uint8", "shape": [7, None, 1], "example": "mask"}
      ),
      "features.mask.shape .* must be .*, as features.image.shape",
    ),
  )
  def test_features_that_the_index_or_the_manifest_contradicts(self, edit, pattern):
    damaged.edit_manifest(self.path, lambda data: edit(data["features"]))
    self._check_refused(self.path, pattern)

  @parameterized.named_parameters(
    (
      "shape",
      {"dtype": "float32", "shape": [2]},
      "it has 1 labels, features.label says 2",
    ),
    ("none", None, "it has 1 labels, features none"),
  )
  def test_labels_that_the_records_contradict(self, label, pattern):
    def edit(data):
      data["supervised"] = ["image"]
      data["features"].pop("label")
      if label is None:
        data.pop("labels")
      else:
        data["features"]["label"] = label

    damaged.edit_manifest(self.path, edit)
    for open_it in (
      liquid_tf.dataset,
      lambda path: liquid_tf.graph.format_dataset(path, "raw"),
    ):
      with self.assertRaisesRegex(
        ManifestError,
        f"dataset.json does not fit .*rec: of sample .*{pattern}",
      ):
        open_it(self.path)
    result = inspection.verify(self.path)
    self.assertEqual(result["verified"], 0)
    found = [p for p in result["problems"] if "labels.npy" not in p]
    self.assertLen(found, 12)
    self.assertRegex(found[0], f"record 0 .*: {pattern}")
    # It holds other labels than the manifest says, where this has any.
    self.assertLen(result["problems"], 12 + (label is not None))

  def test_classes_that_opening_does_not_show(self):
    def edit(data):
      data["features"]["label"].update(classes=["a", "b"], class_counts=[4, 8])

    damaged.edit_manifest(self.path, edit)
    [beside, *problems] = inspection.verify(self.path)["problems"]
    self.assertRegex(beside, r"labels.npy has a label \(2\) that must be below 2")
    self.assertLen(problems, 4)
    self.assertRegex(problems[0], r"its label \(2\) must be a whole number in \[0, 1\]")

    counts = {"class_counts": [5, 3, 4], "classes": ["a", "b", "c"]}
    damaged.edit_manifest(
      self.path, lambda data: data["features"]["label"].update(counts)
    )
    for look in (inspection.inspect, inspection.verify):
      [problem] = look(self.path)["problems"]
      self.assertRegex(
        problem, r"class_counts\[0\] of .*json is 5, but 4 samples have this label"
      )

  def test_labels_of_pcr(self):
    path = self._copy("pcr")
    self.assertEqual(inspection.verify(path)["problems"], [])
    damaged.edit_manifest(
      path,
      lambda data: data["features"]["label"].update(
        classes=["a", "b"], class_counts=[4, 8]
      ),
    )
    [_, *problems] = inspection.verify(path)["problems"]
    self.assertLen(problems, 4)
    self.assertRegex(
      problems[0], r"image [0-9]+ \(sample .*\): its label \(2\) must be"
    )
    damaged.edit_manifest(
      path,
      lambda data: data["features"].update(label={"dtype": "float32", "shape": [1]}),
    )
    self._check_refused(path, "features.label must be int64 where a format is pcr")

  def test_features_of_examples_have_their_type(self):
    folder = self.create_tempdir().full_path
    file = os.path.join(folder, "x.tfrecord")
    png = tf.io.encode_png(np.zeros([8, 8, 3], np.uint8)).numpy()
    with tf.io.TFRecordWriter(file) as writer:
      for i in range(4):
        feature = {
          "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
          "image/class/label": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[i])
          ),
          "more": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i])),
        }
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        writer.write(example.SerializeToString())
    path = os.path.join(folder, "dataset")
    convert(liquid_tf.Source(file, features=["more"]), path, "png", progress=False)
    self.assertEqual(inspection.verify(path)["problems"], [])
    damaged.edit_manifest(
      path, lambda data: data["features"]["more"].update(dtype="float32")
    )
    pattern = 'has a int64_list of "more", but the dtype of features.more is float32'
    with self.assertRaisesRegex(ManifestError, pattern):
      liquid_tf.dataset(path, 2)
    problems = inspection.verify(path)["problems"]
    self.assertLen(problems, 4)
    self.assertRegex(problems[0], pattern)

  def test_the_reason_of_an_iterators_error(self):
    sample = damaged.samples(self.path, "png")[0]
    damaged.flip(self.path, sample)
    dataset = liquid_tf.dataset(self.path, 4)
    for run in (list, tf.function(lambda batches: batches.reduce(0, lambda n, _: n))):
      with self.assertRaises(tf.errors.DataLossError) as caught:
        run(dataset)
      pattern = f"^{self.path}/{_SHARD}, record 0 .*says 0x[0-9a-f]+; on_error=.*"
      self.assertRegex(ops.reason(caught.exception), pattern)

  def _messages(self) -> dict[str, str]:
    """What many ways to fail say."""
    folder = self.create_tempdir().full_path
    shard = os.path.join(self.path, _SHARD)
    other, bad = self._copy("pcr"), self._copy("dataset")
    [record] = pathlib.Path(other).glob("*.pcr")
    sample = damaged.samples(bad, "png")[0]
    damaged.flip(bad, sample)
    whole = os.path.getsize(shard)
    rec = shutil.copy(shard, os.path.join(folder, "x.rec"))
    os.truncate(rec, whole - 8)
    rgba = Image.fromarray(np.zeros([8, 8, 4], np.uint8), "CMYK")
    files = {
      "no image": lambda: codecs.decode(b"no image"),
      "no l3": lambda: codecs.decode(b"LLL2 and no more"),
      "no window": lambda: codecs.decode(b"", window=(0, 0, -1, 0), format="raw"),
      "no version": lambda: codecs.encode_l3(np.zeros([8, 8, 3], np.uint8), version=7),
      "pillow": lambda: rgba.save(os.path.join(folder, "x.l3")),
      "a damaged sample": lambda: sample_reader.export_sample(
        bad, sample, os.path.join(folder, "x.png")
      ),
      "a record of pcr": lambda: list(pcr.Reader(other)),
      "an index of pcr": lambda: pcr.Reader(other, index=rec),
      "no index of pcr": lambda: pcr.Reader(other, index=os.path.join(folder, "x.pb")),
      "a cut file": lambda: list(recordio.Reader(rec)),
      "no file": lambda: recordio.Reader(os.path.join(folder, "none.rec")),
      "no list": lambda: recordio.read_list(os.path.join(folder, "none.lst")),
      "a cut source": lambda: convert(
        rec, f"{folder}/out", "png", on_error="raise", progress=False
      ),
      "no source": lambda: convert(
        f"{folder}/none.rec", f"{folder}/out", "png", progress=False
      ),
      "one image": lambda: single.convert_image(rec, f"{folder}/x.png"),
    }
    os.truncate(record, record.stat().st_size - 1)
    messages = {}
    for name, fail in files.items():
      with self.assertRaises(Exception) as caught:
        fail()
      messages[name] = str(caught.exception)
    for name, path in (("pcr", other), ("dataset", bad)):
      messages[f"verify {name}"] = "\n".join(inspection.verify(path)["problems"])
    os.unlink(os.path.join(self.path, "png-00000-of-00001.idx"))
    _put(shard, "a folder")
    messages["verify"] = "\n".join(inspection.verify(self.path)["problems"])
    return messages

  def test_messages_are_our_own_sentences(self):
    for name, message in self._messages().items():
      with self.subTest(name):
        self.assertNotEmpty(message)
        for noise in ("function_node", "{{", "[Op:", "[Errno", "__wrapped__"):
          self.assertNotIn(noise, message)
        for line in message.split("\n"):
          names = re.findall(r"[^ :;\"']*/[^ :;\"']*", line)
          self.assertCountEqual(set(names), names, line)
          self.assertNotRegex(line, r"([\w-]+\.[\w.]+)[:;] \1\b")


_CLASSES = ("classes", "class_counts")


if __name__ == "__main__":
  tf.test.main()
