"""Text files as several systems write them."""

import codecs

from absl.testing import absltest, parameterized

from liquid_tf._store import text_file


class TextFileTest(parameterized.TestCase):
  @parameterized.parameters(
    (b"cat\ndog\n",),
    (b"cat\r\ndog\r\n",),
    (b"cat\rdog\r",),
    (codecs.BOM_UTF8 + b"cat\r\ndog\r\n",),
    (codecs.BOM_UTF16_LE + "cat\r\ndog\r\n".encode("utf-16-le"),),
    (codecs.BOM_UTF16_BE + "cat\ndog\n".encode("utf-16-be"),),
  )
  def test_reads_alike_whoever_wrote_it(self, contents):
    self.assertEqual(text_file.decode(contents), "cat\ndog\n")

  def test_a_mark_is_taken_off_once(self):
    twice = codecs.BOM_UTF8 * 2 + b"cat"
    self.assertEqual(text_file.decode(twice), "\ufeffcat")

  def test_says_which_byte_is_no_text(self):
    with self.assertRaisesRegex(ValueError, "no text in UTF-8.* at byte 5; save it"):
      text_file.decode(codecs.BOM_UTF8 + b"ab\xff")
    with self.assertRaisesRegex(ValueError, "no text in UTF-16-LE"):
      text_file.decode(codecs.BOM_UTF16_LE + b"a")

  def test_paths_keep_any_byte(self):
    text = text_file.decode(b"caf\xe9.jpg", any_bytes=True)
    self.assertEqual(text.encode(errors="surrogateescape"), b"caf\xe9.jpg")

  def test_lines_keep_their_numbers(self):
    found = list(text_file.lines("\n cat \n\t\nsea\u2028lion\n"))
    self.assertEqual(found, [(2, "cat"), (4, "sea\u2028lion")])

  def test_names_are_numbered_by_their_lines(self):
    self.assertEqual(text_file.names("cat\n big dog \n\n \n"), ["cat", "big dog"])
    self.assertEqual(text_file.names("\n"), [])
    for text, line in (("\ncat", 1), ("cat\n\t\n\ndog", 2)):
      with self.assertRaisesRegex(ValueError, f"has a blank line {line} before '"):
        text_file.names(text)

  def test_reads_a_file(self):
    path = self.create_tempfile(content=codecs.BOM_UTF8 + b"a\r\n", mode="wb").full_path
    self.assertEqual(text_file.read(path), "a\n")
    with self.assertRaises(OSError):
      text_file.read(path + ".missing")


if __name__ == "__main__":
  absltest.main()
