#!/bin/bash
# Builds the fuzzers of progressive compressed records under the address and
# undefined-behaviour sanitizers and runs each for a while. From the root of the
# checkout:
#
#   tests/fuzz/pcr_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_pcr) keeps what the fuzzers found; CXX is a clang++ with
# libFuzzer.
set -euo pipefail
seconds=${1:-600}
folder=${2:-build/fuzz_pcr}
cxx=${CXX:-clang++}
flags=(-std=c++17 -O1 -g -I. -DXXH_INLINE_ALL -fsanitize=address,undefined
       -fno-sanitize-recover=all)
libraries=(-ldeflate -ljpeg -lwebp)
sources=(tests/fuzz/pcr_fuzz.cc)
for source in ops/codecs/*.cc ops/codecs/*/*.cc ops/core/*.cc ops/containers/pcr/*.cc; do
  case $source in
    *_ops.cc | *_kernels.cc) ;;
    *) sources+=("$source") ;;
  esac
done
mkdir -p "$folder"/{scans,messages,view,objects}
objects=()
for source in "${sources[@]}"; do
  object=$folder/objects/$(echo "$source" | tr / _).o
  "$cxx" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$source" -o "$object"
  objects+=("$object")
done
"$cxx" "${flags[@]}" "${objects[@]}" tests/fuzz/pcr_seeds.cc "${libraries[@]}" \
  -o "$folder/pcr_seeds"
"$folder/pcr_seeds" "$folder"
for name in scans messages view; do
  "$cxx" "${flags[@]}" -fsanitize=fuzzer "${objects[@]}" \
    "tests/fuzz/pcr_${name}_fuzz.cc" "${libraries[@]}" -o "$folder/pcr_${name}_fuzz"
  "$folder/pcr_${name}_fuzz" -max_total_time="$seconds" -max_len=8192 \
    -artifact_prefix="$folder/" -print_final_stats=1 "$folder/$name"
done
