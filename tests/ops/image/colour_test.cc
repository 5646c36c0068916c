#include "ops/image/colour.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace liquid::colour_test {
namespace {

constexpr uint32_t kMiddle = uint32_t{1} << 31;

Jitter Only(Jitter::Step step) {
  Jitter jitter;
  jitter.order[0] = step;
  jitter.steps = 1;
  return jitter;
}

std::vector<uint8_t> Applied(const Jitter& jitter,
                             std::vector<uint8_t> pixels) {
  ApplyJitter(jitter, pixels.data(), 1, pixels.size() / 3);
  return pixels;
}

TEST(DrawJitterTest, NoRangeIsNoStep) {
  const JitterRanges none;
  EXPECT_FALSE(none.any());
  EXPECT_EQ(DrawJitter(none, {1, 2, 3, 4}, {5, 6, 7, 8}).steps, 0);
}

TEST(DrawJitterTest, FactorsSpanTheirRanges) {
  const JitterRanges ranges = {.4, 2, .25, .5};
  EXPECT_TRUE(ranges.any());
  const Jitter low = DrawJitter(ranges, {0, 0, 0, 0}, {0, 0, 0, 0});
  EXPECT_EQ(low.steps, 4);
  EXPECT_EQ(low.brightness, .6f);
  EXPECT_EQ(low.contrast, 0.0f);
  EXPECT_EQ(low.saturation, .75f);
  // -.5 * 255, cut, modulo 256.
  EXPECT_EQ(low.hue, 129);
  const Jitter middle = DrawJitter(ranges, {kMiddle, kMiddle, kMiddle, kMiddle},
                                   {kMiddle, 0, 0, 0});
  EXPECT_EQ(middle.brightness, 1.0f);
  EXPECT_EQ(middle.contrast, 1.5f);
  EXPECT_EQ(middle.saturation, 1.0f);
  EXPECT_EQ(middle.hue, 0);
  const Jitter high =
      DrawJitter(ranges, {~0u, ~0u, ~0u, ~0u}, {~0u, ~0u, ~0u, ~0u});
  EXPECT_EQ(high.brightness, 1.4f);
  EXPECT_EQ(high.contrast, 3.0f);
  EXPECT_EQ(high.saturation, 1.25f);
  EXPECT_EQ(high.hue, 127);
}

TEST(DrawJitterTest, EveryOrderIsAsLikely) {
  const JitterRanges ranges = {1, 1, 1, .5};
  std::map<std::array<Jitter::Step, 4>, int> counts;
  for (uint32_t i = 0; i < 240; ++i) {
    const auto word = static_cast<uint32_t>((uint64_t{i} << 32) / 240 + 1);
    const Jitter jitter = DrawJitter(ranges, {word, 0, 0, 0}, {});
    ++counts[jitter.order];
  }
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_EQ(count, 10);
}

TEST(DrawJitterTest, AStepThatIsLeftOutChangesNoOther) {
  const PhiloxCounter words = {0x9876543, 0x12345678, 0x87654321, 0xabcdef01};
  const PhiloxCounter more = {0x55555555, 0, 0, 0};
  const Jitter all = DrawJitter({.4, .4, .4, .1}, words, more);
  const Jitter some = DrawJitter({.4, 0, .4, .1}, words, more);
  std::vector<Jitter::Step> left;
  for (int i = 0; i < all.steps; ++i) {
    if (all.order[i] != Jitter::kContrast) left.push_back(all.order[i]);
  }
  EXPECT_EQ(std::vector<Jitter::Step>(some.order.begin(),
                                      some.order.begin() + some.steps),
            left);
  EXPECT_EQ(some.brightness, all.brightness);
  EXPECT_EQ(some.saturation, all.saturation);
  EXPECT_EQ(some.hue, all.hue);
}

TEST(ApplyJitterTest, FactorsOfOneChangeNothing) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 3 * 1031; ++i) pixels.push_back(i * 37 % 256);
  for (const auto step :
       {Jitter::kBrightness, Jitter::kContrast, Jitter::kSaturation}) {
    EXPECT_EQ(Applied(Only(step), pixels), pixels);
  }
  EXPECT_EQ(Applied(Jitter(), pixels), pixels);
}

TEST(ApplyJitterTest, BrightnessMultipliesAndCuts) {
  Jitter jitter = Only(Jitter::kBrightness);
  jitter.brightness = 1.5f;
  EXPECT_EQ(Applied(jitter, {0, 1, 101, 170, 171, 255}),
            (std::vector<uint8_t>{0, 1, 151, 255, 255, 255}));
}

TEST(ApplyJitterTest, ContrastOfZeroIsTheMeanOfWhatEarlierStepsMade) {
  Jitter jitter = Only(Jitter::kBrightness);
  jitter.order[1] = Jitter::kContrast;
  jitter.steps = 2;
  jitter.brightness = .5f;
  jitter.contrast = 0;
  // (50 + 5) / 2 is rounded up.
  EXPECT_EQ(Applied(jitter, {100, 100, 100, 10, 10, 10}),
            (std::vector<uint8_t>(6, 28)));
}

TEST(ApplyJitterTest, HueTurnsRedToGreenAndLeavesGray) {
  Jitter jitter = Only(Jitter::kHue);
  jitter.hue = 85;
  EXPECT_EQ(Applied(jitter, {255, 0, 0, 90, 90, 90, 0, 0, 0}),
            (std::vector<uint8_t>{0, 255, 0, 90, 90, 90, 0, 0, 0}));
}

TEST(MakeGrayTest, GivesAllChannelsTheLuma) {
  std::vector<uint8_t> pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 7, 7, 7};
  MakeGray(pixels.data(), 2, 2);
  EXPECT_EQ(pixels, (std::vector<uint8_t>{76, 76, 76, 150, 150, 150, 29, 29, 29,
                                          7, 7, 7}));
}

}  // namespace
}  // namespace liquid::colour_test
