// Version 1 of L3 with NEON: 16 pixels at a time, two table look-ups and shifts
// for their deltas.
#include "ops/codecs/l3/host/l3_neon.h"

#if defined(__aarch64__)

#include <cstring>

#include "ops/codecs/l3/host/l3_arithmetic.h"

namespace liquid {
namespace l3_neon {
namespace {

constexpr uint32_t kLanes = 16;
constexpr uint32_t kV1Row = 1 + 256 + kLanes;  // a pixel of 0, the row, room

// The deltas begin in the middle of a byte.
constexpr FieldTables kFields = MakeFieldTables(4);

// The predictions of 16 pixels from those above; see L3V1Predict.
inline uint8x16_t PredictV1(uint8x16_t a, uint8x16_t b, uint8x16_t c) {
  const uint8x16_t pa = vabdq_u8(c, b);
  const uint8x16_t pc = vabdq_u8(a, b);
  // pb is the sum of pa and pc where b lies outside of a and c, and otherwise
  // their difference. A saturated sum is still at least pa. Whether pb is at
  // most pc matters for a = 0 only; outside, c is then at most b, and pb at
  // most pc only where b and c are one.
  const uint8x16_t outside = vceqq_u8(vcleq_u8(a, b), vcleq_u8(c, b));
  const uint8x16_t pb = vbslq_u8(outside, vqaddq_u8(pa, pc), vabdq_u8(pa, pc));
  const uint8x16_t a_or_b = vbslq_u8(vcleq_u8(pa, pb), a, b);
  const uint8x16_t b_or_c = vbslq_u8(vbicq_u8(vcleq_u8(pb, pc), outside), b, c);
  const uint8x16_t with_a =
      vbslq_u8(vorrq_u8(vcleq_u8(pa, pc), vceqzq_u8(c)), a_or_b, c);
  return vbslq_u8(vceqzq_u8(a), b_or_c, with_a);
}

// Decodes a row of one channel in place of the row above it.
L3RowsResult DecodeRowV1(const uint8_t** at, const uint8_t* end, uint32_t width,
                         bool first, uint8_t* row) {
  const uint8_t* bytes = *at;
  const size_t left = static_cast<size_t>(end - bytes);
  if (left < 2) return L3RowsResult::kShort;
  const uint32_t bits = bytes[0] & 15;
  if (bits > 8) return L3RowsResult::kBadWidth;
  const uint32_t size = L3V1RowBytes(bits, width);
  if (left < size) return L3RowsResult::kShort;
  const FieldTable& fields = kFields.of[bits];
  const uint8x16_t mask = vdupq_n_u8(static_cast<uint8_t>((1u << bits) - 1));
  const uint8x16_t base =
      vdupq_n_u8(static_cast<uint8_t>(bytes[0] >> 4 | bytes[1] << 4));
  // The second group of the last block may lie past the row.
  static_assert(8 + 16 <= kL3Padding, "what it reads there must be readable");
  const uint8_t* group = bytes + 1;
  uint8x16_t a = vld1q_u8(row);
  for (uint32_t x = 0; x < width; x += kLanes, group += 2 * bits) {
    const uint8x16_t deltas = vandq_u8(
        vcombine_u8(Fields(group, fields), Fields(group + bits, fields)), mask);
    uint8x16_t value = vaddq_u8(deltas, base);
    uint8_t* here = row + 1 + x;
    // The next block's top-left, before this block overwrites it.
    const uint8x16_t next_a = vld1q_u8(here + kLanes - 1);
    if (!first) {
      value = vaddq_u8(value, PredictV1(a, vld1q_u8(here), vld1q_u8(here + 1)));
    }
    a = next_a;
    vst1q_u8(here, value);
  }
  row[1 + width] = 0;
  *at = bytes + size;
  return L3RowsResult::kOk;
}

}  // namespace

void PredictRowV1(const uint8_t* above, uint32_t width, uint8_t* predicted) {
  for (uint32_t x = 0; x < width; x += kLanes) {
    vst1q_u8(predicted + x,
             PredictV1(vld1q_u8(above + x), vld1q_u8(above + x + 1),
                       vld1q_u8(above + x + 2)));
  }
}

L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  uint8_t planes[3][kV1Row] = {};
  uint8_t joined[3 * kLanes];
  const uint8_t* at[3] = {patch.begin[0], patch.begin[1], patch.begin[2]};
  const uint32_t pixels = rows.x_end - rows.x_begin;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (int c = 0; c < 3; ++c) {
      const L3RowsResult result =
          DecodeRowV1(&at[c], patch.end[c], patch.width, y == 0, planes[c]);
      if (result != L3RowsResult::kOk) {
        *stopped = at[c];
        return result;
      }
    }
    if (y < rows.row_begin) continue;
    uint8_t* out = rows.out + (y - rows.row_begin) * rows.stride;
    for (uint32_t x = 0; x < pixels; x += kLanes) {
      const bool whole = x + kLanes <= pixels;
      const uint32_t from = 1 + rows.x_begin + x;
      const uint8x16x3_t block = {{vld1q_u8(planes[0] + from),
                                   vld1q_u8(planes[1] + from),
                                   vld1q_u8(planes[2] + from)}};
      vst3q_u8(whole ? out + 3 * x : joined, block);
      if (!whole) std::memcpy(out + 3 * x, joined, 3 * (pixels - x));
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

}  // namespace l3_neon
}  // namespace liquid

#endif  // defined(__aarch64__)
