// What the rows of both profiles of version 2 have in common, 8 bits a sample,
// for a source that defines LIQUID_L3_TARGET, the attribute of functions for
// one set of instructions, and these verbs of 64 pixels in an unnamed namespace
// of its own, so that no two such sources share code:
//
//   Row                   64 bytes
//   Fill(byte)            all bytes that
//   Add(a, b)             modulo 256
//   Average(a, b)         of two bytes, rounded up
//   First(row)            byte 0 everywhere
//   Sums(row, left)       of all bytes up to and with each, and of the equal
//                         bytes of `left`
//   Slopes(row)           each byte less the one before it; byte 0: 0
//   ThreeQuarters(row)    of signed bytes, rounded up
//   Join<kChannels>(planes, out)  interleaves, and writes 64 kChannels bytes
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_ROW_LOOPS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_ROW_LOOPS_H_

#include <cstring>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {
namespace {

// The row below `above` that has these residuals.
LIQUID_L3_TARGET inline Row Predicted(L3Predictor predictor, const Row& above,
                                      const Row& residuals) {
  switch (predictor) {
    case L3Predictor::kTop:
      return Add(above, residuals);
    case L3Predictor::kLeft:
      break;
    case L3Predictor::kGradient:
      return Add(above, Sums(residuals, Fill(0)));
    case L3Predictor::kThreeQuarter:
      return Sums(Add(residuals, ThreeQuarters(Slopes(above))), First(above));
  }
  return Sums(residuals, First(above));
}

// Writes what is wanted of row `y`, which `rows` includes.
template <uint32_t kChannels>
LIQUID_L3_TARGET inline void WritePlanes(const Row plane[kChannels],
                                         const L3Rows& rows, uint32_t y) {
  // A row that is whole goes straight to where it belongs.
  const uint32_t pixels = rows.x_end - rows.x_begin;
  uint8_t* const out = rows.out + (y - rows.row_begin) * rows.stride;
  if (pixels == kL3V2Patch) {
    Join<kChannels>(plane, out);
  } else {
    uint8_t part[kChannels * kL3V2Patch];
    Join<kChannels>(plane, part);
    std::memcpy(out, part + kChannels * rows.x_begin, kChannels * pixels);
  }
}

// Undoes the colour transform of row `y` first.
template <uint32_t kChannels, typename Patch>
LIQUID_L3_TARGET inline void WriteRow(const Patch& patch,
                                      const Row decoded[kChannels],
                                      const L3Rows& rows, uint32_t y) {
  Row plane[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) plane[c] = decoded[c];
  if constexpr (kChannels >= 3) {
    if (patch.channel[0].colour == L3Colour::kLessGreen) {
      plane[0] = Add(plane[0], plane[1]);
    }
    if (patch.channel[2].colour == L3Colour::kLessGreen) {
      plane[2] = Add(plane[2], plane[1]);
    } else if (patch.channel[2].colour == L3Colour::kLessMean) {
      plane[2] = Add(plane[2], Average(plane[0], plane[1]));
    }
  }
  WritePlanes<kChannels>(plane, rows, y);
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_ROW_LOOPS_H_
