"""Loaders with images on a GPU, with the host in the place of it and of its driver."""

import contextlib
import ctypes
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator

import built
import fake_gpu
import numpy as np
import recipes
import runs
import taken
from absl.testing import absltest, parameterized
from patches import annotated

import liquid_tf
from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._loader.ragged import RaggedArray
from liquid_tf.transforms import (
  Boxes,
  Cast,
  CenterCrop,
  ChannelsFirst,
  FiveCrop,
  Mirror,
  Mix,
  Normalize,
  Pad,
  Ragged,
  RandomCrop,
  RandomErasing,
  RandomResizedCrop,
  Resize,
  Rotate,
  TenCrop,
  Views,
)

_DRIVER = fake_gpu.install(2)
_STREAM = _DRIVER.stream()


class _Taken(taken.Taken):
  """An array as another library takes it, on a stream of its own."""

  def __init__(self, array: DeviceArray, stream: int = _STREAM, **options):
    super().__init__(_DRIVER, array, stream, **options)


def _pixels(array: DeviceArray) -> np.ndarray:
  taken = _Taken(array)
  assert (taken.shape, taken.dtype) == (array.shape, array.dtype), repr(array)
  found = taken.numpy()
  taken.free()
  return found


def _bits(array: np.ndarray) -> np.ndarray:
  return array.view("uint16") if array.dtype.name == "bfloat16" else array


def _memory() -> int:
  """Pieces of device memory that are there."""
  return _DRIVER.count("allocated") - _DRIVER.count("freed")


@contextlib.contextmanager
def _decoded(batches: int) -> Iterator[None]:
  """Waits at its end until so many batches have been decoded meanwhile."""
  wanted = _DRIVER.count("decoded") + batches
  yield
  end = time.monotonic() + 60
  while _DRIVER.count("decoded") < wanted:
    assert time.monotonic() < end
    time.sleep(0.01)


@contextlib.contextmanager
def _logged() -> Iterator[list[str]]:
  """What the engine says meanwhile, once it is over."""
  said: list[str] = []
  before = os.dup(2)
  with tempfile.TemporaryFile() as file:
    os.dup2(file.fileno(), 2)
    try:
      yield said
    finally:
      os.dup2(before, 2)
      os.close(before)
      file.seek(0)
      lines = file.read().decode().splitlines()
      said += [line for line in lines if line.startswith("liquid:")]


def _streams() -> int:
  return _DRIVER.count("streams") - _DRIVER.count("streams_destroyed")


class LoaderGpuTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._root = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls._root.cleanup)
    cls._made = set()

  def _make(self, sides=(30, 90), per_class=5, formats="l3:2,l3-compact:1,raw:1"):
    """The path of such a dataset, as `runs.make` makes it."""
    name = f"{sides[0]}-{sides[1]}-{per_class}-{formats}".replace(":", ".")
    path = os.path.join(self._root.name, name)
    if name in self._made:
      return os.path.join(path, "dataset")
    self._made.add(name)
    return runs.make(path, formats, sides=sides, per_class=per_class)

  def assert_same(self, found, wanted):
    """A batch is one of the processors, but for where its images are."""
    self.assertEqual(type(found), type(wanted))
    names = wanted if isinstance(wanted, dict) else range(len(wanted))
    for name in names:
      ours = found[name]
      if isinstance(ours, tuple):  # views
        self.assert_same(ours, wanted[name])
        continue
      if isinstance(ours, DeviceArray):
        self.assertEqual(ours.dtype, wanted[name].dtype.name)
        ours = _pixels(ours)
      theirs = wanted[name]
      if isinstance(ours, RaggedArray):
        np.testing.assert_array_equal(ours.row_splits, theirs.row_splits)
        ours, theirs = ours.values, theirs.values
      np.testing.assert_array_equal(ours, _bits(theirs))

  def assert_equal_epochs(self, found, wanted, epochs=2) -> int:
    count = 0
    for _ in range(epochs):
      for one, other in zip(found, wanted, strict=True):
        self.assert_same(one, other)
        count += 1
    return count

  @contextlib.contextmanager
  def leaves_nothing(self) -> Iterator[None]:
    gc.collect()
    before = _memory(), _streams()
    yield
    gc.collect()
    self.assertEqual((_memory(), _streams()), before)

  @parameterized.parameters("float32", "bfloat16", "float16")
  def test_batches_are_those_of_the_processors(self, dtype):
    path = self._make((150, 150), 7)
    steps = [RandomCrop((64, 80)), recipes.NORMALIZE, Cast(dtype), ChannelsFirst()]
    options = {"seed": 3, "cache": "50%", "transforms": steps, "shard": (1, 2)}
    with self.leaves_nothing():
      with liquid_tf.loader(path, 4, **options) as on_cpu:
        with liquid_tf.loader(path, 4, decode="gpu", **options) as on_gpu:
          self.assertEqual(len(on_gpu), len(on_cpu))
          self.assertEqual(self.assert_equal_epochs(on_gpu, on_cpu), 8)
          self.assertEqual(
            on_gpu.stats.summary()["samples"], on_cpu.stats.summary()["samples"]
          )

  def test_whole_images(self):
    path = self._make((70, 70), 3, "l3:1,raw:1")
    with liquid_tf.loader(path, 5) as on_cpu:
      with liquid_tf.loader(path, 5, decode="gpu") as on_gpu:
        self.assert_equal_epochs(on_gpu, on_cpu)

  def test_recipes(self):
    path = self._make()
    names = ["id", "window", "mirrored", "size", "affine", "orientation", "format"]
    for steps, options in recipes.RECIPES:
      with self.subTest(str(steps)):
        options = {
          "seed": 3,
          "transforms": steps,
          "features": ["image", *names, "label"],
          **options,
        }
        with liquid_tf.loader(path, 8, **options) as on_cpu:
          with liquid_tf.loader(path, 8, decode="gpu", **options) as on_gpu:
            self.assertEqual(self.assert_equal_epochs(on_gpu, on_cpu), 6)

  @parameterized.product(
    mode=["batch", "pair", "elem"], dtype=["float32", "bfloat16", "float16"]
  )
  def test_mixed_samples(self, mode, dtype):
    path = self._make()
    erasing = RandomErasing(0.5, value="noise")
    steps = [*recipes.TRAIN[:3], erasing, Mix(mode=mode), Cast(dtype)]
    planar = [*steps, ChannelsFirst()]
    with self.leaves_nothing():
      for transforms in (
        steps,
        planar,
        [*recipes.TRAIN[:3], Mix(mode=mode, p=0.5, cutmix=0), Cast(dtype)],
        [RandomCrop(30), Mix(mode=mode, mixup=0), Cast(dtype)],
        [*recipes.TRAIN[:3], Mix(mixup=0, cutmix=0)],  # smooths labels alone
        Views([planar] * 2, as_samples=True),
      ):
        with self.subTest(str(transforms)):
          options = {"seed": 3, "transforms": transforms, "last_batch": "repeat"}
          for features in (None, ["image", "id", "label", "partner", "lam"]):
            options["features"] = features
            with liquid_tf.loader(path, 7, **options) as on_cpu:
              with liquid_tf.loader(path, 7, decode="gpu", **options) as on_gpu:
                self.assert_equal_epochs(on_gpu, on_cpu)

  @parameterized.parameters("l3:2,l3-compact:1,raw:1", "jpeg")
  def test_views(self, formats):
    path = self._make(formats=formats)
    small = [RandomResizedCrop(24), Rotate(20), Cast("bfloat16")]
    other = [*small[:2], recipes.NORMALIZE, ChannelsFirst()]
    with self.leaves_nothing():
      for transforms in (
        Views([recipes.TRAIN, small, [CenterCrop(20)]]),
        Views([other, other], as_samples=True),
        Views([other], as_samples=True),
        Views([[CenterCrop(20)], [RandomCrop((10, 30))]]),
        [Resize((40, 50)), TenCrop(30), recipes.NORMALIZE],
        [Resize((40, 50)), FiveCrop(30, as_samples=True), Cast("float16")],
      ):
        with self.subTest(str(transforms)):
          options = {"seed": 3, "transforms": transforms}
          names = ["image", "id", "label"]
          for features in (None, names):
            options["features"] = features
            with liquid_tf.loader(path, 4, **options) as on_cpu:
              with liquid_tf.loader(path, 4, decode="gpu", **options) as on_gpu:
                self.assert_equal_epochs(on_gpu, on_cpu)

  def test_a_view_outlives_the_others(self):
    path = self._make((64, 64), 10, "l3")
    transforms = Views([[], [CenterCrop(20)]])
    with liquid_tf.loader(path, 4, cache=0, transforms=transforms) as on_cpu:
      wanted = [one[1] for one, _ in on_cpu]
    with self.leaves_nothing():
      options = {"cache": 0, "transforms": transforms, "decode": "gpu"}
      with liquid_tf.loader(path, 4, **options) as found:
        kept = [one[1] for one, _ in found]
      for ours, theirs in zip(kept, wanted, strict=True):
        np.testing.assert_array_equal(_pixels(ours), theirs)
      del kept, ours

  def test_a_mean_image(self):
    path = self._make()
    mean = np.random.default_rng(3).uniform(0, 255, (40, 28, 3)).astype("f4")
    file = os.path.join(self._root.name, "mean.npy")
    np.save(file, mean)
    normalize = Normalize(std=recipes.STD, mean_image=file)
    with self.leaves_nothing():
      for steps in (
        [RandomResizedCrop((40, 28)), Mirror(), normalize],
        [Resize((40, 28)), Rotate(20), normalize, Cast("bfloat16"), ChannelsFirst()],
        [CenterCrop((28, 28)), Pad((40, 28)), normalize, Cast("float16")],
      ):
        options = {"seed": 3, "transforms": steps}
        with liquid_tf.loader(path, 8, **options) as on_cpu:
          with liquid_tf.loader(path, 8, decode="gpu", **options) as on_gpu:
            self.assertEqual(self.assert_equal_epochs(on_gpu, on_cpu), 6)
      steps = [Resize((40, 29)), normalize]
      with liquid_tf.loader(path, 8, transforms=steps, decode="gpu") as found:
        with self.assertRaisesRegex(ValueError, "mean_image has 40x28 .* 40x29"):
          next(iter(found))

  @parameterized.parameters(None, 2)
  def test_boxes_follow_a_recipe(self, pad):
    path = annotated(os.path.join(self._root.name, f"boxes-{pad}"), 9)
    options = {
      "seed": 3,
      "transforms": [*recipes.TRAIN[:2], Rotate(30, mask_value=9), *recipes.TRAIN[2:]],
      "features": ["image", "mask", Boxes(pad=pad)],
    }
    with liquid_tf.loader(path, 4, **options) as on_cpu:
      with liquid_tf.loader(path, 4, decode="gpu", **options) as on_gpu:
        self.assert_equal_epochs(on_gpu, on_cpu)

  @parameterized.parameters((16, 0), ("none", 20))
  def test_jpeg_files(self, index, decodes):
    path = os.path.join(self._root.name, f"jpeg-{index}")
    path = runs.make(
      path, "jpeg", sides=(60, 130), per_class=5, encoders={"jpeg": {"index": index}}
    )
    for steps in (recipes.TRAIN, [RandomCrop((50, 40)), Cast("bfloat16")]):
      options = {"seed": 3, "transforms": steps}
      with liquid_tf.loader(path, 6, **options) as on_cpu:
        with liquid_tf.loader(path, 6, decode="gpu", **options) as on_gpu:
          self.assert_equal_epochs(on_gpu, on_cpu, epochs=1)
          (epoch,) = on_gpu.stats.epochs
          self.assertEqual(epoch["decodes"]["jpeg"], decodes)

  def test_batches_are_those_of_a_dataset(self):
    path = self._make()
    wanted = liquid_tf.dataset(path, 8, transforms=recipes.TRAIN, seed=4)
    with liquid_tf.loader(
      path, 8, transforms=recipes.TRAIN, seed=4, decode="gpu"
    ) as found:
      for (image, label), (pixels, number) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(_pixels(image), pixels.numpy())
        np.testing.assert_array_equal(label, number.numpy())

  def test_two_devices(self):
    path = self._make()
    options = {"seed": 3, "transforms": recipes.TRAIN, "batch_size": 8}
    streams = [_STREAM, _DRIVER.stream(1)]
    with (
      liquid_tf.loader(path, **options) as on_cpu,
      liquid_tf.loader(path, decode="gpu:0", **options) as first,
      liquid_tf.loader(path, decode="gpu:1", **options) as second,
    ):
      dataset = liquid_tf.dataset(path, decode="gpu:1", **options)
      for _ in range(2):
        for (wanted, label), *found, (tensor, _) in zip(
          on_cpu, first, second, dataset, strict=True
        ):
          for number, (image, other) in enumerate(found):
            self.assertEqual(image.__dlpack_device__(), (2, number))
            taken = _Taken(image, streams[number])
            self.assertEqual(taken.device, number)
            np.testing.assert_array_equal(taken.numpy(), wanted)
            np.testing.assert_array_equal(other, label)
            taken.free()
          self.assertEndsWith(tensor.device, "GPU:1")
          np.testing.assert_array_equal(tensor.numpy(), wanted)
    with self.assertRaisesRegex(
      ValueError, r"here: TensorFlow has no GPU 2: tf.*has 2,"
    ):
      liquid_tf.dataset(path, decode="gpu:2", **options)

  def test_a_stream_of_another_device_is_refused(self):
    path = self._make((64, 64), 20, "l3")
    other = _DRIVER.stream(1)
    with liquid_tf.loader(path, 4) as on_cpu:
      with liquid_tf.loader(path, 4, decode="gpu") as found:
        for (image, _), (wanted, _) in zip(found, on_cpu, strict=True):
          with self.assertRaisesRegex(BufferError, "lie on GPU 0, .* a stream of that"):
            _Taken(image, other)
          np.testing.assert_array_equal(_pixels(image), wanted)

  def test_a_run_goes_on_where_it_stood(self):
    path = self._make()
    options = {"seed": 3, "transforms": recipes.TRAIN, "cache": "50%", "batch_size": 4}
    with liquid_tf.loader(path, **options) as on_cpu:
      wanted = [[tuple(batch) for batch in on_cpu] for _ in range(3)]
    count = len(wanted[0])
    for stop in range(count + 1):
      # With a look-ahead of more than what is left, too.
      with liquid_tf.loader(path, decode="gpu", **options) as first:
        list(first)
        batches = iter(first)
        for batch in wanted[1][:stop]:
          self.assert_same(next(batches), batch)
        state = json.loads(json.dumps(first.state_dict()))
        # Looking at a few uses up no epoch.
        if stop < count:
          batches = iter(first)
          self.assert_same(next(batches), wanted[1][0])
          self.assert_equal_epochs(first, wanted[1], 1)
        self.assert_equal_epochs(first, wanted[2], 1)
      for decode in ("gpu", "cpu"):
        with liquid_tf.loader(path, decode=decode, start=state, **options) as second:
          self.assert_equal_epochs(second, wanted[1][stop:] or wanted[2], 1)

  def test_who_ends_early_leaves_nothing(self):
    path = self._make()
    with self.leaves_nothing():
      loader = liquid_tf.loader(path, 4, transforms=recipes.TRAIN, decode="gpu")
      for _ in range(3):
        next(iter(loader))
      kept, _ = next(iter(loader))
      loader.close()
      self.assertIn("float32[4, 3, 48, 48] on GPU 0", repr(kept))
      # What was given out stays.
      self.assertGreater(_memory(), 0)
      taken = _Taken(kept)
      del kept, loader
      gc.collect()
      self.assertLen(taken.numpy(), 4)
      taken.free()

  def test_a_batch_is_not_overwritten_while_it_is_used(self):
    path = self._make((64, 64), 20, "l3")
    options = {"seed": 3, "batch_size": 4, "cache": 0}
    with liquid_tf.loader(path, **options) as on_cpu:
      wanted = [image for image, _ in on_cpu]
    options["decode"] = "gpu"
    with self.leaves_nothing(), liquid_tf.loader(path, **options) as found:
      with _decoded(2):  # the third is then in other memory than the first
        batches = iter(found)
      copies = []
      with _DRIVER.busy(_STREAM):
        # The step has been enqueued, and its tensor is gone, before it runs.
        for _ in range(3):
          taken = _Taken(next(batches)[0])
          copies.append(taken.begin())
          taken.free()
        # What would overwrite them has its time.
        time.sleep(0.5)
      _DRIVER.synchronize(_STREAM)
      for copy, image in zip(copies, wanted):
        np.testing.assert_array_equal(copy, image)
      for other in wanted[3:]:
        np.testing.assert_array_equal(_pixels(next(batches)[0]), other)

  def test_several_take_one_array(self):
    path = self._make((64, 64), 20, "l3")
    with liquid_tf.loader(path, 4, cache=0) as on_cpu:
      wanted = [image for image, _ in on_cpu]
    streams = [_DRIVER.stream() for _ in range(3)]
    with liquid_tf.loader(path, 4, cache=0, decode="gpu") as found:
      for (image, _), other in zip(found, wanted, strict=True):
        takers = [_Taken(image, stream) for stream in (*streams, 1)]
        del image
        copies = [taker.begin() for taker in takers]
        for taker in takers:
          taker.free()
        for taker in takers:
          _DRIVER.synchronize(taker.stream)
        for copy in copies:
          np.testing.assert_array_equal(copy, other)

  def test_memory_is_used_again(self):
    path = self._make((64, 64), 40, "l3")
    with liquid_tf.loader(path, 4, decode="gpu") as found:
      labels = []
      for _ in range(3):
        for image, label in found:
          _pixels(image)
          labels.append(label)  # which keeps no image
        # Two ahead, one that is used, one that is taken, and two that were given back.
        self.assertLessEqual(_memory(), 2 * 6)
      self.assertLen(labels, 3 * len(found))

  def test_a_capsule_that_is_not_taken_is_freed(self):
    path = self._make((64, 64), 3, "l3")
    with self.leaves_nothing(), liquid_tf.loader(path, 2, decode="gpu") as found:
      image, _ = next(iter(found))
      for options in (
        {},
        {"stream": 1, "max_version": (1, 1), "dl_device": (2, 0), "copy": False},
      ):
        self.assertTrue(taken.is_tensor(image.__dlpack__(**options)))
      for options, message in (
        ({"stream": 0}, r"stream \(0\) must be None, 1 or the address"),
        ({"stream": 2}, r"stream \(2\) must be None, 1 or the address"),
        ({"stream": -1}, r"stream \(-1\) must be"),
        ({"dl_device": (1, 0)}, r"dl_device \(1, 0\) must be \(2, 0\)"),
        ({"copy": True}, r"copy \(True\) must be"),
      ):
        with self.assertRaisesRegex(BufferError, message):
          image.__dlpack__(**options)
      self.assertEqual((len(image), image.ndim, image.size), (2, 4, 2 * 64 * 64 * 3))
      del image

  def test_a_capsule_is_freed_while_an_exception_is_pending(self):
    path = self._make((64, 64), 3, "l3")
    with self.leaves_nothing(), liquid_tf.loader(path, 2, decode="gpu") as found:
      image, _ = next(iter(found))
      with self.assertRaises(ZeroDivisionError):
        # Where the error is raised, the capsule is on the interpreter's stack.
        (image.__dlpack__(), 1 / 0)
      del image

  def test_python_goes_on_while_a_capsule_waits(self):
    path = self._make((64, 64), 3, "l3")
    with self.leaves_nothing():
      loader = liquid_tf.loader(path, 2, decode="gpu")
      image, _ = next(iter(loader))
      kept = [image.__dlpack__(stream=_STREAM)]
      del image
      loader.close()
      # Its memory goes with the capsule, once the stream has come so far.
      memory, waits = _memory(), _DRIVER.count("synchronized")
      self.assertGreater(memory, 0)
      thread = threading.Thread(target=kept.clear)
      with _DRIVER.busy(_STREAM):
        thread.start()
        while _DRIVER.count("synchronized") == waits:
          time.sleep(0.01)
        self.assertEqual(_memory(), memory)
      thread.join()
      self.assertLess(_memory(), memory)
      del loader

  def test_memory_is_taken_while_a_graph_is_captured(self):
    path = self._make((64, 64), 5, "l3")
    with self.leaves_nothing(), _DRIVER.setting("capturing", 1):
      with liquid_tf.loader(path, 4, decode="gpu") as found:
        self.assertLen(list(found), len(found))

  @parameterized.parameters(False, True)
  def test_what_goes_while_a_graph_is_captured_is_not_used_again(self, is_default):
    path = self._make((64, 64), 20, "l3")
    with liquid_tf.loader(path, 4, cache=0) as on_cpu:
      wanted = [image for image, _ in on_cpu]
    captured = _DRIVER.stream()
    with (
      self.leaves_nothing(),
      _logged() as said,
      liquid_tf.loader(path, 4, cache=0, decode="gpu") as found,
    ):
      batches = iter(found)
      kept = []
      for image in wanted[:3]:
        taken = _Taken(next(batches)[0], 1 if is_default else captured)
        with _DRIVER.captured(captured, default_waits=is_default):
          kept.append((taken.tensor.data, image))
          taken.free()
          # Others go on meanwhile.
          time.sleep(0.1)
      for image in wanted[3:]:
        np.testing.assert_array_equal(_pixels(next(batches)[0]), image)
      self.assertIsNone(next(batches, None))
      for address, image in kept:
        self.assertEqual(ctypes.string_at(address, image.nbytes), image.tobytes())
      # And what the others had is used again.
      self.assertLessEqual(_memory(), 2 * (6 + 3))
    self.assertLen(said, 1)
    self.assertRegex(said[0], "GPU 0 was let go of while a CUDA graph was captured")

  def test_a_view_goes_while_a_graph_is_captured(self):
    path = self._make((64, 64), 20, "l3")
    transforms = Views([[], [CenterCrop(20)]])
    options = {"cache": 0, "transforms": transforms}
    with liquid_tf.loader(path, 4, **options) as on_cpu:
      wanted = [image for image, _ in on_cpu]
    with (
      self.leaves_nothing(),
      _logged() as said,
      liquid_tf.loader(path, 4, decode="gpu", **options) as found,
    ):
      batches = iter(found)
      views = [_Taken(view) for view in next(batches)[0]]
      address = views[0].tensor.data
      with _DRIVER.captured(_STREAM):
        views[0].free()
      np.testing.assert_array_equal(views[1].numpy(), wanted[0][1])
      views[1].free()
      for image in wanted[1:]:
        for view, other in zip(next(batches)[0], image, strict=True):
          np.testing.assert_array_equal(_pixels(view), other)
      whole = wanted[0][0]
      self.assertEqual(ctypes.string_at(address, whole.nbytes), whole.tobytes())
      del view
    self.assertLen(said, 1)

  def test_images_are_not_taken_while_a_graph_is_captured(self):
    path = self._make((64, 64), 3, "l3")
    captured, other = _DRIVER.stream(), _DRIVER.stream()
    refused = "a CUDA graph is being captured on .*: take the images before the capture"
    with self.leaves_nothing(), liquid_tf.loader(path, 2, decode="gpu") as found:
      for image, _ in found:
        with _DRIVER.captured(captured):
          with self.assertRaisesRegex(BufferError, refused):
            _Taken(image, captured)
          _Taken(image, 1).free()
        with _DRIVER.captured(captured, default_waits=True):
          for stream in (captured, 1):
            with self.assertRaisesRegex(BufferError, refused):
              _Taken(image, stream)
          _Taken(image, other).free()
        _pixels(image)
      del image

  def test_an_error_of_the_device_ends_the_epoch(self):
    path = self._make((64, 64), 5, "l3")
    with self.leaves_nothing(), liquid_tf.loader(path, 4, decode="gpu") as found:
      with _DRIVER.setting("callback", 719):
        batches = iter(found)
        for _ in range(2):
          with self.assertRaisesRegex(RuntimeError, "decode a batch: CUDA.*LAUNCH_F"):
            next(batches)
      self.assertLen(list(found), len(found))

  @parameterized.parameters(
    ("launch", 719, RuntimeError, "to launch a kernel: CUDA_ERROR_LAUNCH_FAILED"),
    ("copy", 719, RuntimeError, "to copy a batch"),
    ("memory", 2, OSError, "to take pinned memory: CUDA_ERROR_OUT_OF_MEMORY"),
    ("full", 1, OSError, "there is no room for [0-9]* bytes on GPU 0: make batches sm"),
  )
  def test_errors_of_the_driver(self, name, value, error, message):
    path = self._make((200, 200), 12, "raw")
    # Of pinned memory, the process keeps what others had.
    batch_size = 24 if name == "memory" else 12
    crop = [RandomCrop((190, 150))]
    with self.leaves_nothing():
      with liquid_tf.loader(path, batch_size, decode="gpu", transforms=crop) as found:
        with _DRIVER.setting(name, value):
          batches = iter(found)
          with self.assertRaisesRegex(error, message):
            for image, _ in batches:
              del image
          with self.assertRaisesRegex(error, message):
            next(batches)
        self.assertLen(list(found), len(found))

  def test_where_memory_is_short_a_batch_waits_for_another(self):
    path = self._make((64, 64), 20, "l3")
    with liquid_tf.loader(path, 4, cache=0) as on_cpu:
      wanted = [image for image, _ in on_cpu]
    with liquid_tf.loader(path, 4, cache=0, decode="gpu") as found:
      with _decoded(3):  # two more are made
        batches = iter(found)
        first, _ = next(batches)
      with _DRIVER.setting("full", 1):
        for number, image in enumerate(wanted[1:6]):
          np.testing.assert_array_equal(_pixels(first), wanted[number])
          del first
          first, _ = next(batches)
          np.testing.assert_array_equal(_pixels(first), image)
        # Who keeps all of them is told.
        kept = [first]
        with self.assertRaisesRegex(OSError, "or keep fewer of them"):
          for image, _ in batches:
            kept.append(image)
      self.assertNotEmpty(kept)

  @parameterized.parameters(
    ({"batch_size": None}, r"batch_size \(None\) must be a number with decode=.gpu"),
    ({"on_error": "skip"}, r'on_error \("skip"\) must be "raise" with decode="gpu"'),
    ({"features": ["label"]}, r"features \(label\) must have .image. with decode"),
    ({"transforms": [Ragged()]}, r"Ragged.* must not be given with decode"),
    (
      {"decode": "gpu:7"},
      r'decode \("gpu:7"\) must be "cpu" here: .* no GPU 7: ',
    ),
    ({"decode": "gpu:"}, r'decode \("gpu:"\) must be "cpu" or "gpu", or "gpu:1" with'),
    ({"decode": "cuda"}, r'decode \("cuda"\) must be "cpu" or "gpu", or "gpu:1" with'),
  )
  def test_what_does_not_go_together(self, options, message):
    path = self._make((64, 64), 3, "l3")
    with self.leaves_nothing(), self.assertRaisesRegex(ValueError, message):
      liquid_tf.loader(path, **{"batch_size": 2, "decode": "gpu", **options})

  def test_other_formats_are_named(self):
    path = self._make((64, 64), 3, "png")
    with self.assertRaisesRegex(ValueError, "not l3, l3-compact, raw, jpeg alone"):
      liquid_tf.loader(path, 2, decode="gpu")

  def test_no_tensorflow_is_needed(self):
    path = self._make((64, 64), 5, "l3")
    with liquid_tf.loader(path, 4, seed=9) as wanted:
      digest = hashlib.sha256(b"".join(image.tobytes() for image, _ in wanted))
    source = """
      import ctypes, hashlib, sys
      sys.modules.update(dict.fromkeys(("tensorflow", "keras", "cupy")))
      path, *libraries = sys.argv[1:]
      for library in libraries:
        ctypes.CDLL(library)
      import liquid_tf
      digest = hashlib.sha256()
      kept = []
      for image, _ in liquid_tf.loader(path, 4, seed=9, decode="gpu"):
        kept.append((image, image.__dlpack__()))
      get = ctypes.pythonapi.PyCapsule_GetPointer
      get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
      for image, capsule in kept:
        data = ctypes.c_void_p.from_address(get(capsule, b"dltensor"))
        digest.update(ctypes.string_at(data.value, image.size))
      print(digest.hexdigest())
    """
    fakes = ("tests/gpu/fake_driver.so", "tests/ops/gpu/fake_nvrtc.so")
    ran = subprocess.run(
      [sys.executable, "-c", textwrap.dedent(source), path, *map(built.find, fakes)],
      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(ran.stdout, digest.hexdigest() + "\n", ran.stderr)
    self.assertEqual((ran.stderr, ran.returncode), ("", 0))

  def test_no_gpu(self):
    path = self._make((64, 64), 3, "l3")
    with self.leaves_nothing():
      with _DRIVER.setting("devices", 0, usual=2):
        with self.assertRaisesRegex(ValueError, "here: .* there is no GPU"):
          liquid_tf.loader(path, 2, decode="gpu")

  def test_closing_while_a_batch_waits_for_memory(self):
    path = self._make((64, 64), 10, "l3")
    with self.leaves_nothing():
      loader = liquid_tf.loader(path, 2, decode="gpu")
      batches = iter(loader)
      kept = [next(batches)]
      time.sleep(0.3)
      with _DRIVER.setting("full", 1):
        kept += [next(batches), next(batches)]
        time.sleep(0.3)
        loader.close()
      del kept, batches, loader


if __name__ == "__main__":
  absltest.main()
