"""`python -m tools.profile` in a checkout is `liquid-tf profile`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["profile", *sys.argv[1:]])
