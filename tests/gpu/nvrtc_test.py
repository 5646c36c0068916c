"""The NVRTC that pip installed is found where the kernels are still to be compiled."""

import ctypes
from unittest import mock

from absl.testing import absltest

from liquid_tf import _nvrtc


def _opens() -> bool:
  try:
    ctypes.CDLL("libnvrtc.so.12")
  except OSError:
    return False
  return True


class NvrtcTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    _nvrtc.offer.cache_clear()
    self.addCleanup(_nvrtc.offer.cache_clear)

  def test_it_is_opened_for_source_only(self):
    if _opens():
      self.skipTest("the system has one")
    with mock.patch.object(_nvrtc, "_is_source", return_value=False):
      _nvrtc.offer()
    self.assertFalse(_opens())
    _nvrtc.offer.cache_clear()
    with mock.patch.object(_nvrtc, "_is_source", return_value=True):
      _nvrtc.offer()
    self.assertTrue(_opens())

  def test_the_library_knows_what_it_carries(self):
    self.assertIsInstance(_nvrtc._is_source(), bool)


if __name__ == "__main__":
  absltest.main()
