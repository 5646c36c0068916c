// Rows of profile 0, 8 bits a sample: beside the verbs of l3_row_loops.h a
// source that includes this has
//
//   Codes, CodesOf(channel)      what a channel's codes stand for
//   Widths(codes, bytes)         of the row's 8 groups, a byte each
//   Fields(bytes, widths, begins)  the pixels of 8 groups of these widths,
//                                group g from byte g of `begins` on
//   Bias(widths)                 2^(width - 1), or 0 for 0, for each pixel
//   Sub(a, b)                    modulo 256
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_V2_LOOPS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_V2_LOOPS_H_

#include "ops/codecs/l3/host/l3_row_loops.h"

namespace liquid {
namespace {

template <uint32_t kChannels>
LIQUID_L3_TARGET LIQUID_L3_ALIGNED L3RowsResult
DecodeV2(const L3V2Patch& patch, const L3Rows& rows, const uint8_t** stopped) {
  Row above[kChannels];
  Codes codes[kChannels];
  const uint8_t* at[kChannels];  // the row's codes
  for (uint32_t c = 0; c < kChannels; ++c) {
    above[c] = Fill(static_cast<uint8_t>(patch.channel[c].base));
    codes[c] = CodesOf(patch.channel[c]);
    at[c] = patch.channel[c].codes;
  }
  const uint32_t groups = (patch.width + kL3Group - 1) / kL3Group;
  const uint64_t groups_mask = ~uint64_t{0} >> (64 - 8 * groups);
  const uint8_t* payload = patch.payload;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const uint64_t widths = Widths(codes[c], at[c]) & groups_mask;
      at[c] += channel.code_bits;
      // Byte g: where group g ends. At most 64, so no byte overflows.
      const uint64_t ends = widths * 0x0101010101010101;
      const size_t size = ends >> 56;
      if (static_cast<size_t>(patch.end - payload) < size) {
        *stopped = payload;
        return L3RowsResult::kShort;
      }
      const Row residuals =
          Sub(Fields(payload, widths, ends << 8), Bias(widths));
      payload += size;
      above[c] = Predicted(y == 0 ? L3Predictor::kLeft : channel.predictor,
                           above[c], residuals);
    }
    if (y >= rows.row_begin) WriteRow<kChannels>(patch, above, rows, y);
  }
  *stopped = payload;
  return rows.row_end == patch.height && payload != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

L3RowsResult DecodeAnyV2(const L3V2Patch& patch, const L3Rows& rows,
                         const uint8_t** stopped) {
  switch (patch.channels) {
    case 1:
      return DecodeV2<1>(patch, rows, stopped);
    case 2:
      return DecodeV2<2>(patch, rows, stopped);
    case 3:
      return DecodeV2<3>(patch, rows, stopped);
    default:
      return DecodeV2<4>(patch, rows, stopped);
  }
}

}  // namespace
}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_V2_LOOPS_H_
