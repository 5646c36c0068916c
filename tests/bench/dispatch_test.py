"""The dispatch benchmark: ours beside stock tf.data, on the same images, by turns."""

from absl.testing import absltest

from tools.bench import dispatch


class DispatchTest(absltest.TestCase):
  def test_a_sample_costs_less_than_in_stock_tf_data(self):
    result = dispatch.bench(None, images=4000, batch_size=256, epochs=9, say=print)
    # It is twice as fast, and 400,000 images/s are promised; both hang on the
    # machine, their ratio in one run by processor time does not.
    ratio = result["images_per_cpu_s"] / result["stock_images_per_cpu_s"]
    self.assertGreater(ratio, 1.25, result)


if __name__ == "__main__":
  absltest.main()
