#!/bin/bash
# Builds the fuzzers of progressive compressed records under the address and
# undefined-behaviour sanitizers and runs each for a while. From the root of the
# checkout:
#
#   tests/fuzz/pcr_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_pcr) keeps what the fuzzers found; CXX is a compiler, see
# fuzzers.sh.
set -euo pipefail
. tests/fuzz/fuzzers.sh
flags+=(-DXXH_INLINE_ALL)
shopt -s globstar
sources=(tests/fuzz/pcr_fuzz.cc)
for source in ops/{codecs,core,containers/pcr}/**/*.cc; do
  case $source in
    *_ops.cc | *_kernels.cc) ;;
    *) sources+=("$source") ;;
  esac
done
run_fuzzers pcr "${1:-600}" "${2:-build/fuzz_pcr}" 8192 "scans messages view" \
  "${sources[@]}" -ldeflate -ljpeg -lwebp
