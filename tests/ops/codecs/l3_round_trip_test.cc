// Both versions give back every image, by every target, whole and in windows.
#include <gtest/gtest.h>

#include "ops/codecs/l3/host/l3_targets.h"
#include "ops/codecs/l3/host/l3_widths.h"
#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_round_trip_test {
namespace {

struct Case {
  L3Version version;
  int channels;
  int bits;
  L3Profile profile = L3Profile::kFast;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "v" << static_cast<int>(c.version) << "_" << c.channels << "x"
       << c.bits;
}

class L3RoundTripTest : public testing::TestWithParam<Case> {
 protected:
  void Check(const ImageInfo& info, const Bytes& pixels, int patch,
             int windows) {
    const std::string file =
        EncodeAsL3(GetParam().version, patch, info, pixels, GetParam().profile);
    for (const VectorTarget target : RunnableTargets()) {
      const ScopedL3Target scoped(target);
      ASSERT_EQ(EncodeAsL3(GetParam().version, patch, info, pixels,
                           GetParam().profile),
                file);
      Bytes decoded;
      Status status =
          DecodeExactly(file, info, {0, 0, info.height, info.width}, &decoded);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(decoded == pixels)
          << VectorTargetName(target) << " " << info.height << " x "
          << info.width << ", patch " << patch;
      for (int i = 0; i < windows; ++i) {
        const Window window = RandomWindow(info, &noise_);
        status = DecodeExactly(file, info, window, &decoded);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(decoded == Crop(info, pixels, window))
            << VectorTargetName(target) << " y " << window.y << " x "
            << window.x << " height " << window.height << " width "
            << window.width;
      }
    }
  }

  ImageInfo MakeInfo(uint32_t height, uint32_t width) {
    return Info(height, width, GetParam().channels, GetParam().bits);
  }

  Noise noise_{7};
};

TEST_P(L3RoundTripTest, RandomSizesAndContents) {
  for (int i = 0; i < 120; ++i) {
    const uint32_t most = i % 4 == 0 ? 300 : 90;
    const ImageInfo info =
        MakeInfo(1 + noise_.Below(most), 1 + noise_.Below(most));
    const Bytes pixels =
        MakeContent(static_cast<Content>(i % kContents), info, &noise_);
    const int patch = GetParam().version == L3Version::kV1
                          ? static_cast<int>(noise_.Below(256))
                          : 0;
    ASSERT_NO_FATAL_FAILURE(Check(info, pixels, patch, 3));
  }
}

TEST_P(L3RoundTripTest, EverySmallSizeAndEveryEdge) {
  for (uint32_t height : {1, 2, 63, 64, 65}) {
    for (uint32_t width = 1; width <= 130; ++width) {
      const ImageInfo info = MakeInfo(height, width);
      ASSERT_NO_FATAL_FAILURE(
          Check(info, MakeContent(Content::kMixed, info, &noise_), 0, 1));
    }
  }
}

TEST_P(L3RoundTripTest, TwoHundredWindows) {
  const ImageInfo info = MakeInfo(201, 263);
  Check(info, MakeContent(Content::kSlope, info, &noise_), 0, 200);
}

TEST_P(L3RoundTripTest, WritesNothingBesideARow) {
  const ImageInfo info = MakeInfo(70, 140);
  const Bytes pixels = MakeContent(Content::kSlope, info, &noise_);
  const std::string file =
      EncodeAsL3(GetParam().version, 0, info, pixels, GetParam().profile);
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedL3Target scoped(target);
    const Window window = {1, 0, 69, 128};
    const size_t row_bytes = window.width * info.BytesPerPixel();
    const size_t stride = row_bytes + 5;
    Bytes out(stride * window.height, 0xEE);
    ASSERT_TRUE(
        DecodeL3(SpanIn(file), DecodeLimits(), info, window, out.data(), stride)
            .ok());
    const Bytes expected = Crop(info, pixels, window);
    for (uint32_t y = 0; y < window.height; ++y) {
      ASSERT_EQ(0, std::memcmp(&out[y * stride], &expected[y * row_bytes],
                               row_bytes));
      for (size_t i = row_bytes; i < stride; ++i) {
        ASSERT_EQ(out[y * stride + i], 0xEE);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, L3RoundTripTest,
    testing::Values(Case{L3Version::kV1, 3, 8}, Case{L3Version::kV2, 1, 8},
                    Case{L3Version::kV2, 2, 8}, Case{L3Version::kV2, 3, 8},
                    Case{L3Version::kV2, 4, 8}, Case{L3Version::kV2, 1, 16},
                    Case{L3Version::kV2, 2, 16}, Case{L3Version::kV2, 3, 16},
                    Case{L3Version::kV2, 4, 16},
                    Case{L3Version::kV2, 1, 8, L3Profile::kCompact},
                    Case{L3Version::kV2, 2, 8, L3Profile::kCompact},
                    Case{L3Version::kV2, 3, 8, L3Profile::kCompact},
                    Case{L3Version::kV2, 4, 8, L3Profile::kCompact},
                    Case{L3Version::kV2, 1, 16, L3Profile::kCompact},
                    Case{L3Version::kV2, 2, 16, L3Profile::kCompact},
                    Case{L3Version::kV2, 3, 16, L3Profile::kCompact},
                    Case{L3Version::kV2, 4, 16, L3Profile::kCompact}),
    [](const auto& info) {
      return std::string(info.param.profile == L3Profile::kCompact ? "compact"
                                                                   : "v") +
             std::to_string(static_cast<int>(info.param.version)) + "_" +
             std::to_string(info.param.channels) + "x" +
             std::to_string(info.param.bits);
    });

// The best of all sets of the widths of 8 bits, one by one.
TEST(L3WidthsTest, FindsTheSmallestCoding) {
  Noise noise(3);
  for (int i = 0; i < 300; ++i) {
    uint32_t groups[kL3Widths] = {0};
    const uint32_t rows = 1 + noise.Below(64);
    for (uint32_t n = 0; n <= 8; ++n) {
      if (noise.Below(3) > 0) groups[n] = noise.Below(1u << noise.Below(10));
    }
    uint32_t least = UINT32_MAX;
    const auto cost = [&](uint32_t set) {
      uint32_t code_bits = 0;
      while ((1 << code_bits) < __builtin_popcount(set)) ++code_bits;
      uint32_t bytes = code_bits * rows;
      for (uint32_t n = 0; n <= 8; ++n) {
        if (groups[n] == 0) continue;
        uint32_t width = n;
        while (width <= 8 && (set >> width & 1) == 0) ++width;
        if (width > 8) return UINT32_MAX;
        bytes += groups[n] * width;
      }
      return bytes;
    };
    for (uint32_t set = 1; set < 512; ++set) {
      least = std::min(least, cost(set));
    }
    uint32_t set = 0;
    ASSERT_EQ(ChooseL3Widths(groups, rows, &set), least) << i;
    ASSERT_NE(set, 0u);
    ASSERT_EQ(cost(set), least) << i;
  }
}

// Seventeen widths cannot all be kept.
TEST(L3WidthsTest, KeepsAtMostSixteen) {
  uint32_t groups[kL3Widths];
  for (uint32_t& count : groups) count = 100000;
  uint32_t set = 0;
  ChooseL3Widths(groups, 64, &set);
  EXPECT_EQ(__builtin_popcount(set), 16);
  EXPECT_TRUE(set >> 16 & 1);
}

}  // namespace
}  // namespace liquid::l3_round_trip_test
