"""`python -m tools.export` in a checkout is `liquid-tf export`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["export", *sys.argv[1:]])
