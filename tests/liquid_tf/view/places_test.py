"""What was opened stays what it was, wherever the process and the files go."""

import os
import pathlib
import pickle
import shutil
import tempfile

import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import pcr, recordio
from liquid_tf._store import storage
from liquid_tf.errors import ConvertError, ManifestError, RecordError

_FEATURES = ["id", "image", "label"]


def _digests(dataset):
  return runs.digests(dataset.map(lambda batch: [batch[key] for key in _FEATURES]))


class AbsoluteTest(tf.test.TestCase):
  def test_paths(self):
    root = os.path.realpath(self.create_tempdir().full_path)
    os.makedirs(f"{root}/far/below")
    os.symlink(f"{root}/far/below", f"{root}/link")
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(root)
    for path, wanted in (
      ("data", f"{root}/data"),
      (pathlib.Path("a/data/"), f"{root}/a/data"),
      ("/a//b/", "/a/b"),
      ("link/data", f"{root}/link/data"),
      # As the system reads it: not beside the link, but above what it names.
      ("link/../data", f"{root}/far/data"),
      ("s3://bucket/../data/", "s3://bucket/../data/"),
    ):
      self.assertEqual(storage.absolute(path), wanted)

  def test_an_empty_path_is_no_dataset(self):
    for take in (liquid_tf.open, liquid_tf.dataset, liquid_tf.inspect):
      with self.assertRaisesRegex(ValueError, 'path \\(""\\) must not be empty'):
        take("")


