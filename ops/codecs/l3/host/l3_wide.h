// 16 bits for every target but the reference.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_

#include <cstdint>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

// As L3RowDecoders::v2_16.
L3RowsResult DecodeL3Wide(const L3V2Patch& patch, const L3Rows& rows,
                          const uint8_t** stopped);

// As L3RowDecoders::rice, of 16 bits.
L3RowsResult DecodeL3WideRice(const L3RicePatch& patch, const L3Rows& rows,
                              const uint8_t** stopped);

// Unpacks a group: 8 numbers of `bits` (0 to 16) each, less `bias`. Reads up to
// 16 bytes.
inline void UnpackL3Wide(const uint8_t* group, uint32_t bits, uint32_t bias,
                         uint16_t* numbers) {
  const uint32_t mask = (1u << bits) - 1;
  // Four numbers are at most 64 bits; the other four begin in the middle of a
  // byte where `bits` is odd, and then are at most 60.
  const uint64_t low = LoadLittle64(group);
  const uint64_t high = LoadLittle64(group + bits / 2) >> (bits % 2 * 4);
  for (uint32_t k = 0; k < 4; ++k) {
    numbers[k] = static_cast<uint16_t>((low >> (bits * k) & mask) - bias);
    numbers[4 + k] = static_cast<uint16_t>((high >> (bits * k) & mask) - bias);
  }
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_WIDE_H_
