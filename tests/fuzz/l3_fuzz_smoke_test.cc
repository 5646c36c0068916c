// The fuzzers' functions over their seeds and a few thousand mutations of them.
#include <gtest/gtest.h>

#include "tests/fuzz/l3_fuzz.h"
#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_fuzz_smoke_test {
namespace {

const uint8_t* Data(const std::string& text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

std::string Mutate(std::string seed, Noise* noise) {
  const uint32_t changes = noise->Below(6);
  for (uint32_t i = 0; i < changes && !seed.empty(); ++i) {
    const size_t at = noise->Below(static_cast<uint32_t>(seed.size()));
    switch (noise->Below(4)) {
      case 0:
        seed[at] = static_cast<char>(noise->Next());
        break;
      case 1:
        seed[at] = static_cast<char>(seed[at] ^ 1 << noise->Below(8));
        break;
      case 2:
        seed.erase(at, 1 + noise->Below(3));
        break;
      default:
        seed.insert(at, 1, static_cast<char>(noise->Next()));
    }
  }
  return seed;
}

TEST(L3FuzzSmokeTest, Decode) {
  Noise noise(21);
  for (const std::string& seed : L3DecodeSeeds()) {
    ImageInfo info;
    Bytes pixels;
    ASSERT_TRUE(DecodeWhole(seed, &info, &pixels).ok());
    for (int i = 0; i < 200; ++i) {
      std::string file =
          i % 2 == 0 ? MutateL3(seed, seed, &noise) : Mutate(seed, &noise);
      if (i % 8 > 1) MendL3Sizes(&file);
      if (i % 8 != 0) MendL3(&file);
      FuzzL3Decode(Data(file), file.size());
    }
  }
}

TEST(L3FuzzSmokeTest, RoundTrip) {
  Noise noise(22);
  for (const std::string& seed : L3RoundTripSeeds()) {
    for (int i = 0; i < 10; ++i) {
      const std::string input = Mutate(seed, &noise);
      FuzzL3RoundTrip(Data(input), input.size());
    }
  }
}

}  // namespace
}  // namespace liquid::l3_fuzz_smoke_test
