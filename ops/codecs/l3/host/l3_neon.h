// What the NEON decoders of both versions share.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_NEON_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_NEON_H_

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstdint>

#include "ops/codecs/l3/host/l3_flat.h"
#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {
namespace l3_neon {

// How 8 fields of n bits, one after the other, become 8 bytes: byte[2 k] and
// the one after it number the two bytes that hold field k, which begins
// -shift[k] bits into them.
struct FieldTable {
  uint8_t byte[16] = {};
  int16_t shift[8] = {};
};

// By n, 0 to 8.
struct FieldTables {
  FieldTable of[9];
};

// For fields of which the first begins `first` (0 or 4) bits into its bytes.
constexpr FieldTables MakeFieldTables(int first) {
  FieldTables tables;
  for (int n = 0; n <= 8; ++n) {
    for (int k = 0; k < 8; ++k) {
      const int at = first + n * k;
      tables.of[n].byte[2 * k] = static_cast<uint8_t>(at / 8);
      tables.of[n].byte[2 * k + 1] = static_cast<uint8_t>(at / 8 + 1);
      tables.of[n].shift[k] = static_cast<int16_t>(-(at % 8));
    }
  }
  return tables;
}

// Eight fields; above the n bits of each lie those of its neighbours. Reads 16
// bytes.
inline uint8x8_t Fields(const uint8_t* bytes, const FieldTable& table) {
  const uint8x16_t pairs = vqtbl1q_u8(vld1q_u8(bytes), vld1q_u8(table.byte));
  return vmovn_u16(
      vshlq_u16(vreinterpretq_u16_u8(pairs), vld1q_s16(table.shift)));
}

// The next bit at each place of `mask`.
inline uint64_t Deposit(uint64_t bits, uint64_t mask) {
  uint64_t deposited = 0;
  for (; mask != 0; mask &= mask - 1, bits >>= 1) {
    deposited |= (mask & -mask) & (0 - (bits & 1));
  }
  return deposited;
}

// As DecodeAnyPlanes of l3_flat_planes.h.
bool Planes(const L3FlatPatch& patch, uint32_t row_end, L3FlatSink* sink);
L3RowsResult DecodeV1(const L3V1Patch& patch, const L3Rows& rows,
                      const uint8_t** stopped);
void PredictRowV1(const uint8_t* above, uint32_t width, uint8_t* predicted);

}  // namespace l3_neon
}  // namespace liquid

#endif  // defined(__aarch64__)

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_NEON_H_
