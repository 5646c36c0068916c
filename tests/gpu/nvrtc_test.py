"""The NVRTC that pip installed is found where the kernels are still to be compiled."""

import ctypes
from unittest import mock

from absl.testing import absltest

from liquid_tf._native import ops


def _opens() -> bool:
  try:
    ctypes.CDLL("libnvrtc.so.12")
  except OSError:
    return False
  return True


class NvrtcTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    ops.offer_nvrtc.cache_clear()
    self.addCleanup(ops.offer_nvrtc.cache_clear)

  def test_it_is_opened_for_source_only(self):
    if _opens():
      self.skipTest("the system has one")
    with mock.patch.object(ops, "_has_kernel_source", return_value=False):
      ops.offer_nvrtc()
    self.assertFalse(_opens())
    ops.offer_nvrtc.cache_clear()
    with mock.patch.object(ops, "_has_kernel_source", return_value=True):
      ops.offer_nvrtc()
    self.assertTrue(_opens())

  def test_the_library_knows_what_it_carries(self):
    self.assertIsInstance(ops._has_kernel_source(), bool)


if __name__ == "__main__":
  absltest.main()
