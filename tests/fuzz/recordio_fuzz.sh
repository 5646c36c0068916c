#!/bin/bash
# Builds the fuzzers of RecordIO under the address and undefined-behaviour
# sanitizers and runs each for a while. From the root of the checkout:
#
#   tests/fuzz/recordio_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_recordio) keeps what the fuzzers found; CXX is a compiler, see
# fuzzers.sh.
set -euo pipefail
. tests/fuzz/fuzzers.sh
container=ops/containers/recordio
run_fuzzers recordio "${1:-600}" "${2:-build/fuzz_recordio}" 4096 "scan index" \
  "$container"/{file_parts,fragment,record_index,record_scanner,recordio}.cc \
  tests/fuzz/recordio_fuzz.cc
