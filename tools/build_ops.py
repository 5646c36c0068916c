"""`python -m tools.build_ops` in a checkout is `liquid-tf build-ops`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["build-ops", *sys.argv[1:]])
