"""The site that `make site` builds has every page and every public name."""

import importlib
import pathlib
import re
import sys
import textwrap

from absl.testing import absltest

import liquid_tf

# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_DOCS = _ROOT / "docs"
sys.path.insert(0, str(_ROOT / "tools" / "site"))

import check  # noqa: E402
import lists  # noqa: E402
import reference  # noqa: E402

# What tools/site/hooks.py adds besides the reference and the examples.
_MADE = {"changelog.md", "contributing.md", "index.md", "results.md"}
_LINK = re.compile(r"\]\(([^)\s:]+)\)")


def _nav() -> list[str]:
  text = (_ROOT / "mkdocs.yml").read_text()
  [nav] = re.findall(r"^nav:\n((?: .*\n)+)", text, re.M)
  return re.findall(r": (\S+\.md)$", nav, re.M)


def _anchors(text: str) -> set[str]:
  """The places of a page, as code-hosting sites and MkDocs both name them."""
  prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
  titles = re.findall(r"^#+ (.*)$", prose, re.M)
  return {
    re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles
  }


class PagesTest(absltest.TestCase):
  def test_the_navigation_has_every_page_once_and_no_other(self):
    pages = [path.relative_to(_DOCS).as_posix() for path in _DOCS.rglob("*.md")]
    examples = [f"examples/{path.stem}.md" for path in _DOCS.glob("examples/*.py")]
    wanted = [*pages, *examples, *reference.pages(), *_MADE]
    self.assertCountEqual(_nav(), wanted)

  def test_links_of_the_pages_lead_to_files_and_their_titles(self):
    pages = [*_DOCS.rglob("*.md"), *_ROOT.glob("*.md")]
    count = 0
    for page in pages:
      prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S)
      for link in _LINK.findall(prose):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        count += 1
        with self.subTest(f"{page.relative_to(_ROOT)}: {link}"):
          self.assertTrue(target.exists())
          if anchor:
            self.assertIn(anchor, _anchors(target.read_text()))
    self.assertGreater(count, 100)


class ReferenceTest(absltest.TestCase):
  def test_every_public_name_of_the_package_is_on_one_page(self):
    shown = [name for _, _, names in reference.TOPICS for name in names]
    public = set(dir(liquid_tf)) - set(reference.modules()) - {"__version__"}
    self.assertCountEqual(shown, public)

  def test_names_read_from_sources_are_those_of_the_modules(self):
    names = [name for name in dir(liquid_tf) if name not in reference.names()]
    self.assertContainsSubset(names, [*reference.modules(), "__version__"])
    for name in reference.modules():
      module = importlib.import_module(f"liquid_tf.{name}")
      if hasattr(module, "__all__"):
        self.assertCountEqual(reference.members(name), module.__all__, name)
      for member in reference.members(name):
        self.assertTrue(hasattr(module, member), f"{name}.{member}")
    self.assertIn("liquid_tf.codecs.decode_batch", reference.anchors())

  def test_the_list_of_names_says_what_each_is(self):
    index = reference.pages()["reference/index.md"]
    for name in reference.names():
      self.assertRegex(index, rf"(?m)^\| \[`{name}`\]\(\S+#liquid_tf.{name}\) \| \S")


class ListsTest(absltest.TestCase):
  def test_what_belongs_to_an_item_is_indented_by_four(self):
    text = textwrap.dedent("""\
      - one
        more of it

        a paragraph
      1. two
         - inner

         ```
         - code
           code
         ```
      Text.

      ```
      - code
        code
      ```""")
    self.assertEqual(
      lists.widen(text),
      textwrap.dedent("""\
        - one
            more of it

            a paragraph
        1. two
            - inner

            ```
            - code
              code
            ```
        Text.

        ```
        - code
          code
        ```"""),
    )


class CheckTest(absltest.TestCase):
  def _problems(self, body: str) -> list[str]:
    """What the check finds, except the names that this site lacks."""
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "a").mkdir()
    (root / "a/b.html").write_text('<h1 id="here">B</h1><a href="../index.html">')
    (root / "style.css").write_text("a { color: red }")
    (root / "index.html").write_text(body)
    found = check.problems(root)
    return [line for line in found if not line.startswith("reference: ")]

  def test_what_is_there_is_no_problem(self):
    links = ("a/b.html", "a/b.html#here", "#top", "", "/a/b.html", "https://x.org/y")
    anchors = "".join(f'<a href="{link}">' for link in links)
    style = '<link rel="stylesheet" href="style.css">'
    self.assertEmpty(self._problems(f'<p id="top">{anchors}{style}'))

  def test_what_is_not_there_is_found(self):
    for link in ("c.html", "a/b.html#there", "#nowhere", "../outside.html", "a"):
      [problem] = self._problems(f'<a href="{link}">')
      self.assertIn(link, problem)

  def test_what_is_loaded_from_elsewhere_is_found(self):
    for element in (
      '<script src="https://x.org/x.js"></script>',
      '<script src="//x.org/x.js"></script>',
      '<link rel="preconnect" href="https://x.org">',
      '<img src="http://x.org/x.png">',
      '<img srcset="https://x.org/x.png 2x">',
    ):
      [problem] = self._problems(element)
      self.assertIn("from elsewhere", problem)

  def test_names_without_a_place_are_found(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "reference").mkdir()
    names = reference.anchors() - {"liquid_tf.codecs.decode_batch"}
    places = "".join(f'<p id="{name}">' for name in names)
    (root / "reference/all.html").write_text(places)
    [problem] = check.problems(root)
    self.assertIn("liquid_tf.codecs.decode_batch", problem)


if __name__ == "__main__":
  absltest.main()
