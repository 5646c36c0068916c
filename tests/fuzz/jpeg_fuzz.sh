#!/bin/bash
# Builds the fuzzer of JPEG under the address and undefined-behaviour sanitizers
# and runs it for a while. From the root of the checkout:
#
#   tests/fuzz/jpeg_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_jpeg) keeps what the fuzzer found; CXX is a clang++ with
# libFuzzer.
set -euo pipefail
seconds=${1:-600}
folder=${2:-build/fuzz_jpeg}
cxx=${CXX:-clang++}
flags=(-std=c++17 -O1 -g -I. -fsanitize=address,undefined
       -fno-sanitize-recover=all)
sources=(ops/codecs/{codec_util,vector_target}.cc ops/core/crc32c.cc
         ops/codecs/jpeg/jpeg_{decode,errors,library,scans}.cc
         ops/codecs/jpeg/baseline/*.cc tests/fuzz/jpeg_fuzz.cc)
mkdir -p "$folder/decode"
"$cxx" "${flags[@]}" "${sources[@]}" tests/fuzz/jpeg_seeds.cc -ljpeg \
  -o "$folder/jpeg_seeds"
"$folder/jpeg_seeds" "$folder/decode"
"$cxx" "${flags[@]}" -fsanitize=fuzzer "${sources[@]}" \
  tests/fuzz/jpeg_decode_fuzz.cc -ljpeg -o "$folder/jpeg_decode_fuzz"
"$folder/jpeg_decode_fuzz" -max_total_time="$seconds" -max_len=8192 \
  -artifact_prefix="$folder/" -print_final_stats=1 "$folder/decode"
