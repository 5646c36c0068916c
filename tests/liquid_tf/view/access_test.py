"""Samples by position: what the pipeline gives, damage, threads and forks."""

import errno
import io
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent import futures
from unittest import mock

import damaged
import examples
import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image
from tensorflow.python.data.experimental.ops import compression_ops

import liquid_tf
from liquid_tf import codecs, recordio, transforms
from liquid_tf._native import direct, ops
from liquid_tf._store import manifest, storage
from liquid_tf._view import inspection, shard_files, stored_record
from liquid_tf._view.view import View
from liquid_tf.errors import RecordError

# Leaves everything open at its end, as a short script does.
_LEAVES_OPEN = """
import keras, sys
import liquid_tf
from liquid_tf import recordio
from liquid_tf._native import http_file

path, record, folder = sys.argv[1:]
view = liquid_tf.open(path)
samples = iter(view)
mixed = liquid_tf.mixture([(view, 1), (view, 2)])
batches = iter(liquid_tf.dataset(mixed, None))
records = iter(recordio.Reader(record))
print(view[0]["id"], *map(len, map(next, (samples, batches, records))))
writer = recordio.Writer(f"{folder}/new.rec")
remote = http_file.HttpFile("http://127.0.0.1:9/a")
"""

_LOSSLESS = ("raw", "bmp", "l3", "l3-compact", "png", "webp")


def _check_all(test: tf.test.TestCase, path: str, features: list[str]) -> None:
  """Every sample of a view has every value that the pipeline gives."""
  view = liquid_tf.open(path)
  names = ["id", "orientation", *features]
  seen = 0
  for split in view.splits:
    data = liquid_tf.dataset(path, None, split=split, shuffle=False, features=names)
    for wanted in data.as_numpy_iterator():
      found = view[int(np.searchsorted(view.numbers, wanted["id"]))]
      test.assertCountEqual(found, [*names, "name"])
      for name in names:
        one, other = np.asarray(found[name]), np.asarray(wanted[name])
        test.assertEqual(one.dtype.kind, other.dtype.kind, name)
        test.assertEqual(one.shape, other.shape, name)
        np.testing.assert_array_equal(one, other, name)
      test.assertEqual(found["image"].dtype, wanted["image"].dtype)
      test.assertTrue(found["image"].flags.writeable)
      test.assertTrue(found["image"].flags.c_contiguous)
      seen += 1
  test.assertLen(view, seen)


def _child(work: Callable[[], bool]) -> int:
  """Exit status of a forked child that does some work; 0 where it returned True."""
  child = os.fork()
  if child == 0:
    signal.alarm(60)  # ends a child that waits for threads that it has not
    os._exit(0 if work() else 1)
  return os.waitpid(child, 0)[1]


class FeaturesTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  @parameterized.parameters(*_LOSSLESS, "jpeg", "webp-lossy", "pcr")
  def test_every_format(self, mix):
    path = runs.make(
      self.root, mix, per_class=5, sides=(24, 60), splits="train:.8,val:.2"
    )
    _check_all(self, path, ["image", "label"])

  def test_a_mix_of_records_of_many_shards(self):
    path = runs.make(
      self.root, "png:2,raw:3,l3:1,pcr:1", extension="jpg", shard_size=20_000
    )
    _check_all(self, path, ["image", "label"])

  @parameterized.product(bits=(8, 16), channels=(1, 2, 3, 4))
  def test_channels_and_bits(self, bits, channels):
    random = np.random.default_rng(channels)
    dtype = np.uint16 if bits == 16 else np.uint8
    for i in range(6):
      pixels = random.integers(0, 2**bits, (9 + i, 31, channels), dtype)
      name = pathlib.Path(self.root, "source", f"{i}.png")
      name.parent.mkdir(exist_ok=True)
      name.write_bytes(codecs.encode(pixels, "png").numpy())
    path = os.path.join(self.root, "dataset")
    source = os.path.join(self.root, "source")
    liquid_tf.convert(source, path, "raw:1,png:1,l3:1", progress=False)
    _check_all(self, path, ["image"])

  def test_masks(self):
    random = np.random.default_rng(0)
    for i in range(8):
      size = (20 + i, 32)
      pixels = photos.crop(photos.photo("coffee"), size, random)
      photos.save(f"{self.root}/images/{i}.png", pixels)
      numbers = random.integers(0, 12, size).astype(np.uint8)
      photos.save(f"{self.root}/masks/{i}.png", numbers)
    source = liquid_tf.Source(f"{self.root}/images", masks=f"{self.root}/masks")
    path = f"{self.root}/dataset"
    liquid_tf.convert(source, path, "l3:1,raw:1", progress=False)
    _check_all(self, path, ["image", "mask"])

  def test_boxes_and_other_features(self):
    images, boxes = [], []
    for i, size in enumerate([(30, 40), (20, 50), (10, 12)]):
      pixels = photos.crop(photos.photo("coffee"), size, np.random.default_rng(i))
      photos.save(f"{self.root}/images/{i}.png", pixels)
      images.append({"id": 10 + i, "file_name": f"{i}.png"})
      for k in range(i):
        boxes.append(
          {"id": len(boxes), "image_id": 10 + i, "category_id": 4, "iscrowd": k}
          | {"bbox": [k, 2, 5.5, 6], "keypoints": [1, 2, k], "area": 33}
        )
    categories = [{"id": 4, "name": "cat", "keypoints": ["nose"]}]
    coco = {"images": images, "annotations": boxes, "categories": categories}
    annotations = f"{self.root}/coco.json"
    pathlib.Path(annotations).write_text(json.dumps(coco))
    path = f"{self.root}/dataset"
    source = liquid_tf.Source(f"{self.root}/images", annotations=annotations)
    liquid_tf.convert(source, path, "l3:1,raw:1", progress=False)
    names = ["boxes", "box_labels", "keypoints", "area", "iscrowd", "image_id"]
    _check_all(self, path, ["image", *names])

  def test_features_of_examples(self):
    samples = [
      {"image/encoded": image, "image/class/label": i % 3}
      | {
        "words": [b"a"] * (i + 1),
        "scores": [0.5 * k for k in range(i + 1)],
        "n": [i, i],
      }
      for i, image in enumerate(examples.images(6))
    ]
    source = os.path.join(self.root, "source", "a.tfrecord")
    examples.write(source, samples)
    path = os.path.join(self.root, "dataset")
    names = ["words", "scores", "n"]
    source = liquid_tf.Source(source, features=names)
    liquid_tf.convert(source, path, "png:1,raw:1", progress=False)
    _check_all(self, path, ["image", "label", *names])

  def test_vectors_of_labels(self):
    samples = [
      {"image/encoded": image, "image/class/label": [0.5, float(i)]}
      for i, image in enumerate(examples.images(6))
    ]
    source = os.path.join(self.root, "source", "a.tfrecord")
    examples.write(source, samples)
    path = os.path.join(self.root, "dataset")
    liquid_tf.convert(liquid_tf.Source(source), path, "png:1,raw:1", progress=False)
    _check_all(self, path, ["image", "label"])

  def test_a_name_is_that_of_the_source(self):
    path = runs.make(self.root, "png:1,raw:1,pcr:1", per_class=3, extension="jpg")
    view = liquid_tf.open(path)
    source = pathlib.Path(self.root, "source")
    files = sorted(str(file.relative_to(source)) for file in source.glob("*/*.jpg"))
    self.assertEqual([sample["name"] for sample in view], files)
    self.assertEqual(view.names(view.numbers), files)
    part = view.take([7, 2])
    self.assertEqual([sample["name"] for sample in part], [files[2], files[7]])
    self.assertEqual(part.names([7, 2]), [files[7], files[2]])

  def test_a_feature_called_name_stays(self):
    samples = [
      {"image/encoded": image, "name": [f"mine {i}".encode()]}
      for i, image in enumerate(examples.images(3))
    ]
    source = os.path.join(self.root, "source", "a.tfrecord")
    examples.write(source, samples)
    path = os.path.join(self.root, "dataset")
    source = liquid_tf.Source(source, label_feature="", features=["name"])
    liquid_tf.convert(source, path, "png", progress=False)
    view = liquid_tf.open(path)
    found = [np.ravel(sample["name"]).tolist() for sample in view]
    self.assertEqual(found, [[b"mine 0"], [b"mine 1"], [b"mine 2"]])
    self.assertStartsWith(view.names([1])[0], "a.tfrecord")

  def test_damaged_names_are_named(self):
    path = runs.make(self.root, per_class=2)
    file = pathlib.Path(path, manifest.load(path)["names"]["text"]["path"])
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    view = liquid_tf.open(path)
    with self.assertRaisesRegex(manifest.ManifestError, f"{file.name}.*CRC-32C"):
      view[0]

  def test_a_record_in_several_parts(self):
    # RecordIO splits a record at each of these words in it.
    pixels = np.zeros((8, 8, 3), np.uint8)
    words = pixels.reshape(-1).view("<u4")
    words[[0, 1, 7, 40]] = 0xCED7230A
    photos.save(f"{self.root}/source/0.png", pixels)
    path = f"{self.root}/dataset"
    liquid_tf.convert(f"{self.root}/source", path, "raw", progress=False)
    [row] = manifest.load_index(manifest.load(path))
    self.assertEqual(row["length"], 8 * 5 + 24 + 16 + 192 - 4 * 4)
    np.testing.assert_array_equal(liquid_tf.open(path)[0]["image"], pixels)
    _check_all(self, path, ["image"])

  def test_through_the_file_systems_of_tensorflow(self):
    path = runs.make(self.root, "png:1,raw:1,pcr:1", per_class=4, extension="jpg")
    local, remote = liquid_tf.open(path), liquid_tf.open(f"file://{path}")
    for one, other in zip(local, remote, strict=True):
      self.assertEqual(runs.digest(one), runs.digest(other))
    damaged.flip(path, damaged.samples(path, "raw")[0])
    sample = damaged.samples(path, "raw")[0]
    with self.assertRaisesRegex(RecordError, damaged.where(path, sample)):
      remote[sample]


class AccessTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(
      root, "png:2,raw:2,l3:1", sides=(16, 40), splits="train:.8,val:.2"
    )
    cls.view = liquid_tf.open(cls.path)
    cls.digests = [runs.digest(sample) for sample in cls.view]

  def test_positions(self):
    self.assertLen(self.digests, 100)
    for i in (0, 17, np.int64(99), -1, -100, np.uint8(5)):
      self.assertEqual(runs.digest(self.view[i]), self.digests[i])
    self.assertEqual(self.view[7]["id"], 7)

  def test_positions_that_are_none(self):
    for i in (100, -101, 2**70):
      with self.assertRaisesRegex(
        IndexError, rf"index \({i}\) must be in \[-100, 100\) of <View of .*: 100 samp"
      ):
        self.view[i]
    with self.assertRaisesRegex(KeyError, r"column .*3.* must be one of number, name"):
      self.view["3"]
    for key in (1.0, None, [1, 2], np.array([True, False])):
      with self.assertRaisesRegex(TypeError, r"index \(.*\) must be a whole number"):
        self.view[key]

  def test_positions_in_a_part(self):
    part = self.view.split("val").where(lambda t: t["number"] % 2 == 0)
    numbers = part.numbers.tolist()
    self.assertLess(len(numbers), 20)
    for i, number in enumerate(numbers):
      self.assertEqual(part[i]["id"], number)
      self.assertEqual(runs.digest(part[i]), self.digests[number])
    self.assertEqual([sample["id"] for sample in part], numbers)
    with self.assertRaisesRegex(IndexError, f"{len(numbers)} samples of val"):
      part[len(numbers)]

  def test_slices_are_views(self):
    for key in (slice(3, 9), slice(-5, None), slice(None, None, 7), slice(90, 2000)):
      part = self.view[key]
      self.assertIsInstance(part, View)
      self.assertEqual(part.numbers.tolist(), list(range(100))[key])
      self.assertEqual(runs.digest(part[0]), self.digests[key][0])
    self.assertEqual(self.view[10:50][5:][0]["id"], 15)
    with self.assertRaisesRegex(ValueError, r"the step of a slice \(-1\) must be at"):
      self.view[::-1]
    with self.assertRaisesRegex(ValueError, r"\[5:5\] must choose a sample"):
      self.view[5:5]

  def test_of_several_encodings_the_fastest_without_loss(self):
    root = self.create_tempdir().full_path
    path = runs.make(
      root, "jpeg:1,png:1,l3:1,webp:1", replicate=True, per_class=3, shard_size=5_000
    )
    view = liquid_tf.open(path)
    index = view.index
    for i in range(len(view)):
      row = index[view[i : i + 1].places[0]]
      self.assertEqual(row["sample"], i)
      self.assertEqual(manifest.FORMATS[row["format"]], "l3")

  def test_threads(self):
    order = np.random.default_rng(0).permutation(np.tile(np.arange(100), 6)).tolist()
    view = liquid_tf.open(self.path)
    with futures.ThreadPoolExecutor(8) as pool:
      found = list(pool.map(lambda i: runs.digest(view[i]), order))
    self.assertEqual(found, [self.digests[i] for i in order])

  def test_pickles_read_without_what_was_open(self):
    part = self.view[10:20]
    part[0]
    size = len(pickle.dumps(part))
    self.assertLess(size, 1000)
    again = pickle.loads(pickle.dumps(part))
    self.assertEqual([runs.digest(sample) for sample in again], self.digests[10:20])

  def test_a_process_that_ends_with_open_files_says_nothing(self):
    record = next(pathlib.Path(self.path).glob("*.rec"))
    folder = self.create_tempdir().full_path
    done = subprocess.run(
      [sys.executable, "-c", _LEAVES_OPEN, self.path, record, folder],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertStartsWith(done.stdout, "0 ")
    self.assertNotRegex(done.stderr, "Exception ignored|Traceback")

  def _past(self, free: int) -> set[bool]:
    """How the files of this dataset are read, with so much free memory."""
    with mock.patch.object(shard_files, "free_memory", return_value=free):
      view = liquid_tf.open(self.path)
      self.assertEqual([runs.digest(sample) for sample in view], self.digests)
    files = view._reader._records._files._files.values()
    return {file.past_cache for file in files}

  def test_what_memory_has_no_room_for_goes_past_the_page_cache(self):
    stored = sum(shard.bytes for shard in self.view.manifest.shards)
    self.assertEqual(self._past(stored), {False})
    self.assertEqual(self._past(stored - 1), {True})

  def test_a_file_system_that_cannot(self):
    real = os.open

    def refuse(path, flags, *more, **named):
      if flags & os.O_DIRECT:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
      return real(path, flags, *more, **named)

    with mock.patch.object(os, "open", refuse):
      self.assertEqual(self._past(0), {False})

  def test_few_files_are_open(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "raw", per_class=10, shard_size=4096)

    def opened() -> int:
      links = pathlib.Path("/proc/self/fd").iterdir()
      files = [os.path.realpath(link) for link in links]
      return sum(file.startswith(path) and file.endswith(".rec") for file in files)

    view = liquid_tf.open(path)
    shards = len(view.manifest.shards)
    self.assertGreater(shards, 12)
    with mock.patch.object(shard_files, "_MOST_OPEN", 5):
      list(view)
    self.assertEqual(opened(), 5)
    view = liquid_tf.open(path)
    self.assertEqual(opened(), 0)
    list(view)
    list(view[3:])
    list(view.split("train"))
    self.assertEqual(opened(), shards)


class DamageTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  def _where(self, path: str, sample: int, name: str) -> str:
    if name != "pcr":
      return damaged.where(path, sample, name)
    shard = os.path.basename(damaged.shard_of(path, sample, name))
    return rf"{shard}, image \d+ \(sample {sample}\)"

  @parameterized.parameters("raw", "png", "l3", "pcr")
  def test_says_file_record_and_offset(self, name):
    path = runs.make(self.root, name, per_class=3, extension="jpg")
    view = liquid_tf.open(path)
    if name == "pcr":
      file = pathlib.Path(damaged.shard_of(path, 5))
      data = bytearray(file.read_bytes())
      data[len(data) // 2] ^= 1
      file.write_bytes(data)
    else:
      damaged.flip(path, 5)
    with self.assertRaisesRegex(
      RecordError, self._where(path, 5, name) + ": .*CRC-32C"
    ):
      view[5]
    if name != "pcr":
      self.assertEqual(view[4]["id"], 4)

  @parameterized.product(name=["raw", "l3", "pcr"], free=[0, 1 << 40])
  def test_files_that_are_cut_off_or_gone(self, name, free):
    patched = mock.patch.object(shard_files, "free_memory", return_value=free)
    self.enter_context(patched)
    path = runs.make(self.root, name, per_class=3, extension="jpg")
    view = liquid_tf.open(path)
    last = damaged.samples(path, name)[-1]
    file = damaged.shard_of(path, last)
    os.truncate(file, os.path.getsize(file) - 7)
    with self.assertRaisesRegex(
      RecordError, self._where(path, last, name) + ": its file ends at offset"
    ):
      view[last]
    os.remove(file)
    with self.assertRaisesRegex(
      RecordError, self._where(path, last, name) + ": cannot be read: No such file"
    ):
      view._reader._records._files._files.clear()
      view[last]

  @parameterized.parameters(
    (lambda image: bytes(len(image)), "raw", "has another size"),
    (lambda image: bytes(len(image)), "l3", "l3"),
    (lambda image: image[:4] + b"\xff" + image[5:], "raw", "has another size"),
    (damaged.lie_about_size, "png", "expected 24 x 24"),
  )
  def test_images_that_are_others_than_the_index_says(self, change, name, reason):
    path = runs.make(self.root, name, per_class=3)
    damaged.repack(path, 5, change)
    with self.assertRaisesRegex(
      RecordError, damaged.where(path, 5) + f": .*({reason})"
    ):
      liquid_tf.open(path)[5]

  def test_of_several_encodings_another_one_is_read(self):
    path = runs.make(self.root, "raw:1,l3:1,png:1,jpeg:1", replicate=True, per_class=3)
    sound = [runs.digest(sample) for sample in liquid_tf.open(path)]
    damaged.flip(path, 5, "raw")
    damaged.flip(path, 6, "raw")
    damaged.wipe(path, 6, "l3")
    view = liquid_tf.open(path)
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      found = [runs.digest(sample) for sample in view]
    self.assertEqual(found, sound)
    self.assertLen(logs.output, 2)
    for line, sample, name in zip(logs.output, (5, 6), ("l3", "png")):
      where = damaged.where(path, sample, "raw")
      self.assertRegex(line, where + f": .*; read as {name} from now on")
    with self.assertNoLogs("liquid_tf", "WARNING"):
      self.assertEqual(runs.digest(view[5]), sound[5])
    for name in ("l3", "png", "jpeg"):
      damaged.wipe(path, 5, name)
    with self.assertRaisesRegex(RecordError, damaged.where(path, 5, "raw")):
      liquid_tf.open(path)[5]

  def test_a_process_without_file_handles_is_no_damage(self):
    path = runs.make(self.root, "raw:1,l3:1", replicate=True, per_class=3)
    view = liquid_tf.open(path)

    def fail(*unused):
      raise OSError(24, "Too many open files")

    view[0]
    view._reader._records._files._files.clear()
    view._reader._records._files._open = fail
    with self.assertRaisesRegex(OSError, "Too many open files"):
      view[1]

  def test_records_that_are_none(self):
    path = runs.make(self.root, "raw", per_class=3)
    view = liquid_tf.open(path)
    row = view.index[5]
    shard = pathlib.Path(damaged.shard_of(path, int(row["sample"]))).read_bytes()
    framed = shard[row["offset"] :][: row["length"]]
    sample = int(row["sample"])

    def parse(data: bytes, number: int = sample):
      return stored_record.parse(np.frombuffer(data, np.uint8), number)

    self.assertEqual(parse(framed).labels, (view[sample]["label"],))
    with self.assertRaisesRegex(ValueError, f"it is sample {sample}, the index says 7"):
      parse(framed, 7 if sample != 7 else 8)
    random = np.random.default_rng(1)
    for size in range(0, 60):
      with self.assertRaises(ValueError):
        parse(framed[:size])
    for _ in range(2000):
      data = bytearray(framed)
      for at in random.integers(0, 32, random.integers(1, 4)):
        data[at] = random.integers(0, 256)
      try:
        found = parse(bytes(data))
      except ValueError:
        continue
      self.assertLessEqual(
        len(found.image) + len(found.example) + 4 * len(found.labels), len(framed)
      )


class JpegIndexTest(tf.test.TestCase):
  """Records that have the index of their JPEG give what they give without."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.root = folder.name
    random = np.random.default_rng(4)
    for i in range(12):
      pixels = photos.crop(photos.photo("coffee"), random.integers(50, 140, 2), random)
      # Those of JPEG are copied, of which the library decodes one; PNG is encoded.
      is_png = i % 4 == 3
      options = {} if is_png else {"subsampling": i % 3, "progressive": i == 4}
      name = f"{'ab'[i % 2]}/{i}.{'png' if is_png else 'jpg'}"
      photos.save(f"{cls.root}/source/{name}", pixels, **options)
    cls.paths = {index: f"{cls.root}/{index}" for index in ("none", "row", 8)}
    for index, path in cls.paths.items():
      cls._convert(f"{cls.root}/source", path, index)

  @classmethod
  def _convert(cls, source, path: str, index: str | int) -> None:
    encoders = {"jpeg": {"index": index}}
    liquid_tf.convert(source, path, "jpeg:1", encoders=encoders, progress=False)

  def _stored(self, path: str) -> dict[str, stored_record.Stored]:
    view = liquid_tf.open(path)
    read = stored_record.StoredRecords(view.manifest).read
    rows = [stored_record.Row._make(row.item()) for row in view.index]
    return {view[row.sample]["name"]: read(row) for row in rows}

  def test_what_is_stored(self):
    plain = self._stored(self.paths["none"])
    sizes = {}
    for index, path in self.paths.items():
      found = self._stored(path)
      self.assertCountEqual(found, plain)
      for name, one in found.items():
        self.assertEqual(bytes(one.image), bytes(plain[name].image))
        self.assertEqual(one.labels, plain[name].labels)
        if name.endswith("jpg"):
          file = pathlib.Path(self.root, "source", name)
          self.assertEqual(bytes(one.image), file.read_bytes())
      with_index = {name for name, one in found.items() if len(one.index)}
      expected = set() if index == "none" else set(plain) - {"a/4.jpg"}
      self.assertEqual(with_index, expected)
      sizes[index] = sum(len(one.index) for one in found.values())
      result = inspection.verify(path)
      self.assertEqual(result["problems"], [])
      without = len(plain) - len(expected)
      wanted = {"records": len(expected), "bytes": sizes[index], "without": without}
      self.assertEqual(result["jpeg_index"], wanted)
      self.assertEqual(liquid_tf.inspect(path)["jpeg_index"], wanted)
    self.assertLess(0, sizes["row"])
    self.assertLess(sizes["row"], sizes[8])

  def _decoded(self, path: str) -> dict[str, list[str]]:
    """Hashes of all that each way of reading gives."""
    crop = [transforms.RandomResizedCrop(32), transforms.Mirror()]
    options = {"features": ["id", "image", "label"], "transforms": crop}
    found = {"view": [runs.digest(sample) for sample in liquid_tf.open(path)]}
    for cache in (0, "50%", liquid_tf.Cache("100%", form="pixels")):
      data = liquid_tf.dataset(path, 4, cache=cache, seed=3, **options)
      found[f"cache {cache}"] = [runs.digests(data) for _ in range(2)]
    views = transforms.Views([crop, crop])
    data = liquid_tf.dataset(path, 4, seed=3, transforms=views)
    found["views"] = runs.digests(data)
    data = liquid_tf.dataset(path, 4, seed=3, features=["id", "bytes"])
    found["bytes"] = runs.digests(data)
    with liquid_tf.loader(path, 4, cache=0, seed=3, **options) as loader:
      found["loader"] = [runs.digest(batch) for batch in loader]
    for form in ("encoded", "pixels"):
      data = liquid_tf.graph.decode_and_batch(self._sent(path, form), **options)
      found[f"sent {form}"] = [runs.digests(data) for _ in range(2)]
    return found

  def _sent(self, path: str, form: str) -> tf.data.Dataset:
    """Blocks of records that were serialized, as between processes."""
    snapshot = liquid_tf.graph.Snapshot(liquid_tf.Cache("100%", form), "64MiB")
    source = liquid_tf.graph.format_dataset(path, "jpeg")
    blocks = liquid_tf.graph.interleave([source], snapshot, batch_size=4)

    def sent(block):
      packed = compression_ops.compress(block)
      return compression_ops.uncompress(packed, blocks.element_spec)

    return blocks.map(sent)

  def test_pixels(self):
    self.assertEqual(*map(self._decoded, (self.paths["none"], self.paths[8])))

  def test_files_come_out_as_they_were(self):
    outputs = {}
    for index in ("none", 8):
      for kind in ("folder", "rec"):
        output = f"{self.root}/{kind}-{index}"
        liquid_tf.export(self.paths[index], output, kind, progress=False)
        outputs[kind, index] = photos.tree(output)
        del outputs[kind, index][".liquid_export.json"]  # It has the dataset's hash.
      for kind, source in (
        ("copy", self.paths[index]),
        ("of-records", f"{self.paths[index]}/*.rec"),
      ):
        output = f"{self.root}/{kind}-{index}"
        self._convert(source, output, "none")
        found = self._stored(output).values()
        self.assertTrue(all(len(one.index) == 0 for one in found))
        outputs[kind, index] = sorted(bytes(one.image) for one in found)
    for kind in ("folder", "rec", "copy", "of-records"):
      self.assertTrue(outputs[kind, 8] == outputs[kind, "none"], kind)
    source = photos.tree(f"{self.root}/source")
    files = set(outputs["folder", 8].values())
    self.assertLess({source[name] for name in source if name.endswith("jpg")}, files)

  def test_readers_that_do_not_know_it(self):
    shard = f"{self.paths[8]}/jpeg-00000-of-00001.rec"
    stored = {
      bytes(one.image): one.index for one in self._stored(self.paths[8]).values()
    }
    for record in recordio.Reader(shard):
      header, data = recordio.unpack(record)
      image = data[: header.id2] if header.id2 else data
      self.assertEqual(data[len(image) :], bytes(stored.pop(image)))
      # MXNet and DALI decode all that follows the header.
      both = [np.asarray(Image.open(io.BytesIO(file))) for file in (image, data)]
      np.testing.assert_array_equal(*both)
    self.assertEmpty(stored)

  def test_a_wrong_index_is_an_error_everywhere(self):
    path = f"{self.root}/wrong"
    shutil.copytree(self.paths[8], path)
    view = liquid_tf.open(path)
    sample = next(i for i, one in enumerate(view) if one["name"] == "a/0.jpg")

    def change(index: bytes) -> bytes:
      return index[:-5] + bytes([index[-5] ^ 1]) + index[-4:]

    damaged.repack(path, sample, change, part="index")
    where, ragged = damaged.where(path, sample), [transforms.Ragged()]
    with self.assertRaisesRegex(RecordError, f"{where}.*index is damaged"):
      liquid_tf.open(path)[sample]
    blocks = self._sent(path, "encoded")
    for data in (
      liquid_tf.dataset(path, 4, transforms=ragged),
      liquid_tf.graph.decode_and_batch(blocks, transforms=ragged),
    ):
      with self.assertRaisesRegex(
        tf.errors.DataLossError, f"{where}.*index is damaged"
      ):
        list(data)
    with liquid_tf.loader(path, 4, transforms=ragged) as loader:
      with self.assertRaisesRegex(RecordError, f"{where}.*index is damaged"):
        list(loader)
    problem = inspection.verify(path)["problems"][0]
    self.assertRegex(problem, f"{where}: the index of its JPEG .*edit")
    # The file itself is right.
    liquid_tf.export(path, f"{self.root}/right", "folder", progress=False)


class ForkTest(tf.test.TestCase):
  def test_a_child_decodes_large_images_after_its_parent(self):
    root = self.create_tempdir().full_path
    pixels = np.tile(photos.photo("chelsea"), (7, 7, 1))[:2000, :3000]
    for i in range(3):
      photos.save(f"{root}/source/{i}.png", np.roll(pixels, i, 0))
    path = f"{root}/dataset"
    liquid_tf.convert(f"{root}/source", path, "l3:1,l3-compact:1,png:1", progress=False)
    view = liquid_tf.open(path)
    wanted = [runs.digest(sample) for sample in view]
    # The parent's threads are many, and the child has none of them.
    large = codecs.encode_l3(pixels)
    codecs.decode(large).numpy()

    def same() -> bool:
      mine = [runs.digest(sample) for sample in view]
      again = [runs.digest(sample) for sample in pickle.loads(pickle.dumps(view))]
      return mine == again == wanted

    self.assertEqual(_child(same), 0)
    self.assertEqual(_child(lambda: _child(same) == 0), 0)
    self.assertTrue(same())

  def test_children_read_while_their_parent_does(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "raw:1,png:1")
    view = liquid_tf.open(path)
    wanted = [runs.digest(sample) for sample in view]

    def same(_) -> bool:
      return [runs.digest(sample) for sample in view] == wanted

    with futures.ThreadPoolExecutor(3) as pool:
      reading = [pool.submit(same, i) for i in range(12)]
      for _ in range(6):
        self.assertEqual(_child(lambda: same(0)), 0)
      self.assertTrue(all(one.result() for one in reading))


class DirectTest(tf.test.TestCase):
  def test_checksums_are_those_of_the_op(self):
    random = np.random.default_rng(0)
    for size in (0, 1, 7, 8, 3000, 3073, 100_000):
      data = random.bytes(size)
      for crc in (0, 1, 2**32 - 1):
        wanted = int(ops.lib().liquid_crc32c(data, np.int64(crc)))
        self.assertEqual(storage.crc32c(data, crc), wanted)

  def test_limits_come_before_memory(self):
    file = np.zeros(10, np.uint8)
    with self.assertRaisesRegex(ValueError, "4294967295 x 4294967295 pixels has more"):
      direct.decode(
        file, (2**32 - 1, 2**32 - 1, 3), np.uint8, liquid_tf.codecs.Limits()
      )
    with self.assertRaisesRegex(ValueError, "crc32cs"):
      direct.pcr_places(file, np.ones(3), np.ones(2), 1)


if __name__ == "__main__":
  tf.test.main()
