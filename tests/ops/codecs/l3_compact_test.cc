// The compact profile where its decoders take ways that photographs seldom
// need: every target gives back what was encoded, whole and in windows.
#include <gtest/gtest.h>

#include <functional>

#include "ops/codecs/l3/host/l3_targets.h"
#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_compact_test {
namespace {

void Check(const ImageInfo& info, const Bytes& pixels, Noise* noise) {
  const std::string file =
      EncodeAsL3(L3Version::kV2, 0, info, pixels, L3Profile::kCompact);
  Window windows[3] = {{0, 0, info.height, info.width}};
  for (int i = 1; i < 3; ++i) windows[i] = RandomWindow(info, noise);
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedL3Target scoped(target);
    for (const Window& window : windows) {
      Bytes decoded;
      const Status status = DecodeExactly(file, info, window, &decoded);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(decoded == Crop(info, pixels, window))
          << VectorTargetName(target) << " " << info.height << " x "
          << info.width << " x " << int{info.channels} << ", " << int{info.bits}
          << " bits";
    }
  }
}

// An image of a colour for each pixel, out of `colours` ones.
Bytes Draw(const ImageInfo& info, uint32_t colours,
           const std::function<uint32_t(uint32_t y, uint32_t x)>& colour_of) {
  Bytes pixels(info.PixelBytes());
  const size_t bytes = info.BytesPerPixel();
  for (uint32_t y = 0; y < info.height; ++y) {
    for (uint32_t x = 0; x < info.width; ++x) {
      const uint32_t colour = colour_of(y, x) % colours;
      for (size_t i = 0; i < bytes; ++i) {
        pixels[y * info.RowBytes() + x * bytes + i] =
            static_cast<uint8_t>(colour * (2 * i + 1) + i);
      }
    }
  }
  return pixels;
}

bool IsFlat(const ImageInfo& info, const Bytes& pixels) {
  const std::string file =
      EncodeAsL3(L3Version::kV2, 0, info, pixels, L3Profile::kCompact);
  return (file[kL3V2HeaderBytes + 8 + 5] & 0x80) != 0;
}

// Contents that each kind of patch is for take that kind: bit 15 of the first
// word says which.
TEST(L3CompactTest, PatchesTakeTheSmallerKind) {
  Noise noise(5);
  const ImageInfo info = Info(64, 64, 3);
  EXPECT_TRUE(IsFlat(info, Bytes(info.PixelBytes(), 7)));
  Bytes two(info.PixelBytes());
  for (size_t i = 0; i < two.size(); ++i) two[i] = i / 3 % 7 == 0 ? 9 : 200;
  EXPECT_TRUE(IsFlat(info, two));
  EXPECT_FALSE(IsFlat(info, MakePixels(info, 5, 40)));
}

TEST(L3CompactTest, EveryEffortComesBackAndIsNotLargerThanALesserOne) {
  Noise noise(9);
  const ImageInfo info = Info(190, 201, 3);
  size_t sizes[3] = {};
  for (int i = 0; i < kContents; ++i) {
    const Bytes pixels = MakeContent(static_cast<Content>(i), info, &noise);
    for (const Effort effort :
         {Effort::kFast, Effort::kDefault, Effort::kBest}) {
      const std::string file = EncodeAsL3(L3Version::kV2, 0, info, pixels,
                                          L3Profile::kCompact, effort);
      sizes[static_cast<int>(effort)] += file.size();
      Bytes decoded;
      ASSERT_TRUE(
          DecodeExactly(file, info, {0, 0, info.height, info.width}, &decoded)
              .ok());
      ASSERT_TRUE(decoded == pixels) << i;
    }
  }
  EXPECT_LE(sizes[1], sizes[0]);
  EXPECT_LE(sizes[2], sizes[1]);
}

// Rows that equal the one above, singly and in runs of every length, up to the
// last one; between them rows of few and of many changes. A row of many colours
// takes more bits than a register has.
TEST(L3CompactTest, FewColoursOfEveryWidth) {
  Noise noise(4);
  for (uint32_t width = 1; width <= 64; ++width) {
    for (const uint32_t colours :
         {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 40, 128, 200, 256}) {
      const ImageInfo info = Info(1 + noise.Below(64), width,
                                  1 + static_cast<int>(noise.Below(4)), 8);
      std::vector<uint32_t> row(width);
      uint32_t equal = 0, last = ~0u;
      const auto next = [&](uint32_t y, uint32_t x) {
        if (y != last) {
          last = y;
          if (equal > 0) {
            --equal;
          } else {
            equal = noise.Below(3) == 0 ? noise.Below(70) : 0;
            const uint32_t changes = 1u << noise.Below(7);
            for (uint32_t i = 0; i < changes; ++i) {
              const uint32_t at = noise.Below(width);
              const uint32_t from =
                  noise.Below(2) == 0 ? at : noise.Below(at + 1);
              const uint32_t colour = noise.Below(256);
              std::fill(row.begin() + from, row.begin() + at + 1, colour);
            }
          }
        }
        return row[x];
      };
      ASSERT_NO_FATAL_FAILURE(Check(info, Draw(info, colours, next), &noise));
    }
  }
}

// Stripes down: all rows but the first are equal.
TEST(L3CompactTest, PatchesOfEqualRows) {
  Noise noise(8);
  for (const uint32_t height : {1, 2, 9, 57, 58, 64, 65, 130}) {
    for (uint32_t stripe = 1; stripe <= 9; ++stripe) {
      const ImageInfo info = Info(height, 150, 1 + stripe % 4, 8);
      const auto stripes = [&](uint32_t, uint32_t x) { return x / stripe; };
      ASSERT_NO_FATAL_FAILURE(Check(info, Draw(info, 5, stripes), &noise));
    }
  }
}

// Noise below calm rows: codes of 24 zeros, and rows of up to 1600 bits.
TEST(L3CompactTest, RowsOfVeryManyBits) {
  Noise noise(2);
  for (const int bits : {8, 16}) {
    for (uint32_t width = 1; width <= 64; ++width) {
      const ImageInfo info =
          Info(40, width, 1 + static_cast<int>(width % 4), bits);
      Bytes pixels(info.PixelBytes());
      for (size_t i = 0; i < pixels.size(); ++i) {
        const size_t y = i / info.RowBytes();
        const uint32_t some = y / 8 % 2 == 0 ? 1 : 1 + width / 8;
        const bool wild = y % 8 == 7 && noise.Below(some) == 0;
        pixels[i] =
            static_cast<uint8_t>(wild ? noise.Next() : noise.Below(3) + 40);
      }
      ASSERT_NO_FATAL_FAILURE(Check(info, pixels, &noise));
    }
  }
}

}  // namespace
}  // namespace liquid::l3_compact_test
