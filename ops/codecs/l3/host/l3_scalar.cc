// The reference: every other target is tested against it.
#include <cstring>
#include <type_traits>

#include "ops/codecs/l3/host/l3_arithmetic.h"
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_join.h"
#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {
namespace {

L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  // One pixel of 0 on both sides of the row above.
  uint8_t above[3][kL3MaxPatchRow + 2] = {};
  uint8_t row[kL3MaxPatchRow];
  const uint8_t* at[3] = {patch.begin[0], patch.begin[1], patch.begin[2]};
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (int c = 0; c < 3; ++c) {
      *stopped = at[c];
      const size_t left = static_cast<size_t>(patch.end[c] - at[c]);
      if (left < 2) return L3RowsResult::kShort;
      const uint32_t bits = L3Bits(at[c], 0, 4);
      if (bits > 8) return L3RowsResult::kBadWidth;
      const uint32_t size = L3V1RowBytes(bits, patch.width);
      if (left < size) return L3RowsResult::kShort;
      for (uint32_t x = 0; x < patch.width; ++x) {
        const uint8_t predicted =
            y == 0 ? 0
                   : L3V1Predict(above[c][x], above[c][x + 1], above[c][x + 2]);
        row[x] = static_cast<uint8_t>(predicted + L3V1Residual(at[c], bits, x));
      }
      std::memcpy(above[c] + 1, row, patch.width);
      at[c] += size;
    }
    if (y < rows.row_begin) continue;
    uint8_t* out = rows.out + (y - rows.row_begin) * rows.stride;
    for (uint32_t x = rows.x_begin; x < rows.x_end; ++x) {
      for (int c = 0; c < 3; ++c) *out++ = above[c][x + 1];
    }
  }
  for (int c = 0; c < 3; ++c) {
    if (rows.row_end == patch.height && at[c] != patch.end[c]) {
      *stopped = at[c];
      return L3RowsResult::kLong;
    }
  }
  return L3RowsResult::kOk;
}

void PredictV1(const uint8_t* above, uint32_t width, uint8_t* predicted) {
  for (uint32_t x = 0; x < width; ++x) {
    predicted[x] = L3V1Predict(above[x], above[x + 1], above[x + 2]);
  }
}

template <typename Sample>
L3RowsResult DecodeV2(const L3V2Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  using Signed = std::make_signed_t<Sample>;
  Sample plane[kL3MaxChannels][kL3V2Patch] = {};  // the row above, then the row
  const uint8_t* codes[kL3MaxChannels];
  for (uint32_t c = 0; c < patch.channels; ++c) {
    codes[c] = patch.channel[c].codes;
    plane[c][0] = static_cast<Sample>(patch.channel[c].base);
  }
  const uint8_t* payload = patch.payload;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < patch.channels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const L3Predictor predictor =
          y == 0 ? L3Predictor::kLeft : channel.predictor;
      Sample* row = plane[c];
      // The pixel to the left of the first is the one above it.
      uint32_t left = row[0], above_left = row[0];
      for (uint32_t x = 0; x < patch.width; ++x) {
        const uint32_t group = x / kL3Group, k = x % kL3Group;
        const uint32_t bits = channel.widths[L3Bits(
            codes[c], group * channel.code_bits, channel.code_bits)];
        if (k == 0) {
          *stopped = payload;
          if (static_cast<size_t>(patch.end - payload) < bits) {
            return L3RowsResult::kShort;
          }
          payload += bits;
        }
        const uint32_t above = row[x];
        uint32_t predicted = left;
        switch (predictor) {
          case L3Predictor::kTop:
            predicted = above;
            break;
          case L3Predictor::kLeft:
            break;
          case L3Predictor::kGradient:
            predicted += above - above_left;
            break;
          case L3Predictor::kThreeQuarter:
            predicted += L3ThreeQuarters<Signed>(above - above_left);
            break;
        }
        above_left = above;
        row[x] = static_cast<Sample>(predicted +
                                     L3Residual(payload - bits, bits, k));
        left = row[x];
      }
      codes[c] += channel.code_bits;
    }
    if (y < rows.row_begin) continue;
    L3JoinRow<Sample>(patch, plane, rows, y);
  }
  *stopped = payload;
  return rows.row_end == patch.height && payload != patch.end
             ? L3RowsResult::kLong
             : L3RowsResult::kOk;
}

}  // namespace

const L3RowDecoders kL3ScalarDecoders = {DecodeV1,           DecodeV2<uint8_t>,
                                         DecodeV2<uint16_t>, DecodeL3Rice,
                                         DecodeL3Flat,       PredictV1};

}  // namespace liquid
