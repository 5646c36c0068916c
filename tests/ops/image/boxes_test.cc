#include "ops/image/boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ops/image/orient.h"
#include "ops/image/rotate.h"

namespace liquid::boxes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

KeptBoxes Move(const std::vector<float>& boxes, const Placement& placement,
               const BoxRule& rule = {}) {
  KeptBoxes kept;
  const Status status =
      MoveBoxes(boxes.data(), boxes.size(), placement, rule, &kept);
  EXPECT_TRUE(status.ok()) << status.message();
  return kept;
}

std::vector<float> MovePoints(const std::vector<float>& points,
                              const Placement& placement,
                              const std::vector<size_t>& flip = {}) {
  std::vector<float> out(points.size());
  const Status status = MoveKeypoints(points.data(), points.size() / 3,
                                      placement, flip, out.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// Of a window at (10, 20), 40 x 80, enlarged to 60 x 160 and mirrored.
Placement Window() {
  Placement placement;
  placement.map = Then({1, 0, -20, 0, 1, -10}, {2, 0, 0, 0, 1.5, 0});
  placement.map = Then(placement.map, {-1, 0, 160, 0, 1, 0});
  placement.height = 60;
  placement.width = 160;
  return placement;
}

Placement Whole(uint32_t height, uint32_t width) { return {{}, height, width}; }

TEST(BoxesTest, FollowAWindow) {
  const KeptBoxes kept = Move({20, 30, 40, 50}, Window());
  EXPECT_THAT(kept.numbers, ElementsAre(0));
  EXPECT_THAT(kept.boxes, ElementsAre(15, 100, 45, 140));
}

TEST(BoxesTest, AreCutAtTheSides) {
  const KeptBoxes kept = Move({0, 0, 30, 40, 40, 90, 80, 200}, Window());
  EXPECT_THAT(kept.numbers, ElementsAre(0, 1));
  EXPECT_THAT(kept.boxes, ElementsAre(0, 120, 30, 160, 45, 0, 60, 20));
}

TEST(BoxesTest, WhatIsOutsideIsDropped) {
  // Above, left, below and right of it, and touching its edge.
  EXPECT_THAT(Move({0,  30, 10, 50,  20, 0,   30, 20, 50, 30,
                    90, 50, 20, 100, 30, 120, 0,  0,  5,  5},
                   Window())
                  .numbers,
              IsEmpty());
}

TEST(BoxesTest, WhatHasNoAreaIsDropped) {
  EXPECT_THAT(
      Move({5, 5, 5, 9, 5, 5, 9, 5, 9, 9, 5, 5, 9, 5, 5, 9}, Whole(10, 10))
          .numbers,
      IsEmpty());
}

TEST(BoxesTest, WhatTouchesASideIsDroppedDespiteRounding) {
  // Windows whose right side is that of the box: mirrored, it lies at 0, but
  // for rounding.
  bool rounds = false;
  for (int left = 1; left < 100; ++left) {
    Placement placement;
    placement.map =
        Then({1, 0, -1. * left, 0, 1, 0}, {224. / 77, 0, 0, 0, 1, 0});
    placement.map = Then(placement.map, {-1, 0, 224, 0, 1, 0});
    placement.height = 10;
    placement.width = 224;
    const float side = static_cast<float>(left + 77);
    rounds |= placement.map.xx * side + placement.map.x0 > 0;
    EXPECT_THAT(Move({0, side, 10, side + 9}, placement).numbers, IsEmpty());
    EXPECT_THAT(Move({0, side - 1, 10, side + 9}, placement).numbers,
                ElementsAre(0));
  }
  EXPECT_TRUE(rounds);
}

TEST(BoxesTest, LeastVisibleShareStays) {
  // A tenth of it, to the bit: 2 of 20 rows.
  const std::vector<float> boxes = {-18, 0, 2, 8};
  EXPECT_THAT(Move(boxes, Whole(10, 10), {.1}).numbers, ElementsAre(0));
  EXPECT_THAT(Move(boxes, Whole(10, 10), {std::nextafter(.1, 1)}).numbers,
              IsEmpty());
  EXPECT_THAT(Move({0, 0, 10, 10}, Whole(10, 10), {1}).numbers, ElementsAre(0));
}

TEST(BoxesTest, TheFirstThatStay) {
  const KeptBoxes kept =
      Move({20, 0, 21, 1, 0, 0, 1, 1, 9, 9, 9, 9, 0, 0, 2, 2, 0, 0, 3, 3},
           Whole(10, 10), {0, 2});
  EXPECT_THAT(kept.numbers, ElementsAre(1, 3));
  EXPECT_THAT(kept.boxes, ElementsAre(0, 0, 1, 1, 0, 0, 2, 2));
}

TEST(BoxesTest, NoBoxes) {
  const KeptBoxes kept = Move({}, Whole(10, 10));
  EXPECT_THAT(kept.numbers, IsEmpty());
  EXPECT_THAT(kept.boxes, IsEmpty());
}

TEST(BoxesTest, TurnByOrientation) {
  // To be turned clockwise: the lower left corner becomes the upper left one.
  Placement placement = {OrientMap(6, 40, 60), 60, 40};
  EXPECT_THAT(Move({30, 0, 40, 20}, placement).boxes,
              ElementsAre(0, 0, 20, 10));
}

TEST(BoxesTest, ATurnedBoxIsItsEnclosingOne) {
  const Placement placement = {RotateMap(45, 100, 100), 100, 100};
  const KeptBoxes kept = Move({40, 40, 60, 60}, placement);
  const float half = static_cast<float>(10 * std::sqrt(2.));
  ASSERT_EQ(kept.boxes.size(), 4u);
  EXPECT_FLOAT_EQ(kept.boxes[0], 50 - half);
  EXPECT_FLOAT_EQ(kept.boxes[1], 50 - half);
  EXPECT_FLOAT_EQ(kept.boxes[2], 50 + half);
  EXPECT_FLOAT_EQ(kept.boxes[3], 50 + half);
}

TEST(BoxesTest, AreRoundedOnce) {
  // The first product is no float32.
  const Placement placement = {{1. / 3, 0, 0, 0, 1. / 3, 1. / 7}, 100, 100};
  const KeptBoxes kept = Move({.1f, .2f, 10.1f, 20.2f}, placement);
  EXPECT_THAT(kept.boxes,
              ElementsAre(static_cast<float>(1. / 3 * .1f + 1. / 7),
                          static_cast<float>(1. / 3 * .2f),
                          static_cast<float>(1. / 3 * 10.1f + 1. / 7),
                          static_cast<float>(1. / 3 * 20.2f)));
}

TEST(BoxesTest, LargestNumbersAreNoTrouble) {
  const float huge = std::numeric_limits<float>::max();
  const Placement placement = {{1e7, 0, 0, 0, 1e7, 0}, 10, 10};
  EXPECT_THAT(Move({-huge, -huge, huge, huge}, placement).boxes,
              ElementsAre(0, 0, 10, 10));
  EXPECT_THAT(Move({-huge, -huge, huge, huge}, placement, {.1}).boxes,
              IsEmpty());
}

TEST(BoxesTest, DamageIsNamed) {
  KeptBoxes kept;
  const std::vector<float> odd(7);
  Status status = MoveBoxes(odd.data(), 7, Whole(9, 9), {}, &kept);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("7 numbers of boxes"));
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    const std::vector<float> boxes = {0, 0, 1, 1, 0, 0, bad, 1};
    status = MoveBoxes(boxes.data(), 8, Whole(9, 9), {}, &kept);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("box 1 has a number"));
  }
}

