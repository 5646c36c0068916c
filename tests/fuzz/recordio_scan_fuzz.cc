// libFuzzer's entry for RecordIO files. recordio_fuzz.sh builds and runs it.
#include "tests/fuzz/recordio_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzRecordIOScan(data, size);
  return 0;
}
