"""The profile tool from flags to files, and convert with what it says."""

import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

import commands
import photos
import steady
from absl.testing import absltest

from liquid_tf._profile import run as profile_run
from liquid_tf._store import manifest

# The tool in a process of its own, on a machine whose speed is known.
_STEADY = """
import runpy, steady
with steady.Machine().timed():
  runpy.run_module("tools.profile", run_name="__main__", alter_sys=True)
"""


run = commands.run


def _steady(*words: str, **machine) -> commands.Done:
  """Profiles in this process, on a machine whose speed is known, as `steady` has it."""
  # After the rounds that were asked for there is no time for more.
  no_more = mock.patch.object(profile_run, "MOST_SECONDS", 0)
  with no_more, steady.Machine(**machine).timed():
    return run("profile", *words)


class ProfileToolTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.photos = photos.class_folders(
      self.root / "photos", per_class=4, sides=(64, 64)
    )
    self.output = self.root / "profile.json"
    self.page = self.root / "profile.html"

  def _words(self) -> list[str]:
    return [
      f"--input={self.photos}", "--formats=png,raw", "--trials=2", "--seconds=.05",
      "--step_ms=90", "--cache=0", f"--output={self.output}", f"--report={self.page}",
      "--json",
    ]  # fmt: skip

  def test_advice(self):
    done = subprocess.run(
      [sys.executable, "-c", _STEADY, *self._words()],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
      timeout=240,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    # What was written to be measured is gone.
    self.assertCountEqual(
      os.listdir(self.root), ["photos", self.output.name, self.page.name]
    )
    found = json.loads(done.stdout)
    self.assertEqual(found, json.loads(self.output.read_text()))
    # First whether any of it matters.
    verdict = found["verdict"]
    self.assertStartsWith(verdict, "The mix matters: the training takes 356 images/s")
    self.assertIn(f"\n{verdict}\n", done.stderr)
    self.assertIn(found["verdict"], self.page.read_text())
    self.assertEqual(found["mix"], {"raw": 0.55, "png": 0.45})
    self.assertRegex(done.stderr, r"png .* 1005 +251 +251\n")

  def test_too_much_noise_ends_with_3_and_writes_nothing(self):
    done = _steady(*self._words(), waves={"load": steady.RESTLESS})
    self.assertEqual(done.returncode, 3, done.stderr)
    self.assertRegex(
      done.stderr.rstrip(),
      r"no advice: after 2 rounds, \w+ alone may be \d+% faster than .*, which seems "
      "best: end what else runs on this machine, or measure longer, with --trials and "
      "--seconds$",
    )
    self.assertEmpty(done.stdout)
    self.assertEqual(os.listdir(self.root), ["photos"])

  def test_convert_takes_the_mix(self):
    data = dict.fromkeys(
      ("formats", "measured", "fidelity", "predicted", "best_single")
    )
    encoding = dict.fromkeys(("channels", "bits"))
    encoding |= {
      "jpeg_quality": 95,
      "jpeg_index": 16,
      "jpeg_progressive": "keep",
      "png_level": 6,
      "webp_quality": 90,
      "l3_effort": "default",
    }
    data |= {"setting": {"encoding": encoding}}
    data |= {"schema": 2, "verdict": "so be it", "mix": {"raw": 0.25, "png": 0.75}}
    data["cache_form"] = "encoded"
    self.output.write_text(json.dumps(data))
    arguments = [f"--input={self.photos}", f"--output={self.root / 'dataset'}"]
    done = run("convert", *arguments, f"--profile={self.output}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("so be it", done.stderr)
    found = manifest.load(self.root / "dataset")
    self.assertEqual(found["mix"], data["mix"])
    self.assertEqual(found["formats"]["raw"]["samples"], 3)

  def test_convert_encodes_as_the_profile_did_where_no_flag_says_otherwise(self):
    data = dict.fromkeys(
      ("formats", "measured", "fidelity", "predicted", "best_single")
    )
    data |= {"schema": 2, "verdict": "", "mix": {"jpeg": 1}, "cache_form": "encoded"}
    encoding = {
      "jpeg_quality": 30,
      "jpeg_index": "row",
      "jpeg_progressive": "baseline",
      "png_level": 1,
      "webp_quality": 9,
      "l3_effort": "best",
      "channels": 3,
      "bits": 8,
    }
    self.output.write_text(json.dumps(data | {"setting": {"encoding": encoding}}))
    sizes = []
    for flags in ([], ["--jpeg_quality=95"]):
      output = self.root / f"dataset{len(flags)}"
      arguments = [f"--input={self.photos}", f"--output={output}", *flags]
      done = run("convert", *arguments, f"--profile={self.output}")
      self.assertEqual(done.returncode, 0, done.stderr)
      sizes.append(manifest.load(output)["formats"]["jpeg"]["bytes"])
    self.assertLess(sizes[0], 0.7 * sizes[1])

  def test_scan_groups(self):
    photos.class_folders(
      self.root / "jpegs", per_class=4, sides=(64, 64), extension="jpg"
    )
    done = _steady(
      f"--input={self.root / 'jpegs'}", "--formats=raw,pcr",
      "--trials=2", "--seconds=.05", "--cache=0", "--least_mssim=.1",
      "--pcr_groups=1,4,10", "--pcr_images=8", f"--output={self.output}",
    )  # fmt: skip
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertRegex(done.stderr, r"format .* images/s +MSSIM\n")
    self.assertRegex(done.stderr, r"\npcr@1 .* 0\.\d{4}\n")
    self.assertIn("by dataset(fidelity=1): ", done.stderr)
    output = self.root / "dataset"
    source = f"--input={self.root / 'jpegs'}"
    done = run("convert", source, f"--output={output}", f"--profile={self.output}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("by dataset(fidelity=1): ", done.stderr)
    pcr = manifest.load(output)["pcr"]
    self.assertEqual((pcr["images"], pcr["groups"]), (8, [1, 4, 10]))

  def test_images_that_cannot_be_read_end_with_1(self):
    for path in (self.root / "photos").rglob("*.png"):
      path.write_bytes(b"no image")
    done = run("profile", f"--input={self.photos}", "--formats=png,raw")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn("none of 12 images can be stored; ", done.stderr)
    self.assertNotIn("--help", done.stderr)

  def test_wrong_flags_end_with_2(self):
    self.output.write_text("{}")
    source, output = f"--input={self.photos}", f"--output={self.root / 'dataset'}"
    for arguments, message in (
      (["profile", source, "--crop=3"], "--crop (3) must be HEIGHT,WIDTH"),
      (["profile", source, "--formats=gif"], '--formats ("gif") must be one of'),
      (["profile", source, "--least_mssim=.9"], "--least_mssim (0.9) needs pcr among"),
      (
        ["profile", source, "--formats=pcr", "--least_mssim=2"],
        "--least_mssim (2.0) must be above 0 and at most 1",
      ),
      (["convert", source, output, f"--profile={self.output}"], "it has no 'schema'"),
      (["convert", source, output, "--profile=x", "--mix=png"], "and not both"),
    ):
      with self.subTest(message):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
  absltest.main()
