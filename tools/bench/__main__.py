"""`python -m tools.bench NAME`: the benchmarks of a checkout."""

import sys

from tools.bench.commands import BENCH

if __name__ == "__main__":
  BENCH.run(sys.argv[1:])
