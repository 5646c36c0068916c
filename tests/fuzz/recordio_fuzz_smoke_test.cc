// The fuzzers' functions over their seeds and a few thousand mutations of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/recordio_fuzz.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::recordio_fuzz_smoke_test {
namespace {

using Fuzz = void (*)(const uint8_t*, size_t);

void Run(Fuzz fuzz, const std::string& input) {
  fuzz(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void RunMutations(Fuzz fuzz, const std::vector<std::string>& seeds, int count) {
  Noise noise(47);
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    Run(fuzz, seed);
    for (int i = 0; i < count; ++i) {
      std::string input = seed;
      const uint32_t changes = 1 + noise.Below(4);
      for (uint32_t k = 0; k < changes && !input.empty(); ++k) {
        const size_t at = noise.Below(static_cast<uint32_t>(input.size()));
        switch (noise.Below(4)) {
          case 0:
            input[at] = static_cast<char>(noise.Next());
            break;
          case 1:
            input.erase(at, 1 + noise.Below(8));
            break;
          case 2:
            // Another record's beginning in the middle of one.
            input.insert(at, seed.substr(std::min<size_t>(2, seed.size()),
                                         8 + noise.Below(40)));
            break;
          default:
            input.insert(at, 1, static_cast<char>(noise.Next()));
        }
      }
      Run(fuzz, input);
    }
  }
}

TEST(RecordIOFuzzSmokeTest, Scan) {
  RunMutations(FuzzRecordIOScan, RecordIOScanSeeds(), 5000);
}

TEST(RecordIOFuzzSmokeTest, Index) {
  RunMutations(FuzzRecordIOIndex, RecordIOIndexSeeds(), 5000);
}

}  // namespace
}  // namespace liquid::recordio_fuzz_smoke_test
