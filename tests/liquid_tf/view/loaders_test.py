"""A view in the loaders of others: each gives every sample once."""

import hashlib
import shutil
import tempfile

import keras
import numpy as np
import photos
import runs
import tensorflow as tf

import liquid_tf
from liquid_tf._view.view import View

# Both say why where they are missing, and docs/selection.md how to have them.
try:
  import grain
except ImportError as error:
  grain, no_grain = None, f"grain is not installed: {error}"
try:
  import torch
except ImportError as error:
  torch, no_torch = None, f"torch is not installed: {error}"


def _digest(image) -> str:
  return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


class Batches(keras.utils.PyDataset):
  """Batches of a view in a shuffled order."""

  def __init__(self, view: View, batch_size: int, **options):
    super().__init__(**options)
    self._view = view
    self._order = np.random.default_rng(3).permutation(len(view))
    self._batch_size = batch_size

  def __len__(self) -> int:
    return -(-len(self._view) // self._batch_size)

  def __getitem__(self, number: int):
    begin = number * self._batch_size
    order = self._order[begin : begin + self._batch_size].tolist()
    samples = [self._view[i] for i in order]
    images = np.stack([sample["image"] for sample in samples])
    return images, np.array([sample["id"] for sample in samples])


class LoadersTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.view = liquid_tf.open(runs.make(f"{root}/small", "raw:1,png:1,l3:1"))
    cls.images = [_digest(sample["image"]) for sample in cls.view]
    pixels = np.tile(photos.photo("chelsea"), (4, 5, 1))[:1100, :1900]
    for i in range(6):
      photos.save(f"{root}/source/{i}.png", np.roll(pixels, i, 0))
    liquid_tf.convert(f"{root}/source", f"{root}/large", "l3", progress=False)
    cls.large = liquid_tf.open(f"{root}/large")
    # The parent has decoded large images, and so has started threads to do so.
    dataset = liquid_tf.dataset(cls.large, 2, features=["id", "image"])
    batches = list(dataset.as_numpy_iterator())
    cls.large_images = {
      int(number): _digest(image)
      for batch in batches
      for number, image in zip(batch["id"], batch["image"])
    }

  def _check(self, numbers, images):
    self.assertEqual(sorted(numbers), list(range(100)))
    self.assertEqual(images, [self.images[i] for i in numbers])

  def test_keras(self):
    for options in ({}, {"workers": 3, "use_multiprocessing": False}):
      numbers, images = [], []
      batches = Batches(self.view, 8, **options)
      for i in range(len(batches)):
        batch, ids = batches[i]
        numbers += ids.tolist()
        images += [_digest(image) for image in batch]
      self._check(numbers, images)

  def test_keras_fits(self):
    seen = []

    class Model(keras.Model):
      def call(self, images):
        return tf.reduce_mean(tf.cast(images, tf.float32), [1, 2])

      def train_step(self, data):
        seen.extend(data[1].numpy().tolist())
        return {"loss": tf.zeros([])}

    model = Model()
    model.compile(run_eagerly=True)
    model.fit(Batches(self.view, 8, workers=2), verbose=0, shuffle=True)
    self.assertEqual(sorted(seen), list(range(100)))

  def _torch_loader(self, view, **options):
    if torch is None:
      self.skipTest(no_torch)
    return torch.utils.data.DataLoader(view, **options)

  def test_torch_with_forked_workers(self):
    for view, images in ((self.view, None), (self.large, self.large_images)):
      loader = self._torch_loader(
        view,
        batch_size=2,
        shuffle=True,
        num_workers=2,
        multiprocessing_context="fork",
        timeout=120,
      )
      for _ in range(2):
        numbers, found = [], []
        for batch in loader:
          numbers += batch["id"].tolist()
          found += [_digest(image.numpy()) for image in batch["image"]]
        if images is None:
          self._check(numbers, found)
        else:
          self.assertEqual(sorted(numbers), sorted(images))
          self.assertEqual(found, [images[i] for i in numbers])

  def test_torch_in_this_process(self):
    loader = self._torch_loader(self.view, batch_size=None, shuffle=True)
    samples = list(loader)
    self._check(
      [int(sample["id"]) for sample in samples],
      [_digest(sample["image"].numpy()) for sample in samples],
    )

  def _grain_epoch(self, **options):
    if grain is None:
      self.skipTest(no_grain)
    sampler = grain.samplers.IndexSampler(
      len(self.view),
      shard_options=grain.sharding.NoSharding(),
      shuffle=True,
      num_epochs=1,
      seed=5,
    )
    loader = grain.DataLoader(data_source=self.view, sampler=sampler, **options)
    samples = list(loader)
    self._check(
      [int(sample["id"]) for sample in samples],
      [_digest(sample["image"]) for sample in samples],
    )

  def test_grain_in_this_process(self):
    self._grain_epoch(worker_count=0)

  def test_grain_with_workers(self):
    self._grain_epoch(worker_count=2)

  def test_grain_map_dataset(self):
    if grain is None:
      self.skipTest(no_grain)
    data = grain.MapDataset.source(self.view).shuffle(seed=1).batch(10)
    batches = [data[i] for i in range(len(data))]
    self._check(
      [int(number) for batch in batches for number in batch["id"]],
      [_digest(image) for batch in batches for image in batch["image"]],
    )


if __name__ == "__main__":
  tf.test.main()
