"""`liquid-tf export`, and `convert` of what it made."""

import json
import os
import pathlib

import commands
import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image


class ConvertWaysTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  def _run(self, command: str, **named) -> dict:
    done = commands.run(command, "--json", *(f"--{k}={v}" for k, v in named.items()))
    self.assertEqual(done.returncode, 0, done.stderr)
    self.said = done.stderr
    return json.loads(done.stdout)

  def test_out_and_in_again(self):
    source, dataset = f"{self.root}/source", f"{self.root}/dataset"
    for i in range(6):
      folder = pathlib.Path(source, "ab"[i % 2])
      folder.mkdir(parents=True, exist_ok=True)
      Image.fromarray(np.full((20, 24, 3), i, np.uint8)).save(folder / f"{i}.png")
    self._run("convert", input=source, output=dataset, mix="png:1,raw:1")
    report = self._run(
      "export",
      input=dataset,
      output=f"{self.root}/out",
      to="tfrecord",
      label_feature="y",
    )
    self.assertEqual(report["samples"], {"train": 6})
    self.assertEqual(report["formats"], {"png": 6})
    self.assertIn("6 samples (6 png, ", self.said)
    back = self._run(
      "convert",
      input=f"{self.root}/out/train-*",
      output=f"{self.root}/back",
      mix="raw",
      label_feature="y",
      features="image/height,image/class/text",
    )
    self.assertEqual(back["samples"], 6)
    manifest = json.loads(pathlib.Path(self.root, "back/dataset.json").read_text())
    self.assertEqual(manifest["features"]["label"]["classes"], ["a", "b"])
    self.assertIn("image/height", manifest["features"])

  @parameterized.parameters(
    ("export", ["--to=rec", "--mix=png"], 2, "--mix is a flag of `liquid-tf convert`"),
    (
      "export",
      ["--to=zip"],
      2,
      "should be one of <rec|folder|tfrecord|webdataset|parquet>",
    ),
    ("export", [], 2, "--to must be given"),
    ("export", ["--to=rec", "--shard_size=0"], 2, "--shard_size (0) must be"),
    ("export", ["--to=rec", "--format=gif"], 2, "--format"),
    ("image", ["--mix=png"], 2, "--mix is a flag of `liquid-tf convert`"),
    ("convert", ["--mix=png", "--to=rec"], 2, "is a flag of `liquid-tf export`"),
    ("convert", ["--mix=png", "--features=x"], 1, "of sources of tf.train.Examples"),
  )
  def test_wrong_flags(self, command, flags, code, message):
    os.makedirs(f"{self.root}/source/a")
    done = commands.run(
      command, f"--input={self.root}/source", f"--output={self.root}/out", *flags
    )
    self.assertEqual(done.returncode, code, done.stderr)
    self.assertIn(message, done.stderr)
    self.assertFalse(os.path.exists(f"{self.root}/out"))


if __name__ == "__main__":
  absltest.main()
