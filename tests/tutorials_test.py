"""Every tutorial runs as its page says, and prints what its page shows."""

import importlib.util
import pathlib
import time
from unittest import mock

import pages
from absl.testing import absltest, parameterized

from liquid_tf._profile import run as profile_run

_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorials"
_TUTORIALS = sorted(path.stem for path in _FOLDER.glob("*.md") if path.stem != "index")


def _missing(name: str) -> str | None:
  """What a page needs that is not here, and who has it."""
  package = {"jax": "jax", "pytorch": "torch"}.get(name)
  if package and importlib.util.find_spec(package) is None:
    return f"{package} is not installed: make backends-test runs {name}.md"
  if name == "s3" and importlib.util.find_spec("moto") is None:
    return "moto is not installed: see requirements/stores.txt"
  return None


class PagesTest(parameterized.TestCase):
  def test_blocks_have_their_lines_and_what_they_print(self):
    text = (
      "# A\n\n```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```text\n1\n```\n"
    )
    first, second = pages.blocks(text)
    self.assertEqual(first, pages.Block(4, "a = 1\n", None))
    self.assertEqual(second, pages.Block(8, "print(a)\n", "1\n"))

  @parameterized.parameters(
    ("1\n", "1\n", True),
    ("1\n", "2\n", False),
    ("1\n", "", False),
    ("1\n", "1\n2\n", False),
    ("a ... b\n", "a 17 b\n", True),
    ("a ... b\n", "a 17\n b\n", False),
    ("...\nlast\n", "one\ntwo\nlast\n", True),
    ("...\nlast\n", "one\ntwo\n", False),
    ("first\n...\n", "first\n", True),
  )
  def test_dots_stand_for_anything(self, shown, printed, wanted):
    self.assertEqual(pages.matches(shown, printed), wanted)

  def test_what_differs_is_found(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = folder / "page.md"
    page.write_text("```python\nprint(a + 1)\n```\n\n```text\n3\n```\n")
    [(_, printed)] = pages.run(page, folder, {"a": 2})
    self.assertEqual(printed, "3\n")
    with self.assertRaisesRegex(AssertionError, "page.md:2 shows\n3\nand prints\n2"):
      pages.run(page, folder, {"a": 1})
    with self.assertRaises(NameError):
      pages.run(page, folder)


class TutorialsTest(parameterized.TestCase):
  @parameterized.named_parameters((name, name) for name in _TUTORIALS)
  def test_runs_as_shown(self, name):
    missing = _missing(name)
    if missing:
      print(f"docs/tutorials/{name}.md: NOT RUN: {missing}", flush=True)
      self.skipTest(missing)
    begin = time.monotonic()
    # On a busy machine, as one that tests, a profile would go on for minutes.
    with mock.patch.object(profile_run, "MOST_SECONDS", 15.0):
      done = pages.run(_FOLDER / f"{name}.md", self.create_tempdir().full_path)
    print(f"docs/tutorials/{name}.md: {time.monotonic() - begin:.1f} s", flush=True)
    self.assertTrue(any(block.shown for block, _ in done))
    for block, printed in done:
      if block.shown is None:
        self.assertEqual(printed, "", f"{name}.md:{block.line} does not show this")

  def test_each_says_what_it_gives_and_where_to_go_next(self):
    listed = (_FOLDER / "index.md").read_text()
    for name in _TUTORIALS:
      with self.subTest(name):
        text = (_FOLDER / f"{name}.md").read_text()
        self.assertRegex(text, r"\A# .*\n\n\*\*You will have\*\* ")
        self.assertIn("\n\n**It takes** ", text)
        self.assertIn("\n## Next\n", text)
        self.assertIn(f"]({name}.md)", listed)


if __name__ == "__main__":
  absltest.main()
