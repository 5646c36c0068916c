"""A planned batch, decoded by the kernels' own code on the host.

Batches of every kind, and damage, are tested with it in C++ (tests/ops/gpu).
"""

import interpreted
import tensorflow as tf
from absl.testing import parameterized
from patches import encode, make_image


class OnHostTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters("u8_u8_sequential", "u8_u8_unpack", "u8_u8_predict")
  def test_steps_of_the_ablation(self, types):
    image = make_image(4, 90, 91)
    plan = interpreted.plan([encode(image, "v1")])
    decoded = interpreted.decode(plan, interpreted.on_host, types)
    self.assertAllEqual(decoded, image[None])

  def test_a_kernel_that_never_ran_is_an_error(self):
    def beside(name, *rest):
      if name in interpreted.BESIDE:
        interpreted.on_host(name, *rest)

    plan = interpreted.plan([encode(make_image(1, 70, 130), "v2")])
    with self.assertRaisesRegex(tf.errors.DataLossError, "image 0: l3: patch 0"):
      interpreted.decode(plan, beside, "u8_u8")


if __name__ == "__main__":
  tf.test.main()
