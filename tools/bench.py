"""`python -m tools.bench` in a checkout is `liquid-tf bench`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.run(["bench", *sys.argv[1:]])
