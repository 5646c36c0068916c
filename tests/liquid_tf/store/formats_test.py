"""The table of formats: that of Python says what that of C++ says."""

import re

from absl.testing import absltest

from liquid_tf._store import formats
from liquid_tf._store.mix import TARGETS

_HEADER = "ops/codecs/formats.h"
_ROW = re.compile(
  r'\{Format::(?P<constant>\w+), "(?P<name>[^"]+)", \{(?P<first_bytes>[^}]*)\}, '
  r'(?P<side>\w+), "(?P<channels>\d+)", (?P<bits>8|16), (?P<lossless>true|false), '
  r"(?P<cost>\d+), "
)


def _literals(text: str) -> tuple[bytes, ...]:
  """The string literals of C++ in a text."""
  found = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
  return tuple(one.encode().decode("unicode_escape").encode("latin-1") for one in found)


class FormatsTest(absltest.TestCase):
  def test_both_tables_say_the_same(self):
    with open(_HEADER, encoding="utf-8") as file:
      text = re.sub(r"\s+", " ", re.sub(r"//.*", "", file.read()))
    numbers = dict(re.findall(r"\b(k\w+) = (\d+),", text))
    sides = {"kAnySide": None}
    rows = [row.groupdict() for row in _ROW.finditer(text)]
    self.assertLen(rows, text.count("{Format::"))
    self.assertCountEqual(numbers, [row["constant"] for row in rows])
    found = {
      row["name"]: {
        "number": int(numbers[row["constant"]]),
        "first_bytes": _literals(row["first_bytes"]),
        "channels": tuple(map(int, row["channels"])),
        "bits": (8, 16)[: int(row["bits"]) // 8],
        "lossless": row["lossless"] == "true",
        "cost": int(row["cost"]),
        "side": sides[row["side"]] if row["side"] in sides else int(row["side"]),
      }
      for row in rows
    }
    ours = {
      row.name: {key: getattr(row, key) for key in found["raw"]} for row in formats.ROWS
    }
    self.assertEqual(ours, found)

  def test_names_stand_by_number(self):
    for number, name in enumerate(formats.FORMATS):
      self.assertEqual(formats.BY_NAME[name].number, number)

  def test_no_two_rows_share_a_name_or_an_extension(self):
    names = [
      name for row in formats.ROWS for name in (row.name, row.lossy_name) if name
    ]
    extensions = [extension for row in formats.ROWS for extension in row.extensions]
    self.assertLen(TARGETS, len(names))
    self.assertLen(formats.BY_EXTENSION, len(extensions))

  def test_files_of_a_folder_are_known_by_the_first_bytes_of_any_format(self):
    for row in formats.ROWS:
      for pattern in row.first_bytes:
        self.assertTrue(formats.begins_so(pattern.replace(b"?", b"\n") + b"more"))
        self.assertFalse(formats.begins_so(b"x" + pattern))
    self.assertFalse(formats.begins_so(b"RIFF\0\0\0\0WAVE"))
    self.assertFalse(formats.begins_so(b""))

  def test_what_is_exported_has_an_extension(self):
    for row in formats.ROWS:
      self.assertTrue(row.extensions or not row.exported, row.name)


if __name__ == "__main__":
  absltest.main()
