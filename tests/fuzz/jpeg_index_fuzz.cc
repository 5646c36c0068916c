// libFuzzer's entry for indexes of JPEG. jpeg_fuzz.sh builds and runs it.
#include "tests/fuzz/jpeg_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzJpegIndex(data, size);
  return 0;
}
