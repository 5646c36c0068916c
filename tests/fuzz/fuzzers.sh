# For the scripts beside it, which source it.
#
# cxx is CXX, or clang++, or where that is not there g++; flags are those of all
# sources. A clang++ that has libFuzzer brings what drives a fuzzer and keeps the
# inputs that reach new code; with g++ fuzz_driver.cc does, and takes the same
# flags.
cxx=${CXX:-$(command -v clang++ || echo g++)}
flags=(-std=c++17 -O1 -g -I. -fsanitize=address,undefined
       -fno-sanitize-recover=all)
entry='extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }'
if "$cxx" -fsanitize=fuzzer -x c++ -o /dev/null - <<< "$entry" 2> /dev/null; then
  traced=(-fsanitize=fuzzer-no-link)
  trace=()
  driver=(-fsanitize=fuzzer)
else
  traced=(-fsanitize-coverage=trace-pc)
  trace=(tests/fuzz/fuzz_trace.cc)
  driver=(tests/fuzz/fuzz_driver.cc)
fi

# run_fuzzers GROUP SECONDS FOLDER MOST_BYTES NAMES SOURCE... -lLIBRARY...
# builds GROUP_seeds and each GROUP_NAME_fuzz, and runs each for a while.
run_fuzzers() {
  local group=$1 seconds=$2 folder=$3 most=$4 names=($5) objects=() libraries=()
  local name source object
  shift 5
  mkdir -p "$folder/objects"
  for source; do
    if [[ $source == -l* ]]; then
      libraries+=("$source")
      continue
    fi
    object=$folder/objects/${source//\//_}.o
    "$cxx" "${flags[@]}" "${traced[@]}" -c "$source" -o "$object"
    objects+=("$object")
  done
  for name in "${names[@]}"; do
    mkdir -p "$folder/$name"
    "$cxx" "${flags[@]}" "${objects[@]}" "tests/fuzz/${group}_${name}_fuzz.cc" \
      "${trace[@]}" "${driver[@]}" "${libraries[@]}" \
      -o "$folder/${group}_${name}_fuzz"
  done
  "$cxx" "${flags[@]}" "${objects[@]}" "tests/fuzz/${group}_seeds.cc" \
    "${trace[@]}" "${libraries[@]}" -o "$folder/${group}_seeds"
  "$folder/${group}_seeds" "$folder"
  for name in "${names[@]}"; do
    "$folder/${group}_${name}_fuzz" -max_total_time="$seconds" -max_len="$most" \
      -artifact_prefix="$folder/" -print_final_stats=1 "$folder/$name"
  done
}
