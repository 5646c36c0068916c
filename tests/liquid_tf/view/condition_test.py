"""Conditions as text against the same conditions written with NumPy."""

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._view.condition import evaluate

_CLASSES = ("cat", "owl", "dog")
_TABLE = {
  "height": np.array([10, 300, 256, 80], np.uint32),
  "width": np.array([300, 10, 256, 90], np.uint32),
  "label": np.array([0, 1, 1, 2]),
  "name": np.array(["a/1.png", "b/2.png", "a/3.jpg", "c/4.png"]),
  "score": np.array([0.1, np.nan, -3.0, 0.9]),
  "caption": np.array(["a red owl", "Red", "", "bored"], object),
  "sharp": np.array([True, False, True, True]),
}


class ConditionTest(parameterized.TestCase):
  @parameterized.parameters(
    ("height >= 256", lambda t: t["height"] >= 256),
    ("height < 100 < width", lambda t: (t["height"] < 100) & (t["width"] > 100)),
    ("height - width < -5", lambda t: t["height"] + 5 < t["width"]),
    ("(height * width) % 7 == 3", lambda t: t["height"] * t["width"] % 7 == 3),
    ("height / width > 1.5", lambda t: t["height"] / t["width"] > 1.5),
    ("height // 2 + 1 != -(-6)", lambda t: t["height"] // 2 + 1 != 6),
    ('label == "owl"', lambda t: t["label"] == 1),
    ('"owl" != label', lambda t: t["label"] != 1),
    ('label in ("owl", "dog")', lambda t: t["label"] >= 1),
    ("label not in [0, 1]", lambda t: t["label"] == 2),
    ('name.startswith("a/")', lambda t: np.char.startswith(t["name"], "a/")),
    ('not name.endswith(".png")', lambda t: np.char.endswith(t["name"], ".jpg")),
    ('"/3" in name', lambda t: np.char.find(t["name"], "/3") >= 0),
    ('".png" not in name', lambda t: np.char.endswith(t["name"], ".jpg")),
    ('"red" in caption', lambda t: np.array([1, 0, 0, 1], bool)),
    ('"red" not in caption', lambda t: np.array([0, 1, 1, 0], bool)),
    ('name > "b"', lambda t: t["name"] > "b"),
    ("sharp and score > 0 or label == 1", lambda t: np.array([1, 1, 1, 1], bool)),
    ("score == score", lambda t: ~np.isnan(t["score"])),
    ("sharp == False", lambda t: ~t["sharp"]),
    (" \n height > 1 ", lambda t: t["height"] > 1),
  )
  def test_it_is_what_numpy_says(self, text, wanted):
    found = evaluate(text, _TABLE, _CLASSES)
    np.testing.assert_array_equal(found, wanted(_TABLE))

  @parameterized.parameters(
    ("height <", "is no condition: invalid syntax"),
    ("", "is no condition"),
    ("height > 1\0", "is no condition"),
    ("height == " + "1" * 5000, "is no condition"),
    ("(" * 3000 + "1" + ")" * 3000, "is no condition"),
    ("not " * 2000 + "sharp", "is no condition|too deep|recursion"),
    ("height" + " " * 10_000 + "> 1", "at most 10000 characters"),
    ("height", "must be true or false of each sample"),
    ("1 < 2", "must be true or false of each sample"),
    ("height and sharp", "`height` must be true or false"),
    ("height = 3", "is no condition"),
    ('label == "owls"', "must be one of the 3: did you mean 'owl'"),
    ("name < 3", "`name` cannot be compared with `3`"),
    ('height == "3"', "cannot be compared"),
    ("height in 3", "must be a list"),
    ("name in caption", 'as "red" in caption'),
    ("3 in name", "cannot be compared"),
    ('"a" in "ab"', "must be a list"),
    ('"owl" in label', "must be a list"),
    ("height < (1, 2)", "cannot be compared so"),
    ("height in (width, 1)", "must have numbers or texts alone"),
    ("height ** 9 > 1", "may have"),
    ("name + 1 > 1", "`name` must be a number"),
    ("height == 99999999999999999999", "must be within 64 bits"),
    ("height == 1j", "must be a number or text"),
    ("__import__('os').system('true')", "as name.startswith.*else, give a fun"),
    ("name.upper() == 'A'", "must be as name.startswith"),
    ("height.startswith('1')", "must be of texts"),
    ("[x for x in name]", "is nothing that a condition may have; .* a function"),
    ("(lambda: 1)()", "must be as name.startswith"),
    ("name[0] == 'a'", "is nothing that a condition may have"),
    ("name is None", "must be a number or text"),
  )
  def test_others_are_refused(self, text, message):
    with self.assertRaisesRegex(ValueError, message) as caught:
      evaluate(text, _TABLE, _CLASSES)
    self.assertStartsWith(str(caught.exception), "where (")
    self.assertLess(len(str(caught.exception)), 700)


if __name__ == "__main__":
  absltest.main()
