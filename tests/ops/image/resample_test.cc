#include "ops/image/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "ops/core/rng.h"
#include "ops/image/resample_targets.h"

namespace liquid::resample_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The last of these bytes is followed by memory that nobody may read.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = (size + page - 1) / page * page;
    mapped_ = used + page;
    memory_ =
        static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    EXPECT_EQ(mprotect(memory_ + used, page, PROT_NONE), 0);
    bytes_ = memory_ + used - size;
  }
  ~GuardedBytes() { munmap(memory_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* bytes() { return bytes_; }

 private:
  size_t mapped_;
  uint8_t* memory_;
  uint8_t* bytes_;
};

template <typename T>
class Collect : public RowWriter<T> {
 public:
  explicit Collect(size_t size) : size_(size) {}
  void Row(uint32_t y, const T* row) override {
    EXPECT_EQ(y * size_, values.size());
    values.insert(values.end(), row, row + size_);
  }

  std::vector<T> values;

 private:
  const size_t size_;
};

uint32_t Below(RandomStream* random, uint32_t n) {
  return static_cast<uint32_t>(random->Next() % n);
}

template <typename T>
std::vector<T> Pixels(const ResampleSpec& spec, size_t channels,
                      RandomStream* random) {
  std::vector<T> pixels(size_t{spec.in_height} * spec.in_width * channels);
  for (T& value : pixels) {
    const uint64_t number = random->Next();
    // Black and white is what cubic filters overshoot with.
    value = static_cast<T>(number & 1 << 20   ? number
                           : number & 1 << 21 ? 0xFFFF
                                              : 0);
  }
  return pixels;
}

// Resizes what needed() says and has nothing else: the pixels' last byte is the
// last that can be read.
template <typename T>
std::vector<T> Resized(const ResampleSpec& spec, size_t channels,
                       const std::vector<T>& pixels, Resampler* resampler,
                       ResampleScratch* scratch) {
  EXPECT_TRUE(resampler->Reset(spec).ok());
  const Window& needed = resampler->needed();
  EXPECT_LE(needed.y + needed.height, spec.in_height);
  EXPECT_LE(needed.x + needed.width, spec.in_width);
  const size_t size = needed.width * channels;
  GuardedBytes guarded(needed.height * size * sizeof(T));
  for (size_t y = 0; y < needed.height; ++y) {
    std::memcpy(
        guarded.bytes() + y * size * sizeof(T),
        pixels.data() + ((needed.y + y) * spec.in_width + needed.x) * channels,
        size * sizeof(T));
  }
  Collect<T> collect(spec.part.width * channels);
  resampler->Run(reinterpret_cast<const T*>(guarded.bytes()), size, channels,
                 &collect, scratch);
  EXPECT_EQ(collect.values.size(),
            size_t{spec.part.height} * spec.part.width * channels);
  return collect.values;
}

template <typename T>
std::vector<T> Cut(const std::vector<T>& whole, const ResampleSpec& spec,
                   size_t channels) {
  std::vector<T> part;
  for (size_t y = 0; y < spec.part.height; ++y) {
    const auto row =
        whole.begin() +
        ((spec.part.y + y) * spec.out_width + spec.part.x) * channels;
    part.insert(part.end(), row, row + spec.part.width * channels);
  }
  return part;
}

ResampleSpec RandomSpec(Interpolation interpolation, bool antialias,
                        uint32_t bits, RandomStream* random) {
  const auto side = [&] {
    const uint32_t kind = Below(random, 8);
    return 1 + Below(random, kind < 2 ? 8 : kind < 7 ? 150 : 700);
  };
  ResampleSpec spec;
  spec.in_height = side();
  spec.in_width = side();
  spec.out_height = Below(random, 6) == 0 ? spec.in_height : side();
  spec.out_width = Below(random, 6) == 0 ? spec.in_width : side();
  spec.interpolation = interpolation;
  spec.antialias = antialias;
  spec.bits = bits;
  return spec;
}

struct Kind {
  Interpolation interpolation;
  bool antialias;
};

const Kind kKinds[] = {{Interpolation::kNearest, true},
                       {Interpolation::kBilinear, true},
                       {Interpolation::kBicubic, true},
                       {Interpolation::kNearest, false},
                       {Interpolation::kBilinear, false}};

template <typename T>
void CheckTargetsAndParts(uint64_t seed) {
  Resampler resampler;
  ResampleScratch scratch;
  for (const Kind& kind : kKinds) {
    RandomStream random(seed, static_cast<uint64_t>(kind.interpolation),
                        RngPurpose::kCrop);
    for (int i = 0; i < 120; ++i) {
      ResampleSpec spec = RandomSpec(kind.interpolation, kind.antialias,
                                     8 * sizeof(T), &random);
      const size_t channels = 1 + i % 4;
      SCOPED_TRACE("case " + std::to_string(i) + ", interpolation " +
                   std::to_string(static_cast<int>(kind.interpolation)) +
                   ", antialias " + std::to_string(kind.antialias));
      const std::vector<T> pixels = Pixels<T>(spec, channels, &random);
      spec.part = {0, 0, spec.out_height, spec.out_width};
      std::vector<T> whole;
      {
        const ScopedResampleTarget scalar(ResampleTarget::kScalar);
        whole = Resized(spec, channels, pixels, &resampler, &scratch);
      }
      Window part;
      part.height = 1 + Below(&random, spec.out_height);
      part.width = 1 + Below(&random, spec.out_width);
      part.y = Below(&random, spec.out_height - part.height + 1);
      part.x = Below(&random, spec.out_width - part.width + 1);
      for (const ResampleTarget target : ResampleRunnableTargets()) {
        SCOPED_TRACE(ResampleTargetName(target));
        const ScopedResampleTarget scoped(target);
        spec.part = {0, 0, spec.out_height, spec.out_width};
        ASSERT_EQ(Resized(spec, channels, pixels, &resampler, &scratch), whole);
        spec.part = part;
        ASSERT_EQ(Resized(spec, channels, pixels, &resampler, &scratch),
                  Cut(whole, spec, channels));
      }
    }
  }
}

TEST(ResampleTest, TargetsAndPartsAreEqualWith8Bits) {
  CheckTargetsAndParts<uint8_t>(1);
}

TEST(ResampleTest, TargetsAndPartsAreEqualWith16Bits) {
  CheckTargetsAndParts<uint16_t>(2);
}

// The weights of one axis, by the definition.
std::vector<std::vector<double>> Weights(uint32_t in, uint32_t out,
                                         bool cubic) {
  std::vector<std::vector<double>> weights(out, std::vector<double>(in));
  const double scale = static_cast<double>(in) / out;
  const double width = std::max(scale, 1.0);
  for (uint32_t i = 0; i < out; ++i) {
    if (in == out) {
      weights[i][i] = 1;
      continue;
    }
    double sum = 0;
    for (uint32_t j = 0; j < in; ++j) {
      const double x = std::fabs((j + .5 - (i + .5) * scale) / width);
      double weight = std::max(1 - x, 0.0);
      if (cubic) {
        weight = x < 1   ? 1.5 * x * x * x - 2.5 * x * x + 1
                 : x < 2 ? -.5 * x * x * x + 2.5 * x * x - 4 * x + 2
                         : 0;
      }
      weights[i][j] = weight;
      sum += weight;
    }
    for (double& weight : weights[i]) weight /= sum;
  }
  return weights;
}

TEST(ResampleTest, SixteenBitsAreNearDoubles) {
  RandomStream random(3, 0, RngPurpose::kCrop);
  Resampler resampler;
  ResampleScratch scratch;
  for (int i = 0; i < 40; ++i) {
    ResampleSpec spec;
    spec.in_height = 1 + Below(&random, 40);
    spec.in_width = 1 + Below(&random, 40);
    spec.out_height = 1 + Below(&random, 40);
    spec.out_width = 1 + Below(&random, 40);
    spec.part = {0, 0, spec.out_height, spec.out_width};
    spec.bits = 16;
    const bool cubic = i % 2 == 1;
    spec.interpolation =
        cubic ? Interpolation::kBicubic : Interpolation::kBilinear;
    const size_t channels = 1 + i / 2 % 4;
    const bool alpha = channels % 2 == 0;
    const auto in = Pixels<uint16_t>(spec, channels, &random);
    const auto out = Resized(spec, channels, in, &resampler, &scratch);
    const auto rows = Weights(spec.in_height, spec.out_height, cubic);
    const auto columns = Weights(spec.in_width, spec.out_width, cubic);
    for (size_t y = 0; y < spec.out_height; ++y) {
      for (size_t x = 0; x < spec.out_width; ++x) {
        std::vector<double> sums(channels);
        for (size_t v = 0; v < spec.in_height; ++v) {
          for (size_t u = 0; u < spec.in_width; ++u) {
            const uint16_t* const pixel =
                &in[(v * spec.in_width + u) * channels];
            for (size_t c = 0; c < channels; ++c) {
              const bool weighed = alpha && c + 1 < channels;
              sums[c] += rows[y][v] * columns[x][u] * pixel[c] *
                         (weighed ? pixel[channels - 1] : 1);
            }
          }
        }
        for (size_t c = 0; c < channels; ++c) {
          double wanted = sums[c];
          if (alpha && c + 1 < channels) {
            const double opacity = sums[channels - 1];
            wanted = opacity < .5 ? 0 : wanted / opacity;
          }
          ASSERT_NEAR(out[(y * spec.out_width + x) * channels + c],
                      std::clamp(wanted, 0.0, 65535.0), .501)
              << i;
        }
      }
    }
  }
}

TEST(ResampleTest, LongAndThin) {
  Resampler resampler;
  ResampleScratch scratch;
  RandomStream random(4, 0, RngPurpose::kCrop);
  for (const auto& [height, width] :
       {std::pair(1, 1), std::pair(1, 3000), std::pair(3000, 1)}) {
    for (const auto& [out_height, out_width] :
         {std::pair(1, 1), std::pair(1, 3000), std::pair(3000, 1),
          std::pair(7, 5)}) {
      for (const Kind& kind : kKinds) {
        ResampleSpec spec;
        spec.in_height = static_cast<uint32_t>(height);
        spec.in_width = static_cast<uint32_t>(width);
        spec.out_height = static_cast<uint32_t>(out_height);
        spec.out_width = static_cast<uint32_t>(out_width);
        spec.part = {0, 0, spec.out_height, spec.out_width};
        spec.interpolation = kind.interpolation;
        spec.antialias = kind.antialias;
        for (size_t channels = 1; channels <= 4; ++channels) {
          // One colour stays one colour.
          const std::vector<uint8_t> pixels(
              size_t{spec.in_height} * spec.in_width * channels, 255);
          EXPECT_THAT(Resized(spec, channels, pixels, &resampler, &scratch),
                      ::testing::Each(255));
        }
      }
    }
  }
}

TEST(ResampleTest, NeedsOnlyWhatThePartIsMadeOf) {
  ResampleSpec spec;
  spec.in_height = 100;
  spec.in_width = 80;
  spec.out_height = 50;
  spec.out_width = 40;
  spec.part = {10, 20, 5, 1};
  Resampler resampler;
  ASSERT_TRUE(resampler.Reset(spec).ok());
  // Two pixels on each side of a centre, 21 for the first row.
  EXPECT_EQ(resampler.needed().y, 19u);
  EXPECT_EQ(resampler.needed().height, 12u);
  EXPECT_EQ(resampler.needed().x, 39u);
  EXPECT_EQ(resampler.needed().width, 4u);
}

TEST(ResampleTest, WithoutAntialiasHalvesAreRoundedToEven) {
  ResampleSpec spec;
  spec.in_height = 1;
  spec.in_width = 4;
  spec.out_height = 1;
  spec.out_width = 2;
  spec.part = {0, 0, 1, 2};
  spec.antialias = false;
  Resampler resampler;
  ResampleScratch scratch;
  EXPECT_THAT(Resized<uint8_t>(spec, 1, {0, 1, 2, 3}, &resampler, &scratch),
              ElementsAre(0, 2));
}

TEST(ResampleTest, WhatIsTransparentHasNoWeight) {
  ResampleSpec spec;
  spec.in_height = 1;
  spec.in_width = 2;
  spec.out_height = 1;
  spec.out_width = 1;
  spec.part = {0, 0, 1, 1};
  Resampler resampler;
  ResampleScratch scratch;
  EXPECT_THAT(Resized<uint8_t>(spec, 2, {200, 255, 9, 0}, &resampler, &scratch),
              ElementsAre(199, 128));
  spec.bits = 16;
  EXPECT_THAT(
      Resized<uint16_t>(spec, 2, {200, 65535, 9, 0}, &resampler, &scratch),
      ElementsAre(200, 32768));
}

TEST(ResampleTest, TargetsAreEqualForEveryColourAndOpacity) {
  for (const size_t channels : {2, 4}) {
    // Some pixels more than fill whole vectors.
    std::vector<uint8_t> all;
    for (uint32_t i = 0; i < (1 << 16) + 3; ++i) {
      for (size_t c = 0; c + 1 < channels; ++c) {
        all.push_back(static_cast<uint8_t>(i + 85 * c));
      }
      all.push_back(static_cast<uint8_t>(i >> 8));
    }
    const size_t pixels = all.size() / channels;
    std::vector<uint8_t> less(all.size()), more = all;
    kScalarResample.premultiply(all.data(), pixels, channels, less.data());
    kScalarResample.unpremultiply(more.data(), pixels, channels);
    for (const ResampleTarget target : ResampleRunnableTargets()) {
      const ScopedResampleTarget scoped(target);
      const ResampleKernels& kernels = CurrentResampleKernels();
      std::vector<uint8_t> out(all.size()), in_place = all;
      kernels.premultiply(all.data(), pixels, channels, out.data());
      EXPECT_EQ(out, less);
      kernels.unpremultiply(in_place.data(), pixels, channels);
      EXPECT_EQ(in_place, more);
    }
  }
}

TEST(ResampleTest, RefusesWhatItCannotDo) {
  ResampleSpec good;
  good.in_height = good.in_width = 4;
  good.out_height = good.out_width = 8;
  good.part = {2, 3, 6, 5};
  Resampler resampler;
  EXPECT_TRUE(resampler.Reset(good).ok());
  const auto refused = [&](auto change, const char* why) {
    ResampleSpec spec = good;
    change(&spec);
    const Status status = resampler.Reset(spec);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(why));
  };
  refused([](ResampleSpec* s) { s->in_height = 0; }, "0x4 to 8x8");
  refused([](ResampleSpec* s) { s->in_width = 1 << 24; }, "4x16777216");
  refused([](ResampleSpec* s) { s->out_width = 0; }, "to 8x0");
  refused([](ResampleSpec* s) { s->part.height = 0; }, "0x5 pixels");
  refused([](ResampleSpec* s) { s->part.height = 7; }, "from row 2");
  refused([](ResampleSpec* s) { s->part.x = ~0u; }, "column 4294967295");
  refused([](ResampleSpec* s) { s->bits = 12; }, "12 bits");
  refused(
      [](ResampleSpec* s) {
        s->interpolation = Interpolation::kBicubic;
        s->antialias = false;
      },
      "antialias=false");
}

TEST(ResampleTargetsTest, ScalarIsFirstAndTheProcessorsOwnRuns) {
  const std::vector<ResampleTarget> targets = ResampleRunnableTargets();
  EXPECT_EQ(targets.front(), ResampleTarget::kScalar);
#if defined(__aarch64__)
  EXPECT_EQ(targets.back(), ResampleTarget::kNeon);
#elif defined(__x86_64__)
  EXPECT_EQ(targets.size() == 2, __builtin_cpu_supports("avx2") != 0);
#endif
}

}  // namespace
}  // namespace liquid::resample_test
