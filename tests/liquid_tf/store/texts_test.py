"""Texts of all samples, one by one and in one pass."""

from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._store import texts


class TextsTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 3, 4, 5, 8, 11)
  def test_every_text_comes_once_in_order(self, count):
    given = [texts.encode("aä\udcff/" * (i % 3)) for i in range(count)]
    ends = np.cumsum([0, *map(len, given)]).astype(np.uint64)
    held = texts.Texts(ends, np.frombuffer(b"".join(given), np.uint8))
    with mock.patch.object(texts, "_READ_ROWS", 4):
      self.assertEqual(list(held.every()), given)
    self.assertEqual([held.encoded(i) for i in range(count)], given)


if __name__ == "__main__":
  absltest.main()
