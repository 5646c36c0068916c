"""`liquid_tf.gpu` with the host in the place of a GPU and its driver.

With LIQUID_TEST_GPU=1, what a GPU can show is tested on this machine's.
"""

import functools
import os
import subprocess
import sys
import textwrap
import time
import unittest
from concurrent import futures
from unittest import mock

import built
import cuda_driver
import fake_gpu
import numpy as np
import runs
import taken
import tensorflow as tf
from absl.testing import parameterized
from patches import encode, make_flat, make_image

import liquid_tf
from liquid_tf import codecs, transforms
from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._native import direct, direct_gpu, ops

_MEAN = (123.675, 116.28, 103.53)
_STD = (58.395, 57.12, 57.375)
# The simulated one, or None.
_FAKE = None if os.environ.get("LIQUID_TEST_GPU") == "1" else fake_gpu.Driver()
if _FAKE:
  _FAKE.set("devices", 2)


@functools.cache
def _driver() -> cuda_driver.Driver:
  return cuda_driver.Driver()


def _pixels(array: DeviceArray) -> np.ndarray:
  return taken.pixels(_driver(), array)


def _steps(dtype: str, layout: str) -> list[transforms.Step]:
  steps = [transforms.Normalize(_MEAN, _STD), transforms.Cast(dtype)]
  return steps + ([transforms.ChannelsFirst()] if layout == "NCHW" else [])