class FolderTest(parameterized.TestCase, tf.test.TestCase):
  """Of two folders, each with a dataset of the same relative path."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.home = os.getcwd()
    cls.addClassCleanup(os.chdir, cls.home)
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.here, cls.there = f"{root}/here", f"{root}/there"
    for folder, count in ((cls.here, 9), (cls.there, 12)):
      os.mkdir(folder)
      runs.make(folder, "png:1,raw:1", per_class=count, splits="train:.6,val:.4")

  def setUp(self):
    super().setUp()
    os.chdir(self.here)

  def _elsewhere(self):
    """Yields places to go to, where the path means another dataset, and nothing."""
    for place in (self.there, "/"):
      os.chdir(place)
      yield

  def test_views_and_datasets(self):
    options = dict(features=_FEATURES, seed=3)
    wanted = _digests(liquid_tf.dataset(f"{self.here}/dataset", 8, **options))
    view = liquid_tf.open("dataset").split("train")
    pair = liquid_tf.mixture([(view, 1), (liquid_tf.open("dataset").split("val"), 1)])
    blocks = liquid_tf.graph.format_dataset("dataset", "raw")
    raw = blocks.rows["sample"].tolist()
    names = view.names(view.numbers)

    def made():
      return liquid_tf.dataset("dataset", 8, **options)

    def epochs():
      return liquid_tf.graph.epochs("dataset", 1, batch_size=8, **options)

    begun = [made() for _ in range(2)]
    parts = [epochs() for _ in range(2)]
    mixed = _digests(liquid_tf.dataset(pair, 8, **options))
    for i, _ in enumerate(self._elsewhere()):
      self.assertEqual(_digests(begun[i]), wanted)
      self.assertEqual(_digests(parts[i]), wanted)
      self.assertEqual(_digests(liquid_tf.dataset(view, 8, **options)), wanted)
      self.assertEqual(_digests(liquid_tf.dataset(pair, 8, **options)), mixed)
      self.assertEqual(view[1]["id"], view.numbers[1])
      self.assertEqual(view.names(view.numbers), names)
      self.assertLen(view.where("height > 0"), len(view))
      again = pickle.loads(pickle.dumps(view))
      self.assertEqual(again.fingerprint, view.fingerprint)
      self.assertEqual(liquid_tf.verify(view)["problems"], [])
      read = liquid_tf.graph.decode_and_batch(blocks, features=["id"])
      self.assertEqual(runs.flat(runs.ids(read)), raw)

  def test_what_keeps_a_path(self):
    with recordio.Writer("a.rec") as writer:
      for number in range(5):
        writer.write(bytes([number]) * 9, key=number)
    with pcr.Writer("progressive") as writer:
      pixels = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
      writer.write(tf.io.encode_jpeg(pixels).numpy())
    reader = recordio.Reader("a.rec", index=True)
    records = recordio.dataset(["a.rec"])
    progressive = pcr.Reader("progressive")
    os.mkdir("tier")
    cache = liquid_tf.Cache("20%", disk="tier", disk_size="2MiB")
    train = liquid_tf.dataset("dataset", 8)
    resume = liquid_tf.keras.Resume(train, "run")
    log = liquid_tf.keras.TensorBoardStats(train, "logs")
    report = liquid_tf.dataset("dataset", 8, features=["id"], seed=1)
    wanted = runs.ids(report)
    os.chdir(self.there)
    self.assertLen(list(reader), 5)
    self.assertLen(list(records), 5)
    self.assertLen(progressive[0].images, 1)
    # Before any of them, this folder has none of theirs.
    tiered = liquid_tf.dataset(
      f"{self.here}/dataset", 8, features=["id"], seed=1, cache=cache
    )
    self.assertCountEqual(runs.flat(runs.ids(tiered)), runs.flat(wanted))
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    model.fit(
      train.map(lambda x, y: (x, tf.one_hot(y, 4))),
      epochs=1,
      verbose=0,
      callbacks=[resume, log],
    )
    self.assertNotEmpty(os.listdir(f"{self.here}/run"))
    self.assertNotEmpty(os.listdir(f"{self.here}/logs"))
    self.assertCountEqual(os.listdir("."), ["source", "dataset"])


class ReplacedTest(tf.test.TestCase):
  """Of a dataset in whose place another one is put."""

  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    # Of images of one size, whose records stand in the same places.
    self.path = runs.make(self.root, "raw:1", per_class=6, splits="train:.5,val:.5")

  def _replace(self, **options):
    source = f"{self.root}/source"
    shutil.rmtree(source)
    photos.class_folders(source, per_class=7, classes=3, sides=(24, 24))
    liquid_tf.convert(
      source, self.path, "raw:1", existing="replace", progress=False, **options
    )

  def test_a_view_says_so(self):
    view = liquid_tf.open(self.path)
    weighted = view.weighted({0: 2.0})
    source = liquid_tf.Source(view)
    train = liquid_tf.dataset(view, 4)
    self._replace()
    out = f"{self.root}/out"
    for take in (
      lambda: liquid_tf.dataset(view),
      lambda: liquid_tf.dataset(view.split("train")),
      lambda: liquid_tf.dataset(weighted),
      lambda: liquid_tf.dataset(liquid_tf.mixture([(view, 1)])),
      lambda: liquid_tf.graph.epochs(view, 1),
      lambda: liquid_tf.graph.format_dataset(view, "raw"),
      lambda: liquid_tf.export(view, out, "rec", progress=False),
      lambda: liquid_tf.convert(source, out, "raw:1", progress=False),
      lambda: liquid_tf.remove(view.take([0])),
      lambda: view[0],
      lambda: view.names([0]),
      lambda: view.where('name == "coffee/0000.png"'),
      lambda: view.where("label == 1"),
      lambda: view.balanced(),
    ):
      with self.assertRaisesRegex(
        (ManifestError, ConvertError),
        f"{self.path} was replaced .* since this view .* open it again",
      ):
        take()
    for look in (liquid_tf.inspect, liquid_tf.verify):
      [problem] = look(view)["problems"]
      self.assertIn("was replaced by another dataset", problem)
    # What was made of it says so too, and gives no sample of the other dataset.
    with self.assertRaisesRegex(tf.errors.DataLossError, "was replaced since"):
      list(train)
    self.assertLen(liquid_tf.open(self.path), 21)

  def test_a_reader_that_is_open_keeps_the_old_one(self):
    view = liquid_tf.open(self.path)
    before = [view[i] for i in range(3)]
    self._replace()
    for sample, wanted in zip((view[i] for i in range(3)), before):
      self.assertAllEqual(sample["image"], wanted["image"])
      self.assertEqual(sample["name"], wanted["name"])

  def test_the_same_again_is_no_other_dataset(self):
    view = liquid_tf.open(self.path)
    liquid_tf.convert(
      f"{self.root}/source",
      self.path,
      "raw:1",
      splits="train:.5,val:.5",
      existing="replace",
      progress=False,
    )
    self.assertLen(list(liquid_tf.dataset(view, None)), 24)
    self.assertEqual(view[0]["id"], 0)

  def test_a_damaged_record_is_called_that(self):
    view = liquid_tf.open(self.path)
    shard = pathlib.Path(self.path, view.manifest.shards[0].path)
    data = bytearray(shard.read_bytes())
    for place in range(100, len(data), 200):
      data[place] ^= 1
    shard.write_bytes(data)
    with self.assertRaisesRegex(RecordError, "its CRC-32C is"):
      [view[i] for i in range(len(view))]

  def test_a_version_stays_until_it_is_forgotten(self):
    view = liquid_tf.open(self.path)
    liquid_tf.remove(view.take([0, 3]))
    liquid_tf.annotate(self.path, {"number": [1], "score": [0.5]})
    liquid_tf.compact(self.path, progress=False)
    self.assertLen(list(liquid_tf.dataset(view, None)), 24)
    self.assertEqual(view[3]["id"], 3)
    new = liquid_tf.open(self.path)
    liquid_tf.compact(self.path, forget="older", progress=False)
    self.assertLen(list(liquid_tf.dataset(new, None)), 22)
    with self.assertRaisesRegex(ManifestError, r"version \(1\) .* was forgotten"):
      liquid_tf.dataset(view)

  def test_a_dataset_that_is_gone(self):
    view = liquid_tf.open(self.path)
    shutil.rmtree(self.path)
    for take in (lambda: liquid_tf.dataset(view), lambda: view[0]):
      with self.assertRaisesRegex(
        ManifestError, "cannot be read any more: .* is not a"
      ):
        take()


class LinksTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.whole = runs.make(cls.root, "png:1,pcr:1", per_class=3, extension="jpg")

  def setUp(self):
    super().setUp()
    self.path = f"{self.create_tempdir().full_path}/dataset"
    shutil.copytree(self.whole, self.path)

  def _move(self, name):
    """Puts a file elsewhere; its new place."""
    place = f"{self.create_tempdir().full_path}/{name}"
    shutil.move(f"{self.path}/{name}", place)
    return place

  @parameterized.parameters(
    "png-*.rec", "png-*.idx", "pcr-*.pcr", "PCR_index.pb", "index.npy", "labels.npy",
    "names.bin", "dataset.json",
  )  # fmt: skip
  def test_a_link_to_elsewhere_is_refused(self, pattern):
    name = next(pathlib.Path(self.path).glob(pattern)).name
    target = self._move(name)
    os.symlink(target, f"{self.path}/{name}")
    message = f"{self.path}/{name} is a link to {target}, outside the dataset's folder"
    for take in (
      liquid_tf.open,
      liquid_tf.dataset,
      lambda path: liquid_tf.copy(path, f"{self.root}/copy", progress=False),
      lambda path: liquid_tf.export(path, f"{self.root}/out", "rec", progress=False),
      lambda path: liquid_tf.compact(path, progress=False),
      lambda path: liquid_tf.open(f"file://{path}"),
    ):
      with self.assertRaisesRegex(ManifestError, message):
        take(self.path)
    for look in (liquid_tf.inspect, liquid_tf.verify):
      self.assertRegex(look(self.path)["problems"][0], message)

  def test_links_inside_and_to_the_folder_are_none(self):
    name = next(pathlib.Path(self.path).glob("png-*.rec")).name
    os.mkdir(f"{self.path}/kept")
    shutil.move(f"{self.path}/{name}", f"{self.path}/kept/{name}")
    os.symlink(f"kept/{name}", f"{self.path}/{name}")
    link = f"{self.create_tempdir().full_path}/link"
    os.symlink(self.path, link)
    self.assertEqual(liquid_tf.verify(link)["problems"], [])

  def test_a_shard_that_two_datasets_share(self):
    for file in pathlib.Path(self.path).iterdir():
      file.unlink()
      os.link(f"{self.whole}/{file.name}", file)
    self.assertEqual(liquid_tf.verify(self.path)["problems"], [])

  def test_a_link_that_climbs_out(self):
    name = next(pathlib.Path(self.path).glob("png-*.rec")).name
    shutil.move(f"{self.path}/{name}", f"{self.path}-{name}")
    os.symlink(f"../{os.path.basename(self.path)}-{name}", f"{self.path}/{name}")
    with self.assertRaisesRegex(ManifestError, "outside the dataset's folder"):
      liquid_tf.open(self.path)


if __name__ == "__main__":
  tf.test.main()
