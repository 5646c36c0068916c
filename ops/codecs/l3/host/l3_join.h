// From planes to interleaved pixels, one pixel at a time.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_

#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

// Undoes the colour transform of row `y`, which `rows` includes, and writes
// what is wanted of it.
template <typename Sample, typename Patch>
void L3JoinRow(const Patch& patch,
               const Sample plane[kL3MaxChannels][kL3V2Patch],
               const L3Rows& rows, uint32_t y) {
  uint8_t* out = rows.out + (y - rows.row_begin) * rows.stride;
  for (uint32_t x = rows.x_begin; x < rows.x_end; ++x) {
    Sample pixel[kL3MaxChannels];
    for (uint32_t c = 0; c < patch.channels; ++c) pixel[c] = plane[c][x];
    if (patch.channels >= 3) {
      const uint32_t green = pixel[1];
      if (patch.channel[0].colour == L3Colour::kLessGreen) {
        pixel[0] = static_cast<Sample>(pixel[0] + green);
      }
      if (patch.channel[2].colour == L3Colour::kLessGreen) {
        pixel[2] = static_cast<Sample>(pixel[2] + green);
      } else if (patch.channel[2].colour == L3Colour::kLessMean) {
        pixel[2] = static_cast<Sample>(pixel[2] + (pixel[0] + green + 1) / 2);
      }
    }
    std::memcpy(out, pixel, patch.channels * sizeof(Sample));
    out += patch.channels * sizeof(Sample);
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_
