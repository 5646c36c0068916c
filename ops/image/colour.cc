#include "ops/image/colour.h"

#include <algorithm>
#include <utility>

#include "ops/image/blend.h"
#include "ops/image/wide.h"

namespace liquid {
namespace {

// Pixels by channel, which is what compilers turn into vectors. A block stays
// in the first cache through all steps of a pass. What is beyond the last pixel
// of an image is worked on in vain.
constexpr size_t kBlock = 512;
struct Block {
  alignas(64) uint8_t red[kBlock] = {};
  alignas(64) uint8_t green[kBlock] = {};
  alignas(64) uint8_t blue[kBlock] = {};
};

LIQUID_INLINE void Load(const uint8_t* pixels, size_t count, Block* block) {
  for (size_t i = 0; i < count; ++i) {
    block->red[i] = pixels[3 * i];
    block->green[i] = pixels[3 * i + 1];
    block->blue[i] = pixels[3 * i + 2];
  }
}

LIQUID_INLINE void Store(const Block& block, size_t count, uint8_t* pixels) {
  for (size_t i = 0; i < count; ++i) {
    pixels[3 * i] = block.red[i];
    pixels[3 * i + 1] = block.green[i];
    pixels[3 * i + 2] = block.blue[i];
  }
}

LIQUID_INLINE uint64_t SumOfLuma(const Block& block, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += Luma(block.red[i], block.green[i], block.blue[i]);
  }
  return sum;
}

LIQUID_INLINE void BlendAll(int base, float factor, Block* block) {
  for (uint8_t* plane : {block->red, block->green, block->blue}) {
    for (size_t i = 0; i < kBlock; ++i) {
      plane[i] = Blend(base, plane[i], factor);
    }
  }
}

LIQUID_INLINE void Saturate(float factor, Block* block) {
  for (size_t i = 0; i < kBlock; ++i) {
    const int luma = Luma(block->red[i], block->green[i], block->blue[i]);
    block->red[i] = Blend(luma, block->red[i], factor);
    block->green[i] = Blend(luma, block->green[i], factor);
    block->blue[i] = Blend(luma, block->blue[i], factor);
  }
}

// Pillow computes partly in float64; float32 gives the same for every colour,
// which tests make sure of. What follows has no branches, so that it becomes
// vectors: only choices between numbers that are there.

// Puts hue, saturation and value in the places of red, green and blue.
LIQUID_INLINE void ToHsv(Block* block) {
  for (size_t i = 0; i < kBlock; ++i) {
    const int red = block->red[i], green = block->green[i],
              blue = block->blue[i];
    const int high = std::max(red, std::max(green, blue));
    const int low = std::min(red, std::min(green, blue));
    const int middle = red + green + blue - high - low;

    // The hue in sixths of the circle, from red over green to blue: at most one
    // from the highest channel's, to the side of the middle one.
    const int not_red = red != high;
    const int blue_most = not_red & (green != high);
    const int centre = 2 * (not_red + blue_most);
    const int rise = (blue - green) + not_red * (red + green - 2 * blue) +
                     blue_most * (green + blue - 2 * red);
    const int up = 2 * (rise > 0) - 1;
    const int range = high - low;
    const float part = static_cast<float>(high - middle) /
                       static_cast<float>(range + (range == 0));
    const float sixths =
        static_cast<float>(centre - up) + static_cast<float>(up) * part;
    // One more turn where that is below 0: the sign's bit.
    const auto turns =
        static_cast<int>(static_cast<uint32_t>(centre - up) >> 31);
    const float circle = sixths / 6.0f + static_cast<float>(turns);
    const float saturation =
        static_cast<float>(range) / static_cast<float>(high + (high == 0));
    block->red[i] = static_cast<uint8_t>(static_cast<int>(circle * 255.0f));
    block->green[i] =
        static_cast<uint8_t>(static_cast<int>(saturation * 255.0f));
    block->blue[i] = static_cast<uint8_t>(high);
  }
}

// The other way.
LIQUID_INLINE void FromHsv(Block* block) {
  for (size_t i = 0; i < kBlock; ++i) {
    const int hue = block->red[i], saturation = block->green[i],
              high = block->blue[i];
    // Of 85 steps of a sixth. The product is 2 * hue / 85, rounded down.
    const int sixth = (2 * hue * 193) >> 14;
    const int steps = 2 * hue - 85 * sixth;
    const int fall = (sixth & 1) * (2 * steps - 85) + 85 - steps;
    // Quotients by 255 and 255 * 85, rounded; none lies halfway.
    const int lowest = high * (255 - saturation) + 127;
    const int low = (lowest + 1 + (lowest >> 8)) >> 8;
    const auto middle = static_cast<int>(
        static_cast<float>(high * (21675 - saturation * fall) + 10837) *
        (1.0f / 21675));
    // A channel is high in the sixths beside its own hue, low in the opposite
    // ones.
    const auto pick = [&](int from_own) {
      const int wrapped = from_own - 6 * (from_own >= 6);
      const int far = std::min(wrapped, 5 - wrapped);
      return static_cast<uint8_t>(low + (far < 2) * (middle - low) +
                                  (far < 1) * (high - middle));
    };
    block->red[i] = pick(sixth);
    block->green[i] = pick(sixth + 4);
    block->blue[i] = pick(sixth + 2);
  }
}

LIQUID_INLINE void ShiftHue(uint8_t shift, Block* block) {
  ToHsv(block);
  for (uint8_t& hue : block->red) hue = static_cast<uint8_t>(hue + shift);
  FromHsv(block);
}

// What is done to an image block by block.
struct Pass {
  const Jitter* jitter;
  int begin, end;  // the steps of the jitter
  int mean;        // luma of the whole image, if contrast is among them
};

LIQUID_INLINE void ApplyTo(const Pass& pass, Block* block) {
  for (int i = pass.begin; i < pass.end; ++i) {
    switch (pass.jitter->order[i]) {
      case Jitter::kBrightness:
        BlendAll(0, pass.jitter->brightness, block);
        break;
      case Jitter::kContrast:
        BlendAll(pass.mean, pass.jitter->contrast, block);
        break;
      case Jitter::kSaturation:
        Saturate(pass.jitter->saturation, block);
        break;
      case Jitter::kHue:
        ShiftHue(pass.jitter->hue, block);
        break;
    }
  }
}

LIQUID_INLINE void Change(const Pass& pass, uint8_t* pixels, size_t count) {
  Block block;
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t part = std::min(kBlock, count - at);
    Load(pixels + 3 * at, part, &block);
    ApplyTo(pass, &block);
    Store(block, part, pixels + 3 * at);
  }
}

