// The wavefront against the definition of the filters, at every width around
// the number of its lanes and with every mixture of filters.
#include "ops/codecs/png/png_defilter.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/ops/codecs/codec_testing.h"

namespace liquid::png_defilter_test {
namespace {

// Section 9 of the PNG specification, one byte at a time.
Bytes Reference(const Bytes& filtered, size_t rows, size_t row_bytes,
                size_t pixel_bytes, const Bytes& above) {
  Bytes out;
  Bytes previous = above;
  for (size_t y = 0; y < rows; ++y) {
    const uint8_t filter = filtered[y * (1 + row_bytes)];
    Bytes row(row_bytes);
    for (size_t i = 0; i < row_bytes; ++i) {
      const int a = i < pixel_bytes ? 0 : row[i - pixel_bytes];
      const int b = previous[i];
      const int c = i < pixel_bytes ? 0 : previous[i - pixel_bytes];
      const int p = a + b - c;
      const int pa = std::abs(p - a), pb = std::abs(p - b),
                pc = std::abs(p - c);
      const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      const int predictions[] = {0, a, b, (a + b) / 2, paeth};
      row[i] = static_cast<uint8_t>(filtered[y * (1 + row_bytes) + 1 + i] +
                                    predictions[filter]);
    }
    out.push_back(filter);
    out.insert(out.end(), row.begin(), row.end());
    previous = row;
  }
  return out;
}

class DefilterTest : public testing::TestWithParam<size_t> {};

TEST_P(DefilterTest, EqualsTheDefinition) {
  const size_t pixel_bytes = GetParam();
  Noise noise(pixel_bytes);
  for (size_t width = 1; width <= 21; ++width) {
    for (size_t rows = 1; rows <= 9; ++rows) {
      for (int mixture = 0; mixture < 6; ++mixture) {
        const size_t row_bytes = width * pixel_bytes;
        Bytes above(row_bytes);
        for (uint8_t& byte : above) byte = static_cast<uint8_t>(noise.Next());
        Bytes buffer;
        for (size_t y = 0; y < rows; ++y) {
          // Mixture 5 is any filter, the others one filter throughout.
          buffer.push_back(static_cast<uint8_t>(
              mixture == 5 ? noise.Below(5) : static_cast<uint32_t>(mixture)));
          for (size_t i = 0; i < row_bytes; ++i) {
            // Extreme values are where differences change sign.
            const uint32_t kind = noise.Below(4);
            buffer.push_back(static_cast<uint8_t>(kind == 0   ? 0
                                                  : kind == 1 ? 255
                                                              : noise.Next()));
          }
        }
        const Bytes expected =
            Reference(buffer, rows, row_bytes, pixel_bytes, above);
        buffer.resize(buffer.size() + kPngRowPadding, 0xEE);
        above.resize(row_bytes + kPngRowPadding, 0xEE);
        ASSERT_TRUE(DefilterPngRows(buffer.data(), rows, row_bytes, pixel_bytes,
                                    above.data())
                        .ok());
        for (size_t i = 0; i < kPngRowPadding; ++i) {
          ASSERT_EQ(buffer[buffer.size() - 1 - i], 0xEE);
        }
        buffer.resize(expected.size());
        ASSERT_EQ(buffer, expected)
            << width << " pixels, " << rows << " rows, mixture " << mixture;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PixelBytes, DefilterTest,
                         testing::Values(1, 2, 3, 4, 6, 8));

// All 2^24 neighbourhoods are too many; every pair of differences is not.
TEST(DefilterTest, PaethOfEveryPairOfDifferences) {
  constexpr size_t kRowBytes = 3 * 4;
  for (int c = 0; c < 256; c += 15) {
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < 256; b += 4) {
        // The first row sets c and four values of b, the second starts with a.
        Bytes above(kRowBytes), buffer;
        for (size_t i = 0; i < 3; ++i) above[i] = static_cast<uint8_t>(c);
        for (size_t i = 3; i < kRowBytes; ++i) {
          above[i] = static_cast<uint8_t>(b + (i % 4));
        }
        for (int y = 0; y < 4; ++y) {
          buffer.push_back(4);
          for (size_t i = 0; i < kRowBytes; ++i) {
            buffer.push_back(
                static_cast<uint8_t>(i < 3 ? a - (y == 0 ? c : 0) : i * a));
          }
        }
        const Bytes expected = Reference(buffer, 4, kRowBytes, 3, above);
        buffer.resize(buffer.size() + kPngRowPadding);
        above.resize(kRowBytes + kPngRowPadding);
        ASSERT_TRUE(
            DefilterPngRows(buffer.data(), 4, kRowBytes, 3, above.data()).ok());
        buffer.resize(expected.size());
        ASSERT_EQ(buffer, expected) << a << " " << b << " " << c;
      }
    }
  }
}

TEST(DefilterTest, RefusesUnknownFilters) {
  Bytes row(2 + kPngRowPadding), above(1 + kPngRowPadding);
  row[0] = 5;
  EXPECT_EQ(DefilterPngRows(row.data(), 1, 1, 1, above.data()).code(),
            StatusCode::kDataLoss);
}

}  // namespace
}  // namespace liquid::png_defilter_test
