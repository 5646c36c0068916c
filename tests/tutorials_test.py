"""Tutorials and pages for newcomers run as they say, and print what they show."""

import importlib
import importlib.util
import io
import os
import pathlib
import socket
import time
from typing import Any
from unittest import mock

import numpy as np
import pages
from absl.testing import absltest, parameterized
from PIL import Image

import liquid_tf
from liquid_tf import recordio
from liquid_tf._profile import run as profile_run
from liquid_tf.cli.demo import images

_DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
_FOLDER = _DOCS / "tutorials"
_TUTORIALS = sorted(path.stem for path in _FOLDER.glob("*.md") if path.stem != "index")
# These take images that their readers have.
_GUIDES = ("from_keras", "from_mxnet", "from_pytorch", "slow", "sources", "training")


def _missing(name: str) -> str | None:
  """What a page needs that is not here, and who has it."""
  wanted = {
    "jax": ["jax"],
    "libraries": ["accelerate", "grain", "jax", "lightning", "orbax.checkpoint"],
    "pytorch": ["torch"],
    "from_pytorch": ["torch", "torchvision"],
  }
  for package in wanted.get(name, ()):
    try:
      importlib.import_module(package)
    except (ImportError, RuntimeError) as error:
      return (
        f"{package} cannot be imported ({error}): make backends-test runs {name}.md"
      )
  if name == "s3" and importlib.util.find_spec("moto") is None:
    return "moto is not installed: see requirements/stores.txt"
  return None


def _write_detection(path: str) -> None:
  """Writes records as im2rec makes them for ImageDetRecordIter, of 0 to 3 objects."""
  with recordio.Writer(path) as writer:
    for i in range(16):
      pixels = np.full((64, 96, 3), 8 * i, np.uint8)
      file = io.BytesIO()
      Image.fromarray(pixels).save(file, "JPEG")
      label = [4.0, 5.0, 96.0, 64.0]
      for k in range(i % 4):
        label += [k, 0.25 * k, 0.125, 0.25 * k + 0.25, 0.5]
      header = recordio.Header(label, id=i)
      writer.write(recordio.pack(header, file.getvalue()))


