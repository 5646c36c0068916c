"""`liquid_tf.gpu` with the host in the place of a GPU, and without any.

With LIQUID_TEST_GPU=1, the first is tested on this machine's GPU.
"""

import os
import sys
import time
import types
from concurrent import futures
from unittest import mock

import fake_cupy
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized
from patches import encode, make_flat, make_image

import liquid_tf
from liquid_tf import codecs, transforms
from liquid_tf._gpu import batch as _gpu_batch
from liquid_tf._native import ops

_MEAN = (123.675, 116.28, 103.53)
_STD = (58.395, 57.12, 57.375)


def _steps(dtype: str, layout: str) -> list[transforms.Step]:
  steps = [transforms.Normalize(_MEAN, _STD), transforms.Cast(dtype)]
  return steps + ([transforms.ChannelsFirst()] if layout == "NCHW" else [])


class GpuTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    _gpu_batch._module.cache_clear()
    self.addCleanup(_gpu_batch._module.cache_clear)
    if os.environ.get("LIQUID_TEST_GPU") != "1":
      self.enter_context(fake_cupy.install())

  def test_mixed_batch_comes_in_its_order(self):
    kinds = ["v2", "raw", "v1", "compact", "raw", "v2"]
    images = [make_image(i, 70, 130) for i in range(len(kinds))]
    files = [encode(image, kind) for image, kind in zip(images, kinds)]
    decoded = liquid_tf.gpu.decode(files)
    self.assertEqual(decoded.dtype, np.uint8)
    self.assertAllEqual(decoded.get(), np.stack(images))

  @parameterized.product(channels=(1, 2, 3, 4), dtype=(np.uint8, np.uint16))
  def test_every_kind_of_image(self, channels, dtype):
    for make in (make_image, make_flat):
      image = make(channels, 65, 67, channels, dtype)
      files = [encode(image, kind) for kind in ("v2", "compact", "raw")]
      decoded = liquid_tf.gpu.decode(files)
      self.assertEqual(decoded.dtype, dtype)
      self.assertAllEqual(decoded.get(), np.stack([image] * 3))

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
    self.assertEqual(decoded.dtype, expected.dtype.as_numpy_dtype)
    # To the bit.
    self.assertAllEqual(decoded.get().view(np.uint8), expected.numpy().view(np.uint8))

  def test_mean_alone_makes_float32(self):
    image = make_image(1, 20, 30, 1)
    steps = [transforms.Normalize(10)]
    decoded = liquid_tf.gpu.decode([encode(image, "v2")], transforms=steps)
    self.assertAllEqual(decoded.get(), image[None].astype(np.float32) - 10)

  @parameterized.parameters("v2", "compact")
  def test_damage_names_the_image_and_the_offset(self, kind):
    files = [encode(make_image(i, 70, 130), kind) for i in range(3)]
    files[1] = files[1][:-1] + bytes([files[1][-1] ^ 1])
    with self.assertRaisesRegex(
      tf.errors.DataLossError, r"image 1: l3: patch 5 at offset \d+.*CRC-32C"
    ):
      liquid_tf.gpu.decode(files)

  @parameterized.parameters("v2", "compact")
  def test_a_table_that_is_wrong_is_told_before_patches_that_are(self, kind):
    files = [encode(make_image(i, 70, 130), kind) for i in range(3)]
    files[0] = files[0][:-1] + bytes([files[0][-1] ^ 1])
    # Where patch 0 ends, and the next one begins.
    files[1] = files[1][:24] + b"\xff\xff\xff\x7f" + files[1][28:]
    message = "image 1: l3: the table at offset 20 puts patch 0 at 0 to 2147483647"
    with self.assertRaisesRegex(tf.errors.DataLossError, message):
      liquid_tf.gpu.decode(files)
    # A window that the patch is not in has no use for it.
    window = (0, 128, 70, 2)
    decoded = liquid_tf.gpu.decode(files[1:], windows=[window] * 2)
    self.assertAllEqual(decoded.get()[0], make_image(1, 70, 130)[:, 128:])

  @parameterized.parameters("v1", "v2", "compact")
  def test_damaged_files_fare_as_on_the_cpu(self, kind):
    random = np.random.default_rng(8)
    image = make_image(8, 70, 130)
    file = encode(image, kind)
    opened = 0
    for _ in range(200):
      damaged = bytearray(file)
      for at in random.integers(0, len(file), 2):
        damaged[at] ^= 1 << random.integers(0, 8)
      try:
        expected = codecs.decode(
          bytes(damaged), limits=liquid_tf.codecs.Limits(1 << 20)
        )
      except tf.errors.OpError:
        with self.assertRaises(tf.errors.OpError):
          liquid_tf.gpu.decode(
            [bytes(damaged)], limits=liquid_tf.codecs.Limits(1 << 20)
          )
        continue
      opened += 1
      decoded = liquid_tf.gpu.decode(
        [bytes(damaged)], limits=liquid_tf.codecs.Limits(1 << 20)
      )
      self.assertAllEqual(decoded.get()[0], expected)
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
        self.assertAllEqual(decoded.get().view(np.uint8), images.numpy().view(np.uint8))

  def test_first_batches_of_two_threads_load_the_kernels_once(self):
    import cupy

    made = []

    def make(**how):
      # As long as the other thread needs to get there.
      time.sleep(0.2)
      made.append(how)
      return original(**how)

    original = cupy.RawModule
    self.enter_context(mock.patch.object(cupy, "RawModule", make))
    with futures.ThreadPoolExecutor(2) as pool:
      first, second = pool.map(lambda _: _gpu_batch.module(), range(2))
    self.assertIs(first, second)
    self.assertLen(made, 1)

  def test_what_does_not_fit_is_refused(self):
    file = encode(make_image(1, 20, 30), "v2")
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "image 1: .*21 x 30"):
      liquid_tf.gpu.decode([file, encode(make_image(1, 21, 30), "v2")])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "this is png"):
      liquid_tf.gpu.decode([codecs.encode(make_image(1, 20, 30), "png").numpy()])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "this is jpeg"):
      liquid_tf.gpu.decode([codecs.encode(make_image(1, 20, 30), "jpeg").numpy()])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "image 0: .*window"):
      liquid_tf.gpu.decode([file], windows=[(1, 0, 20, 30)])
    with self.assertRaises(tf.errors.ResourceExhaustedError):
      liquid_tf.gpu.decode([file], limits=liquid_tf.codecs.Limits(599))
    for step, message in (
      (transforms.Cast("float16"), "must be float32 or bfloat16 on a GPU"),
      (transforms.Normalize((8, 9)), "mean .* must be one number"),
      (transforms.Mirror(), "must be a step of gpu.decode: Normalize, Cast"),
    ):
      with self.subTest(message), self.assertRaisesRegex(ValueError, message):
        liquid_tf.gpu.decode([file], transforms=[step])


