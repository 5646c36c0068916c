"""`python -m tools.inspect` in a checkout is `liquid-tf inspect`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["inspect", *sys.argv[1:]])
