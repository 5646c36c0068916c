// From planes to interleaved pixels, one pixel at a time.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_

#include <cstdint>
#include <cstring>

#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

// Interleaves the pixels that `rows` wants.
template <uint32_t kChannels, typename Sample>
void L3Interleave(const Sample* const plane[kL3MaxChannels], const L3Rows& rows,
                  uint8_t* out) {
  const uint32_t begin = rows.x_begin, end = rows.x_end;
  for (uint32_t x = begin; x < end; ++x, out += kChannels * sizeof(Sample)) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      std::memcpy(out + c * sizeof(Sample), &plane[c][x], sizeof(Sample));
    }
  }
}

// Undoes the colour transform of row `y`, which `rows` includes, and writes
// what is wanted of it.
template <typename Sample, typename Patch>
void L3JoinRow(const Patch& patch,
               const Sample plane[kL3MaxChannels][kL3V2Patch],
               const L3Rows& rows, uint32_t y) {
  uint8_t* const out = rows.out + (y - rows.row_begin) * rows.stride;
  const Sample* planes[kL3MaxChannels] = {plane[0], plane[1], plane[2],
                                          plane[3]};
  Sample red[kL3V2Patch], blue[kL3V2Patch];
  if (patch.channels >= 3) {
    const Sample* const green = plane[1];
    if (patch.channel[0].colour == L3Colour::kLessGreen) {
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        red[x] = static_cast<Sample>(plane[0][x] + green[x]);
      }
      planes[0] = red;
    }
    const L3Colour colour = patch.channel[2].colour;
    if (colour == L3Colour::kLessGreen) {
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        blue[x] = static_cast<Sample>(plane[2][x] + green[x]);
      }
      planes[2] = blue;
    } else if (colour == L3Colour::kLessMean) {
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        const uint32_t sum = uint32_t{planes[0][x]} + green[x];
        blue[x] = static_cast<Sample>(plane[2][x] + (sum + 1) / 2);
      }
      planes[2] = blue;
    }
  }
  switch (patch.channels) {
    case 1:
      return L3Interleave<1>(planes, rows, out);
    case 2:
      return L3Interleave<2>(planes, rows, out);
    case 3:
      return L3Interleave<3>(planes, rows, out);
    default:
      return L3Interleave<4>(planes, rows, out);
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_JOIN_H_
