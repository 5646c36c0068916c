#include "ops/image/erase.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/image/logarithm.h"
#include "ops/image/noise.h"

namespace liquid::erase_test {
namespace {

ErasingStep Step(double least_area, double most_area, double least_ratio,
                 double most_ratio) {
  ErasingStep step;
  EXPECT_TRUE(RandomSize::Create(least_area, most_area, least_ratio, most_ratio,
                                 &step.size)
                  .ok());
  return step;
}

TEST(LogarithmTest, IsThatOfTheLibraryButForRounding) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                   static_cast<int>(random() % 200) - 100);
    ASSERT_NEAR(Logarithm(x), std::log(x), 4e-16 * std::fabs(std::log(x))) << x;
    const double power =
        static_cast<double>(random() >> 11) * 0x1p-53 * 1400 - 700;
    ASSERT_NEAR(Exponential(power) / std::exp(power), 1, 1e-15) << power;
  }
  EXPECT_EQ(Logarithm(1), 0);
  EXPECT_EQ(Exponential(0), 1);
  EXPECT_EQ(Exponential(-1e300), 0);
}

TEST(NoiseTest, WordsAreQuantiles) {
  std::mt19937 random(2);
  float last = NormalQuantile(0);
  EXPECT_NEAR(last, -6.3386, 1e-3);
  EXPECT_EQ(NormalQuantile(~uint32_t{0}), -last);
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += random() % 60000) {
    const auto w = static_cast<uint32_t>(word);
    const float value = NormalQuantile(w);
    ASSERT_GE(value, last);
    ASSERT_EQ(NormalQuantile(~w), -value);
    last = value;
    // The share of the distribution that lies beyond the nearer tail.
    const double tail = (std::min<double>(w, ~w) + .5) / 4294967296.0;
    ASSERT_NEAR(std::erfc(std::fabs(value) / std::sqrt(2.0)) / 2 / tail, 1,
                4e-6)
        << w;
  }
}

TEST(NoiseTest, RowsAreNormalAndUnlike) {
  constexpr size_t kValues = 200001;
  std::vector<float> row(kValues), other(kValues);
  FillNoise({1, 2}, 3, kValues, row.data());
  FillNoise({1, 2}, 4, kValues, other.data());
  double sum = 0, squares = 0, products = 0, neighbours = 0;
  for (size_t i = 0; i < kValues; ++i) {
    sum += row[i];
    squares += row[i] * row[i];
    products += row[i] * other[i];
    if (i > 0) neighbours += row[i] * row[i - 1];
  }
  const double deviation = 1 / std::sqrt(static_cast<double>(kValues));
  EXPECT_NEAR(sum / kValues, 0, 4 * deviation);
  EXPECT_NEAR(squares / kValues, 1, 4 * std::sqrt(2.0) * deviation);
  EXPECT_NEAR(products / kValues, 0, 4 * deviation);
  EXPECT_NEAR(neighbours / kValues, 0, 4 * deviation);
  // A shorter row is the beginning of a longer one.
  std::vector<float> some(7);
  FillNoise({1, 2}, 3, 7, some.data());
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(some[i], row[i]);
}

TEST(EraseTest, RectanglesHaveTheSharesAndRatiosThatWereAskedFor) {
  const ErasingStep step = Step(.02, .33, .3, 3.3);
  double area = 0, ratio = 0;
  for (uint64_t draw = 0; draw < 20000; ++draw) {
    const Window w = DrawErasure(step, 1, 2, draw, 200, 300).window;
    ASSERT_GT(w.height, 0u);
    ASSERT_LT(w.height, 200u);
    ASSERT_LT(w.width, 300u);
    ASSERT_LE(w.y + w.height, 200u);
    ASSERT_LE(w.x + w.width, 300u);
    area += w.height * w.width / 60000.0;
    ratio += std::log(static_cast<double>(w.height) / w.width);
  }
  // Large ones that are high do not fit, and are drawn again.
  EXPECT_NEAR(area / 20000, .175, .01);
  EXPECT_NEAR(ratio / 20000, 0, .1);
}

TEST(EraseTest, PlacesAreUniform) {
  const ErasingStep step = Step(.25, .25, 1, 1);
  int counts[6] = {};
  for (uint64_t draw = 0; draw < 24000; ++draw) {
    const Window w = DrawErasure(step, 1, 0, draw, 10, 10).window;
    ASSERT_EQ(w.height, 5u);
    ASSERT_EQ(w.width, 5u);
    ++counts[w.y];
    ASSERT_LE(w.x, 5u);
  }
  for (const int count : counts) EXPECT_NEAR(count, 4000, 240);
}

TEST(EraseTest, WhatNeverFitsErasesNothing) {
  // As high as the image, which is one row too many.
  for (uint64_t draw = 0; draw < 50; ++draw) {
    EXPECT_FALSE(DrawErasure(Step(1, 1, 1, 1), 1, 0, draw, 8, 8).any());
  }
}

TEST(EraseTest, RowsOfValuesAndOfNoise) {
  ErasingStep step = Step(.1, .2, 1, 1);
  Erasure erasure;
  erasure.window = {1, 2, 3, 2};
  erasure.key = {5, 6};
  std::vector<float> row(6);
  step.values = {.5f};
  FillErased(step, erasure, 0, 3, row.data());
  EXPECT_EQ(row, std::vector<float>(6, .5f));
  step.values = {1, 2, 3};
  FillErased(step, erasure, 2, 3, row.data());
  EXPECT_EQ(row, (std::vector<float>{1, 2, 3, 1, 2, 3}));
  step.noise = true;
  FillErased(step, erasure, 2, 3, row.data());
  std::vector<float> noise(6);
  FillNoise({5, 6}, 2, 6, noise.data());
  EXPECT_EQ(row, noise);
}

}  // namespace
}  // namespace liquid::erase_test
