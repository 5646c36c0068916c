"""`python -m tools.measure` in a checkout is `liquid-tf measure`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["measure", *sys.argv[1:]])
