#!/bin/bash
# Builds the fuzzers of L3 under the address and undefined-behaviour sanitizers
# and runs each for a while. From the root of the checkout:
#
#   tests/fuzz/l3_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz) keeps what the fuzzers found; CXX is a clang++ with
# libFuzzer.
set -euo pipefail
seconds=${1:-600}
folder=${2:-build/fuzz}
cxx=${CXX:-clang++}
flags=(-std=c++17 -O1 -g -I. -fsanitize=address,undefined
       -fno-sanitize-recover=all)
sources=(ops/codecs/codec_util.cc ops/codecs/vector_target.cc ops/core/crc32c.cc tests/fuzz/l3_fuzz.cc
         tests/ops/codecs/l3_mutations.cc ops/codecs/l3/host/*.cc)
mkdir -p "$folder"/{decode,round_trip}
"$cxx" "${flags[@]}" "${sources[@]}" tests/fuzz/l3_seeds.cc -o "$folder/l3_seeds"
"$folder/l3_seeds" "$folder"
for name in decode round_trip; do
  "$cxx" "${flags[@]}" -fsanitize=fuzzer "${sources[@]}" \
    "tests/fuzz/l3_${name}_fuzz.cc" -o "$folder/l3_${name}_fuzz"
  "$folder/l3_${name}_fuzz" -max_total_time="$seconds" -max_len=8192 \
    -artifact_prefix="$folder/" -print_final_stats=1 "$folder/$name"
done
