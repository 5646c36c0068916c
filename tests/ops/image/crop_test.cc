#include "ops/image/crop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace liquid::crop_test {
namespace {

using ::testing::HasSubstr;

struct Seeded {
  CropStep crop;
  uint64_t seed = 0;
};

Seeded Random(uint32_t height, uint32_t width, uint64_t seed = 1) {
  Seeded random;
  random.crop.kind = CropStep::Kind::kRandom;
  random.crop.height = height;
  random.crop.width = width;
  random.seed = seed;
  return random;
}

Window Place(const Seeded& of, int64_t epoch, uint64_t draw, uint32_t height,
             uint32_t width) {
  Window window;
  const Status status =
      PlaceCrop(of.crop, of.seed, epoch, draw, height, width, &window);
  EXPECT_TRUE(status.ok()) << status.message();
  return window;
}

std::array<uint32_t, 4> Values(const Window& window) {
  return {window.y, window.x, window.height, window.width};
}

using Box = std::array<uint32_t, 4>;

TEST(CropTest, WithoutACropTheWindowIsTheImage) {
  EXPECT_EQ(Values(Place(Seeded(), 3, 4, 10, 20)), (Box{0, 0, 10, 20}));
}

TEST(CropTest, TheCentreWhereNotRandom) {
  Seeded crop = Random(4, 6);
  crop.crop.kind = CropStep::Kind::kFixed;
  EXPECT_EQ(Values(Place(crop, 3, 4, 10, 20)), (Box{3, 7, 4, 6}));
  // Halves go to the even number.
  EXPECT_EQ(Values(Place(crop, 3, 4, 11, 21)), (Box{4, 8, 4, 6}));
  EXPECT_EQ(Values(Place(crop, 3, 4, 13, 19)), (Box{4, 6, 4, 6}));
  EXPECT_EQ(Values(Place(crop, 9, 9, 4, 6)), (Box{0, 0, 4, 6}));
}

TEST(CropTest, CornersAlsoOfTheMirroredImage) {
  Seeded crop = Random(4, 6);
  crop.crop.kind = CropStep::Kind::kFixed;
  const auto place = [&crop](uint32_t y, uint32_t x, bool mirrored) {
    crop.crop.y = y;
    crop.crop.x = x;
    crop.crop.mirrored = mirrored;
    return Values(Place(crop, 3, 4, 11, 21));
  };
  EXPECT_EQ(place(0, 0, false), (Box{0, 0, 4, 6}));
  EXPECT_EQ(place(0, 2, false), (Box{0, 15, 4, 6}));
  EXPECT_EQ(place(2, 0, true), (Box{7, 15, 4, 6}));
  EXPECT_EQ(place(2, 2, true), (Box{7, 0, 4, 6}));
  // Half of 15 columns is rounded before the image is mirrored back.
  EXPECT_EQ(place(1, 1, true), (Box{4, 7, 4, 6}));
}

TEST(CropTest, AWindowLargerThanTheImageIsAnError) {
  Window window;
  for (const auto& [height, width] : {std::pair(3, 20), std::pair(10, 5)}) {
    const Status status =
        PlaceCrop(Random(4, 6).crop, 1, 0, 0, height, width, &window);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("crop (4, 6) is larger than"));
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(height) + "x" +
                                            std::to_string(width)));
  }
}

