#include "ops/dataset/crop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

namespace liquid {
namespace {

using ::testing::HasSubstr;

CropSpec Random(uint32_t height, uint32_t width, uint64_t seed = 1) {
  CropSpec crop;
  crop.height = height;
  crop.width = width;
  crop.random = true;
  crop.seed = seed;
  return crop;
}

Window Place(const CropSpec& crop, int64_t epoch, uint64_t draw,
             uint32_t height, uint32_t width) {
  Window window;
  const Status status = PlaceWindow(crop, epoch, draw, height, width, &window);
  EXPECT_TRUE(status.ok()) << status.message();
  return window;
}

std::array<uint32_t, 4> Values(const Window& window) {
  return {window.y, window.x, window.height, window.width};
}

using Box = std::array<uint32_t, 4>;

TEST(CropTest, WithoutACropTheWindowIsTheImage) {
  EXPECT_EQ(Values(Place(CropSpec(), 3, 4, 10, 20)), (Box{0, 0, 10, 20}));
}

TEST(CropTest, TheCentreWhereNotRandom) {
  CropSpec crop = Random(4, 6);
  crop.random = false;
  EXPECT_EQ(Values(Place(crop, 3, 4, 10, 20)), (Box{3, 7, 4, 6}));
  EXPECT_EQ(Values(Place(crop, 3, 4, 11, 21)), (Box{3, 7, 4, 6}));
  EXPECT_EQ(Values(Place(crop, 9, 9, 4, 6)), (Box{0, 0, 4, 6}));
}

TEST(CropTest, AWindowLargerThanTheImageIsAnError) {
  Window window;
  for (const auto& [height, width] : {std::pair(3, 20), std::pair(10, 5)}) {
    const Status status =
        PlaceWindow(Random(4, 6), 0, 0, height, width, &window);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("crop (4, 6) is larger than"));
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(height) + "x" +
                                            std::to_string(width)));
  }
}

// A change of these is a change of what users train on.
TEST(CropTest, GoldenPlaces) {
  const CropSpec crop = Random(10, 20, 5);
  std::vector<Box> places;
  for (const auto& [epoch, draw] :
       {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(7, 123)}) {
    places.push_back(Values(Place(crop, epoch, draw, 480, 640)));
  }
  EXPECT_THAT(places, ::testing::ElementsAre(
                          Box{109, 435, 10, 20}, Box{352, 351, 10, 20},
                          Box{316, 129, 10, 20}, Box{277, 50, 10, 20}));
}

TEST(CropTest, EveryArgumentMovesTheWindow) {
  std::set<Box> places;
  for (const uint64_t seed : {0ull, 1ull, 1ull << 32, 1ull << 63}) {
    for (const int64_t epoch : {0ll, 1ll, 1ll << 33}) {
      for (const uint64_t draw : {0ull, 1ull, 1ull << 33}) {
        places.insert(
            Values(Place(Random(1, 1, seed), epoch, draw, 1 << 20, 1 << 20)));
      }
    }
  }
  EXPECT_EQ(places.size(), 36u);
}

TEST(CropTest, EveryPlaceIsEquallyLikely) {
  // 5 x 7 places, 35,000 draws: the count of a place has mean 1,000 and a
  // standard deviation of 31.
  std::array<int, 35> counts = {};
  for (uint64_t draw = 0; draw < 35000; ++draw) {
    const Window window = Place(Random(6, 4), 2, draw, 10, 10);
    ASSERT_LE(window.y, 4u);
    ASSERT_LE(window.x, 6u);
    ++counts[window.y * 7 + window.x];
  }
  EXPECT_THAT(counts, ::testing::Each(::testing::AllOf(::testing::Gt(845),
                                                       ::testing::Lt(1155))));
}

}  // namespace
}  // namespace liquid
