"""Trains in PyTorch and in JAX where no TensorFlow is installed (`make loaders-test`).

The dataset is made here. LIQUID_TEST_PYTHON names the Python of another environment,
which trains, is killed, and goes on.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import textwrap
import zlib

import faces
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import transforms

_COMMON = """
import importlib.util
import json
import os
import signal
import sys
import zlib

import liquid_tf
from liquid_tf.transforms import Mirror, Normalize, RandomCrop

assert importlib.util.find_spec("tensorflow") is None, "there is a TensorFlow here"
path, place, start, left = *sys.argv[1:4], int(sys.argv[4])
train = liquid_tf.loader(
    path, 5, seed=4, cache="40%", memory="64MiB", last_batch="drop",
    transforms=[RandomCrop(12), Mirror(), Normalize(127.5, 60)])
weights = model()
if os.path.exists(place):
    saved = load(place)
    train.load_state_dict(saved["place"])
    weights = saved["weights"]
elif start:
    train.load_state_dict(json.loads(start))
while train.state_dict()["epoch"] < 3:
    for images, labels in train:
        pixels = zlib.crc32(images.tobytes())
        weights = step(weights, images, labels)
        state = train.state_dict()
        print(state["epoch"], state["step"], pixels, total(weights), flush=True)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        save({"place": state, "weights": weights}, place + ".new")
        os.replace(place + ".new", place)
"""

_TORCH = """
import torch

load, save = torch.load, torch.save


def model():
    torch.manual_seed(0)
    return torch.nn.Linear(3 * 12 * 12, 4).state_dict()


def step(weights, images, labels):
    linear = torch.nn.Linear(3 * 12 * 12, 4)
    linear.load_state_dict(weights)
    images, labels = torch.from_dlpack(images), torch.from_dlpack(labels)
    torch.nn.functional.cross_entropy(linear(images.flatten(1)), labels).backward()
    with torch.no_grad():
        for value in linear.parameters():
            value -= 0.01 * value.grad
    return linear.state_dict()


def total(weights):
    return f"{float(weights['weight'].abs().sum()):.6f}"
"""

_JAX = """
import pickle

import jax
import jax.numpy as jnp


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def save(state, path):
    with open(path, "wb") as file:
        pickle.dump(state, file)


def model():
    return 0.01 * jax.random.normal(jax.random.key(0), (3 * 12 * 12, 4))


def loss(weights, images, labels):
    logs = jax.nn.log_softmax(images.reshape(len(images), -1) @ weights)
    return -jnp.take_along_axis(logs, labels[:, None], axis=1).mean()


@jax.jit
def step(weights, images, labels):
    return weights - 0.01 * jax.grad(loss)(weights, images, labels)


def total(weights):
    return f"{float(jnp.abs(weights).sum()):.6f}"
"""


class FrameworksCheck(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.python = os.environ["LIQUID_TEST_PYTHON"]
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = faces.make(cls.root, "formats")

  def _train(self, source: str, place: str, *, left: int = 0, start: str = ""):
    """Trains; kills itself in batch `left`. Returns lines of (epoch, step, weights)."""
    ran = subprocess.run(
      [self.python, "-c", source + _COMMON, self.path, place, start, str(left)],
      # Not this environment's packages.
      env=os.environ | {"PYTHONPATH": os.getcwd()},
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(ran.returncode, -signal.SIGKILL if left else 0, ran.stderr)
    return ran.stdout.splitlines()

  @parameterized.named_parameters(("torch", _TORCH), ("jax", _JAX))
  def test_a_killed_training_goes_on_with_the_very_next_batch(self, source):
    whole = self._train(source, os.path.join(self.root, f"whole{id(source)}"))
    place = os.path.join(self.root, f"killed{id(source)}")
    moments, found = random.Random(7), []
    for _ in range(4):
      found += self._train(source, place, left=moments.randint(1, len(whole) // 5))
      found.pop()  # It was killed before it saved this batch.
    found += self._train(source, place)
    self.assertEqual(found, whole)
    self.assertGreater(len(whole), 12)

  @parameterized.named_parameters(("torch", _TORCH), ("jax", _JAX))
  def test_a_position_of_tensorflow_goes_on(self, source):
    steps = [
      transforms.RandomCrop(12),
      transforms.Mirror(),
      transforms.Normalize(127.5, 60),
    ]
    options = {"seed": 4, "cache": "40%", "memory": "64MiB", "transforms": steps}
    dataset = liquid_tf.dataset(self.path, 5, last_batch="drop", **options)
    pixels = [str(zlib.crc32(images.numpy().tobytes())) for images, _ in dataset]
    start = json.dumps(liquid_tf.position(dataset, 0, 2))
    place = os.path.join(self.root, f"tensorflow{id(source)}")
    found = self._train(source, place, start=start)
    self.assertEqual([line.split()[2] for line in found[: len(pixels) - 2]], pixels[2:])

  def test_single_samples(self):
    source = textwrap.dedent("""
      import sys
      import liquid_tf
      view = liquid_tf.open(sys.argv[1])
      for i in range(len(view)):
        print(view[i]["image"].sum(), view[i]["label"])
      assert "tensorflow" not in sys.modules
    """)
    found = subprocess.run(
      [self.python, "-c", source, self.path],
      env=os.environ | {"PYTHONPATH": os.getcwd()},
      capture_output=True,
      text=True,
      check=True,
    ).stdout.splitlines()
    view = liquid_tf.open(self.path)
    wanted = [f"{view[i]['image'].sum()} {view[i]['label']}" for i in range(len(view))]
    self.assertEqual(found, wanted)


if __name__ == "__main__":
  absltest.main()
