#!/bin/bash
# Builds L3 and the vectors of our JPEG decoder for AArch64 and runs their tests
# there, in an emulator where this machine is of another kind. From the root of the checkout:
#
#   tests/ops/codecs/codecs_aarch64.sh [--compile_only] [FOLDER]
#
# FOLDER (build/codecs_aarch64) takes the programs. CXX is a compiler for AArch64;
# RUN is what runs its programs. On Debian: g++-aarch64-linux-gnu, qemu-user,
# googletest for GoogleTest's sources, and libjpeg-dev of this machine.
#
# The tests compare NEON with the scalar reference on random, hostile and
# golden images; then L3's files written here and there are compared byte by byte,
# and JPEG files are decoded there as libjpeg-turbo does here: whole, in windows,
# as drafts, by an index and without one, and damaged. LIQUID_TEST_CASES=1000 makes
# as many of them of each kind.
set -euo pipefail
compile_only=false
if [[ ${1:-} == --compile_only ]]; then
  compile_only=true
  shift
fi
folder=${1:-build/codecs_aarch64}
cxx=${CXX:-aarch64-linux-gnu-g++}
run=${RUN:-qemu-aarch64 -L /usr/aarch64-linux-gnu}
gtest=/usr/src/googletest/googletest
flags=(-std=c++17 -Wall -Wextra -Werror -I.)
sources=(ops/codecs/codec_util.cc ops/codecs/vector_target.cc ops/core/crc32c.cc
         ops/codecs/l3/host/*.cc tests/ops/codecs/l3_mutations.cc
         ops/codecs/jpeg/jpeg_index.cc ops/codecs/jpeg/baseline/*.cc)
# What libjpeg-turbo decodes with, here.
library=(ops/codecs/jpeg/jpeg_{decode,errors,library,scans}.cc)

# compile_into FOLDER COMPILER FLAGS...: one object for each source.
compile_into() {
  local to=$1 source
  shift
  mkdir -p "$to"
  for source in "${sources[@]}"; do
    "$@" "${flags[@]}" -c "$source" -o "$to/$(basename "$source" .cc).o"
  done
}

if [[ $compile_only == true ]]; then
  compile_into "$folder/objects" "$cxx" -O1
  exit
fi

compile_into "$folder/objects" "$cxx" -O2
"$cxx" -std=c++17 -O1 -I"$gtest" -I"$gtest/include" -c "$gtest/src/gtest-all.cc" \
  -o "$folder/gtest.o"
for test in ops/core/crc32c_test ops/codecs/l3_{golden,round_trip,compact,damage}_test \
  ops/codecs/jpeg_functions_test \
  fuzz/l3_fuzz_smoke_test; do
  program=$folder/$(basename "$test")
  "$cxx" "${flags[@]}" -O1 -isystem "$gtest/include" "tests/$test.cc" \
    tests/fuzz/l3_fuzz.cc "$gtest/src/gtest_main.cc" \
    "$folder"/{gtest.o,objects/*.o} -pthread -o "$program"
  $run "$program" --gtest_brief=1
done

compile_into "$folder/native" "${HOST_CXX:-g++}" -O1
for side in objects native; do
  compiler=$cxx
  [[ $side == native ]] && compiler=${HOST_CXX:-g++}
  seeds=("$folder/seeds_$side" "$folder/written_$side")
  rm -rf "${seeds[1]}"
  mkdir -p "${seeds[1]}"/{decode,round_trip}
  "$compiler" "${flags[@]}" -O1 tests/fuzz/l3_{fuzz,seeds}.cc \
    "$folder/$side"/*.o -o "${seeds[0]}"
  if [[ $side == native ]]; then "${seeds[@]}"; else $run "${seeds[@]}"; fi
done
diff -r "$folder"/written_{objects,native}

cases=$folder/jpeg_cases
rm -rf "$cases"
mkdir -p "$cases"
"${HOST_CXX:-g++}" "${flags[@]}" -O1 tests/ops/codecs/jpeg_cases_write.cc \
  "${library[@]}" "$folder"/native/*.o -ljpeg -o "$folder/jpeg_cases_write"
"$folder/jpeg_cases_write" "$cases"
"$cxx" "${flags[@]}" -O1 tests/ops/codecs/jpeg_cases_check.cc \
  "$folder"/objects/*.o -o "$folder/jpeg_cases_check"
$run "$folder/jpeg_cases_check" "$cases"
echo "codecs on AArch64: every test passed, and the files are the same"
