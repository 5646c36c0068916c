#include "ops/image/rotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace liquid::rotate_test {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(RotateMapTest, RightAnglesAreExact) {
  // The corner (0, 0) of 4 x 6 pixels, counter-clockwise about (3, 2).
  const double x[] = {0, 1, 6, 5}, y[] = {0, 5, 4, -1};
  for (int i = -8; i <= 8; ++i) {
    const Affine map = RotateMap(90 * i, 4, 6);
    EXPECT_EQ(map.x0, x[i & 3]) << i;
    EXPECT_EQ(map.y0, y[i & 3]) << i;
  }
}

TEST(RotateMapTest, IsTheInverseOfTheSource) {
  for (double degrees = -400; degrees < 400; degrees += 7.3) {
    const Affine both =
        Then(RotateMap(degrees, 480, 641), RotateSource(degrees, 480, 641));
    EXPECT_NEAR(both.xx, 1, 1e-14);
    EXPECT_NEAR(both.xy, 0, 1e-14);
    EXPECT_NEAR(both.x0, 0, 1e-11);
    EXPECT_NEAR(both.yx, 0, 1e-14);
    EXPECT_NEAR(both.yy, 1, 1e-14);
    EXPECT_NEAR(both.y0, 0, 1e-11);
  }
}

TEST(RotateMapTest, SinesAreThoseOfTheLibraryTo15Digits) {
  for (double degrees = -720; degrees < 720; degrees += .37) {
    const double angle = std::fmod(degrees, 360) * (std::acos(-1.0) / 180);
    const Affine map = RotateMap(degrees, 1, 1);
    EXPECT_NEAR(map.xx, std::cos(angle), 2.5e-15);
    EXPECT_NEAR(map.xy, std::sin(angle), 2.5e-15);
  }
}

// The digits of every machine.
TEST(RotateMapTest, Golden) {
  EXPECT_EQ(RotateMap(30, 1, 1).xx, 0.866025403784439);
  EXPECT_EQ(RotateMap(30, 1, 1).xy, 0.5);
  EXPECT_EQ(RotateMap(-7.5, 1, 1).xx, 0.99144486137381);
  EXPECT_EQ(RotateMap(-7.5, 1, 1).xy, -0.130526192220052);
}

TEST(RotateTest, TurnsCounterClockwise) {
  const Bytes in = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Bytes out(9);
  RotateBilinear<uint8_t>(in.data(), 3, 3, 1, 90, 0, out.data());
  EXPECT_EQ(out, (Bytes{3, 6, 9, 2, 5, 8, 1, 4, 7}));
  RotateNearest<uint8_t>(in.data(), 3, 3, 1, -90, 0, out.data());
  EXPECT_EQ(out, (Bytes{7, 4, 1, 8, 5, 2, 9, 6, 3}));
}

TEST(RotateTest, FillsWhatIsOutside) {
  const Bytes in(15, 50);
  Bytes out(15);
  for (const auto rotate : {RotateBilinear<uint8_t>, RotateNearest<uint8_t>}) {
    rotate(in.data(), 1, 5, 3, 90, 9, out.data());
    EXPECT_EQ(out, (Bytes{9, 9, 9, 9, 9, 9, 50, 50, 50, 9, 9, 9, 9, 9, 9}));
  }
}

TEST(RotateTest, AFlatImageStaysFlatInside) {
  for (const uint16_t value : {1, 40000, 65535}) {
    const std::vector<uint16_t> in(31 * 17 * 3, value);
    std::vector<uint16_t> out(in.size());
    for (double degrees = 1; degrees < 360; degrees += 13) {
      RotateBilinear<uint16_t>(in.data(), 31, 17, 3, degrees, value,
                               out.data());
      EXPECT_EQ(out, in) << degrees;
    }
  }
}

TEST(RotateTest, LabelsAreNotMixed) {
  Bytes in(40 * 40);
  for (size_t i = 0; i < in.size(); ++i) in[i] = i % 3 == 0 ? 7 : 200;
  Bytes out(in.size());
  RotateNearest<uint8_t>(in.data(), 40, 40, 1, 33, 1, out.data());
  for (const uint8_t label : out) {
    EXPECT_TRUE(label == 1 || label == 7 || label == 200);
  }
}

// A side beyond what steps of 2^-16 reach.
TEST(RotateTest, NearestTakesLongSides) {
  constexpr size_t kWidth = 70001;
  Bytes in(kWidth);
  for (size_t x = 0; x < kWidth; ++x) in[x] = x % 251;
  Bytes out(kWidth), want(in.rbegin(), in.rend());
  RotateNearest<uint8_t>(in.data(), 1, kWidth, 1, 180, 0, out.data());
  EXPECT_EQ(out, want);
}

}  // namespace
}  // namespace liquid::rotate_test
