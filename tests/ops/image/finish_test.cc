#include "ops/image/finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace liquid::finish_test {
namespace {

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// By the definition: the nearest of all halves, of two the even one.
float NearestHalf(float value) {
  if (std::fabs(value) >= 65520) return std::copysign(INFINITY, value);
  int exponent;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 11, -24));
  return static_cast<float>(std::nearbyint(value / unit) * unit);
}

float NearestBrain(float value) {
  int exponent;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 8, -133));
  return static_cast<float>(std::nearbyint(value / unit) * unit);
}

float ValueOfHalf(uint16_t half) {
  const int exponent = half >> 10 & 31, digits = half & 1023;
  const double size = exponent == 0 ? std::ldexp(digits, -24)
                      : exponent == 31
                          ? INFINITY
                          : std::ldexp(1024 + digits, exponent - 25);
  return static_cast<float>(half >> 15 ? -size : size);
}

std::vector<const FinishKernels*> AllKernels() {
  std::vector<const FinishKernels*> all = {&kFinishPlain};
  if (&BestFinishKernels() != &kFinishPlain)
    all.push_back(&BestFinishKernels());
  return all;
}

TEST(FinishKernelsTest, NumbersAreRoundedOnceEach) {
  std::mt19937 random(1);
  for (const FinishKernels* kernels : AllKernels()) {
    for (int i = 0; i < 2000; ++i) {
      const size_t n = random() % 200 + 1;
      std::vector<uint16_t> in(n);
      for (uint16_t& value : in) value = static_cast<uint16_t>(random());
      std::vector<float> mean(kFinishPeriod), std(kFinishPeriod);
      for (size_t k = 0; k < kFinishPeriod; ++k) {
        mean[k] = static_cast<float>(random() % 100000) / 7;
        // Results from denormal halves to beyond all of them.
        std[k] = std::ldexp(1 + (random() % 1000) / 999.f, random() % 60 - 30);
      }
      std::vector<float> floats(n);
      std::vector<Half> halves(n);
      std::vector<Brain> brains(n);
      kernels->words.to_float(in.data(), n, mean.data(), 0, std.data(),
                              floats.data());
      kernels->words.to_half(in.data(), n, mean.data(), 0, std.data(),
                             halves.data());
      kernels->words.to_brain(in.data(), n, mean.data(), 0, std.data(),
                              brains.data());
      for (size_t k = 0; k < n; ++k) {
        const float difference = in[k] - mean[k % kFinishPeriod];
        const float wanted = difference / std[k % kFinishPeriod];
        ASSERT_EQ(floats[k], wanted);
        ASSERT_EQ(ValueOfHalf(halves[k].bits), NearestHalf(wanted)) << wanted;
        ASSERT_EQ(FloatOf(uint32_t{brains[k].bits} << 16),
                  NearestBrain(wanted));
      }
    }
  }
}

// Row by row, one value after the other.
std::vector<float> Plain(const FinishSpec& spec, const std::vector<uint8_t>& in,
                         size_t height, size_t width, bool mirrored) {
  const size_t c = spec.channels;
  std::vector<float> out(in.size());
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t k = 0; k < c; ++k) {
        const size_t from =
            (y * width + (mirrored ? width - 1 - x : x)) * c + k;
        const size_t place = (y * width + x) * c + k;
        const float mean = !spec.mean_image.empty() ? spec.mean_image[place]
                           : spec.mean.empty()
                               ? 0
                               : spec.mean[spec.mean.size() == 1 ? 0 : k];
        const float std =
            spec.std.empty() ? 1 : spec.std[spec.std.size() == 1 ? 0 : k];
        const size_t to =
            spec.channels_first ? (k * height + y) * width + x : place;
        out[to] = (in[from] - mean) / std;
      }
    }
  }
  return out;
}