class PagesTest(parameterized.TestCase):
  def test_blocks_have_their_lines_and_what_they_print(self):
    text = (
      "# A\n\n```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```text\n1\n```\n"
    )
    first, second = pages.blocks(text)
    self.assertEqual(first, pages.Block(4, "a = 1\n", None))
    self.assertEqual(second, pages.Block(8, "print(a)\n", "1\n"))

  def test_blocks_of_a_list_are_found(self):
    [block] = pages.blocks("1. A\n\n   ```python\n   if a:\n     b\n   ```\n")
    self.assertEqual(block, pages.Block(4, "if a:\n  b\n", None))

  def test_lines_of_a_shell_are_run_where_they_stand(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = folder / "page.md"
    page.write_text(
      "```python\na.append(1)\n```\n\n"
      "```\npip install x\nliquid-tf demo \\\n  --b='c d'\n```\n\n"
      "```python\nprint(a)\n```\n"
    )
    called = []
    [_, (_, printed)] = pages.run(page, folder, {"a": called}, called.append)
    self.assertEqual(printed, "[1, ['demo', '--b=c d']]\n")

  @parameterized.parameters(
    ("1\n", "1\n", True),
    ("1\n", "2\n", False),
    ("1\n", "", False),
    ("1\n", "1\n2\n", False),
    ("a ... b\n", "a 17 b\n", True),
    ("a ... b\n", "a 17\n b\n", False),
    ("...\nlast\n", "one\ntwo\nlast\n", True),
    ("...\nlast\n", "one\ntwo\n", False),
    ("first\n...\n", "first\n", True),
  )
  def test_dots_stand_for_anything(self, shown, printed, wanted):
    self.assertEqual(pages.matches(shown, printed), wanted)

  def test_what_differs_is_found(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = folder / "page.md"
    page.write_text("```python\nprint(a + 1)\n```\n\n```text\n3\n```\n")
    [(_, printed)] = pages.run(page, folder, {"a": 2})
    self.assertEqual(printed, "3\n")
    with self.assertRaisesRegex(AssertionError, "page.md:2 shows\n3\nand prints\n2"):
      pages.run(page, folder, {"a": 1})
    with self.assertRaises(NameError):
      pages.run(page, folder)

  def test_a_warning_of_keras_is_an_error(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = folder / "page.md"
    code = "import warnings\nwarnings.warn_explicit('no', UserWarning, 'a.py', 1, name)"
    page.write_text(f"```python\n{code}\n```\n")
    pages.run(page, folder, {"name": "other.src.trainer"})
    with self.assertRaisesRegex(UserWarning, "no"):
      pages.run(page, folder, {"name": "keras.src.trainer"})


class TutorialsTest(parameterized.TestCase):
  @parameterized.named_parameters((name, name) for name in _TUTORIALS)
  def test_runs_as_shown(self, name):
    missing = _missing(name)
    if missing:
      print(f"docs/tutorials/{name}.md: NOT RUN: {missing}", flush=True)
      self.skipTest(missing)
    begin = time.monotonic()
    # On a busy machine, as one that tests, a profile would go on for minutes.
    with mock.patch.object(profile_run, "MOST_SECONDS", 15.0):
      done = pages.run(_FOLDER / f"{name}.md", self.create_tempdir().full_path)
    print(f"docs/tutorials/{name}.md: {time.monotonic() - begin:.1f} s", flush=True)
    self.assertTrue(any(block.shown for block, _ in done))
    for block, printed in done:
      if block.shown is None:
        self.assertEqual(printed, "", f"{name}.md:{block.line} does not show this")


class GuidesTest(parameterized.TestCase):
  def _given(self, name: str, folder: str) -> dict[str, Any]:
    """Makes the images of a reader, and what else a page takes as given."""
    photos, path = f"{folder}/photos", f"{folder}/photos.liquid"
    images.make(pathlib.Path(photos), side=128, count=160)
    if name == "from_mxnet":
      liquid_tf.convert(photos, path, "png", progress=False)
      liquid_tf.export(path, f"{folder}/records", "rec", progress=False)
      os.rename(f"{folder}/records/train.rec", f"{folder}/train.rec")
      _write_detection(f"{folder}/detection.rec")
    if name == "training":
      liquid_tf.convert(photos, path, "l3", splits="train:.8,val:.2", progress=False)
    if name not in ("slow", "training"):
      return {}
    import keras

    layers = keras.layers
    model = keras.Sequential([layers.GlobalAveragePooling2D(), layers.Dense(8)])
    if name == "training":
      return {"model": model}
    liquid_tf.convert(photos, path, "l3", progress=False)
    train = liquid_tf.dataset(path, 32)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    model.fit(train, epochs=2, shuffle=False, verbose=0)
    return {"train": train, "model": model}

  @parameterized.named_parameters((name, name) for name in _GUIDES)
  def test_runs_as_shown(self, name):
    missing = _missing(name)
    if missing:
      print(f"docs/{name}.md: NOT RUN: {missing}", flush=True)
      self.skipTest(missing)
    folder = self.create_tempdir().full_path
    given = self._given(name, folder)
    with socket.create_server(("127.0.0.1", 0)) as server:
      port = server.getsockname()[1]
    # What torchrun would tell the one process of a training.
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
    with mock.patch.dict(os.environ, alone, MASTER_PORT=str(port)):
      done = pages.run(_DOCS / f"{name}.md", folder, given)
    said = "".join(printed for block, printed in done if block.shown is None)
    self.assertEqual(said.count("\n"), 2 if name == "slow" else 0, said)


class StructureTest(absltest.TestCase):
  def test_each_says_what_it_gives_and_where_to_go_next(self):
    listed = (_FOLDER / "index.md").read_text()
    for name in _TUTORIALS:
      with self.subTest(name):
        text = (_FOLDER / f"{name}.md").read_text()
        self.assertRegex(text, r"\A# .*\n\n\*\*You will have\*\* ")
        self.assertIn("\n\n**It takes** ", text)
        self.assertIn("\n## Next\n", text)
        self.assertIn(f"]({name}.md)", listed)


if __name__ == "__main__":
  absltest.main()
