"""The command that checks and times a GPU, with the host in its place."""

import ctypes
import importlib.machinery
import io
import json
import pathlib
import re
import sys
import time
import types
from unittest import mock

import check
import fake_gpu
import numpy as np
import peers
import tensorflow as tf
import tf_timing
import timing
from absl import flags
from absl.testing import absltest, flagsaver, parameterized
from PIL import Image
from tensorflow.python.eager import context

import liquid_tf
from liquid_tf._graph import gpu as _gpu_tf

fake_gpu.install()


class CheckTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.dict("os.environ"))
    self.enter_context(mock.patch.object(timing, "SIZES", {"HD": (90, 70)}))
    self.enter_context(mock.patch.object(timing, "PIXEL_BYTES", 1 << 18))
    self.enter_context(mock.patch.object(check, "_BATCH", 3))
    # Too late for the device of this process.
    self.set_growth = self.enter_context(
      mock.patch.object(tf.config.experimental, "set_memory_growth")
    )
    self.output = self.create_tempfile().full_path
    self.enter_context(flagsaver.flagsaver(output=self.output, repeats=2))

  def _found(self):
    with open(self.output) as file:
      return json.load(file)

  def test_checks_and_times(self):
    bench = self.create_tempfile(
      content=json.dumps(
        {"steps": [{"findings": [{"what": "to the GPU, pinned", "gb_per_s": 50.0}]}]}
      )
    ).full_path
    with flagsaver.flagsaver(bench=bench):
      check.main(["check"])
    found = self._found()
    self.assertEqual(found["skipped"].keys(), {"torchvision"})
    self._check_driver(found["driver"])
    tensorflow = found["tensorflow"]
    self.assertGreater(tensorflow["checks"]["ran"], 20)
    self.assertEmpty(tensorflow["checks"]["failed"])
    for version in timing.L3:
      timed = tensorflow[version]
      self.assertGreater(timed["decode_milliseconds"], 0)
      self.assertEqual((timed["fed_steps"], timed["wrong_steps"]), (40, 0))
      self.assertEqual(timed["is_hidden"], timed["share"] <= 1.05)
      self.assertEqual(timed["beats_copy"], timed["of_pinned_copy"] >= 1.8)

  def _check_driver(self, found):
    self.assertEqual(found["machine"], {"gpu": "Fake 0", "cuda_driver": 13000})
    self.assertGreater(found["checks"]["ran"], 20)
    self.assertEmpty(found["checks"]["failed"])
    for entry in found["whole"]:
      self.assertGreater(entry["gpu"]["min"], 0)
    self.assertEqual([entry["format"] for entry in found["whole"]], [*timing.L3])

  def test_a_failure_is_told_and_nothing_is_timed(self):
    def wrong(*_, **options):
      raise ValueError("no such kernel")

    with mock.patch.object(liquid_tf.gpu, "decode", wrong):
      with self.assertRaisesRegex(SystemExit, "checks failed"):
        check.main(["check"])
    found = self._found()
    self.assertNotEmpty(found["driver"]["checks"]["failed"])
    self.assertNotIn("whole", found["driver"])

  def test_what_takes_long_is_timed_a_few_times(self):
    self.enter_context(mock.patch.object(timing, "_LONG_SECONDS", 0.1))
    times = timing.on_clock(lambda: time.sleep(0.06), 20)
    self.assertEqual(times["repeats"], 3)
    self.assertEqual(timing.on_clock(lambda: None, 20)["repeats"], 20)

  def test_one_part_alone(self):
    self._without_checks()
    with flagsaver.flagsaver(part=["driver"]):
      check.main(["check"])
    found = self._found()
    self.assertIn("whole", found["driver"])
    self.assertNotIn("tensorflow", found)
    self.assertIn("--part", found["skipped"]["tensorflow"])

  def _without_driver(self):
    return mock.patch.object(liquid_tf.gpu, "problem", lambda: "CUDA finds 0 GPUs")

  def _without_checks(self):
    """What is checked has tests of its own, which take long."""

    def checked(*cases):
      return {"ran": 30, "failed": {}}

    self.enter_context(mock.patch.object(check, "check", checked))

  def test_other_pixels_under_a_step_are_a_failure(self):
    self._without_checks()
    total, sums = tf_timing._sum, []

    def first(files):
      # Of one batch in the place of the other.
      sums.append(total(files))
      return sums[0]

    without = mock.patch.object(tf_timing, "_sum", first)
    with self._without_driver(), without:
      with self.assertRaisesRegex(SystemExit, "^3 checks failed"):
        check.main(["check"])
    failed = self._found()["tensorflow"]["checks"]["failed"]
    self.assertEqual(
      failed["pixels of l3 v2 under a step"], "20 of 40 steps ended with others"
    )

  def test_what_ends_the_timing_leaves_what_was_found(self):
    self._without_checks()

    def full(*_):
      raise MemoryError("out of the GPU's memory")

    full_gpu = mock.patch.object(timing, "measure", full)
    full_step = mock.patch.object(tf_timing, "measure", full)
    with full_gpu, full_step:
      with self.assertRaisesRegex(SystemExit, "^0 .*ended early: driver, tensorflow"):
        check.main(["check"])
    found = self._found()
    for part in (found["driver"], found["tensorflow"]):
      self.assertIn("MemoryError: out of the GPU's memory", part["error"])
      self.assertEqual(part["checks"]["ran"], 30)

  def test_what_was_found_is_written_before_the_process_dies(self):
    self._without_checks()
    written = []

    def die(*_):
      # As TensorFlow does where an event of the device fails: nothing ends this.
      written.append(self._found())
      raise KeyboardInterrupt

    death = mock.patch.object(tf_timing, "measure", die)
    with death, self.assertRaises(KeyboardInterrupt):
      check.main(["check"])
    (found,) = written
    self._check_driver(found["driver"])
    self.assertEqual(found["tensorflow"]["checks"]["ran"], 30)

  def test_what_was_found_is_written_by_whoever_is_interrupted(self):
    self._without_checks()
    interrupted = mock.patch.object(timing, "measure", side_effect=KeyboardInterrupt)
    with interrupted, self.assertRaises(KeyboardInterrupt):
      check.main(["check"])
    self.assertEqual(self._found()["driver"]["checks"]["ran"], 30)

  def test_memory_is_shared_before_tensorflow_begins(self):
    without = mock.patch.object(_gpu_tf, "problem")
    with self._without_driver(), without as problem:
      problem.side_effect = lambda: f"growth was set {self.set_growth.call_count} times"
      with self.assertRaisesRegex(SystemExit, "growth was set 1 times"):
        check.main(["check"])
    gpus = tf.config.list_physical_devices("GPU")
    self.assertEqual(self.set_growth.mock_calls, [mock.call(gpu, True) for gpu in gpus])

  def _gpu_options(self, configure):
    """What TensorFlow would make its GPU with, had it not been made."""
    with mock.patch.object(context, "_context", context.Context()):
      configure()
      return context.context().config.gpu_options.experimental

  def test_priority_of_the_step(self):
    with flagsaver.flagsaver(step_priority=-1, step_memory=300):
      self.assertEqual(check.machine()["step_priority"], -1)
      (device,) = self._gpu_options(check.set_up_devices).virtual_devices
    self.assertEqual((device.priority, device.memory_limit_mb), ([-1], [300]))
    self.set_growth.assert_not_called()

  def test_priority_as_the_page_says(self):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/gpu.md").read_text()
    section = page.split("**Priority.**")[1].split("**Time.**")[0]
    (lines,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    options = self._gpu_options(lambda: exec(lines, {"tf": tf}))  # noqa: S102
    (device,) = options.virtual_devices
    self.assertEqual((device.priority, device.memory_limit_mb), ([-1], [16384]))
    # Where nobody sets it, TensorFlow has none, and its streams get 0.
    self.assertEmpty(self._gpu_options(lambda: None).virtual_devices)

  def _fake_peers(self, brighter: int):
    """A torchvision whose pixels are those of Pillow, some of them brighter.

    PyTorch's arrays are of the host, as the device's memory is.
    """

    class Tensor(np.ndarray):
      def permute(self, *axes):
        return self.transpose(axes)

      def cpu(self):
        return self

      def numpy(self):
        return np.asarray(self)

    def from_dlpack(array):
      capsule = array.__dlpack__()
      get = ctypes.pythonapi.PyCapsule_GetPointer
      get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
      data = ctypes.c_void_p.from_address(get(capsule, b"dltensor"))
      pixels = np.frombuffer(ctypes.string_at(data.value, array.size), np.uint8)
      return pixels.reshape(array.shape).view(Tensor)

    def decode_jpeg(files, mode, device):
      self.assertEqual((mode, device), ("RGB", "cuda"))
      images = [np.array(Image.open(io.BytesIO(file))) for file in files]
      for image in images:
        image[0, :2, 0] += brighter
      return [image.transpose(2, 0, 1).view(Tensor) for image in images]

    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(
      is_available=lambda: True, synchronize=lambda: None
    )
    torch.uint8, torch.from_dlpack = "uint8", from_dlpack
    torch.frombuffer = lambda data, dtype: bytes(data)
    torchvision = types.ModuleType("torchvision")
    torchvision.io = types.ModuleType("torchvision.io")
    torchvision.io.ImageReadMode = types.SimpleNamespace(RGB="RGB")
    torchvision.io.decode_jpeg = decode_jpeg
    modules = {
      "torch": torch,
      "torchvision": torchvision,
      "torchvision.io": torchvision.io,
    }
    for name, module in modules.items():
      module.__spec__ = importlib.machinery.ModuleSpec(name, None)
      sys.modules[name] = module
      self.addCleanup(sys.modules.pop, name)
    self.enter_context(mock.patch.object(peers, "_BATCH", 3))
    self.enter_context(mock.patch.object(peers, "_BATCHES", 2))
    self.enter_context(mock.patch.object(peers, "_SIZE", (50, 40)))

  def test_jpeg_beside_torchvision(self):
    self._fake_peers(brighter=3)
    with self._without_driver(), flagsaver.flagsaver(part=["torchvision"]):
      check.main(["check"])
    found = self._found()
    self.assertIn("not installed", found["skipped"]["DALI"])
    self.assertIn("--part", found["skipped"]["tensorflow"])
    ours, theirs = (
      found["torchvision"]["liquid_tf"],
      found["torchvision"]["torchvision"],
    )
    self.assertEqual(ours["differences"], {"mean": 0, "most": 0, "share": 0})
    self.assertEqual((ours["images"], theirs["images"]), (6, 3))
    self.assertEqual(theirs["differences"]["most"], 3)
    self.assertAlmostEqual(theirs["differences"]["share"], 2 / (50 * 40 * 3))
    for entry in (ours, theirs):
      self.assertGreater(entry["images_per_s"], 0)

  def test_our_own_jpeg_with_other_pixels_is_a_failure(self):
    self._fake_peers(brighter=0)
    wrong = mock.patch.object(peers, "_differences", lambda *_: {"most": 1})
    with self._without_driver(), flagsaver.flagsaver(part=["torchvision"]), wrong:
      with self.assertRaisesRegex(SystemExit, "^1 checks failed"):
        check.main(["check"])

  def test_without_the_driver_alone(self):
    with self._without_driver():
      check.main(["check"])
    found = self._found()
    self.assertIn("CUDA finds 0", found["skipped"]["driver"])
    self.assertIn("--bench", found["skipped"]["copies of pinned memory"])
    self.assertNotIn("driver", found)
    self.assertNotIn("beats_copy", found["tensorflow"]["l3 v2"])

  def test_without_a_gpu(self):
    without = mock.patch.object(_gpu_tf, "problem", lambda: "TensorFlow has none")
    with self._without_driver(), without:
      with self.assertRaisesRegex(SystemExit, "CUDA finds 0 GPUs.*TensorFlow has none"):
        check.main(["check"])


if __name__ == "__main__":
  # Required, and given by each test.
  flags.FLAGS.set_default("output", "")
  absltest.main()
