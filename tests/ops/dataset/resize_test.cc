#include "ops/dataset/decode/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/core/rng.h"

namespace liquid {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> Pixels(const PixelShape& shape, uint64_t seed) {
  RandomStream random(seed, 0, RngPurpose::kCrop);
  std::vector<T> pixels(shape.height * shape.width * shape.channels);
  for (T& value : pixels) value = static_cast<T>(random.Next());
  return pixels;
}

// In doubles and by the definition: every output pixel's centre, between the
// centres of the four pixels around it, the outermost ones going on for ever.
template <typename T>
double Wanted(const std::vector<T>& in, const PixelShape& from,
              const PixelShape& to, size_t y, size_t x, size_t c) {
  const double at_y = (y + .5) * from.height / to.height - .5;
  const double at_x = (x + .5) * from.width / to.width - .5;
  const auto value = [&](double row, double column) {
    row = std::min(std::max(row, 0.0), from.height - 1.0);
    column = std::min(std::max(column, 0.0), from.width - 1.0);
    return static_cast<double>(in[(static_cast<size_t>(row) * from.width +
                                   static_cast<size_t>(column)) *
                                      from.channels +
                                  c]);
  };
  const double row = std::floor(at_y), column = std::floor(at_x);
  const double v = at_y - row, u = at_x - column;
  return (1 - v) * ((1 - u) * value(row, column) + u * value(row, column + 1)) +
         v * ((1 - u) * value(row + 1, column) +
              u * value(row + 1, column + 1));
}

template <typename T>
void CheckBilinear() {
  for (const PixelShape& from :
       {PixelShape{1, 1, 3}, PixelShape{7, 5, 1}, PixelShape{40, 31, 4}}) {
    const std::vector<T> in = Pixels<T>(from, from.height);
    for (const auto& [height, width] :
         {std::pair(1, 1), std::pair(7, 5), std::pair(3, 64), std::pair(101, 2),
          std::pair(224, 224)}) {
      const PixelShape to = {static_cast<size_t>(height),
                             static_cast<size_t>(width), from.channels};
      std::vector<T> out(to.height * to.width * to.channels);
      ResizeBilinear(in.data(), from, out.data(), to);
      size_t i = 0;
      for (size_t y = 0; y < to.height; ++y) {
        for (size_t x = 0; x < to.width; ++x) {
          for (size_t c = 0; c < to.channels; ++c, ++i) {
            // Half for the rounding, and what places in floats lose.
            ASSERT_NEAR(out[i], Wanted(in, from, to, y, x, c),
                        sizeof(T) == 1 ? .502 : .7);
          }
        }
      }
    }
  }
}

TEST(ResizeTest, BilinearIsWhatItsDefinitionSays) {
  CheckBilinear<uint8_t>();
  CheckBilinear<uint16_t>();
}

TEST(ResizeTest, HalvesAreRoundedToEven) {
  const std::vector<uint8_t> in = {0, 1, 2, 3};
  std::vector<uint8_t> out(2);
  ResizeBilinear(in.data(), {1, 4, 1}, out.data(), {1, 2, 1});
  EXPECT_THAT(out, ElementsAre(0, 2));
}

TEST(ResizeTest, SameSizeIsACopy) {
  const PixelShape shape = {5, 4, 3};
  const auto in = Pixels<uint16_t>(shape, 1);
  std::vector<uint16_t> out(in.size());
  ResizeBilinear(in.data(), shape, out.data(), shape);
  EXPECT_EQ(out, in);
}

TEST(ResizeTest, NearestMakesNoNewValues) {
  const std::vector<uint8_t> in = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> out(4 * 2);
  ResizeNearest(in.data(), {2, 3, 1}, out.data(), {4, 2, 1});
  EXPECT_THAT(out, ElementsAre(1, 3, 1, 3, 4, 6, 4, 6));
}

TEST(ResizeTest, MirrorsPixelsNotChannels) {
  std::vector<uint8_t> odd = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Mirror(odd.data(), {2, 3, 2});
  EXPECT_THAT(odd, ElementsAre(5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8));
  std::vector<uint16_t> even = {1, 2, 3, 4};
  Mirror(even.data(), {1, 4, 1});
  EXPECT_THAT(even, ElementsAre(4, 3, 2, 1));
}

}  // namespace
}  // namespace liquid
