#!/bin/bash
# Builds the fuzzers of L3 under the address and undefined-behaviour
# sanitizers and runs each for a while. From the root of the checkout:
#
#   tests/fuzz/l3_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz) keeps what the fuzzers found; CXX is a compiler, see
# fuzzers.sh.
set -euo pipefail
. tests/fuzz/fuzzers.sh
run_fuzzers l3 "${1:-600}" "${2:-build/fuzz}" 8192 "decode round_trip" \
  ops/codecs/{codec_util,vector_target}.cc ops/core/crc32c.cc \
  ops/codecs/l3/host/*.cc tests/ops/codecs/l3_mutations.cc tests/fuzz/l3_fuzz.cc
