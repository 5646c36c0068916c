// Version 2 with 16 bits, a group at a time instead of a pixel. It takes no
// instructions that not every processor has; a compiler finds the lanes.
#include <cstring>

#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_join.h"
#include "ops/codecs/l3/host/l3_wide.h"

namespace liquid {
namespace {

// Turns residuals into the row, in place of the row above.
void Predict(L3Predictor predictor, uint16_t* residuals, uint16_t* row) {
  uint16_t sum = predictor == L3Predictor::kGradient ? uint16_t{0} : row[0];
  switch (predictor) {
    case L3Predictor::kTop:
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        row[x] = static_cast<uint16_t>(row[x] + residuals[x]);
      }
      break;
    case L3Predictor::kGradient:
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        sum = static_cast<uint16_t>(sum + residuals[x]);
        row[x] = static_cast<uint16_t>(row[x] + sum);
      }
      break;
    case L3Predictor::kThreeQuarter:
      for (uint32_t x = 1; x < kL3V2Patch; ++x) {
        residuals[x] = static_cast<uint16_t>(
            residuals[x] +
            L3ThreeQuarters<int16_t>(uint32_t{row[x]} - row[x - 1]));
      }
      [[fallthrough]];
    case L3Predictor::kLeft:
      for (uint32_t x = 0; x < kL3V2Patch; ++x) {
        sum = static_cast<uint16_t>(sum + residuals[x]);
        row[x] = sum;
      }
      break;
  }
}

}  // namespace

L3RowsResult DecodeL3Wide(const L3V2Patch& patch, const L3Rows& rows,
                          const uint8_t** stopped) {
  uint16_t plane[kL3MaxChannels][kL3V2Patch] = {};
  uint16_t residuals[kL3V2Patch] = {};
  const uint8_t* codes[kL3MaxChannels];
  for (uint32_t c = 0; c < patch.channels; ++c) {
    codes[c] = patch.channel[c].codes;
    plane[c][0] = static_cast<uint16_t>(patch.channel[c].base);
  }
  const uint32_t groups = (patch.width + kL3Group - 1) / kL3Group;
  const uint8_t* payload = patch.payload;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < patch.channels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const uint32_t code_mask = (1u << channel.code_bits) - 1;
      uint32_t row_codes = LoadLittle32(codes[c]);
      codes[c] += channel.code_bits;
      for (uint32_t g = 0; g < groups; ++g) {
        const uint32_t bits = channel.widths[row_codes & code_mask];
        row_codes >>= channel.code_bits;
        if (static_cast<size_t>(patch.end - payload) < bits) {
          *stopped = payload;
          return L3RowsResult::kShort;
        }
        UnpackL3Wide(payload, bits, bits == 0 ? 0 : 1u << (bits - 1),
                     residuals + kL3Group * g);
        payload += bits;
      }
      Predict(y == 0 ? L3Predictor::kLeft : channel.predictor, residuals,
              plane[c]);
    }
    if (y >= rows.row_begin) L3JoinRow<uint16_t>(patch, plane, rows, y);
  }
  *stopped = payload;
  return rows.row_end == patch.height && payload != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

}  // namespace liquid
