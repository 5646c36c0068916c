"""`liquid-tf edit`, and `inspect --versions` of what it made."""

import json
import os
import pathlib

import commands
import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image


def _images(folder: str, counts: dict[str, int]) -> str:
  for name, count in counts.items():
    for i in range(count):
      path = pathlib.Path(folder, name, f"{i}.png")
      path.parent.mkdir(parents=True, exist_ok=True)
      Image.fromarray(np.full((20, 24, 3), len(name) + i, np.uint8)).save(path)
  return folder


class EditCommandTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.path = f"{self.root}/photos.liquid"
    source = _images(f"{self.root}/source", {"a": 3, "b": 2})
    self._run(
      "convert", f"--input={source}", f"--output={self.path}", "--mix=png:1,raw:1"
    )

  def _run(self, command: str, *arguments: str) -> dict:
    done = commands.run(command, *arguments, "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.said = done.stderr
    return json.loads(done.stdout)

  def test_every_change(self):
    more = _images(f"{self.root}/more", {"c": 1, "d": 1})
    report = self._run("edit", self.path, f"--append={more}", "--splits=val:1")
    self.assertEqual((report["version"], report["samples"]), (2, 7))
    self.assertIn("2 samples added: version 2 of ", self.said)

    table = f"{self.root}/t.csv"
    pathlib.Path(table).write_text("name,age,by\na/0.png,7,me\n")
    defaults = "--defaults=age:-1"
    report = self._run("edit", self.path, f"--annotate={table}", defaults)
    self.assertIn("1 samples annotated: version 3", self.said)

    report = self._run("edit", self.path, "--remove=0,5-6")
    self.assertEqual((report["changed"], report["samples"]), (3, 4))
    report = self._run("edit", self.path, "--compact", "--forget=1,2")
    self.assertIn("3 removed records dropped: version 5", self.said)

    found = self._run("inspect", self.path, "--verify", "--versions")
    self.assertEqual(found["problems"], [])
    self.assertEqual(
      [(one["version"], one["made_by"], one["samples"]) for one in found["versions"]],
      [(3, "annotate", 7), (4, "remove", 4), (5, "compact", 4)],
    )
    self.assertEqual(found["columns"], {"age": "int64", "by": "string"})
    for one in found["versions"]:
      self.assertGreater(one["bytes"], one["own_bytes"])
    self.assertRegex(self.said, r"5 +compact +4 ")
    self._run("edit", self.path, "--compact", "--forget=older")
    found = self._run("inspect", self.path, "--versions")
    self.assertLen(found["versions"], 1)
    total = sum(
      os.path.getsize(f"{self.path}/{name}")
      for name in os.listdir(self.path)
      if not name.endswith((".json", ".idx"))
    )
    self.assertEqual(found["versions"][0]["own_bytes"], total)

  def test_labels(self):
    table = f"{self.root}/right.csv"
    pathlib.Path(table).write_text("name,label\na/0.png,b\n")
    report = self._run("edit", self.path, f"--labels={table}")
    self.assertEqual((report["version"], report["changed"]), (2, 1))
    self.assertIn("1 labels corrected: version 2", self.said)
    found = self._run("inspect", self.path, "--verify")
    self.assertEqual(found["features"]["label"]["class_counts"], [2, 3])

  def test_images_that_are_there_already(self):
    source = _images(f"{self.root}/source", {"b": 4})
    done = commands.run("edit", self.path, f"--append={source}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("--append (", done.stderr)
    self.assertIn("): 5 of 7 images have names that", done.stderr)
    self.assertIn("leave them out with --duplicates=skip, or", done.stderr)
    report = self._run("edit", self.path, f"--append={source}", "--duplicates=skip")
    self.assertEqual((report["changed"], report["duplicates"]), (2, 5))
    self.assertIn("5 images left out: the dataset knows their names", self.said)

  def test_entry_points(self):
    path, source = f"{self.root}/jpeg.liquid", f"{self.root}/source"
    flags = ["--mix=jpeg", "--jpeg_index=row", "--jpeg_progressive=baseline"]
    made = self._run("convert", f"--input={source}", f"--output={path}", *flags)
    self.assertRegex(
      self.said, r"\d+ B of jpeg are entry points, with which 5 records decode"
    )
    report = self._run("edit", path, "--jpeg_index=8", "--forget=older")
    self.assertIn("5 records of jpeg written anew: version 2 of", self.said)
    self.assertGreaterEqual(report["jpeg_index"]["bytes"], made["jpeg_index"]["bytes"])

  @parameterized.parameters(
    (
      [],
      2,
      "one of --append, --annotate, --labels, --remove, --compact, --jpeg_index must",
    ),
    (["--compact", "--jpeg_index=8"], 2, "must be given, and no other"),
    (["--jpeg_index=8"], 1, "--jpeg_index (8) is of the format jpeg, which "),
    (["--compact", "--remove=1"], 2, "must be given, and no other"),
    (["--remove=1", "--masks=m"], 2, "--masks is of --append"),
    (["--remove=1", "--forget=1"], 2, "--forget is of --compact"),
    (["--remove=x"], 2, '--remove (x): column ("x") must be one of'),
    (["--remove=3,"], 2, "--remove () must be numbers, as 3,17,20-29"),
    (["--remove=width < 1"], 2, "--remove (width < 1) must choose a sample of"),
    (["--remove=9-2"], 2, "--remove (9-2) must be numbers"),
    (["--remove=99"], 2, "(99) must be of a sample"),
    (["--remove=0-4"], 1, "must leave at least one sample"),
    (["--compact", "--forget=7"], 1, "must be one of the versions"),
    (["--compact", "--forget=1"], 1, "must not be the newest version"),
    (["--annotate=none.csv"], 1, "cannot read none.csv"),
    (["--annotate=none.csv", "--defaults=x"], 2, "must be COLUMN:VALUE"),
    (["--append=/none"], 1, "must be an existing folder"),
    (["--append=/none", "--mix=png"], 2, "--mix is a flag of `liquid-tf convert`"),
  )
  def test_wrong_flags(self, flags, code, message):
    done = commands.run("edit", self.path, *flags)
    self.assertEqual(done.returncode, code, done.stderr)
    self.assertIn(message, done.stderr)
    done = commands.run("edit", *flags)
    self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
  absltest.main()
