// From interleaved pixels to the planes of a patch, for the encoders.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_PLANES_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_PLANES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_format.h"

namespace liquid {

template <typename Sample>
using L3Plane = Sample[kL3V2Patch][kL3V2Patch];

// The patch whose first pixel is (x0, y0).
template <typename Sample>
struct L3Planes {
  uint32_t width, height;
  uint32_t groups;  // of a row
  L3Plane<Sample> of[kL3MaxChannels];

  // What lies right of the image repeats its last column, which costs a group
  // nothing.
  void Load(const ImageInfo& info, const uint8_t* pixels, uint32_t x0,
            uint32_t y0) {
    width = std::min(kL3V2Patch, info.width - x0);
    height = std::min(kL3V2Patch, info.height - y0);
    groups = (width + kL3Group - 1) / kL3Group;
    for (uint32_t y = 0; y < height; ++y) {
      const uint8_t* source = pixels + size_t{y0 + y} * info.RowBytes() +
                              size_t{x0} * info.BytesPerPixel();
      switch (info.channels) {
        case 1:
          Deinterleave<1>(source, y);
          break;
        case 2:
          Deinterleave<2>(source, y);
          break;
        case 3:
          Deinterleave<3>(source, y);
          break;
        default:
          Deinterleave<4>(source, y);
      }
      for (uint32_t c = 0; c < info.channels; ++c) {
        for (uint32_t x = width; x < groups * kL3Group; ++x) {
          of[c][y][x] = of[c][y][width - 1];
        }
      }
    }
  }

 private:
  template <uint32_t kChannels>
  void Deinterleave(const uint8_t* source, uint32_t y) {
    for (uint32_t x = 0; x < width; ++x) {
      Sample pixel[kChannels];
      std::memcpy(pixel, source + x * sizeof(pixel), sizeof(pixel));
      for (uint32_t c = 0; c < kChannels; ++c) of[c][y][x] = pixel[c];
    }
  }
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_PLANES_H_
