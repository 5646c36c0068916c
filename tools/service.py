"""`python -m tools.service` in a checkout is `liquid-tf service`."""

import sys

from liquid_tf.cli import main

if __name__ == "__main__":
  main.LIQUID_TF.run(["service", *sys.argv[1:]])
