"""A dataset with L3 in its mix: stored, read, cropped, inspected, verified, trained."""

import pathlib

import keras
import numpy as np
import runs
import stored
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf import codecs, transforms
from liquid_tf._view import inspection


class L3DatasetTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  def _sources(self) -> list[np.ndarray]:
    paths = sorted(pathlib.Path(self.root, "source").rglob("*.png"))
    return [np.asarray(Image.open(path)) for path in paths]

  def test_every_sample_comes_back(self):
    path = runs.make(self.root, "png:2,l3:3,raw:1", sides=(80, 80))
    sources = self._sources()
    found = inspection.inspect(path)
    self.assertEqual(found["formats"]["l3"]["samples"], len(sources) // 2)
    self.assertTrue(found["formats"]["l3"]["lossless"])
    checked = inspection.verify(path)
    self.assertEqual(checked["problems"], [])
    self.assertEqual(checked["verified"], len(sources))
    for record in stored.records(path):
      if record["shard"].format == "l3":
        self.assertEqual(codecs.peek_l3(record["contents"]).version, 2)

    seen = set()
    data = liquid_tf.dataset(
      path, batch_size=8, seed=1, features=["id", "image", "format"]
    )
    for batch in data:
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        self.assertTrue(np.array_equal(image, sources[sample]), f"sample {sample}")
        seen.add(int(sample))
    self.assertLen(seen, len(sources))

  def test_both_profiles_are_formats_of_their_own(self):
    path = runs.make(self.root, "l3:1,l3-compact:1", sides=(80, 80))
    found = inspection.inspect(path)["formats"]
    self.assertEqual(found["l3"]["samples"], found["l3-compact"]["samples"])
    self.assertEqual(self._profiles(path), {"l3": {0}, "l3-compact": {1}})
    self.assertEqual(inspection.verify(path)["problems"], [])
    sources = self._sources()
    for batch in liquid_tf.dataset(
      path, batch_size=8, seed=1, features=["id", "image"]
    ):
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        self.assertTrue(np.array_equal(image, sources[sample]), f"sample {sample}")
    # A file of one profile is coded again for the other one.
    for name, profile in (("l3", 0), ("l3-compact", 1)):
      other = f"{self.root}/only-{name}"
      liquid_tf.convert(path, other, name, progress=False)
      self.assertEqual(self._profiles(other), {name: {profile}})
      self.assertEqual(inspection.verify(other)["problems"], [])

  def _profiles(self, path: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for record in stored.records(path):
      profile = int(codecs.peek_l3(record["contents"]).profile)
      found.setdefault(record["shard"].format, set()).add(profile)
    return found

  def test_more_effort_makes_no_larger_files(self):
    runs.make(self.root, "png:1", sides=(80, 80))
    sizes = []
    for effort in ("fast", "default", "best"):
      path = f"{self.root}/{effort}"
      liquid_tf.convert(
        f"{self.root}/source",
        path,
        "l3-compact",
        encoders={"l3-compact": {"effort": effort}},
        progress=False,
      )
      records = list(stored.records(path))
      sizes.append(sum(len(record["contents"]) for record in records))
    self.assertGreaterEqual(sizes[0], sizes[1])
    self.assertGreater(sizes[1], sizes[2])

  def test_crops_are_windows_of_the_samples(self):
    path = runs.make(self.root, "l3:1", sides=(150, 150), per_class=4)
    sources = self._sources()
    data = liquid_tf.dataset(
      path,
      batch_size=4,
      seed=3,
      transforms=[transforms.RandomCrop((32, 48))],
      features=["id", "image"],
    )
    for batch in data:
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        windows = np.lib.stride_tricks.sliding_window_view(sources[sample], image.shape)
        self.assertTrue((windows == image).all((-3, -2, -1)).any(), f"sample {sample}")

  def test_damage_is_found(self):
    path = runs.make(self.root, "l3:1", per_class=4)
    shard = next(pathlib.Path(path).glob("l3-*.rec"))
    contents = bytearray(shard.read_bytes())
    contents[len(contents) // 2] ^= 1
    shard.write_bytes(contents)
    self.assertNotEmpty(inspection.verify(path)["problems"])

  def test_a_model_trains_on_it(self):
    path = runs.make(self.root, "png:1,l3:4", sides=(32, 32))
    data = liquid_tf.dataset(path, batch_size=10, seed=0, last_batch="drop")
    model = keras.Sequential(
      [
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
      ]
    )
    model.compile(
      keras.optimizers.Adam(0.01),
      keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    losses = model.fit(data, epochs=4, verbose=0).history["loss"]
    self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":
  tf.test.main()
