// libFuzzer's entry for decoding L3. l3_fuzz.sh builds and runs it.
#include "tests/fuzz/l3_fuzz.h"
#include "tests/ops/codecs/l3_testing.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzL3Decode(data, size);
  return 0;
}

// Mutations of version 2 would all end at a checksum: most have it mended.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  std::string file(reinterpret_cast<const char*>(data), size);
  if (file.compare(0, 4, liquid::kL3V2Magic) == 0) liquid::MendL3(&file);
  std::copy(file.begin(), file.end(), data);
  return size;
}
