#!/bin/bash
# Builds the fuzzers of RecordIO under the address and undefined-behaviour
# sanitizers and runs each for a while. From the root of the checkout:
#
#   tests/fuzz/recordio_fuzz.sh [SECONDS] [FOLDER]
#
# FOLDER (build/fuzz_recordio) keeps what the fuzzers found; CXX is a clang++ with
# libFuzzer.
set -euo pipefail
seconds=${1:-600}
folder=${2:-build/fuzz_recordio}
cxx=${CXX:-clang++}
flags=(-std=c++17 -O1 -g -I. -fsanitize=address,undefined -fno-sanitize-recover=all)
container=ops/containers/recordio
sources=(tests/fuzz/recordio_fuzz.cc "$container"/{file_parts,record_index}.cc
         "$container"/{fragment,record_scanner,recordio}.cc)
mkdir -p "$folder"/{scan,index,objects}
objects=()
for source in "${sources[@]}"; do
  object=$folder/objects/$(echo "$source" | tr / _).o
  "$cxx" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$source" -o "$object"
  objects+=("$object")
done
"$cxx" "${flags[@]}" "${objects[@]}" tests/fuzz/recordio_seeds.cc \
  -o "$folder/recordio_seeds"
"$folder/recordio_seeds" "$folder"
for name in scan index; do
  "$cxx" "${flags[@]}" -fsanitize=fuzzer "${objects[@]}" \
    "tests/fuzz/recordio_${name}_fuzz.cc" -o "$folder/recordio_${name}_fuzz"
  "$folder/recordio_${name}_fuzz" -max_total_time="$seconds" -max_len=4096 \
    -artifact_prefix="$folder/" -print_final_stats=1 "$folder/$name"
done
