// Where a crop window lies in an image.
#ifndef LIQUID_OPS_DATASET_CROP_H_
#define LIQUID_OPS_DATASET_CROP_H_

#include <cstdint>

#include "ops/codecs/codec.h"
#include "ops/core/status.h"

namespace liquid {

struct CropSpec {
  uint32_t height = 0;  // 0: the whole image
  uint32_t width = 0;
  bool random = false;  // else centred
  uint64_t seed = 0;
};

// The window of the sample drawn as number `draw` of `epoch`: a pure function
// of its arguments, uniform over every position that lies inside the image.
// Error: InvalidArgument where the image is smaller than the window.
Status PlaceWindow(const CropSpec& crop, int64_t epoch, uint64_t draw,
                   uint32_t height, uint32_t width, Window* window);

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_CROP_H_