class WithoutGpuTest(tf.test.TestCase, parameterized.TestCase):
  def test_a_driver_that_is_older_than_the_kernels(self):
    def refuse(name):
      raise fake_cupy.CUDADriverError("CUDA_ERROR_INVALID_IMAGE: device kernel image")

    module = types.SimpleNamespace(get_function=refuse)
    file = encode(make_image(1, 20, 30), "v2")
    with fake_cupy.install(), mock.patch.object(_gpu_batch, "module", lambda: module):
      message = "loaded .CUDA_ERROR_INVALID_IMAGE.*a driver as new as the CUDA"
      with self.assertRaisesRegex(RuntimeError, message):
        liquid_tf.gpu.decode([file])

  def test_without_cupy(self):
    with mock.patch.dict(sys.modules, {"cupy": None}):
      self.assertFalse(liquid_tf.gpu.available())
      message = "needs a GPU: .*pip install cupy-cuda12x"
      with self.assertRaisesRegex(RuntimeError, message):
        liquid_tf.gpu.decode([b""])

  @parameterized.parameters(
    (-1, "90", "cudaErrorInsufficientDriver.*nvidia-smi"),
    (0, "90", "CUDA_VISIBLE_DEVICES"),
    (1, "70", "compute capability 70, and must have 75"),
  )
  def test_without_a_gpu_that_will_do(self, count, capability, message):
    with fake_cupy.install(count, capability):
      self.assertRegex(liquid_tf.gpu.problem(), message)
      self.assertFalse(liquid_tf.gpu.available())
      with self.assertRaisesRegex(RuntimeError, message):
        liquid_tf.gpu.decode([b""])

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
