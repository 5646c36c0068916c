"""Uses an installed liquid_tf as a newcomer does, for tools/wheel/release_check.py.

usage: release_steps.py README FOLDER STEP...

Runs outside the checkout, with nothing installed but liquid_tf and perhaps a
TensorFlow. Each step, a method of Steps, that ends well prints a line
"STEP<tab>SECONDS"; the first that does not ends the process.
"""

import ast
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
from PIL import Image

_COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "nvcc")
_IMAGES, _SIDE, _BATCH = 160, 128, 16
_SECONDS = 900  # for one process

# Two epochs; the last line is a hash of the weights. The third argument is a folder for
# Resume, and the fourth kills the process after so many batches.
_FIT = """
import hashlib, os, signal, sys
import tensorflow as tf
import liquid_tf
from liquid_tf.transforms import Mirror, RandomCrop

path, batch, *rest = sys.argv[1:]
tf.config.experimental.enable_op_determinism()
tf.keras.utils.set_random_seed(1)
train = liquid_tf.dataset(
  path, int(batch), seed=3, cache="30%", transforms=[RandomCrop(96), Mirror()]
)
layers = tf.keras.layers
model = tf.keras.Sequential([
  tf.keras.Input((96, 96, 3)),
  layers.Rescaling(1 / 255),
  layers.Conv2D(4, 5, strides=4),
  layers.GlobalAveragePooling2D(),
  layers.Dense(4),
])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, jit_compile=False)


class Kill(tf.keras.callbacks.Callback):
  left = int(rest[1]) if len(rest) > 1 else 0

  def on_train_batch_end(self, batch, logs=None):
    self.left -= 1
    if self.left == 0:
      os.kill(os.getpid(), signal.SIGKILL)


callbacks = [liquid_tf.keras.Resume(train, rest[0], save_freq=3)] if rest else []
history = model.fit(train, epochs=2, verbose=0, callbacks=[*callbacks, Kill()])
print("batches", int(model.optimizer.iterations))
print(hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
"""


def _run(
  *command: str,
  folder: pathlib.Path,
  codes: tuple[int, ...] = (0,),
  errors: bool = False,
) -> str:
  """Runs a process that must end with one of `codes`; returns its stdout, or stderr."""
  done = subprocess.run(
    command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS
  )
  if done.returncode not in codes:
    sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
  return done.stderr if errors else done.stdout


