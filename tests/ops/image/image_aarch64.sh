#!/bin/bash
# Builds the steps of recipes for AArch64 and runs their tests there, in an
# emulator where this machine is of another kind. From the root of the checkout:
#
#   tests/ops/image/image_aarch64.sh [--compile_only] [FOLDER]
#
# FOLDER (build/image_aarch64) takes the programs. CXX is a compiler for
# AArch64; RUN is what runs its programs. On Debian: g++-aarch64-linux-gnu,
# qemu-user, and googletest for GoogleTest's sources.
#
# The tests hold goldens, so bytes are those of other machines.
set -euo pipefail
compile_only=false
if [[ ${1:-} == --compile_only ]]; then
  compile_only=true
  shift
fi
folder=${1:-build/image_aarch64}
cxx=${CXX:-aarch64-linux-gnu-g++}
run=${RUN:-qemu-aarch64 -L /usr/aarch64-linux-gnu}
gtest=/usr/src/googletest
flags=(-std=c++17 -Wall -Wextra -Werror -ffp-contract=off -I.)
sources=(ops/image/{affine_mix,affine_nearest,alpha,colour,crop,erase}.cc
         ops/image/{filters,finish,finish_plain,operations,orient,resample}.cc
         ops/image/resample_{exact,fixed,neon,scalar,taps,targets}.cc
         ops/image/{mix,noise,policy,rotate,sine,tone_tables}.cc)

mkdir -p "$folder/objects"
level=-O2
if [[ $compile_only == true ]]; then level=-O1; fi
for source in "${sources[@]}"; do
  "$cxx" "${flags[@]}" "$level" -c "$source" \
    -o "$folder/objects/$(basename "$source" .cc).o"
done
if [[ $compile_only == true ]]; then exit; fi

include=("-I$gtest/googletest" "-I$gtest/googlemock"
         -isystem "$gtest/googletest/include"
         -isystem "$gtest/googlemock/include")
for part in googletest/src/gtest-all googlemock/src/gmock-all; do
  "$cxx" -std=c++17 -O1 "${include[@]}" -c "$gtest/$part.cc" \
    -o "$folder/$(basename "$part").o"
done
for test in colour crop erase finish mix operations orient policy resample \
            rotate; do
  "$cxx" "${flags[@]}" -O1 "${include[@]}" "tests/ops/image/${test}_test.cc" \
    "$gtest/googletest/src/gtest_main.cc" "$folder"/{*.o,objects/*.o} -pthread \
    -o "$folder/${test}_test"
  $run "$folder/${test}_test" --gtest_brief=1
done
echo "steps of recipes on AArch64: every test passed"