TEST(FinisherTest, EveryLayout) {
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    const size_t height = random() % 5 + 1, width = random() % 70 + 1;
    FinishSpec spec;
    spec.type = PixelType::kFloat32;
    spec.channels = random() % 4 + 1;
    spec.channels_first = random() % 2;
    if (random() % 2) spec.mean.assign(random() % 2 ? 1 : spec.channels, 3.5f);
    if (random() % 2) spec.std.assign(random() % 2 ? 1 : spec.channels, 7.7f);
    if (spec.mean.size() > 1) spec.mean[1] = 99;
    if (spec.mean.empty() && random() % 2) {
      spec.mean_height = height;
      spec.mean_width = width;
      for (size_t k = 0; k < height * width * spec.channels; ++k) {
        spec.mean_image.push_back(static_cast<float>(random() % 256) / 3);
      }
    }
    std::vector<uint8_t> in(height * width * spec.channels);
    for (uint8_t& value : in) value = static_cast<uint8_t>(random());
    const bool mirrored = random() % 2;
    Finisher finisher;
    ASSERT_TRUE(Finisher::Create(spec, &finisher).ok());
    ASSERT_TRUE(finisher.CheckSize(height, width).ok());
    std::vector<float> out(in.size());
    std::vector<uint8_t> scratch(finisher.ScratchBytes(width));
    for (size_t y = 0; y < height; ++y) {
      finisher.Row(&in[y * width * spec.channels], height, width, y, mirrored,
                   scratch.data(), out.data());
    }
    ASSERT_EQ(out, Plain(spec, in, height, width, mirrored)) << i;
  }
}

TEST(FinisherTest, PutsValuesWhereRowsWouldHaveThem) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    FinishSpec spec;
    spec.type = std::vector<PixelType>{PixelType::kFloat32, PixelType::kFloat16,
                                       PixelType::kBfloat16}[random() % 3];
    spec.channels = random() % 4 + 1;
    spec.channels_first = random() % 2;
    Finisher finisher;
    ASSERT_TRUE(Finisher::Create(spec, &finisher).ok());
    const size_t width = random() % 150 + 1, height = 3, y = random() % height;
    const size_t x = random() % width, n = random() % (width - x + 1);
    std::vector<uint8_t> in(width * spec.channels);
    for (uint8_t& value : in) value = static_cast<uint8_t>(random());
    const size_t bytes = finisher.ImageBytes(height, width);
    std::vector<uint8_t> wanted(bytes), found(bytes);
    std::vector<uint8_t> scratch(finisher.ScratchBytes(width));
    // What is left is that of a black row.
    std::vector<uint8_t> black(in.size());
    std::copy_n(&in[x * spec.channels], n * spec.channels,
                &black[x * spec.channels]);
    finisher.Row(black.data(), height, width, y, false, scratch.data(),
                 wanted.data());
    const std::vector<float> values(in.begin() + x * spec.channels,
                                    in.begin() + (x + n) * spec.channels);
    finisher.Put(values.data(), height, width, y, x, n, found.data());
    ASSERT_EQ(found, wanted) << i;
  }
}

TEST(FinisherTest, NumbersThatDoNotFit) {
  Finisher finisher;
  FinishSpec spec;
  spec.type = PixelType::kFloat32;
  spec.mean = {1, 2};
  EXPECT_FALSE(Finisher::Create(spec, &finisher).ok());
  spec.mean = {};
  spec.std = {0};
  EXPECT_FALSE(Finisher::Create(spec, &finisher).ok());
  spec.std = {};
  spec.mean_image = {1};
  EXPECT_FALSE(Finisher::Create(spec, &finisher).ok());
  spec.mean_height = spec.mean_width = 1;
  spec.mean_image = {1, 2, 3};
  ASSERT_TRUE(Finisher::Create(spec, &finisher).ok());
  EXPECT_FALSE(finisher.CheckSize(1, 2).ok());
  spec = FinishSpec();
  spec.type = PixelType::kUint16;
  EXPECT_FALSE(Finisher::Create(spec, &finisher).ok());
  spec = FinishSpec();
  spec.mean = {1};
  EXPECT_FALSE(Finisher::Create(spec, &finisher).ok());
}

}  // namespace
}  // namespace liquid::finish_test
