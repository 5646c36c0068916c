// What changes of colour and of tone have in common, as Pillow computes it.
#ifndef LIQUID_OPS_IMAGE_BLEND_H_
#define LIQUID_OPS_IMAGE_BLEND_H_

#include <algorithm>
#include <cstdint>

#include "ops/image/wide.h"

namespace liquid {

// ITU-R BT.601's weights in 2^-16, rounded.
LIQUID_INLINE uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>(
      (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// From `base`, `factor` times as far as `value` is: cut to a byte, rounded
// down.
LIQUID_INLINE uint8_t Blend(int base, int value, float factor) {
  const float blended =
      static_cast<float>(base) + factor * static_cast<float>(value - base);
  return static_cast<uint8_t>(
      static_cast<int>(std::min(std::max(blended, 0.0f), 255.0f)));
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_BLEND_H_
