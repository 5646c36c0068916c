// Version 2 of L3 with NEON: a table look-up and a shift by lanes spread a
// group of 8 pixels over 8 bytes, and whatever follows works on 16 pixels at a
// time. A row of a patch is four registers.
#include "ops/codecs/l3/host/l3_neon.h"
#include "ops/codecs/l3/host/l3_wide.h"

#if defined(__aarch64__)

#include <cstring>

namespace liquid {
namespace l3_neon {
namespace {

constexpr uint32_t kQuarters = 4;
constexpr uint64_t kOnes = 0x0101010101010101;

constexpr FieldTables kFields = MakeFieldTables(0);

struct Row {
  uint8x16_t quarter[kQuarters];  // 16 pixels each
};

inline Row Fill(uint8x16_t pixels) {
  return {{pixels, pixels, pixels, pixels}};
}

inline Row Add(Row a, const Row& b) {
  for (uint32_t q = 0; q < kQuarters; ++q) {
    a.quarter[q] = vaddq_u8(a.quarter[q], b.quarter[q]);
  }
  return a;
}

// The first byte, everywhere.
inline uint8x16_t First(const Row& row) {
  return vdupq_laneq_u8(row.quarter[0], 0);
}

// Sums of all 64 bytes up to and with each, and `left`.
inline Row Sums(Row row, uint8x16_t left) {
  const uint8x16_t zero = vdupq_n_u8(0);
  for (uint32_t q = 0; q < kQuarters; ++q) {
    uint8x16_t x = row.quarter[q];
    x = vaddq_u8(x, vextq_u8(zero, x, 15));
    x = vaddq_u8(x, vextq_u8(zero, x, 14));
    x = vaddq_u8(x, vextq_u8(zero, x, 12));
    x = vaddq_u8(x, vextq_u8(zero, x, 8));
    row.quarter[q] = vaddq_u8(x, left);
    left = vaddq_u8(left, vdupq_laneq_u8(x, 15));
  }
  return row;
}

// Three quarters of above - above-left; 0 for the first pixel.
inline Row Slopes(const Row& above) {
  Row slopes;
  uint8x16_t before = First(above);
  for (uint32_t q = 0; q < kQuarters; ++q) {
    const uint8x16_t slope =
        vsubq_u8(above.quarter[q], vextq_u8(before, above.quarter[q], 15));
    const int8x16_t quarter = vshrq_n_s8(vreinterpretq_s8_u8(slope), 2);
    slopes.quarter[q] = vsubq_u8(slope, vreinterpretq_u8_s8(quarter));
    before = above.quarter[q];
  }
  return slopes;
}

// The residuals of the groups of a row. Reads up to 16 bytes past the last.
inline Row Residuals(const uint8_t* payload, uint64_t widths, uint64_t begins) {
  // By width: a pixel's own bits, and what was added to it.
  static constexpr uint8_t kMasks[16] = {0, 1, 3, 7, 15, 31, 63, 127, 255};
  static constexpr uint8_t kBiases[16] = {0, 1, 2, 4, 8, 16, 32, 64, 128};
  // Bytes 2 q and 2 q + 1, eight times each.
  const uint8x16_t width = vcombine_u8(vcreate_u8(widths), vdup_n_u8(0));
  uint8x16_t repeat = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
  Row row;
  for (uint32_t q = 0; q < kQuarters; ++q) {
    const uint32_t low = 16 * q, high = low + 8;
    const uint8x16_t pixels =
        vcombine_u8(Fields(payload + (begins >> low & 0xFF),
                           kFields.of[widths >> low & 0xFF]),
                    Fields(payload + (begins >> high & 0xFF),
                           kFields.of[widths >> high & 0xFF]));
    const uint8x16_t bits = vqtbl1q_u8(width, repeat);
    row.quarter[q] =
        vsubq_u8(vandq_u8(pixels, vqtbl1q_u8(vld1q_u8(kMasks), bits)),
                 vqtbl1q_u8(vld1q_u8(kBiases), bits));
    repeat = vaddq_u8(repeat, vdupq_n_u8(2));
  }
  return row;
}

// The widths of a row's groups, one byte each.
inline uint64_t Widths(const L3Channel& channel, const uint8_t* codes) {
  const uint8x8_t mask =
      vdup_n_u8(static_cast<uint8_t>((1u << channel.code_bits) - 1));
  const uint8x8_t each =
      vand_u8(Fields(codes, kFields.of[channel.code_bits]), mask);
  return vget_lane_u64(
      vreinterpret_u64_u8(vqtbl1_u8(vld1q_u8(channel.widths), each)), 0);
}

// Undoes the colour transform.
template <uint32_t kChannels>
inline void Mix(const L3V2Patch& patch, Row plane[kChannels]) {
  if constexpr (kChannels >= 3) {
    if (patch.channel[0].colour == L3Colour::kLessGreen) {
      plane[0] = Add(plane[0], plane[1]);
    }
    if (patch.channel[2].colour == L3Colour::kLessGreen) {
      plane[2] = Add(plane[2], plane[1]);
    } else if (patch.channel[2].colour == L3Colour::kLessMean) {
      for (uint32_t q = 0; q < kQuarters; ++q) {
        plane[2].quarter[q] =
            vaddq_u8(plane[2].quarter[q],
                     vrhaddq_u8(plane[0].quarter[q], plane[1].quarter[q]));
      }
    }
  }
}

// Writes 64 pixels interleaved.
template <uint32_t kChannels>
inline void Join(const Row plane[kChannels], uint8_t* out) {
  for (uint32_t q = 0; q < kQuarters; ++q, out += kChannels * 16) {
    if constexpr (kChannels == 1) {
      vst1q_u8(out, plane[0].quarter[q]);
    } else if constexpr (kChannels == 2) {
      const uint8x16x2_t block = {{plane[0].quarter[q], plane[1].quarter[q]}};
      vst2q_u8(out, block);
    } else if constexpr (kChannels == 3) {
      const uint8x16x3_t block = {
          {plane[0].quarter[q], plane[1].quarter[q], plane[2].quarter[q]}};
      vst3q_u8(out, block);
    } else {
      const uint8x16x4_t block = {{plane[0].quarter[q], plane[1].quarter[q],
                                   plane[2].quarter[q], plane[3].quarter[q]}};
      vst4q_u8(out, block);
    }
  }
}

template <uint32_t kChannels>
L3RowsResult DecodeV2(const L3V2Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped) {
  Row above[kChannels];
  const uint8_t* codes[kChannels];
  for (uint32_t c = 0; c < kChannels; ++c) {
    above[c] = Fill(vdupq_n_u8(static_cast<uint8_t>(patch.channel[c].base)));
    codes[c] = patch.channel[c].codes;
  }
  const uint32_t groups = (patch.width + kL3Group - 1) / kL3Group;
  const uint64_t groups_mask = ~uint64_t{0} >> (64 - 8 * groups);
  const uint8_t* payload = patch.payload;
  const uint32_t pixels = rows.x_end - rows.x_begin;
  for (uint32_t y = 0; y < rows.row_end; ++y) {
    for (uint32_t c = 0; c < kChannels; ++c) {
      const L3Channel& channel = patch.channel[c];
      const uint64_t widths = Widths(channel, codes[c]) & groups_mask;
      codes[c] += channel.code_bits;
      // Byte g: where group g ends. At most 64, so no byte overflows.
      const uint64_t ends = widths * kOnes;
      const size_t size = ends >> 56;
      if (static_cast<size_t>(patch.end - payload) < size) {
        *stopped = payload;
        return L3RowsResult::kShort;
      }
      const Row row = Residuals(payload, widths, ends << 8);
      payload += size;
      const L3Predictor predictor =
          y == 0 ? L3Predictor::kLeft : channel.predictor;
      switch (predictor) {
        case L3Predictor::kTop:
          above[c] = Add(above[c], row);
          break;
        case L3Predictor::kLeft:
          above[c] = Sums(row, First(above[c]));
          break;
        case L3Predictor::kGradient:
          above[c] = Add(above[c], Sums(row, vdupq_n_u8(0)));
          break;
        case L3Predictor::kThreeQuarter:
          above[c] = Sums(Add(row, Slopes(above[c])), First(above[c]));
          break;
      }
    }
    if (y < rows.row_begin) continue;
    Row plane[kChannels];
    for (uint32_t c = 0; c < kChannels; ++c) plane[c] = above[c];
    Mix<kChannels>(patch, plane);
    // A row that is whole goes straight to where it belongs.
    uint8_t* const out = rows.out + (y - rows.row_begin) * rows.stride;
    if (pixels == kL3V2Patch) {
      Join<kChannels>(plane, out);
    } else {
      uint8_t part[kChannels * kL3V2Patch];
      Join<kChannels>(plane, part);
      std::memcpy(out, part + kChannels * rows.x_begin, kChannels * pixels);
    }
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
}  // namespace l3_neon

const L3RowDecoders kL3NeonDecoders = {l3_neon::DecodeV1, l3_neon::DecodeAnyV2,
                                       DecodeL3Wide, l3_neon::PredictRowV1};

}  // namespace liquid

#endif  // defined(__aarch64__)
