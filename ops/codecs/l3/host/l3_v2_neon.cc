// Version 2 of L3 with NEON: a table look-up and a shift by lanes spread a
// group of 8 pixels over 8 bytes, and whatever follows works on 16 pixels at a
// time. A row of a patch is four registers.
#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_neon.h"
#include "ops/codecs/l3/host/l3_ones.h"
#include "ops/codecs/l3/host/l3_wide.h"

#if defined(__aarch64__)

#include <cstring>

#define LIQUID_L3_TARGET

namespace liquid {
namespace {

using l3_neon::Fields;
using l3_neon::FieldTable;
using l3_neon::FieldTables;
using l3_neon::MakeFieldTables;

constexpr uint32_t kQuarters = 4;

constexpr FieldTables kFields = MakeFieldTables(0);

// Verbs of l3_row_loops.h.

struct Row {
  uint8x16_t quarter[kQuarters];  // 16 pixels each
};

inline Row Load(const uint8_t* bytes) {
  return {{vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
           vld1q_u8(bytes + 48)}};
}

inline void Store(const Row& row, uint8_t* bytes) {
  for (uint32_t q = 0; q < kQuarters; ++q) {
    vst1q_u8(bytes + 16 * q, row.quarter[q]);
  }
}

inline Row Fill(uint8_t byte) {
  const uint8x16_t all = vdupq_n_u8(byte);
  return {{all, all, all, all}};
}

// What `Verb` makes of the quarters of two rows.
template <uint8x16_t (*Verb)(uint8x16_t, uint8x16_t)>
inline Row Each(Row a, const Row& b) {
  for (uint32_t q = 0; q < kQuarters; ++q) {
    a.quarter[q] = Verb(a.quarter[q], b.quarter[q]);
  }
  return a;
}

inline Row Add(const Row& a, const Row& b) { return Each<vaddq_u8>(a, b); }
inline Row Sub(const Row& a, const Row& b) { return Each<vsubq_u8>(a, b); }
inline Row And(const Row& a, const Row& b) { return Each<vandq_u8>(a, b); }
inline Row Xor(const Row& a, const Row& b) { return Each<veorq_u8>(a, b); }
inline Row Average(const Row& a, const Row& b) {
  return Each<vrhaddq_u8>(a, b);
}

inline Row First(const Row& row) {
  const uint8x16_t first = vdupq_laneq_u8(row.quarter[0], 0);
  return {{first, first, first, first}};
}

inline Row Sums(Row row, const Row& left) {
  const uint8x16_t zero = vdupq_n_u8(0);
  uint8x16_t before = left.quarter[0];
  for (uint32_t q = 0; q < kQuarters; ++q) {
    uint8x16_t x = row.quarter[q];
    x = vaddq_u8(x, vextq_u8(zero, x, 15));
    x = vaddq_u8(x, vextq_u8(zero, x, 14));
    x = vaddq_u8(x, vextq_u8(zero, x, 12));
    x = vaddq_u8(x, vextq_u8(zero, x, 8));
    row.quarter[q] = vaddq_u8(x, before);
    before = vaddq_u8(before, vdupq_laneq_u8(x, 15));
  }
  return row;
}

// Each byte's neighbours; `beyond` is the one that an end lacks.
inline Row Before(const Row& row, uint8x16_t beyond) {
  Row before;
  for (uint32_t q = 0; q < kQuarters; ++q) {
    before.quarter[q] = vextq_u8(beyond, row.quarter[q], 15);
    beyond = row.quarter[q];
  }
  return before;
}

inline Row After(const Row& row, uint8x16_t beyond) {
  Row after;
  for (uint32_t q = kQuarters; q-- > 0;) {
    after.quarter[q] = vextq_u8(row.quarter[q], beyond, 1);
    beyond = row.quarter[q];
  }
  return after;
}

inline Row Slopes(const Row& above) {
  return Sub(above, Before(above, First(above).quarter[0]));
}

inline Row ThreeQuarters(Row slopes) {
  for (uint8x16_t& slope : slopes.quarter) {
    const int8x16_t quarter = vshrq_n_s8(vreinterpretq_s8_u8(slope), 2);
    slope = vsubq_u8(slope, vreinterpretq_u8_s8(quarter));
  }
  return slopes;
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

// Verbs of l3_v2_loops.h.

struct Codes {
  uint8x16_t widths;
  const FieldTable* fields;
  uint8x8_t mask;
};

inline Codes CodesOf(const L3Channel& channel) {
  return {vld1q_u8(channel.widths), &kFields.of[channel.code_bits],
          vdup_n_u8(static_cast<uint8_t>((1u << channel.code_bits) - 1))};
}

inline uint64_t Widths(const Codes& codes, const uint8_t* bytes) {
  const uint8x8_t each = vand_u8(Fields(bytes, *codes.fields), codes.mask);
  return vget_lane_u64(vreinterpret_u64_u8(vqtbl1_u8(codes.widths, each)), 0);
}

// By width, for each pixel of a group: entry `width` of the table.
inline Row ByWidth(const uint8_t table[16], uint64_t widths) {
  const uint8x16_t found = vqtbl1q_u8(
      vld1q_u8(table), vcombine_u8(vcreate_u8(widths), vdup_n_u8(0)));
  // Bytes 2 q and 2 q + 1, eight times each.
  uint8x16_t repeat = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
  Row row;
  for (uint8x16_t& quarter : row.quarter) {
    quarter = vqtbl1q_u8(found, repeat);
    repeat = vaddq_u8(repeat, vdupq_n_u8(2));
  }
  return row;
}

inline Row Bias(uint64_t widths) {
  static constexpr uint8_t kBiases[16] = {0, 1, 2, 4, 8, 16, 32, 64, 128};
  return ByWidth(kBiases, widths);
}

// Reads up to 16 bytes past the last.
inline Row Fields(const uint8_t* bytes, uint64_t widths, uint64_t begins) {
  static constexpr uint8_t kMasks[16] = {0, 1, 3, 7, 15, 31, 63, 127, 255};
  Row row;
  for (uint32_t q = 0; q < kQuarters; ++q) {
    const uint32_t low = 16 * q, high = low + 8;
    row.quarter[q] = vcombine_u8(Fields(bytes + (begins >> low & 0xFF),
                                        kFields.of[widths >> low & 0xFF]),
                                 Fields(bytes + (begins >> high & 0xFF),
                                        kFields.of[widths >> high & 0xFF]));
  }
  return And(row, ByWidth(kMasks, widths));
}

// Verbs of l3_rice_loops.h.

using Groups = uint16x8_t;

inline Row Smooth(const Row& slopes) {
  // Averages of unsigned bytes: 128 is 0.
  const Row zero = Fill(0x80);
  const Row at = Xor(slopes, zero);
  const uint8x16_t beyond = zero.quarter[0];
  return Xor(Average(Average(Before(at, beyond), After(at, beyond)), at), zero);
}

inline Groups Magnitudes(const Row& folded) {
  const Row sizes = Average(folded, Fill(0));
  uint16x8_t pairs[kQuarters];
  for (uint32_t q = 0; q < kQuarters; ++q) {
    pairs[q] = vpaddlq_u8(sizes.quarter[q]);
  }
  return vpaddq_u16(vpaddq_u16(pairs[0], pairs[1]),
                    vpaddq_u16(pairs[2], pairs[3]));
}

inline uint64_t Ks(Groups sums, const L3RiceChannel& channel) {
  uint16x8_t k = vdupq_n_u16(0);
  for (uint32_t j = 0; j < 7; ++j) {
    const uint16x8_t threshold =
        vdupq_n_u16(static_cast<uint16_t>(channel.thresholds[j]));
    k = vsubq_u16(k, vcgeq_u16(sums, threshold));
  }
  return vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(k)), 0);
}

inline uint32_t Below(Groups sums, uint32_t limit) {
  static constexpr uint16_t kBits[kL3Groups] = {1, 2, 4, 8, 16, 32, 64, 128};
  return vaddvq_u16(
      vandq_u16(vcltq_u16(sums, vdupq_n_u16(static_cast<uint16_t>(limit))),
                vld1q_u16(kBits)));
}

inline bool Runs(const uint8_t* bytes, uint32_t first, uint32_t count,
                 Row* runs, uint32_t* end) {
  uint8_t ends[1 + kL3OnesRoom];  // of the codes, after that of the one before
  ends[0] = static_cast<uint8_t>(first - 1);
  if (!FindL3Ones<kL3RowBytes>(bytes, first, count, ends + 1)) return false;
  *runs = Sub(Load(ends + 1), Add(Load(ends), Fill(1)));
  *end = ends[count] + 1u;
  return true;
}

inline Row Expand(const Row& row, uint32_t groups) {
  if (groups == 0xFF) return row;
  uint8_t bytes[kL3V2Patch], expanded[kL3V2Patch] = {};
  Store(row, bytes);
  const uint8_t* from = bytes;
  for (uint32_t g = 0; g < kL3Groups; ++g) {
    if ((groups >> g & 1) == 0) continue;
    std::memcpy(expanded + kL3Group * g, from, kL3Group);
    from += kL3Group;
  }
  return Load(expanded);
}

inline Row Fold(Row runs, uint64_t widths, const Row& fields) {
  static constexpr uint8_t kShifts[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const Row shifts = ByWidth(kShifts, widths);
  for (uint32_t q = 0; q < kQuarters; ++q) {
    runs.quarter[q] = vorrq_u8(
        fields.quarter[q],
        vshlq_u8(runs.quarter[q], vreinterpretq_s8_u8(shifts.quarter[q])));
  }
  return runs;
}

inline Row Unfold(const Row& folded) {
  Row halves;
  for (uint32_t q = 0; q < kQuarters; ++q) {
    halves.quarter[q] = vshrq_n_u8(folded.quarter[q], 1);
  }
  return Xor(halves, Sub(Fill(0), And(folded, Fill(1))));
}

inline bool AnyFrom(const Row& row, uint8_t least) {
  const uint8x16_t low = vmaxq_u8(row.quarter[0], row.quarter[1]);
  const uint8x16_t high = vmaxq_u8(row.quarter[2], row.quarter[3]);
  return vmaxvq_u8(vmaxq_u8(low, high)) >= least;
}

using l3_neon::Deposit;

inline uint64_t From(const Row& row, uint8_t least) {
  static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                        1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  const uint8x16_t all = vdupq_n_u8(least);
  uint8x16_t set[kQuarters];
  for (uint32_t q = 0; q < kQuarters; ++q) {
    set[q] = vandq_u8(vcgeq_u8(row.quarter[q], all), bits);
  }
  const uint8x16_t pairs =
      vpaddq_u8(vpaddq_u8(set[0], set[1]), vpaddq_u8(set[2], set[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
}

inline Row Select(uint64_t mask, Row a, const Row& b) {
  static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                        1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  for (uint32_t q = 0; q < kQuarters; ++q) {
    const uint8x16_t bytes =
        vcombine_u8(vdup_n_u8(static_cast<uint8_t>(mask >> 16 * q)),
                    vdup_n_u8(static_cast<uint8_t>(mask >> (16 * q + 8))));
    a.quarter[q] = vbslq_u8(vtstq_u8(bytes, bits), a.quarter[q], b.quarter[q]);
  }
  return a;
}

inline Row Place(const uint8_t* bytes, uint64_t mask) {
  uint8_t placed[kL3V2Patch] = {};
  for (; mask != 0; mask &= mask - 1) placed[__builtin_ctzll(mask)] = *bytes++;
  return Load(placed);
}

// Verbs of l3_flat_loops.h.

using l3_neon::Planes;

inline Row Look(const uint8_t* palette, uint32_t colours, Row row) {
  for (uint8x16_t& quarter : row.quarter) {
    uint8x16_t found = vdupq_n_u8(0);
    // Indices outside a table of 64 leave what was found.
    for (uint32_t from = 0; from < colours; from += 64) {
      found =
          vqtbx4q_u8(found, vld1q_u8_x4(palette + from),
                     vsubq_u8(quarter, vdupq_n_u8(static_cast<uint8_t>(from))));
    }
    quarter = found;
  }
  return row;
}

}  // namespace
}  // namespace liquid

#include "ops/codecs/l3/host/l3_flat_loops.h"
#include "ops/codecs/l3/host/l3_rice_loops.h"
#include "ops/codecs/l3/host/l3_v2_loops.h"

namespace liquid {

const L3RowDecoders kL3NeonDecoders = {
    l3_neon::DecodeV1, DecodeAnyV2,   DecodeL3Wide,
    DecodeAnyRice,     DecodeAnyFlat, l3_neon::PredictRowV1};

}  // namespace liquid

#endif  // defined(__aarch64__)
