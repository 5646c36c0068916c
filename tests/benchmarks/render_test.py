"""docs/benchmarks.md is what its results say."""

import render
from absl.testing import absltest


class RenderTest(absltest.TestCase):
  def test_the_page_is_generated(self):
    self.assertEqual(
      (render.DOCS / "benchmarks.md").read_text(),
      render.render(),
      "run python tests/benchmarks/render.py",
    )


if __name__ == "__main__":
  absltest.main()
