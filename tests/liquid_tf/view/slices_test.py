"""What texts such as "train[10%:]+val" mean, and where formats are cut."""

import itertools
from fractions import Fraction

from absl.testing import absltest, parameterized

from liquid_tf._view import slices


class ParseTest(parameterized.TestCase):
  @parameterized.parameters(
    ("train", 50, [("train", 0, 50)]),
    (" train + val ", 50, [("train", 0, 50), ("val", 0, 50)]),
    ("train[10%:20%]", 50, [("train", 5, 10)]),
    ("train[:3]", 50, [("train", 0, 3)]),
    ("train[3:]", 50, [("train", 3, 50)]),
    ("train[-5:]", 50, [("train", 45, 50)]),
    ("train[:-5]", 50, [("train", 0, 45)]),
    ("train[-10%:-2]", 50, [("train", 45, 48)]),
    ("train[12.5%:]", 8, [("train", 1, 8)]),
    ("train[ 1 : 2 ]", 50, [("train", 1, 2)]),
    ("train[:]", 50, [("train", 0, 50)]),
    ("train[60:]", 50, [("train", 50, 50)]),
    ("train[:60]", 50, [("train", 0, 50)]),
    ("train[-60:]", 50, [("train", 0, 50)]),
    ("train[:33%]", 10, [("train", 0, 3)]),
    ("train[:67%]", 10, [("train", 0, 7)]),
    ("a+b[1]", 5, [("a+b[1]", 0, 5)]),
  )
  def test_places(self, text, samples, wanted):
    found = slices.parse(text, ["train", "val", "a+b[1]"])
    self.assertEqual([(part.split, *part.places(samples)) for part in found], wanted)

  @parameterized.parameters(
    "",
    "+",
    "train[10%",
    "train[a:b]",
    "train[1]",
    "train[1:2:3]",
    "train[1:2]]",
    "train[1.5:]",
    "train[:101%]",
    "train[--1:]",
    "train[1e3:]",
    "train[: 10 %]",
    "train[:" + "9" * 30 + "]",
    "nope",
    "nope[1:2]",
    "train+nope",
  )
  def test_what_is_none(self, text):
    with self.assertRaisesRegex(ValueError, r"^split \("):
      slices.parse(text, ["train", "val"])

  def test_a_split_that_is_no_text(self):
    with self.assertRaisesRegex(ValueError, r"split \(3\) must be a text"):
      slices.parse(3, ["train"])


class CutTest(absltest.TestCase):
  def test_equals_the_first_of_all_in_order(self):
    for counts in itertools.product(range(6), range(9), (0, 1, 17)):
      order = sorted(
        (Fraction(2 * j + 1, 2 * n), i) for i, n in enumerate(counts) for j in range(n)
      )
      for place in range(sum(counts) + 1):
        first = [i for _, i in order[:place]]
        wanted = [first.count(i) for i in range(len(counts))]
        self.assertEqual(slices.cut(counts, place), wanted, f"{counts}, {place}")

  def test_formats_keep_their_shares(self):
    counts = [700_000_001, 250_000_000, 3]
    for place in (0, 1, 12_345, 500_000_000, sum(counts) - 1, sum(counts)):
      cuts = slices.cut(counts, place)
      self.assertEqual(sum(cuts), place)
      for cut, count in zip(cuts, counts):
        self.assertLess(abs(cut - place * count / sum(counts)), 2)


if __name__ == "__main__":
  absltest.main()
