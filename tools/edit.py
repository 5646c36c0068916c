"""`python -m tools.edit` in a checkout is `liquid-tf edit`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["edit", *sys.argv[1:]])
