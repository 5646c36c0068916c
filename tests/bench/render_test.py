"""Pages of benchmarks, and recipe.svg, are what results say."""

import json
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

  def test_the_page_of_recipes_says_what_was_measured(self):
    page = (render.DOCS / "training.md").read_text()
    for row in json.loads((render.RESULTS / "training.json").read_text())["rows"]:
      said = rf"(?m)^\| .*\b{row['median']:,.0f}\b.* \|$"
      self.assertRegex(page, said, f"{row['recipe']}, {row['format']}")


if __name__ == "__main__":
  absltest.main()
