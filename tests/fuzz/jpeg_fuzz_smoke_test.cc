// The fuzzer's function over its seeds and mutations of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/jpeg_fuzz.h"
#include "tests/ops/codecs/jpeg_testing.h"

namespace liquid::jpeg_fuzz_smoke_test {
namespace {

bool IsTaken(const std::string& file) {
  return FuzzJpegDecode(reinterpret_cast<const uint8_t*>(file.data()),
                        file.size());
}

std::string Mutate(std::string file, Noise* noise) {
  const uint32_t changes = 1 + noise->Below(3);
  for (uint32_t i = 0; i < changes && !file.empty(); ++i) {
    const size_t at = noise->Below(static_cast<uint32_t>(file.size()));
    switch (noise->Below(4)) {
      case 0:
        file[at] = static_cast<char>(noise->Next());
        break;
      case 1:
        file[at] = static_cast<char>(file[at] ^ 1 << noise->Below(8));
        break;
      case 2:
        file.erase(at, noise->Below(8) == 0 ? file.size() : 1);
        break;
      default:
        file.insert(at, 1, static_cast<char>(noise->Next()));
    }
  }
  return file;
}

// More mutations of each seed by LIQUID_TEST_CASES=100000.
TEST(JpegFuzzSmokeTest, Decode) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  const int count = cases == nullptr ? 60 : std::atoi(cases);
  Noise noise(23);
  int taken = 0, refused = 0;
  for (const std::string& seed : JpegSeeds()) {
    ASSERT_TRUE(IsTaken(seed));
    for (int i = 0; i < count; ++i) {
      IsTaken(Mutate(seed, &noise)) ? ++taken : ++refused;
    }
  }
  EXPECT_GT(taken, count / 2);
  EXPECT_GT(refused, count / 2);
}

TEST(JpegFuzzSmokeTest, Index) {
  const char* cases = std::getenv("LIQUID_TEST_CASES");
  const int count = cases == nullptr ? 60 : std::atoi(cases);
  Noise noise(29);
  int taken = 0, refused = 0;
  for (const std::string& bytes : JpegIndexSeeds()) {
    const auto takes = [](const std::string& data) {
      return FuzzJpegIndex(reinterpret_cast<const uint8_t*>(data.data()),
                           data.size());
    };
    ASSERT_TRUE(takes(bytes));
    for (int k = 0; k < count; ++k) {
      takes(Mutate(bytes, &noise)) ? ++taken : ++refused;
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, count / 2);
}

}  // namespace
}  // namespace liquid::jpeg_fuzz_smoke_test