// A change of these is a change of what users train on.
TEST(CropTest, GoldenPlaces) {
  const Seeded crop = Random(10, 20, 5);
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

Seeded RandomSized(double least_area, double most_area, double least_aspect,
                   double most_aspect) {
  Seeded crop;
  crop.seed = 9;
  crop.crop.kind = CropStep::Kind::kRandomSize;
  const Status status = RandomSize::Create(least_area, most_area, least_aspect,
                                           most_aspect, &crop.crop.size);
  EXPECT_TRUE(status.ok()) << status.message();
  return crop;
}

// Chi-square of counts that should be equal, over its degrees of freedom.
double Unevenness(const std::vector<int>& counts) {
  double total = 0, sum = 0;
  for (int count : counts) total += count;
  const double mean = total / counts.size();
  for (int count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum / (counts.size() - 1);
}

TEST(RandomSizeTest, AreaAndAspectAreUniformInTheirRanges) {
  // In an image so wide and high that all windows fit: nothing is rejected.
  const Seeded crop = RandomSized(.05, .25, 3.0 / 4, 4.0 / 3);
  constexpr int kBins = 20;
  constexpr uint32_t kSide = 10000;
  std::vector<int> areas(kBins), aspects(kBins), rows(kBins), columns(kBins);
  for (uint64_t draw = 0; draw < 40000; ++draw) {
    const Window w = Place(crop, 1, draw, kSide, kSide);
    ASSERT_LE(w.y + w.height, kSide);
    ASSERT_LE(w.x + w.width, kSide);
    const double area = double{1} * w.height * w.width / kSide / kSide;
    const double aspect = double{1} * w.width / w.height;
    // To half a pixel.
    ASSERT_GT(area, .05 * .999);
    ASSERT_LT(area, .25 * 1.001);
    ASSERT_GT(aspect, .75 * .999);
    ASSERT_LT(aspect, 4 / 2.999);
    const auto bin = [](double share) {
      return std::min(std::max(static_cast<int>(share * kBins), 0), kBins - 1);
    };
    ++areas[bin((area - .05) / .2)];
    ++aspects[bin(std::log(aspect / .75) / std::log(16.0 / 9))];
    ++rows[bin(w.y / (kSide - w.height + 1.0))];
    ++columns[bin(w.x / (kSide - w.width + 1.0))];
  }
  // 19 degrees of freedom: above 2.3 once in a thousand.
  for (const auto& counts : {areas, aspects, rows, columns}) {
    EXPECT_LT(Unevenness(counts), 2.3);
  }
}

TEST(RandomSizeTest, GoldenWindows) {
  const Seeded crop = RandomSized(.08f, 1, .75f, 1.3333334f);
  std::vector<Box> windows;
  for (const auto& [epoch, draw] :
       {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(7, 123)}) {
    windows.push_back(Values(Place(crop, epoch, draw, 480, 640)));
  }
  EXPECT_THAT(windows, ::testing::ElementsAre(
                           Box{47, 106, 428, 457}, Box{95, 155, 367, 338},
                           Box{167, 158, 181, 188}, Box{53, 244, 318, 255}));
}

TEST(RandomSizeTest, ShapesThatDoNotFit) {
  // A strip: of a square's aspect no window has a tenth of its area.
  const Seeded square = RandomSized(.1, 1, 1, 1);
  EXPECT_EQ(Values(Place(square, 0, 0, 10, 1000)), (Box{0, 495, 10, 10}));
  EXPECT_EQ(Values(Place(square, 0, 0, 1000, 10)), (Box{495, 0, 10, 10}));
  // A whole image, whatever its shape, where the range has it.
  const Seeded whole = RandomSized(1, 1, .5, 2);
  EXPECT_EQ(Values(Place(whole, 0, 0, 1, 1)), (Box{0, 0, 1, 1}));
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    const Window w = Place(RandomSized(.001, 1, .001, 1000), 0, draw, 3, 2);
    ASSERT_GE(w.height, 1u);
    ASSERT_GE(w.width, 1u);
    ASSERT_LE(w.y + w.height, 3u);
    ASSERT_LE(w.x + w.width, 2u);
  }
}

TEST(RandomSizeTest, WrongRanges) {
  RandomSize size;
  const double nan = std::nan("");
  for (const auto& [area, more] :
       {std::pair(0.0, 1.0), std::pair(.5, .4), std::pair(.5, 1.1),
        std::pair(nan, 1.0), std::pair(.1, nan)}) {
    const Status status = RandomSize::Create(area, more, 1, 1, &size);
    EXPECT_THAT(status.message(), HasSubstr("random_area ("));
  }
  for (const auto& [aspect, more] :
       {std::pair(0.0, 1.0), std::pair(2.0, 1.0), std::pair(1.0, 1001.0),
        std::pair(nan, 1.0), std::pair(1.0, nan)}) {
    const Status status = RandomSize::Create(.1, 1, aspect, more, &size);
    EXPECT_THAT(status.message(), HasSubstr("random_aspect ("));
  }
}

}  // namespace
}  // namespace liquid::crop_test
