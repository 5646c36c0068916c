#include "ops/dataset/decode/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace liquid {
namespace {

constexpr float kWhole = 1 << 23;

// Where an output pixel lies between two input pixels.
struct Between {
  size_t lower, upper;
  float part;  // 0: at the lower one
};

float ScaleOf(size_t in, size_t out) {
  return static_cast<float>(in) / static_cast<float>(out);
}

std::vector<Between> Places(size_t in, size_t out) {
  const float scale = ScaleOf(in, out);
  std::vector<Between> places(out);
  for (size_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float floor = std::floor(at);
    places[i].lower = static_cast<size_t>(std::max(floor, 0.0f));
    places[i].upper =
        std::min(static_cast<size_t>(std::max(std::ceil(at), 0.0f)), in - 1);
    places[i].part = at - floor;
  }
  return places;
}

// An input row at the output's width.
template <typename T>
void Widen(const T* row, const std::vector<Between>& columns, size_t channels,
           float* out) {
  for (const Between& column : columns) {
    const T* left = row + column.lower * channels;
    const T* right = row + column.upper * channels;
    for (size_t c = 0; c < channels; ++c) {
      const float from = left[c];
      *out++ = from + (static_cast<float>(right[c]) - from) * column.part;
    }
  }
}

}  // namespace

template <typename T>
void ResizeBilinear(const T* in, const PixelShape& in_shape, T* out,
                    const PixelShape& out_shape) {
  if (in_shape == out_shape) {
    std::copy_n(in, in_shape.height * in_shape.width * in_shape.channels, out);
    return;
  }
  const size_t channels = out_shape.channels;
  const size_t in_row = in_shape.width * channels;
  const size_t out_row = out_shape.width * channels;
  const std::vector<Between> columns = Places(in_shape.width, out_shape.width);
  // Neighbours among the output's rows share rows of the input.
  std::vector<float> buffer(2 * out_row);
  float* top = buffer.data();
  float* bottom = top + out_row;
  size_t top_row = in_shape.height, bottom_row = in_shape.height;
  for (const Between& row : Places(in_shape.height, out_shape.height)) {
    if (row.lower == bottom_row) {
      std::swap(top, bottom);
      std::swap(top_row, bottom_row);
    }
    if (row.lower != top_row) {
      Widen(in + row.lower * in_row, columns, channels, top);
      top_row = row.lower;
    }
    if (row.upper != bottom_row && row.upper != top_row) {
      Widen(in + row.upper * in_row, columns, channels, bottom);
      bottom_row = row.upper;
    }
    const float* lower = row.upper == top_row ? top : bottom;
    for (size_t i = 0; i < out_row; ++i) {
      // Between two values of T, and so in its range. Above 2^23 floats are
      // whole, so the sum rounds, to even as tf.round does.
      const float value = top[i] + (lower[i] - top[i]) * row.part;
      *out++ = static_cast<T>((value + kWhole) - kWhole);
    }
  }
}

template <typename T>
void ResizeNearest(const T* in, const PixelShape& in_shape, T* out,
                   const PixelShape& out_shape) {
  const size_t channels = out_shape.channels;
  const auto nearest = [](size_t i, size_t in, size_t out) {
    const float at = (static_cast<float>(i) + 0.5f) * ScaleOf(in, out);
    return std::min(static_cast<size_t>(at), in - 1);
  };
  std::vector<size_t> columns(out_shape.width);
  for (size_t x = 0; x < columns.size(); ++x) {
    columns[x] = nearest(x, in_shape.width, out_shape.width) * channels;
  }
  for (size_t y = 0; y < out_shape.height; ++y) {
    const T* row = in + nearest(y, in_shape.height, out_shape.height) *
                            in_shape.width * channels;
    for (const size_t column : columns) {
      out = std::copy_n(row + column, channels, out);
    }
  }
}

template <typename T>
void Mirror(T* pixels, const PixelShape& shape) {
  const size_t row = shape.width * shape.channels;
  for (size_t y = 0; y < shape.height; ++y, pixels += row) {
    for (size_t x = 0; x < shape.width / 2; ++x) {
      T* left = pixels + x * shape.channels;
      std::swap_ranges(left, left + shape.channels,
                       pixels + row - (x + 1) * shape.channels);
    }
  }
}

template void ResizeBilinear(const uint8_t*, const PixelShape&, uint8_t*,
                             const PixelShape&);
template void ResizeBilinear(const uint16_t*, const PixelShape&, uint16_t*,
                             const PixelShape&);
template void ResizeNearest(const uint8_t*, const PixelShape&, uint8_t*,
                            const PixelShape&);
template void ResizeNearest(const uint16_t*, const PixelShape&, uint16_t*,
                            const PixelShape&);
template void Mirror(uint8_t*, const PixelShape&);
template void Mirror(uint16_t*, const PixelShape&);

}  // namespace liquid
