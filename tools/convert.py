"""`python -m tools.convert` in a checkout is `liquid-tf convert`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["convert", *sys.argv[1:]])
