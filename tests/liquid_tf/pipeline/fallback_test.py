"""Of a dataset with every sample in several formats, damage in one changes nothing."""

import os
import shutil
import tempfile

import damaged
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest

_BATCH = 8
_FORMATS = ("png", "raw", "l3")
_OPTIONS = {"seed": 3, "cache": "30%", "features": ["id", "image", "label"]}


def _undecodable(path: str, sample: int, name: str) -> None:
  """Its checksums are right, and its header is not."""
  damaged.repack(path, sample, lambda image: bytes(len(image)), name)


_DAMAGE = {
  "header": lambda path, sample, name: damaged.flip(path, sample, name, at=2),
  "payload": damaged.flip,
  "record": damaged.wipe,
  "image": _undecodable,
}


def _planned(path: str) -> dict[str, list[int]]:
  """The samples that each format is read of, in stored order."""
  dataset = build(Arguments(path, 50, features=["id", "format"], shuffle=False))
  found = {}
  for batch in dataset.as_numpy_iterator():
    for sample, name in zip(batch["id"], batch["format"]):
      found.setdefault(name.decode(), []).append(int(sample))
  return found


class FallbackTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.sound = runs.make(
      cls.root, "png:4,raw:3,l3:3", replicate=True, shard_size=40_000
    )
    cls.planned = _planned(cls.sound)
    cls.wanted = {}  # epochs of the sound dataset, by options

  def setUp(self):
    super().setUp()
    self.path = self._copy(self.sound)

  def _copy(self, dataset):
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    shutil.copytree(dataset, path)
    return path

  def _damage(self, kind="payload", formats=_FORMATS):
    """Damages three samples of each format that is read of them: [(sample, format)]."""
    bad = []
    for name in formats:
      samples = self.planned[name]
      for sample in samples[:: len(samples) // 3][:3]:
        _DAMAGE[kind](self.path, sample, name)
        bad.append((sample, name))
    return bad

  def _epochs(self, path, count=3, **options):
    dataset = build(Arguments(path, _BATCH, **_OPTIONS | options))
    return [runs.digests(dataset) for _ in range(count)], liquid_tf.stats(dataset)

  def _check(self, bad, epochs=3, **options):
    """Order and pixels are those of sound data; every fallback is counted."""
    key = str(sorted(options.items()))
    if key not in self.wanted:
      self.wanted[key] = self._epochs(self.sound, epochs, **options)[0]
    found, stats = self._epochs(self.path, epochs, **options)
    self.assertEqual(found, self.wanted[key])
    summary = stats.summary()
    self.assertEqual(summary["skipped"]["count"], 0)
    fallbacks = summary["fallbacks"]
    self.assertEqual(fallbacks["count"], len(bad) * epochs)
    self.assertEqual(fallbacks["other_pixels"], 0)
    for name in summary["by_format"]:
      count = sum(planned == name for _, planned in bad)
      self.assertEqual(summary["by_format"][name]["fallbacks"], count * epochs)
      self.assertEqual(stats.epochs[0]["fallbacks"][name], count)
    first = {entry["sample"]: entry for entry in fallbacks["first"]}
    self.assertEqual(set(first), {sample for sample, _ in bad})
    for sample, name in bad:
      # The one that is decoded fastest.
      self.assertEqual(first[sample]["read_as"], "raw" if name != "raw" else "l3")
      self.assertRegex(first[sample]["reason"], damaged.where(self.path, sample, name))
    return stats

  @parameterized.product(kind=tuple(_DAMAGE), on_error=("raise", "skip"))
  def test_order_and_pixels_are_those_of_sound_data(self, kind, on_error):
    self._check(self._damage(kind), on_error=on_error)

  @parameterized.product(kind=tuple(_DAMAGE), cache_form=("encoded", "pixels"))
  def test_memory_holds_the_sound_encoding(self, kind, cache_form):
    bad = self._damage(kind)
    stats = self._check(bad, cache=liquid_tf.Cache("100%", cache_form))
    self.assertGreater(stats.epochs[0]["disk_bytes"], 0)
    for epoch in stats.epochs[1:]:
      self.assertEqual(epoch["disk_bytes"], 0)
      self.assertEqual(sum(epoch["memory_hits"].values()), 100)
      decoded = 0 if cache_form == "pixels" else 100
      self.assertEqual(sum(epoch["decodes"].values()), decoded)

  @parameterized.parameters(
    {"cache": 0},
    {"cache": liquid_tf.Cache("30%", "pixels")},
    {"cache_policy": "minio"},
    {"cache_policy": "page", "cache": 0},
    {"shard": (1, 2), "on_error": "skip"},
    {"transforms": [transforms.Ragged()]},
    {"transforms": [transforms.RandomCrop(16), transforms.Mirror()]},
    {"shuffle": False},
    {"mix": "auto", "epochs": 1},
    {"features": ["id", "label"]},
    {"tuning": liquid_tf.graph.Tuning(parallelism=1, threads=1)},
  )
  def test_other_pipelines(self, epochs=2, **options):
    bad = self._damage()
    if "shard" in options:
      wanted, _ = self._epochs(self.sound, epochs, **options)
      found, stats = self._epochs(self.path, epochs, **options)
      self.assertEqual(found, wanted)
      self.assertGreater(stats.summary()["fallbacks"]["count"], 0)
    elif "mix" in options:
      wanted, _ = self._epochs(self.sound, epochs, **options)
      self.assertEqual(self._epochs(self.path, epochs, **options)[0], wanted)
    else:
      self._check(bad, epochs, **options)

  def test_stored_bytes_are_those_of_the_other_encoding(self):
    bad = dict(self._damage())
    dataset = build(Arguments(self.path, _BATCH, features=["id", "bytes", "format"]))
    for batch in dataset.as_numpy_iterator():
      for sample, data, name in zip(batch["id"], batch["bytes"], batch["format"]):
        if int(sample) in bad:
          self.assertNotEqual(name.decode(), bad[int(sample)])
        image = liquid_tf.codecs.decode(data)
        self.assertEqual(image.shape, (24, 24, 3))

  @parameterized.product(kind=("payload", "image"), symbolic=(False, True))
  def test_checkpoints(self, kind, symbolic):
    bad = self._damage(kind)
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def make(path):
      dataset = build(
        Arguments(path, _BATCH, **_OPTIONS, transforms=[transforms.RandomCrop(16)])
      )
      return dataset.repeat(2).with_options(options)

    wanted = runs.digests(make(self.sound))
    self.assertLen(bad, 9)
    iterator = iter(make(self.path))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    folder = self.create_tempdir().full_path
    prefixes = []
    for position in range(len(wanted)):
      if position % 3 == 0:
        prefixes.append((position, checkpoint.write(f"{folder}/{position}")))
      self.assertEqual(runs.digest(next(iterator)), wanted[position])
    for position, prefix in prefixes:
      iterator = iter(make(self.path))
      tf.train.Checkpoint(iterator=iterator).restore(prefix)
      self.assertEqual(runs.digests(iterator), wanted[position:], position)

  def test_the_next_one_where_the_best_is_damaged_too(self):
    bad = self._damage(formats=("png",))
    for sample, _ in bad:
      _undecodable(self.path, sample, "raw")
    found, stats = self._epochs(self.path)
    self.assertEqual(found, self._epochs(self.sound)[0])
    for entry in stats.summary()["fallbacks"]["first"]:
      self.assertEqual(entry["read_as"], "l3")
      self.assertRegex(
        entry["reason"], damaged.where(self.path, entry["sample"], "png")
      )

  def test_no_sound_encoding(self):
    (sample, _), *_ = self._damage(formats=("png",))
    damaged.flip(self.path, sample, "raw")
    damaged.flip(self.path, sample, "l3")
    message = (
      damaged.where(self.path, sample, "png")
      + ".*CRC-32C.*; no other encoding of it can be used"
    )
    with self.assertRaisesRegex(tf.errors.DataLossError, message):
      self._epochs(self.path)
    _, stats = self._epochs(self.path, on_error="skip")
    skipped = stats.summary()["skipped"]
    self.assertEqual(skipped["count"], 3)
    self.assertRegex(skipped["first"][0]["reason"], message)
    self.assertEqual(stats.summary()["fallbacks"]["count"], 2 * 3)

  def test_a_shard_that_goes_away_or_is_cut_off_while_it_is_used(self):
    wanted, _ = self._epochs(self.sound)
    for change in (os.remove, lambda file: os.truncate(file, 100)):
      path = self._copy(self.sound)
      dataset = build(Arguments(path, _BATCH, **_OPTIONS))
      change(damaged.shard_of(path, self.planned["png"][0], "png"))
      self.assertEqual([runs.digests(dataset) for _ in range(3)], wanted)
      self.assertGreater(liquid_tf.stats(dataset).summary()["fallbacks"]["count"], 3)
      # One that is opened anew is refused.
      with self.assertRaises(liquid_tf.errors.ManifestError):
        build(Arguments(path))

  def test_the_verdict_tells_of_it(self):
    self._damage()
    _, stats = self._epochs(self.path)
    self.assertEqual(stats.verdict().fallbacks, 27)
    self.assertRegex(str(stats.verdict()), "; 27 samples were read in another format")
    _, sound = self._epochs(self.sound)
    self.assertNotIn("another format", str(sound.verdict()))


class LossyTest(tf.test.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)

  def _make(self, mix, **options):
    root = self.create_tempdir().full_path
    return runs.make(root, mix, per_class=6, replicate=True, **options)

  def _run(self, path, mix, **options):
    options = {"features": ["id", "image", "label"], "mix": mix, **options}
    dataset = build(Arguments(path, 5, **options))
    batches = list(dataset.as_numpy_iterator())
    order = [batch["id"].tolist() for batch in batches]
    images = {}
    for batch in batches:
      images |= zip(batch["id"].tolist(), zip(batch["image"], batch["label"]))
    return order, images, liquid_tf.stats(dataset).summary()["fallbacks"]

  def test_a_lossy_encoding_is_the_last_resort(self):
    path = self._make("webp-lossy:1,l3:1,png:1")
    _, wanted, _ = self._run(path, "png")
    _, lossy, _ = self._run(path, "webp")
    damaged.flip(path, 3, "png")
    damaged.flip(path, 4, "png")
    damaged.flip(path, 4, "l3")
    _, found, fallbacks = self._run(path, "png")
    for sample, (image, label) in found.items():
      self.assertAllEqual(image, (lossy if sample == 4 else wanted)[sample][0])
      self.assertEqual(label, wanted[sample][1])
    self.assertEqual(fallbacks["count"], 2)
    self.assertEqual(fallbacks["other_pixels"], 1)
    self.assertEqual(
      {entry["sample"]: entry["read_as"] for entry in fallbacks["first"]},
      {3: "l3", 4: "webp"},
    )

  def test_images_of_a_damaged_pcr(self):
    path = self._make("pcr:1,png:1", extension="jpg", encoders={"pcr": {"images": 5}})
    order, wanted, _ = self._run(path, "pcr")
    file = damaged.shard_of(path, 7, "pcr")
    with open(file, "r+b") as record:
      record.seek(os.path.getsize(file) // 3)
      record.write(bytes(64))
    index = manifest.load_index(manifest.load(path))
    shard = index["shard"][(index["sample"] == 7) & (index["format"] == 6)]
    found_order, found, fallbacks = self._run(path, "pcr")
    self.assertEqual(found_order, order)
    self.assertEqual(fallbacks["count"], (index["shard"] == shard).sum())
    for sample, (image, label) in found.items():
      self.assertAllEqual(image, wanted[sample][0])
      self.assertEqual(label, wanted[sample][1])

  @parameterized.parameters(False, True)
  def test_a_pcr_is_read_where_there_is_nothing_else(self, cached):
    path = self._make("pcr:1,png:1", extension="jpg", encoders={"pcr": {"images": 5}})
    order, wanted, _ = self._run(path, "png", cache="100%" if cached else 0)
    for sample in (2, 3, 11):
      damaged.wipe(path, sample, "png")
    found_order, found, fallbacks = self._run(
      path, "png", cache="100%" if cached else 0
    )
    self.assertEqual(found_order, order)
    self.assertEqual(fallbacks["count"], 3)
    self.assertEqual(fallbacks["other_pixels"], 0)
    for sample, (image, label) in found.items():
      self.assertAllEqual(image, wanted[sample][0])
      self.assertEqual(label, wanted[sample][1])


if __name__ == "__main__":
  tf.test.main()
