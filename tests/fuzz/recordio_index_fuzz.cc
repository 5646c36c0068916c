// libFuzzer's entry for the index of RecordIO. recordio_fuzz.sh builds and runs
// it.
#include "tests/fuzz/recordio_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzRecordIOIndex(data, size);
  return 0;
}
