#include "ops/image/filters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/image/blend.h"
#include "ops/image/orient.h"

namespace liquid {
namespace {

// `values` of a row that has rows above and below it; those of the first and
// the last pixel stay.
LIQUID_INLINE void SharpenRow(const uint8_t* above, const uint8_t* in,
                              const uint8_t* below, size_t values,
                              size_t channels, float factor,
                              uint8_t* __restrict out) {
  std::copy_n(in, channels, out);
  const size_t end = values - channels;
  for (size_t i = channels; i < end; ++i) {
    const size_t left = i - channels, right = i + channels;
    const uint32_t ring = above[left] + above[i] + above[right] + in[left] +
                          in[right] + below[left] + below[i] + below[right];
    // The centre counts five of 13, whose quotient, halves rounded up, is that
    // of the product for every sum.
    const uint32_t smooth = ((ring + 5u * in[i] + 6) * 5042) >> 16;
    out[i] = Blend(static_cast<int>(smooth), in[i], factor);
  }
  std::copy_n(in + end, channels, out + end);
}

// Takes the mean of each column, of which there are `columns` values a row.
LIQUID_INLINE void Average(const uint8_t* in, size_t height, size_t columns,
                           const BlurBox& box, uint8_t* __restrict out) {
  constexpr size_t kBlock = 256;
  const auto last = static_cast<int64_t>(height - 1);
  const int64_t radius = box.radius;
  for (size_t begin = 0; begin < columns; begin += kBlock) {
    const size_t count = std::min(kBlock, columns - begin);
    // Beyond an edge, the row at the edge.
    const auto row = [&](int64_t y) LIQUID_INLINED {
      y = std::min(std::max<int64_t>(y, 0), last);
      return in + begin + static_cast<size_t>(y) * columns;
    };
    uint32_t sums[kBlock] = {};
    const auto add = [&](const uint8_t* from, uint32_t times) LIQUID_INLINED {
      for (size_t i = 0; i < count; ++i) sums[i] += times * from[i];
    };
    add(row(0), box.radius + 1);
    for (int64_t y = 1; y <= std::min(radius, last); ++y) add(row(y), 1);
    if (radius > last) add(row(last), static_cast<uint32_t>(radius - last));
    for (int64_t y = 0; y <= last; ++y) {
      const uint8_t* const before = row(y - radius - 1);
      const uint8_t* const first = row(y - radius);
      const uint8_t* const after = row(y + radius + 1);
      uint8_t* const to = out + begin + static_cast<size_t>(y) * columns;
      for (size_t i = 0; i < count; ++i) {
        const uint32_t edges = uint32_t{before[i]} + after[i];
        to[i] = static_cast<uint8_t>(
            (sums[i] * box.weight + edges * box.edge_weight + (1u << 23)) >>
            24);
        sums[i] += after[i];
        sums[i] -= first[i];
      }
    }
  }
}

}  // namespace

// Pillow computes with float32 but for the root.
BlurBox BlurBoxOf(float sigma) {
  const float variance = sigma * sigma / 3;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  const float radius = whole + part;
  BlurBox box;
  box.radius = static_cast<uint32_t>(radius);
  constexpr uint32_t kOne = 1 << 24;
  box.weight =
      static_cast<uint32_t>(static_cast<float>(kOne) / (radius * 2 + 1));
  box.edge_weight = (kOne - (box.radius * 2 + 1) * box.weight) / 2;
  return box;
}

void Sharpen(const uint8_t* in, size_t height, size_t width, size_t channels,
             float factor, uint8_t* out) {
  const size_t row = width * channels;
  if (height < 3 || width < 3) {
    std::copy_n(in, height * row, out);
    return;
  }
  std::copy_n(in, row, out);
  RunBest([&]() LIQUID_INLINED {
    for (size_t y = 1; y + 1 < height; ++y) {
      const uint8_t* const from = in + y * row;
      SharpenRow(from - row, from, from + row, row, channels, factor,
                 out + y * row);
    }
  });
  const size_t last = (height - 1) * row;
  std::copy_n(in + last, row, out + last);
}

void GaussianBlur(size_t height, size_t width, size_t channels, float sigma,
                  uint8_t* canvas, uint8_t* other) {
  const BlurBox box = BlurBoxOf(sigma);
  // Along the rows first, as columns of the transposed image.
  for (int direction = 0; direction < 2; ++direction) {
    Orient(canvas, width * channels, height, width, channels, /*orientation=*/5,
           other);
    std::swap(height, width);
    uint8_t* from = other;
    uint8_t* to = canvas;
    for (int pass = 0; pass < 3; ++pass) {
      RunBest([&]() LIQUID_INLINED {
        Average(from, height, width * channels, box, to);
      });
      std::swap(from, to);
    }
  }
}

}  // namespace liquid
