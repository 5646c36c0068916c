// libFuzzer's entry for encoding and decoding L3. l3_fuzz.sh builds and runs
// it.
#include "tests/fuzz/l3_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzL3RoundTrip(data, size);
  return 0;
}
