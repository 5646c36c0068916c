// A row at another width, between two pixels each.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_LERP_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_LERP_H_

#include <cstddef>

#include "ops/image/channels.h"
#include "ops/image/resample_taps.h"

namespace liquid {

// Pixels of `count` taps, unrounded.
template <typename T>
void LerpColumns(const T* row, size_t any_channels, const LerpTap* taps,
                 size_t count, float* out) {
  ForChannels(any_channels, [&](auto channels) {
    float* to = out;
    for (size_t x = 0; x < count; ++x) {
      const T* const lower = row + taps[x].lower * channels;
      const T* const upper = row + taps[x].upper * channels;
      for (size_t c = 0; c < channels; ++c) {
        const float from = lower[c];
        *to++ = from + (static_cast<float>(upper[c]) - from) * taps[x].part;
      }
    }
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_LERP_H_