class Steps:
  """What can be done.

  Attributes:
    readme: the text with the first training.
    folder: where files are written.
  """

  def __init__(self, readme: pathlib.Path, folder: pathlib.Path):
    self.readme = readme.read_text()
    self.folder = folder
    self.photos = folder / "demo_data" / "photos"
    self.dataset = folder / "converted.liquid"

  def _python(self, code: str, *words: str, **options) -> str:
    return _run(sys.executable, "-I", "-c", code, *words, folder=self.folder, **options)

  def _command(self, *words: str, **options) -> str:
    script = os.path.join(os.path.dirname(sys.executable), "liquid-tf")
    return _run(sys.executable, "-I", script, *words, folder=self.folder, **options)

  def _refused(self, sentence: str, *words: str) -> None:
    """A command ends with one line of its own, which has a sentence."""
    said = self._command(*words, codes=(1,), errors=True)
    lines = [line for line in said.splitlines() if line.startswith("liquid-tf ")]
    assert len(lines) == 1 and sentence in lines[0], said

  def _convert_to(self, name: str, *words: str) -> list[str]:
    output = f"--output={self.folder / name}"
    return ["convert", f"--input={self.photos}", output, *words]

  def _serves(self) -> list[str]:
    return ast.literal_eval(
      self._python("from liquid_tf._native import library; print(library.packaged())")
    )

  def without_tensorflow(self) -> None:
    """The package and its help do without TensorFlow; what needs it says so."""
    found = [name for name in _COMPILERS if shutil.which(name)]
    assert not found, found
    self._python("import liquid_tf; liquid_tf.__version__; liquid_tf.transforms")
    self._python("from liquid_tf._native import engine; engine.load()")
    assert "liquid-tf convert" in self._command("--help")
    sentence = 'liquid_tf needs TensorFlow: pip install "tensorflow-cpu>='
    self._refused(sentence, *self._convert_to("none.liquid", "--mix=png"))
    code = "import liquid_tf; liquid_tf.dataset('x', 1)"
    assert sentence in self._python(code, codes=(1,), errors=True)

  def photographs(self) -> None:
    random = np.random.default_rng(0)
    for i in range(_IMAGES):
      # Smooth ones, as photographs are.
      small = random.integers(0, 256, (8, 8, 3), np.uint8)
      image = Image.fromarray(small).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
      path = self.photos / f"class{i % 4}" / f"{i:05}.png"
      path.parent.mkdir(parents=True, exist_ok=True)
      image.save(path)

  def other_extras(self) -> None:
    """What needs a library that is not installed says how to install it."""
    code = "import liquid_tf; print(liquid_tf.gpu.problem())"
    assert "libcuda.so.1" in self._python(code)
    words = self._convert_to("none.liquid", "--mix=png", "--runner=DirectRunner")
    self._refused('pip install "apache-beam>=', *words)
    self._refused('pip install "botocore>=', "inspect", "s3://bucket/photos.liquid")
    report = [f"--input={self.photos}", f"--report={self.folder / 'report.html'}"]
    self._refused('pip install "matplotlib>=', "profile", *report)

  def refusal(self) -> None:
    """A TensorFlow that the wheel does not serve gets one sentence."""
    import tensorflow as tf

    self._check_refusal(tf.__version__, "")

  def made_up_refusal(self) -> None:
    self._check_refusal(
      "2.22.0", "import tensorflow as tf; tf.__version__ = '2.22.0'; "
    )

  def _check_refusal(self, version: str, before: str) -> None:
    assert ".".join(version.split(".")[:2]) not in self._serves(), version
    code = f"{before}from liquid_tf import codecs; codecs.peek(b'')"
    said = self._python(code, codes=(1,), errors=True).splitlines()[-1]
    expected = (
      rf"ImportError: liquid_tf \S+ serves TensorFlow {', '.join(self._serves())}, and "
      rf"this is TensorFlow {version}: install one of those, or run `liquid-tf "
      r"build-ops`, which builds the ops for this one"
    )
    assert re.fullmatch(expected, said), said

  def leave_out(self) -> None:
    """Takes the op library of this TensorFlow away."""
    import tensorflow as tf

    where = "from liquid_tf._native import library; print(library.package())"
    minor = "".join(tf.__version__.split(".")[:2])
    library = pathlib.Path(self._python(where).strip(), f"_liquid_ops_tf{minor}.so")
    library.unlink()
    self.refusal()

  def build_ops(self) -> None:
    self._command("build-ops")

  def readme_lines(self) -> None:
    [example] = re.findall(r"```python\n(.*?)```", self.readme, re.DOTALL)
    said = self._python(example)
    assert "Epoch 3/3" in said and "val_loss" in said, said

  def convert(self) -> None:
    mix = "--mix=png:1,jpeg:1,webp:1,l3:1,raw:1"
    self._command(*self._convert_to(self.dataset.name, mix))

  def inspect(self) -> None:
    said = self._command("inspect", str(self.dataset), "--verify", "--json")
    found = json.loads(said)
    assert found["samples"] == found["verified"] == _IMAGES, found

  def profile(self) -> None:
    output = self.folder / "profile.json"
    words = [f"--input={self.photos}", f"--output={output}", "--formats=png,raw"]
    words += ["--trials=2", "--seconds=.05", f"--batch_size={_BATCH}"]
    # A busy machine gets no advice, and 3.
    self._command("profile", *words, codes=(0, 3))

  def fit(self) -> None:
    self.whole = self._python(_FIT, str(self.dataset), str(_BATCH))
    assert f"batches {2 * _IMAGES // _BATCH}\n" in self.whole, self.whole

  def kill_and_resume(self) -> None:
    words = [str(self.dataset), str(_BATCH), str(self.folder / "run")]
    # In the second epoch, some batches after the last checkpoint.
    batches = _IMAGES // _BATCH + 5
    self._python(_FIT, *words, str(batches), codes=(-signal.SIGKILL,))
    again = self._python(_FIT, *words)
    assert again == self.whole, f"{again} is not {self.whole}"


def main(readme: str, folder: str, *names: str) -> None:
  steps = Steps(pathlib.Path(readme), pathlib.Path(folder))
  for name in names:
    start = time.monotonic()
    getattr(steps, name)()
    print(f"{name}\t{time.monotonic() - start:.0f}", flush=True)


if __name__ == "__main__":
  main(*sys.argv[1:])
