"""The NVRTC that pip installed is found where the kernels are still to be compiled."""

import ctypes
from unittest import mock

from absl.testing import absltest

from liquid_tf._native import direct_gpu


def _opens() -> bool:
  try:
    ctypes.CDLL("libnvrtc.so.12")
  except OSError:
    return False
  return True


class NvrtcTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    direct_gpu.offer_nvrtc.cache_clear()
    self.addCleanup(direct_gpu.offer_nvrtc.cache_clear)

  def test_it_is_opened_for_source_only(self):
    if _opens():
      self.skipTest("the system has one")
    with mock.patch.object(direct_gpu, "_has_kernel_source", return_value=False):
      direct_gpu.offer_nvrtc()
    self.assertFalse(_opens())
    direct_gpu.offer_nvrtc.cache_clear()
    with mock.patch.object(direct_gpu, "_has_kernel_source", return_value=True):
      direct_gpu.offer_nvrtc()
    self.assertTrue(_opens())

  def test_the_library_knows_what_it_carries(self):
    self.assertIsInstance(direct_gpu._has_kernel_source(), bool)


if __name__ == "__main__":
  absltest.main()
