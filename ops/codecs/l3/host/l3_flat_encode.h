// A patch of few colours of profile 1, from its planes to bytes.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_ENCODE_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_ENCODE_H_

#include <cstdint>

#include "ops/codecs/l3/host/l3_planes.h"

namespace liquid {

// The most bytes of one: word, palette and, for each row, a bit for each pixel
// and its group, two flags and a literal of 8 bits.
constexpr uint32_t kL3MaxFlatBytes =
    2 + 256 * kL3MaxChannels * 2 +
    kL3V2Patch * (1 + kL3Groups + kL3V2Patch * 11) / 8 + 8;

// Writes the patch without its checksum and returns its bytes; 0 if it has more
// colours than a palette can.
template <typename Sample>
uint32_t EncodeL3Flat(const L3Planes<Sample>& planes, uint32_t channels,
                      uint8_t* out);

extern template uint32_t EncodeL3Flat(const L3Planes<uint8_t>& planes,
                                      uint32_t channels, uint8_t* out);
extern template uint32_t EncodeL3Flat(const L3Planes<uint16_t>& planes,
                                      uint32_t channels, uint8_t* out);

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_FLAT_ENCODE_H_
