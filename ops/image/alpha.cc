#include "ops/image/alpha.h"

#include <algorithm>

namespace liquid {

void Premultiply(const uint8_t* in, size_t pixels, size_t channels,
                 uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += channels, out += channels) {
    const uint32_t alpha = in[channels - 1];
    for (size_t c = 0; c + 1 < channels; ++c) {
      // The product / 255, to the nearest.
      const uint32_t product = in[c] * alpha + 128;
      out[c] = static_cast<uint8_t>((product + (product >> 8)) >> 8);
    }
    out[channels - 1] = static_cast<uint8_t>(alpha);
  }
}

void Unpremultiply(uint8_t* row, size_t pixels, size_t channels) {
  for (size_t i = 0; i < pixels; ++i, row += channels) {
    const uint32_t alpha = row[channels - 1];
    if (alpha == 0 || alpha == 255) continue;
    for (size_t c = 0; c + 1 < channels; ++c) {
      row[c] = static_cast<uint8_t>(std::min(row[c] * 255 / alpha, 255u));
    }
  }
}

void Premultiply(const uint16_t* in, size_t pixels, size_t channels,
                 double* out) {
  for (size_t i = 0; i < pixels; ++i, in += channels, out += channels) {
    const double alpha = in[channels - 1];
    for (size_t c = 0; c + 1 < channels; ++c) out[c] = in[c] * alpha;
    out[channels - 1] = alpha;
  }
}

void Unpremultiply(double* row, size_t pixels, size_t channels) {
  for (size_t i = 0; i < pixels; ++i, row += channels) {
    const double alpha = row[channels - 1];
    for (size_t c = 0; c + 1 < channels; ++c) {
      row[c] = alpha < 0.5 ? 0.0 : row[c] / alpha;
    }
  }
}

}  // namespace liquid
