// libFuzzer's entry for decoding L3. l3_fuzz.sh builds and runs it.
#include <algorithm>

#include "tests/fuzz/l3_fuzz.h"
#include "tests/ops/codecs/l3_testing.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  liquid::FuzzL3Decode(data, size);
  return 0;
}

// Mutations of version 2 would nearly all end at a checksum, or at a size that
// does not fit: most have both mended, and some follow the layout.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  std::string file(reinterpret_cast<const char*>(data), size);
  liquid::Noise noise(seed);
  const uint32_t way = noise.Below(8);
  if (way < 3 && file.compare(0, 4, liquid::kL3V2Magic) == 0) {
    file = liquid::MutateL3(file, file, &noise);
  } else {
    size = LLVMFuzzerMutate(data, size, max_size);
    file.assign(reinterpret_cast<const char*>(data), size);
    if (way > 3 && file.compare(0, 4, liquid::kL3V2Magic) == 0) {
      if (way > 4) liquid::MendL3Sizes(&file);
      liquid::MendL3(&file);
    }
  }
  size = std::min(file.size(), max_size);
  std::copy_n(file.begin(), size, data);
  return size;
}
