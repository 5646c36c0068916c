"""Options of the encoders, by format."""

from absl.testing import absltest, parameterized

from liquid_tf._native import encoders


class EncodersTest(parameterized.TestCase):
  def test_fills_in_what_is_not_given(self):
    found = encoders.resolve({"jpeg": {"quality": 90}, "pcr": {"groups": [1, 5]}})
    self.assertEqual(
      found,
      {
        "jpeg": {"quality": 90, "index": 16, "progressive": "keep"},
        "png": {"level": 6},
        "webp-lossy": {"quality": 90},
        "l3-compact": {"effort": "default"},
        "pcr": {"images": 64, "groups": [1, 5]},
      },
    )

  @parameterized.parameters(
    ([], "options by format"),
    ({"jpg": {}}, "did you mean jpeg"),
    ({"jpeg": {"qualty": 1}}, "did you mean quality"),
    ({"jpeg": 90}, "must be a mapping"),
    ({"jpeg": {"quality": 101}}, "from 1 to 100"),
    ({"png": {"level": -1}}, "at least 0"),
    ({"l3-compact": {"effort": "bets"}}, r"one of fast, default, best; did you mean"),
    ({"l3-compact": {"effort": 1}}, "one of fast, default, best"),
    ({"pcr": {"groups": (2, 2)}}, "rising numbers"),
    ({"jpeg": {"index": 12}}, '"index"]: 12 must be one of row, 16, 8, none$'),
    ({"jpeg": {"index": "16"}}, "one of row, 16, 8, none"),
    ({"jpeg": {"index": True}}, "one of row, 16, 8, none"),
    ({"jpeg": {"index": None}}, "one of row, 16, 8, none"),
    ({"jpeg": {"progressive": "base"}}, "of keep, baseline; did you mean baseline"),
  )
  def test_refuses(self, given, message):
    with self.assertRaisesRegex(ValueError, message):
      encoders.resolve(given)

  def test_files_have_no_options_of_records(self):
    encoders.resolve({"jpeg": {"quality": 90}}, are_records=False)
    for option, value in (("index", 16), ("progressive", "keep")):
      with self.assertRaisesRegex(ValueError, f'"{option}".* must be left out'):
        encoders.resolve({"jpeg": {option: value}}, are_records=False)


if __name__ == "__main__":
  absltest.main()
