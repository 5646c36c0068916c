#!/bin/bash
# Builds the fuzzer of JPEG under the address and undefined-behaviour
# sanitizers and runs it for a while. From the root of the checkout:
#
#   tests/fuzz/jpeg_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_jpeg) keeps what the fuzzer found; CXX is a compiler, see
# fuzzers.sh.
set -euo pipefail
. tests/fuzz/fuzzers.sh
run_fuzzers jpeg "${1:-600}" "${2:-build/fuzz_jpeg}" 8192 "decode index" \
  ops/codecs/{codec_util,vector_target}.cc ops/core/crc32c.cc \
  ops/codecs/jpeg/jpeg_{decode,errors,index,library,scans}.cc \
  ops/codecs/jpeg/baseline/*.cc tests/fuzz/jpeg_fuzz.cc -ljpeg