class GpuTest(tf.test.TestCase, parameterized.TestCase):
  def test_mixed_batch_comes_in_its_order(self):
    kinds = ["v2", "raw", "v1", "compact", "raw", "v2"]
    images = [make_image(i, 70, 130) for i in range(len(kinds))]
    files = [encode(image, kind) for image, kind in zip(images, kinds)]
    decoded = liquid_tf.gpu.decode(files)
    self.assertEqual(decoded.dtype, "uint8")
    self.assertAllEqual(_pixels(decoded), np.stack(images))

  @parameterized.product(channels=(1, 2, 3, 4), dtype=(np.uint8, np.uint16))
  def test_every_kind_of_image(self, channels, dtype):
    for make in (make_image, make_flat):
      image = make(channels, 65, 67, channels, dtype)
      files = [encode(image, kind) for kind in ("v2", "compact", "raw")]
      decoded = liquid_tf.gpu.decode(files)
      self.assertEqual(decoded.dtype, np.dtype(dtype).name)
      self.assertAllEqual(_pixels(decoded), np.stack([image] * 3))

  @parameterized.product(layout=("NHWC", "NCHW"), dtype=("float32", "bfloat16"))
  def test_windows_normalised_as_the_dataset_does(self, layout, dtype):
    images = [make_image(i, 150, 140) for i in range(4)]
    windows = [(3, 5, 100, 90), (50, 50, 100, 90), (0, 41, 100, 90), (9, 1, 100, 90)]
    kinds = ("v1", "v2", "raw", "compact")
    files = [encode(image, kind) for image, kind in zip(images, kinds)]
    decoded = liquid_tf.gpu.decode(
      tf.constant(files),
      windows=windows,
      transforms=_steps(dtype, layout),
    )
    crops = tf.stack(
      [
        image[y : y + height, x : x + width]
        for image, (y, x, height, width) in zip(images, windows)
      ]
    )
    with tf.device("CPU"):
      expected = (tf.cast(crops, tf.float32) - _MEAN) / _STD
      if layout == "NCHW":
        expected = tf.transpose(expected, [0, 3, 1, 2])
      expected = tf.cast(expected, dtype)
    self.assertEqual(decoded.dtype, expected.dtype.name)
    # To the bit.
    self.assertAllEqual(
      _pixels(decoded).view(np.uint8), expected.numpy().view(np.uint8)
    )

  def test_mean_alone_makes_float32(self):
    image = make_image(1, 20, 30, 1)
    steps = [transforms.Normalize(10)]
    decoded = liquid_tf.gpu.decode([encode(image, "v2")], transforms=steps)
    self.assertAllEqual(_pixels(decoded), image[None].astype(np.float32) - 10)

  @parameterized.parameters("v2", "compact")
  def test_damage_names_the_image_and_the_offset(self, kind):
    files = [encode(make_image(i, 70, 130), kind) for i in range(3)]
    files[1] = files[1][:-1] + bytes([files[1][-1] ^ 1])
    with self.assertRaisesRegex(
      ValueError, r"image 1: l3: patch 5 at offset \d+.*CRC-32C"
    ):
      liquid_tf.gpu.decode(files)

  @parameterized.parameters("v2", "compact")
  def test_a_table_that_is_wrong_is_told_before_patches_that_are(self, kind):
    files = [encode(make_image(i, 70, 130), kind) for i in range(3)]
    files[0] = files[0][:-1] + bytes([files[0][-1] ^ 1])
    # Where patch 0 ends, and the next one begins.
    files[1] = files[1][:24] + b"\xff\xff\xff\x7f" + files[1][28:]
    message = "image 1: l3: the table at offset 20 puts patch 0 at 0 to 2147483647"
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.gpu.decode(files)
    # A window that the patch is not in has no use for it.
    window = (0, 128, 70, 2)
    decoded = liquid_tf.gpu.decode(files[1:], windows=[window] * 2)
    self.assertAllEqual(_pixels(decoded)[0], make_image(1, 70, 130)[:, 128:])

  @parameterized.parameters("v1", "v2", "compact")
  def test_damaged_files_fare_as_on_the_cpu(self, kind):
    random = np.random.default_rng(8)
    limits = codecs.Limits(1 << 20)
    image = make_image(8, 70, 130)
    file = encode(image, kind)
    opened = 0
    for _ in range(200):
      damaged = bytearray(file)
      for at in random.integers(0, len(file), 2):
        damaged[at] ^= 1 << random.integers(0, 8)
      try:
        expected = codecs.decode(bytes(damaged), limits=limits)
      except tf.errors.OpError:
        with self.assertRaises(ValueError):
          liquid_tf.gpu.decode([bytes(damaged)], limits=limits)
        continue
      opened += 1
      decoded = liquid_tf.gpu.decode([bytes(damaged)], limits=limits)
      self.assertAllEqual(_pixels(decoded)[0], expected)
    # Version 1 has no checksums, and most of its bits are of some pixel.
    self.assertEqual(opened > 50, kind == "v1")

  @parameterized.parameters("float32", "bfloat16")
  def test_batches_of_a_dataset_are_those_of_the_cpu(self, dtype):
    path = runs.make(
      self.create_tempdir().full_path,
      "l3:2,l3-compact:1,raw:1",
      sides=(150, 150),
      per_class=6,
    )
    common = {"seed": 3, "cache": "50%"}
    crop = transforms.RandomCrop((64, 80))
    steps = [transforms.Normalize(_MEAN, _STD), transforms.Cast(dtype)]
    steps.append(transforms.ChannelsFirst())
    expected = liquid_tf.dataset(path, 8, **common, transforms=[crop, *steps])
    stored = liquid_tf.dataset(
      path,
      8,
      **common,
      transforms=[crop],
      features=["bytes", "window", "label"],
    )
    for _ in range(2):
      for (images, labels), batch in zip(expected, stored, strict=True):
        decoded = liquid_tf.gpu.decode(
          batch["bytes"], windows=batch["window"], transforms=steps
        )
        self.assertAllEqual(labels, batch["label"])
        self.assertAllEqual(
          _pixels(decoded).view(np.uint8), images.numpy().view(np.uint8)
        )

  def test_files_as_a_loader_gives_them(self):
    path = runs.make(
      self.create_tempdir().full_path, "l3", sides=(150, 150), per_class=6
    )
    options = {"seed": 3, "transforms": [transforms.RandomCrop((64, 80))]}
    with liquid_tf.loader(path, 8, **options) as loader:
      wanted = [image for image, _ in loader]
    options["features"] = ["bytes", "window"]
    with liquid_tf.loader(path, 8, **options) as loader:
      for image, batch in zip(wanted, loader, strict=True):
        decoded = liquid_tf.gpu.decode(batch["bytes"], windows=batch["window"])
        self.assertAllEqual(_pixels(decoded), image)

  def test_batches_that_somebody_has_stay(self):
    images = [make_image(i, 64, 64) for i in range(40)]
    files = [encode(image, "v2") for image in images]

    def decode(i):
      return liquid_tf.gpu.decode(files[i : i + 2])

    with futures.ThreadPoolExecutor(4) as pool:
      kept = list(pool.map(decode, range(0, 40, 2)))
    for i, batch in enumerate(kept):
      self.assertAllEqual(_pixels(batch), np.stack(images[2 * i : 2 * i + 2]))

  def test_what_does_not_fit_is_refused(self):
    image = make_image(1, 20, 30)
    file = encode(image, "v2")
    taller = encode(make_image(1, 21, 30), "v2")
    others = [codecs.encode(image, name).numpy() for name in ("png", "jpeg")]
    deep = encode(make_image(1, 20, 30, dtype=np.uint16), "v2")
    for contents, options, message in (
      ([file, taller], {}, "image 1: .*21 x 30"),
      ([file, deep], {}, "image 1: .*16 bits"),
      ([others[0]], {}, "this is png"),
      ([others[1]], {}, "this is jpeg"),
      ([], {}, r"contents \(of list\) must be a list of the bytes of files"),
      (file, {}, r"contents \(of bytes\) must be a list"),
      ({file}, {}, r"contents \(of set\) must be a list"),
      ({file: 1}, {}, r"contents \(of dict\) must be a list"),
      ([[file]], {}, r"contents\[0\] \(of list\) must be the bytes of a file"),
      ([file, "x"], {}, r"contents\[1\] \(of str\) must be"),
      ([bytearray(file)], {}, r"contents\[0\] \(of bytearray\) must be"),
      (
        np.array([[file]], object),
        {},
        r"contents \(object \[1, 1\]\) must be an array",
      ),
      (tf.constant(file), {}, r"contents \(of bytes\) must be a list"),
      (np.array([file]), {}, r"contents \(\|S\d+ \[1\]\) must be .* lose the zeros"),
      (list(np.array([file])), {}, r"contents\[0\] \(of bytes_\) must be .* the zeros"),
      ([file], {"windows": [(1, 0, 20, 30)]}, "image 0: .*window"),
      (
        [file] * 2,
        {"windows": [(0, 0, 9, 9), (-1, 0, 9, 9)]},
        r"windows\[1\] \(\(-1, 0, 9, 9\)\) must be a \(y, x, height, width\) inside",
      ),
      ([file], {"windows": [(0, 0, 0, 0)]}, r"windows\[0\] \(\(0, 0, 0, 0\)\) must"),
      ([file], {"windows": [(0, 0, 0, 9)]}, r"windows\[0\] \(\(0, 0, 0, 9\)\) must"),
      ([file], {"windows": [(0, 0, 9, 0)]}, r"windows\[0\] \(\(0, 0, 9, 0\)\) must"),
      ([file], {"windows": [(0, 2**40, 9, 9)]}, r"windows\[0\] .* must be a \(y, x"),
      ([file] * 2, {"windows": [(0, 0, 9, 9), (0,)]}, r"must be integers \[2, 4\]"),
      (
        [file],
        {"windows": [0, 0, 9, 9]},
        r"windows \(int64 \[4\]\) must be .*\[1, 4\]",
      ),
      (
        [file],
        {"windows": [[0, 0, 9, 9]] * 2},
        r"\[2, 4\]\) must be integers \[1, 4\]",
      ),
      ([file], {"windows": [[0, 0, 9, 0.5]]}, r"float64 \[1, 4\]\) must be integers"),
      ([file], {"limits": 599}, r"limits \(599\) must be a liquid_tf.codecs.Limits"),
      ([file], {"device": -1}, r"device \(-1\) must be a number of at least 0"),
      ([file], {"device": "gpu"}, r'device \("gpu"\) must be a number'),
      ([file], {"device": True}, r"device \(True\) must be a number"),
      ([file], {"limits": codecs.Limits(599)}, r"image 0: .*limits=Limits\(pixels=N\)"),
      (
        [file],
        {"transforms": [transforms.Cast("float16")]},
        "must be float32 or bfloat16 on a GPU",
      ),
      (
        [file],
        {"transforms": [transforms.Normalize((8, 9))]},
        "mean must have one element, or one for each of the 3 channels; it has 2",
      ),
      (
        [file],
        {"transforms": [transforms.Mirror()]},
        "must be a step of gpu.decode: Normalize, Cast",
      ),
    ):
      with self.subTest(message), self.assertRaisesRegex(ValueError, message):
        liquid_tf.gpu.decode(contents, **options)
    self.assertAllEqual(_pixels(liquid_tf.gpu.decode([deep, deep])).dtype, np.uint16)


