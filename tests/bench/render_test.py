"""docs/benchmarks.md, codecs.md, papers.md and recipe.svg are what results say."""

import re

from absl.testing import absltest, parameterized

from tools.bench import render


class RenderTest(parameterized.TestCase):
  @parameterized.parameters(*render.PAGES)
  def test_the_page_is_generated(self, name):
    self.assertEqual(
      (render.DOCS / name).read_text(),
      render.PAGES[name](),
      "run python -m tools.bench.render",
    )

  def test_plots_of_the_papers_are_there(self):
    plots = re.findall(r"^!\[[^]]*\]\((.*)\)$", render.papers(), re.M)
    self.assertNotEmpty(plots)
    self.assertEmpty([plot for plot in plots if not (render.DOCS / plot).exists()])


if __name__ == "__main__":
  absltest.main()
