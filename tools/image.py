"""`python -m tools.image` in a checkout is `liquid-tf image`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["image", *sys.argv[1:]])
