#include "ops/image/orient.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace liquid::orient_test {
namespace {

// 1 2 3
// 4 5 6
const std::vector<uint8_t> kStored = {1, 2, 3, 4, 5, 6};

std::vector<uint8_t> Oriented(int orientation) {
  std::vector<uint8_t> out(6);
  Orient(kStored.data(), 3, 2, 3, 1, orientation, out.data());
  return out;
}

TEST(OrientTest, TurnsAsExifDefines) {
  using Pixels = std::vector<uint8_t>;
  EXPECT_EQ(Oriented(1), kStored);
  EXPECT_EQ(Oriented(2), (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(Oriented(3), (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(Oriented(4), (Pixels{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(Oriented(5), (Pixels{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Oriented(6), (Pixels{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(Oriented(7), (Pixels{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(Oriented(8), (Pixels{3, 6, 2, 5, 1, 4}));
}

TEST(OrientTest, AnUnknownOrientationIsUpright) {
  EXPECT_EQ(Oriented(0), kStored);
  EXPECT_EQ(Oriented(9), kStored);
}

TEST(OrientTest, SidesAreSwappedFromFiveOn) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    uint32_t height = 2, width = 3;
    OrientedSize(orientation, &height, &width);
    EXPECT_EQ(height, orientation < 5 ? 2u : 3u);
    EXPECT_EQ(width, orientation < 5 ? 3u : 2u);
  }
}

TEST(OrientTest, AWindowComesFromWhereItLies) {
  constexpr uint32_t kHeight = 37, kWidth = 71;
  std::vector<uint16_t> stored(kHeight * kWidth);
  for (size_t i = 0; i < stored.size(); ++i) stored[i] = i;
  const auto bytes = [](const std::vector<uint16_t>& pixels, size_t at) {
    return reinterpret_cast<const uint8_t*>(pixels.data() + at);
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    uint32_t height = kHeight, width = kWidth;
    OrientedSize(orientation, &height, &width);
    std::vector<uint16_t> whole(stored.size());
    Orient(bytes(stored, 0), 2 * kWidth, kHeight, kWidth, 2, orientation,
           reinterpret_cast<uint8_t*>(whole.data()));
    const Window upright = {3, 5, height - 10, width - 11};
    const Window from = StoredWindow(orientation, upright, kHeight, kWidth);
    ASSERT_LE(from.y + from.height, kHeight);
    ASSERT_LE(from.x + from.width, kWidth);
    std::vector<uint16_t> part(size_t{upright.height} * upright.width);
    Orient(bytes(stored, from.y * kWidth + from.x), 2 * kWidth, from.height,
           from.width, 2, orientation, reinterpret_cast<uint8_t*>(part.data()));
    for (uint32_t y = 0; y < upright.height; ++y) {
      for (uint32_t x = 0; x < upright.width; ++x) {
        ASSERT_EQ(part[y * upright.width + x],
                  whole[(upright.y + y) * width + upright.x + x])
            << orientation << " " << y << " " << x;
      }
    }
  }
}

TEST(OrientTest, TheMapSaysWherePixelsGo) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    uint32_t height = 2, width = 3;
    OrientedSize(orientation, &height, &width);
    const std::vector<uint8_t> upright = Oriented(orientation);
    const Affine map = OrientMap(orientation, 2, 3);
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        const double at_x = map.xx * (x + .5) + map.xy * (y + .5) + map.x0;
        const double at_y = map.yx * (x + .5) + map.yy * (y + .5) + map.y0;
        const auto at = static_cast<size_t>((at_y - .5) * width + at_x - .5);
        EXPECT_EQ(upright[at], kStored[y * 3 + x]) << orientation;
      }
    }
  }
}

TEST(MirrorRowTest, TwiceIsTheRow) {
  for (const size_t pixel : {1, 2, 3, 4, 6, 8}) {
    for (size_t width = 0; width < 50; ++width) {
      std::vector<uint8_t> row(width * pixel), once(row), twice(row);
      for (size_t i = 0; i < row.size(); ++i) row[i] = i * 7;
      MirrorRow(row.data(), width, pixel, once.data());
      if (width > 0) {
        EXPECT_EQ(std::vector<uint8_t>(once.begin(), once.begin() + pixel),
                  std::vector<uint8_t>(row.end() - pixel, row.end()));
      }
      MirrorRow(once.data(), width, pixel, twice.data());
      EXPECT_EQ(twice, row);
    }
  }
}

}  // namespace
}  // namespace liquid::orient_test
