// The size that a resize gives an image.
#ifndef LIQUID_OPS_IMAGE_RESIZE_SIZE_H_
#define LIQUID_OPS_IMAGE_RESIZE_SIZE_H_

#include <cstdint>

#include "ops/core/status.h"
#include "ops/image/resample.h"

namespace liquid {

struct ResizeStep {
  enum class Kind : uint8_t { kNone, kExact, kShorter, kLonger };
  Kind kind = Kind::kNone;
  uint32_t height = 0;  // of kExact; the side of kShorter and kLonger
  uint32_t width = 0;   // of kExact
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
  bool draft = false;  // JPEG may be decoded at a half, a quarter or an eighth
};

// kShorter and kLonger give that side the wanted length and the other one
// floor(wanted * other / side), at least 1, as torchvision's Resize does.
// Requires sides of at least 1. Error: InvalidArgument where a side would not
// fit into 32 bits.
Status ResizedSize(const ResizeStep& resize, uint32_t height, uint32_t width,
                   uint32_t* resized_height, uint32_t* resized_width);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESIZE_SIZE_H_
