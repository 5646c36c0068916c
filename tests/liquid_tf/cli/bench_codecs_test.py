"""The codecs' table: every figure is there and fits the others."""

import json
import os
import pathlib
import subprocess
import sys

from absl.testing import absltest
from PIL import Image

from liquid_tf.cli import wheel_images
from liquid_tf.cli.bench import codec_report, codecs

_OURS = (
  "raw",
  "bmp",
  "png",
  "png tf.io",
  "webp",
  "jpeg",
  "l3 v1",
  "l3 v2",
  "l3-compact",
)


def _run(*arguments: str) -> subprocess.CompletedProcess:
  return subprocess.run(
    [sys.executable, "-m", "tools.bench", "codecs", *arguments],
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    capture_output=True,
    text=True,
    timeout=240,
  )


class BenchCodecsTest(absltest.TestCase):
  def test_measures_every_codec_on_every_set(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    photographs = wheel_images.wheel_photographs()
    for name in ("astronaut", "coffee"):
      (root / name).mkdir()
      image = Image.fromarray(photographs[name][:150, :200])
      image.save(root / name / "x.png")
    done = _run(
      f"--sets={root}/astronaut,other={root}/coffee",
      "--squares=1",
      "--side=96",
      "--passes=2",
      "--rounds=1",
      "--json",
      f"--plot={root}/plot.png",
      f"--output={root}/result.json",
      f"--report={root}/page.md",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(json.loads((root / "result.json").read_text()), result)
    with Image.open(root / "plot.png") as plot:
      self.assertGreater(min(plot.size), 300)

    page = (root / "page.md").read_text()
    self.assertIn(codec_report.table(result), page)
    self.assertIn("](plot.png)", page)
    self.assertNotIn(os.fspath(root), page)
    self.assertEqual(list(result["sets"]), ["astronaut", "other"])
    for entry in (*result["sets"].values(), result["all"]):
      self.assertContainsSubset(_OURS, entry["codecs"])
      for name, values in entry["codecs"].items():
        self.assertAlmostEqual(values["ratio"], values["bytes"] / entry["pixel_bytes"])
        self.assertGreaterEqual(values["worst_to_png"], 0.999 * values["to_png"])
        rate = values["decode_gb_per_s"]
        self.assertBetween(rate["median"], rate["q1"], rate["q3"])
        self.assertGreater(rate["q1"], 0)
        self.assertIn(name, done.stderr)
      self.assertEqual(entry["codecs"]["png"]["to_png"], 1)
      self.assertAlmostEqual(entry["codecs"]["raw"]["ratio"], 1, places=2)
    both = [entry["codecs"]["l3 v2"]["bytes"] for entry in result["sets"].values()]
    self.assertEqual(result["all"]["codecs"]["l3 v2"]["bytes"], sum(both))
    self.assertEqual(result["all"]["images"], 2)
    self.assertContainsSubset(
      ("l3 v1", "l3 v2", "l3-compact", "png"), result["windows"]
    )
    self.assertIn("revision", result["evidence"])
    self.assertLen(codec_report.verdicts(result), 11 + ("qoi" in result["codecs"]))

  def test_wrong_sets(self):
    with self.assertRaisesRegex(ValueError, 'name "a" twice'):
      codecs.parse_sets([f"a={self._photo_folder()}", f"a={self._photo_folder()}"])
    done = _run("--sets=/no/such/folder")
    self.assertEqual(done.returncode, 2)
    self.assertIn("must be an existing folder", done.stderr)
    self.assertEqual(codecs.parse_sets([]), {"skimage": []})

  def _photo_folder(self) -> str:
    folder = self.create_tempdir().full_path
    Image.new("RGB", (8, 8)).save(f"{folder}/x.png")
    return folder


if __name__ == "__main__":
  absltest.main()
