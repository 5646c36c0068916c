"""The goldens of policies are what torchvision and timm give, where these are."""

import importlib.util
import pathlib

from absl.testing import absltest

from liquid_tf._pipeline import policies
from liquid_tf.transforms import AutoAugment

_FOUND = all(map(importlib.util.find_spec, ("torchvision", "timm")))


@absltest.skipUnless(_FOUND, "torchvision and timm are not both here")
class PolicyGoldensTest(absltest.TestCase):
  def test_the_header(self):
    import policy_goldens

    header = pathlib.Path(policy_goldens.__file__).with_suffix(".h")
    self.assertEqual(header.read_text(), policy_goldens.header())

  def test_the_policies(self):
    from torchvision.transforms import v2

    for policy in v2.AutoAugmentPolicy:
      wanted = v2.AutoAugment(policy)._policies
      self.assertEqual(
        policies.text(AutoAugment(policy.value)), policies.text(AutoAugment(wanted))
      )


if __name__ == "__main__":
  absltest.main()
