// How SampleNearest finds pixels of 8 bits, as Pillow does; for whoever does
// the same elsewhere.
#ifndef LIQUID_OPS_IMAGE_AFFINE_NEAREST_H_
#define LIQUID_OPS_IMAGE_AFFINE_NEAREST_H_

#include <cstddef>
#include <cstdint>

#include "ops/image/affine.h"
#include "ops/image/wide.h"

namespace liquid {

enum class NearestWay : uint8_t {
  kScale,       // rows stay rows: places along both axes, whose steps add up
  kFixedSteps,  // of 2^-16
  kFloatSteps,  // where 16 bits do not hold the whole part of every place
};

NearestWay NearestWayOf(const Affine& map, size_t height, size_t width);

// An affine map from pixels to places, in 2^-16.
struct NearestSteps {
  int64_t xx, xy, x0, yx, yy, y0;
};

NearestSteps NearestStepsOf(const Affine& map);

// The pixel of a side in which a place lies; negative where that is outside.
LIQUID_INLINE ptrdiff_t NearestPlace(double place, size_t side) {
  return place >= 0 && place < static_cast<double>(side)
             ? static_cast<ptrdiff_t>(place)
             : -1;
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_AFFINE_NEAREST_H_
