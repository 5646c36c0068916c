"""`python -m tools.demo` in a checkout is `liquid-tf demo`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["demo", *sys.argv[1:]])