TEST(KeypointsTest, FollowAWindow) {
  EXPECT_THAT(MovePoints({20, 30, 2, 10, 21, 1}, Window()),
              ElementsAre(15, 140, 2, 0, 158, 1));
}

TEST(KeypointsTest, WhatIsOutsideOrUnlabelledIsZero) {
  EXPECT_THAT(MovePoints({5, 5, 0,  -.5, 5, 2, 5, -.5, 2,   10, 5,
                          2, 5, 10, 1,   0, 0, 2, 9.5, 9.5, 1},
                         Whole(10, 10)),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
                          9.5, 9.5, 1));
}

TEST(KeypointsTest, WhatRoundsToTheEdgeIsOutside) {
  const Placement placement = {{1, 0, 0, 0, 1, -1e-9}, 10, 10};
  EXPECT_THAT(MovePoints({10, 5, 2}, placement), ElementsAre(0, 0, 0));
}

TEST(KeypointsTest, ChangePlaces) {
  EXPECT_THAT(MovePoints({1, 1, 1, 2, 2, 2, 3, 3, 3}, Whole(10, 10), {2, 0, 1}),
              ElementsAre(3, 3, 3, 1, 1, 1, 2, 2, 2));
}

TEST(KeypointsTest, DamageIsNamed) {
  for (const float bad : {kNan, kInfinity}) {
    const std::vector<float> points = {0, 0, 0, 0, 0, bad};
    std::vector<float> out(6);
    const Status status =
        MoveKeypoints(points.data(), 2, Whole(9, 9), {}, out.data());
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("keypoint 1 has a number"));
  }
}

}  // namespace
}  // namespace liquid::boxes_test
