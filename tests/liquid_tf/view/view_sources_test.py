"""Views where a path may be: convert, export, inspect, verify and profile."""

import collections
import os
import pathlib
import shutil
import tempfile
from unittest import mock

import commands
import numpy as np
import runs
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._profile import run
from liquid_tf._store import manifest as manifests
from liquid_tf._store import names


def _pixels(path: str) -> dict[str, bytes]:
  """Pixels of each sample by the name that its source gave it."""
  texts = names.load(manifests.load(path))
  return {texts[r["id"]]: r["image"].tobytes() for r in stored.records(path)}


class ViewSourcesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, sides=(16, 40), splits="train:.8,val:.2")
    cls.view = (
      liquid_tf.open(cls.path).split("train[25%:]+val").where(lambda t: t["width"] > 22)
    )
    cls.records = {record["id"]: record for record in stored.records(cls.path)}
    cls.pixels = _pixels(cls.path)

  def setUp(self):
    super().setUp()
    self.output = os.path.join(self.create_tempdir().full_path, "output")

  def _chosen(self, view):
    return {number: self.records[number] for number in view.numbers.tolist()}

  def test_converted_are_the_views_samples(self):
    report = liquid_tf.convert(self.view, self.output, "raw:1,l3:1", progress=False)
    self.assertEqual(stored.sound(report).samples, len(self.view))
    texts = names.load(self.view.manifest)
    wanted = {texts[i]: self.pixels[texts[i]] for i in self.view.numbers.tolist()}
    self.assertEqual(_pixels(self.output), wanted)
    made = liquid_tf.open(self.output)
    # Numbered anew, in their order.
    self.assertEqual(made.numbers.tolist(), list(range(len(self.view))))
    found = names.load(made.manifest)
    ordered = [texts[i] for i in self.view.numbers.tolist()]
    self.assertEqual([found[i] for i in range(len(made))], ordered)
    for split in ("train", "val"):
      self.assertLen(made.split(split), len(self.view.split(split)))

  def test_a_conversion_goes_on_with_the_same_view_only(self):
    liquid_tf.convert(self.view, self.output, "raw", progress=False)
    # As a conversion that was killed before its manifest leaves it.
    whole = pathlib.Path(self.output, "dataset.json").read_bytes()
    source = liquid_tf.Source(self.view)
    self.assertEqual(source.record["view"], self.view.fingerprint)
    again = liquid_tf.convert(
      self.view, self.output, "raw", existing="replace", progress=False
    )
    self.assertEqual(again.samples, len(self.view))
    self.assertEqual(pathlib.Path(self.output, "dataset.json").read_bytes(), whole)

  @parameterized.parameters("folder", "rec", "tfrecord")
  def test_exported_are_the_views_samples(self, to):
    report = liquid_tf.export(self.view, self.output, to, progress=False)
    wanted = collections.Counter(
      r["shard"].split for r in self._chosen(self.view).values()
    )
    self.assertEqual(report.samples, dict(wanted))
    if to != "folder":
      return
    files = pathlib.Path(self.output).rglob("*.png")
    found = [f"{file.parent.name}/{file.name}" for file in files]
    self.assertCountEqual(found, self.view.names(self.view.numbers))

  def test_exported_order_is_that_of_the_whole(self):
    whole, some = self.output + "/whole", self.output + "/some"
    liquid_tf.export(self.path, whole, "rec", split="train", progress=False)
    liquid_tf.export(self.view, some, "rec", split="train", progress=False)

    def numbers(folder):
      lines = pathlib.Path(folder, "train.lst").read_text().splitlines()
      return [int(line.split("\t")[0]) for line in lines]

    chosen = set(self.view.numbers.tolist())
    self.assertEqual(numbers(some), [n for n in numbers(whole) if n in chosen])

  def test_a_removed_samples_number_stays_unused(self):
    path = shutil.copytree(self.path, self.output + "/copy")
    liquid_tf.remove(liquid_tf.open(path).take([3, 50]))
    folder = self.output + "/files"
    report = liquid_tf.export(path, folder, "folder", progress=False)
    self.assertEqual(sum(report.samples.values()), 98)
    texts = names.load(manifests.load(self.path))
    numbers = {texts[number]: number for number in self.records}
    for file in pathlib.Path(folder).rglob("*.png"):
      record = self.records[numbers[f"{file.parent.name}/{file.name}"]]
      self.assertNotIn(record["id"], (3, 50))
      image = tf.io.decode_png(file.read_bytes()).numpy()
      np.testing.assert_array_equal(image, record["image"])

  def test_inspected_are_the_views_samples(self):
    chosen = self._chosen(self.view)
    for found in (liquid_tf.inspect(self.view), liquid_tf.verify(self.view)):
      self.assertEqual(found["problems"], [])
      self.assertEqual(found["samples"], len(chosen))
      labels = collections.Counter(int(r["labels"][0]) for r in chosen.values())
      counts = found["features"]["label"]["class_counts"]
      self.assertEqual(counts, [labels[i] for i in range(len(counts))])
      self.assertEqual(
        found["splits"],
        dict(collections.Counter(r["shard"].split for r in chosen.values())),
      )
      for name, entry in found["formats"].items():
        rows = [r["row"] for r in chosen.values() if r["shard"].format == name]
        self.assertEqual(entry["samples"], len(rows))
        self.assertEqual(entry["bytes"], sum(int(row["length"]) for row in rows))
      total = sum(int(r["row"]["length"]) for r in chosen.values())
      self.assertEqual(found["bytes"], total)
    self.assertEqual(found["verified"], len(chosen))

  def test_damage_is_of_the_views_samples_only(self):
    path = shutil.copytree(self.path, self.output)
    record = self.records[7]
    with open(os.path.join(path, record["shard"].path), "r+b") as file:
      file.seek(int(record["row"]["offset"]) + 40)
      byte = file.read(1)
      file.seek(-1, os.SEEK_CUR)
      file.write(bytes([byte[0] ^ 1]))
    whole = liquid_tf.open(path)
    (problem,) = liquid_tf.verify(whole.take([7]))["problems"]
    self.assertIn("(sample 7, offset", problem)
    others = whole.where(lambda t: t["number"] != 7)
    self.assertEqual(liquid_tf.verify(others)["problems"], [])

  def test_profiled_are_the_views_samples(self):
    with mock.patch.object(run, "run", side_effect=InterruptedError) as ran:
      with self.assertRaises(InterruptedError):
        liquid_tf.profile(self.view)
    self.assertEqual(ran.call_args.args[0].numbers.tolist(), self.view.numbers.tolist())

  @parameterized.parameters(
    lambda view, output: liquid_tf.convert(view, output, "raw"),
    lambda view, output: liquid_tf.export(view, output, "rec"),
    lambda view, output: liquid_tf.inspect(view),
    lambda view, output: liquid_tf.verify(view),
    lambda view, output: liquid_tf.profile(view),
  )
  def test_weights_and_mixtures_are_refused(self, work):
    with self.assertRaisesRegex(ValueError, "takes each sample once"):
      work(self.view.balanced(), self.output)
    with self.assertRaisesRegex(ValueError, "not a mixture"):
      work(liquid_tf.mixture([(self.view, 1)]), self.output)

  def test_masks_are_no_views(self):
    with self.assertRaisesRegex(ValueError, "are of a folder of images"):
      liquid_tf.Source(self.view, masks="masks")

  def test_commands_choose(self):
    flags = ["--split=train[25%:]+val", "--where=width > 22"]
    for words in (
      ["convert", f"--input={self.path}", f"--output={self.output}/a", "--mix=raw"],
      ["export", f"--input={self.path}", f"--output={self.output}/b", "--to=rec"],
      ["inspect", self.path, f"--html={self.output}/c.html"],
    ):
      done = commands.run(*words, *flags)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertIn(f"{len(self.view)} samples", done.stderr)
    done = commands.run("inspect", self.path, "--version=2")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("version (2)", done.stderr)
    done = commands.run("inspect", self.path, "--where=width > 1e9")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("--where (width > 1e9) must choose a sample of", done.stderr)


if __name__ == "__main__":
  tf.test.main()
