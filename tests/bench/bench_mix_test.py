"""`tools.bench mix`: its cells, section and plot."""

import json
import pathlib

import benches
from absl.testing import absltest

from liquid_tf._measure import throttle


class BenchMixTest(absltest.TestCase):
  def test_measures_every_mix(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    done = benches.run(
      "mix",
      "--images=16", "--side=64", "--batch_size=4", "--rates=0,500", "--processors=1",
      "--rounds=1", "--seconds=.01", f"--workdir={root}", f"--report={root}/page.md",
      f"--plot={root}/curves.png", "--json",
    )  # fmt: skip
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    throttled = throttle.why_not() is None
    rates = [cell["rate"] for cell in result["cells"]]
    self.assertEqual(rates, [0, 500_000_000][: 1 + throttled])
    self.assertEqual(result["skipped"], throttle.why_not())
    for cell in result["cells"]:
      self.assertEqual((cell["processors"], cell["other"]), (1, "raw"))
      self.assertEqual(
        [row["share"] for row in cell["mixes"]], [i / 10 for i in range(11)]
      )
      for row in cell["mixes"]:
        self.assertGreater(min(row["load"], row["decode"], row["both"]), 0)
      best = max(cell["mixes"], key=lambda row: row["both"])
      self.assertEqual(cell["best"], best["share"])
    text = (root / "page.md").read_text()
    self.assertIn("## The mix curve", text)
    self.assertIn("| whole | 1 | raw |", text)
    self.assertIn("![Images per second along the mixes](curves.png)", text)
    self.assertStartsWith((root / "curves.png").read_bytes(), b"\x89PNG")

  def test_wrong_flags(self):
    for arguments, message in (
      (["--processors=0"], "--processors (0) must be numbers from 1"),
      (["--others=gif"], 'format ("gif") must be one of'),
      (["--others=png"], "--others"),
    ):
      done = benches.run("mix", *arguments)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(message, done.stderr)


if __name__ == "__main__":
  absltest.main()