@unittest.skipIf(_FAKE is None, "the driver cannot be made to fail")
class DriverTest(tf.test.TestCase, parameterized.TestCase):
  def test_the_second_gpu(self):
    images = [make_image(i, 64, 64) for i in range(4)]
    files = [encode(image, "v2") for image in images]
    decoded = liquid_tf.gpu.decode(files, device=np.int64(1))
    self.assertEqual(decoded.device, 1)
    self.assertAllEqual(_pixels(decoded), np.stack(images))

  def test_memory_is_used_again(self):
    files = [encode(make_image(i, 64, 64), "v2") for i in range(4)]
    for _ in range(3):
      liquid_tf.gpu.decode(files)
    before = _FAKE.count("allocated")
    for _ in range(10):
      liquid_tf.gpu.decode(files)
      with self.assertRaises(ValueError):
        liquid_tf.gpu.decode([files[0][:-1] + bytes([files[0][-1] ^ 1])])
    self.assertEqual(_FAKE.count("allocated"), before)

  def test_memory_of_many_batches_goes(self):
    def memory():
      return _FAKE.count("allocated") - _FAKE.count("freed")

    files = [encode(make_image(i, 64, 64), "v2") for i in range(2)]
    kept = [liquid_tf.gpu.decode(files) for _ in range(20)]
    self.assertGreaterEqual(memory(), 2 * 20)
    kept.clear()
    for _ in range(200):
      liquid_tf.gpu.decode(files)
    # What one batch uses after the other, on either GPU.
    self.assertLessEqual(memory(), 2 * 2 * 2)

  @parameterized.parameters("decode", "capsule")
  def test_an_interrupt_leaves_nothing(self, what):
    files = [encode(make_image(i, 64, 64), "v2") for i in range(2)]
    called = direct.call

    def interrupted(function, *arguments):
      called(function, *arguments)
      # Where a signal's handler is called that came meanwhile.
      raise KeyboardInterrupt

    def ends():
      array = liquid_tf.gpu.decode(files)
      with mock.patch.object(direct, "call", interrupted):
        if what == "capsule":
          array.__dlpack__()
        direct_gpu.decode(
          *(files, None),
          **{"dtype": None, "mean": (0,), "std": (1,), "planar": False},
          **{"max_pixels": 1 << 20, "number": 0},
        )

    for _ in range(4):
      liquid_tf.gpu.decode(files)
    before = _FAKE.count("allocated")
    for _ in range(5):
      self.assertRaises(KeyboardInterrupt, ends)
    # One beside the first.
    self.assertLessEqual(_FAKE.count("allocated"), before + 2)

  def test_a_stream_that_is_behind_keeps_its_images(self):
    images = [make_image(i, 64, 64) for i in range(5)]
    files = [encode(image, "v2") for image in images]
    stream = _FAKE.stream()

    def begin(file):
      array = taken.Taken(_FAKE, liquid_tf.gpu.decode([file]), stream)
      found = array.begin()
      array.free()
      return found

    with futures.ThreadPoolExecutor(1) as pool:
      with _FAKE.busy(stream):
        begun = [begin(file) for file in files[:2]]
        # There is memory that was given back before, and is still read.
        later = pool.submit(lambda: [begin(file) for file in files[2:]])
        time.sleep(0.2)
        self.assertFalse(later.done())
      begun += later.result()
    _FAKE.synchronize(stream)
    for found, image in zip(begun, images, strict=True):
      self.assertAllEqual(found[0], image)

  def test_no_memory(self):
    large = encode(make_image(1, 900, 900), "v2")
    with _FAKE.setting("full", 1):
      with self.assertRaisesRegex(OSError, "no room for .* make batches smaller"):
        liquid_tf.gpu.decode([large] * 8)
    self.assertLen(liquid_tf.gpu.decode([large] * 8), 8)

  @parameterized.parameters("launch", "copy", "callback")
  def test_a_driver_that_reports_an_error(self, what):
    image = make_image(1, 64, 64)
    with _FAKE.setting(what, 719):
      with self.assertRaisesRegex(RuntimeError, "LAUNCH"):
        liquid_tf.gpu.decode([encode(image, "v2")])
    decoded = liquid_tf.gpu.decode([encode(image, "v2")])
    self.assertAllEqual(_pixels(decoded)[0], image)

  @parameterized.parameters(
    ("devices", 0, 2, "CUDA_VISIBLE_DEVICES"),
    ("capability", 70, 90, r"compute capability 7.0, and must have 7.5 \(Turing\)"),
  )
  def test_without_a_gpu_that_will_do(self, name, value, usual, message):
    with _FAKE.setting(name, value, usual=usual):
      self.assertRegex(liquid_tf.gpu.problem(), message)
      self.assertFalse(liquid_tf.gpu.available())
      with self.assertRaisesRegex(RuntimeError, f"needs a GPU: .*{message}"):
        liquid_tf.gpu.decode([b""])
    self.assertIsNone(liquid_tf.gpu.problem())
    # In 32 bits the last one is number 0.
    for number in (2, 2**31, 2**32):
      self.assertIn(f"there is no GPU {number}", liquid_tf.gpu.problem(number))
    with self.assertRaisesRegex(ValueError, "device"):
      liquid_tf.gpu.problem("gpu:1")

  def _python(self, source: str, *arguments: str) -> str:
    fakes = ("tests/gpu/fake_driver.so", "tests/ops/gpu/fake_nvrtc.so")
    head = """
      import ctypes, sys
      sys.modules.update(dict.fromkeys(("tensorflow", "keras", "cupy")))
      driver, nvrtc, *arguments = sys.argv[1:]
      for library in driver, nvrtc:
        ctypes.CDLL(library)
      import liquid_tf
    """
    code = textwrap.dedent(head) + textwrap.dedent(source)
    ran = subprocess.run(
      [sys.executable, "-c", code, *map(built.find, fakes), *arguments],
      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual((ran.stderr, ran.returncode), ("", 0))
    return ran.stdout

  def test_no_tensorflow_is_needed(self):
    image = make_image(1, 64, 64)
    file = self.create_tempfile(content=encode(image, "v2"), mode="wb").full_path
    found = self._python(
      """
      images = liquid_tf.gpu.decode([open(arguments[0], "rb").read()])
      capsule = images.__dlpack__()
      get = ctypes.pythonapi.PyCapsule_GetPointer
      get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
      data = ctypes.c_void_p.from_address(get(capsule, b"dltensor"))
      print(ctypes.string_at(data.value, images.size).hex())
      """,
      file,
    )
    self.assertEqual(found.strip(), image.tobytes().hex())

  def test_a_driver_that_is_older_than_the_kernels(self):
    file = self.create_tempfile(content=encode(make_image(1, 9, 9), "v2"), mode="wb")
    found = self._python(
      """
      ctypes.CDLL(driver).fake_cuda_set(b"module", 200)
      try:
        liquid_tf.gpu.decode([open(arguments[0], "rb").read()])
      except RuntimeError as error:
        print(error)
      """,
      file.full_path,
    )
    self.assertRegex(found, "a driver as new as the CUDA that compiled them")

  def test_a_forked_process_is_told(self):
    file = self.create_tempfile(content=encode(make_image(1, 9, 9), "v2"), mode="wb")
    found = self._python(
      """
      import os
      files = [open(arguments[0], "rb").read()]
      liquid_tf.gpu.decode(files)
      if os.fork() == 0:
        try:
          liquid_tf.gpu.decode(files)
        except RuntimeError as error:
          print(error, flush=True)
        os._exit(0)
      os.wait()
      """,
      file.full_path,
    )
    self.assertIn('start the process by "spawn"', found)


class WithoutGpuTest(tf.test.TestCase):
  def test_a_dataset_says_how_to_decode_on_a_gpu(self):
    path = runs.make(
      self.create_tempdir().full_path, "l3:3,raw:1", sides=(150, 150), per_class=1
    )
    with self.assertRaisesRegex(ValueError, 'decode \\("gpu"\\).*liquid_tf.gpu.decode'):
      liquid_tf.dataset(
        path, 8, transforms=[transforms.RandomCrop((64, 80))], decode="gpu"
      )

  def test_tensorflow_without_one(self):
    message = "TensorFlow has no GPU.*tensorflow\\[and-cuda\\]"
    with self.assertRaisesRegex(RuntimeError, message):
      liquid_tf.gpu.Decode()(tf.constant([b""]))
    with self.assertRaisesRegex(tf.errors.NotFoundError, "TensorFlow has no GPU:0"):
      ops.lib().liquid_decode_l3_device(
        *([b""], [[0, 0, 0, 0]], tf.zeros([0], tf.int64), [0.0], [1.0]),
        mean_image=tf.zeros([0, 0, 0]),
        dtype=tf.uint8,
      )


if __name__ == "__main__":
  tf.test.main()
