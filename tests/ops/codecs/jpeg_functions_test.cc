// Each vector set's functions of the JPEG decoder against the scalar reference,
// on numbers by chance. It needs no JPEG library.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid::jpeg_functions_test {
namespace {

constexpr size_t kMost = 150;

class JpegFunctionsTest : public testing::TestWithParam<VectorTarget> {
 protected:
  const BaselineFunctions& scalar_ = kBaselineScalar;
  const BaselineFunctions& vectors_ = BaselineFunctionsOf(GetParam());
  Noise noise_{17};

  // A row with a sample before it, and room.
  Bytes Row() {
    Bytes row(1 + kMost + kRowRoom);
    const uint32_t bound = 1 + noise_.Below(256);
    for (uint8_t& sample : row) {
      sample = static_cast<uint8_t>(noise_.Below(4) == 0 ? 255
                                                         : noise_.Below(bound));
    }
    return row;
  }
};

TEST_P(JpegFunctionsTest, Invert) {
  constexpr size_t kBlocks = 9, kStride = 8 * kBlocks + kRowRoom;
  for (int i = 0; i < 3000; ++i) {
    const size_t count = 1 + noise_.Below(kBlocks);
    std::vector<int16_t> blocks(count * 64);
    uint16_t quantization[64];
    for (uint16_t& q : quantization) {
      q = static_cast<uint16_t>(1 + noise_.Below(i % 8 == 0 ? 65535 : 60));
    }
    // Flat blocks, a first row alone, few numbers, all of them; small or large.
    const uint32_t kind = noise_.Below(4);
    const uint32_t bound = 1u << noise_.Below(i % 4 == 0 ? 16 : 6);
    for (size_t k = 0; k < blocks.size(); ++k) {
      const bool there = kind == 0   ? k % 64 == 0
                         : kind == 1 ? k % 64 < 8
                         : kind == 2 ? noise_.Below(20) == 0
                                     : true;
      if (!there) continue;
      blocks[k] = static_cast<int16_t>(noise_.Below(2 * bound) - bound);
    }
    ASSERT_EQ(vectors_.is_large(blocks.data(), quantization, count),
              scalar_.is_large(blocks.data(), quantization, count))
        << i;
    for (int log2 = 0; log2 < 4; ++log2) {
      const size_t side = size_t{1} << log2;
      Bytes expected(8 * kStride), found(8 * kStride);
      const bool large = scalar_.invert[log2](blocks.data(), quantization,
                                              count, expected.data(), kStride);
      ASSERT_EQ(vectors_.invert[log2](blocks.data(), quantization, count,
                                      found.data(), kStride),
                large);
      if (side == 8) {
        ASSERT_EQ(scalar_.is_large(blocks.data(), quantization, count), large);
      }
      if (large) continue;
      for (size_t y = 0; y < side; ++y) {
        for (size_t x = 0; x < side * count; ++x) {
          ASSERT_EQ(found[y * kStride + x], expected[y * kStride + x])
              << i << ", " << side << " a side: row " << y << ", column " << x;
        }
      }
    }
  }
}

TEST_P(JpegFunctionsTest, Chroma) {
  for (int i = 0; i < 300; ++i) {
    const Bytes near = Row(), far = Row();
    const size_t count = 1 + noise_.Below(kMost - 1);
    Bytes expected(2 * kMost + kRowRoom), found(2 * kMost + kRowRoom);
    const auto expect_equal = [&](size_t size, const char* what) {
      expected.resize(size);
      found.resize(size);
      EXPECT_EQ(found, expected) << what << " of " << count;
      expected.resize(2 * kMost + kRowRoom);
      found.resize(2 * kMost + kRowRoom);
    };
    scalar_.widen(near.data() + 1, count, expected.data());
    vectors_.widen(near.data() + 1, count, found.data());
    expect_equal(2 * count, "widen");
    scalar_.widen_between(near.data() + 1, far.data() + 1, count,
                          expected.data());
    vectors_.widen_between(near.data() + 1, far.data() + 1, count,
                           found.data());
    expect_equal(2 * count, "widen_between");
    for (const uint32_t bias : {1, 2}) {
      scalar_.between(near.data(), far.data(), bias, count, expected.data());
      vectors_.between(near.data(), far.data(), bias, count, found.data());
      expect_equal(count, "between");
    }
  }
}

TEST_P(JpegFunctionsTest, EveryColour) {
  Bytes y(256 + kRowRoom), cb(256 + kRowRoom), cr(256 + kRowRoom);
  Bytes expected(3 * 256), found(3 * 256);
  for (int k = 0; k < 256; ++k) cr[k] = static_cast<uint8_t>(k);
  for (int blue = 0; blue < 256; ++blue) {
    std::fill(cb.begin(), cb.end(), static_cast<uint8_t>(blue));
    for (const int luma : {0, 1, 100, 254, 255}) {
      std::fill(y.begin(), y.end(), static_cast<uint8_t>(luma));
      scalar_.to_rgb(y.data(), cb.data(), cr.data(), 256, expected.data());
      vectors_.to_rgb(y.data(), cb.data(), cr.data(), 256, found.data());
      ASSERT_EQ(found, expected) << "luma " << luma << ", Cb " << blue;
    }
  }
  // Not a byte more than the pixels.
  for (size_t count = 1; count < 80; ++count) {
    Bytes part(3 * count + 1, 0xA5);
    vectors_.to_rgb(y.data(), cb.data(), cr.data(), count, part.data());
    ASSERT_EQ(part.back(), 0xA5);
    part.pop_back();
    ASSERT_TRUE(std::equal(part.begin(), part.end(), expected.begin()))
        << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, JpegFunctionsTest,
                         testing::ValuesIn(RunnableTargets()),
                         [](const auto& info) {
                           return std::string(VectorTargetName(info.param));
                         });

}  // namespace
}  // namespace liquid::jpeg_functions_test
