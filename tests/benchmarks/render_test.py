"""docs/benchmarks.md and docs/codecs.md are what their results say."""

import render
from absl.testing import absltest, parameterized


class RenderTest(parameterized.TestCase):
  @parameterized.parameters(*render.PAGES)
  def test_the_page_is_generated(self, name):
    self.assertEqual(
      (render.DOCS / name).read_text(),
      render.PAGES[name](),
      "run python tests/benchmarks/render.py",
    )


if __name__ == "__main__":
  absltest.main()