LIQUID_INLINE uint64_t ChangeAndSum(const Pass& pass, uint8_t* pixels,
                                    size_t count) {
  Block block;
  uint64_t sum = 0;
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t part = std::min(kBlock, count - at);
    Load(pixels + 3 * at, part, &block);
    ApplyTo(pass, &block);
    sum += SumOfLuma(block, part);
    if (pass.begin < pass.end) Store(block, part, pixels + 3 * at);
  }
  return sum;
}

LIQUID_INLINE uint64_t Sum(const uint8_t* pixels, size_t count) {
  Block block;
  uint64_t sum = 0;
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t part = std::min(kBlock, count - at);
    Load(pixels + 3 * at, part, &block);
    sum += SumOfLuma(block, part);
  }
  return sum;
}

LIQUID_INLINE void Gray(uint8_t* pixels, size_t count) {
  Block block;
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t part = std::min(kBlock, count - at);
    Load(pixels + 3 * at, part, &block);
    for (size_t i = 0; i < kBlock; ++i) {
      block.red[i] = Luma(block.red[i], block.green[i], block.blue[i]);
    }
    for (size_t i = 0; i < part; ++i) {
      uint8_t* pixel = pixels + 3 * (at + i);
      pixel[0] = pixel[1] = pixel[2] = block.red[i];
    }
  }
}

// Requires at least one value.
int RoundedMean(uint64_t sum, size_t count) {
  return static_cast<int>(
      static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

float Factor(double range, uint32_t word) {
  const double least = std::max(0.0, 1 - range);
  return static_cast<float>(least +
                            (1 + range - least) * (word / 4294967296.0));
}

}  // namespace

Jitter DrawJitter(const JitterRanges& ranges, const PhiloxCounter& words,
                  const PhiloxCounter& more_words) {
  std::array<Jitter::Step, 4> order = {Jitter::kBrightness, Jitter::kContrast,
                                       Jitter::kSaturation, Jitter::kHue};
  // One of 24, whose digits to the bases 4, 3 and 2 are those of a shuffle.
  auto digits = static_cast<uint32_t>((uint64_t{words[0]} * 24) >> 32);
  for (uint32_t left = 4; left > 1; digits /= left, --left) {
    std::swap(order[left - 1], order[digits % left]);
  }
  const double happens[] = {ranges.brightness, ranges.contrast,
                            ranges.saturation, ranges.hue};
  Jitter jitter;
  for (const Jitter::Step step : order) {
    if (happens[step] > 0) jitter.order[jitter.steps++] = step;
  }
  jitter.brightness = Factor(ranges.brightness, words[1]);
  jitter.contrast = Factor(ranges.contrast, words[2]);
  jitter.saturation = Factor(ranges.saturation, words[3]);
  const double turn = (more_words[0] / 2147483648.0 - 1) * ranges.hue;
  jitter.hue = static_cast<uint8_t>(static_cast<int>(turn * 255));
  return jitter;
}

void ApplyJitter(const Jitter& jitter, uint8_t* pixels, size_t height,
                 size_t width) {
  const size_t count = height * width;
  const auto first = jitter.order.begin();
  const int contrast = static_cast<int>(
      std::find(first, first + jitter.steps, Jitter::kContrast) - first);
  Pass pass = {&jitter, 0, jitter.steps, 0};
  if (contrast < jitter.steps) {
    pass.end = contrast;
    uint64_t sum = 0;
    RunBest([&]() LIQUID_INLINED { sum = ChangeAndSum(pass, pixels, count); });
    pass = {&jitter, contrast, jitter.steps, RoundedMean(sum, count)};
  }
  RunBest([&]() LIQUID_INLINED { Change(pass, pixels, count); });
}

void MakeGray(uint8_t* pixels, size_t height, size_t width) {
  RunBest([&]() LIQUID_INLINED { Gray(pixels, height * width); });
}

int MeanLuma(const uint8_t* pixels, size_t height, size_t width) {
  const size_t count = height * width;
  uint64_t sum = 0;
  RunBest([&]() LIQUID_INLINED { sum = Sum(pixels, count); });
  return RoundedMean(sum, count);
}

}  // namespace liquid
