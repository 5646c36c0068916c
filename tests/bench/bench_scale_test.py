"""`bench scale`: a simulation that can be checked by counting."""

import json
import math

import benches
from absl.testing import absltest


class BenchScaleTest(absltest.TestCase):
  def test_uneven_parts(self):
    folder = self.create_tempdir().full_path
    done = benches.run(
      "scale", "--samples=10007", "--workers=16", f"--workdir={folder}", "--json"
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    # 2 * 10007 encodings are 16 * 1251 less 2, of two repeats.
    self.assertEqual(result["balance"]["samples"], {"min": 1251, "max": 1251})
    self.assertEqual(result["balance"]["batches"], {"min": 5, "max": 5})
    self.assertEqual(result["balance"]["repeated"], 2)
    self.assertEqual([each["index"] for each in result["opened"]], [0, 15])
    for each in result["opened"]:
      self.assertEqual(each["draws"], 1251)
    names = {each["view"]: each["samples"] for each in result["views"]}
    even = sum(math.isqrt(i) % 2 == 0 for i in range(20014))
    wanted = {"whole": 20014, "where": even, "balanced": 20014}
    self.assertEqual(names, wanted)
    self.assertEqual(result["index_bytes"] // 56, 2 * 10007 + 6)

  def test_wrong_flags(self):
    done = benches.run("scale", "--samples=4", "--workers=9")
    self.assertEqual(done.returncode, 2)
    self.assertIn("--workers (9) must be at most", done.stderr)


if __name__ == "__main__":
  absltest.main()
