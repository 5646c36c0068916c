// Patches of profile 1, from pixels to bytes.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_ENCODE_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_ENCODE_H_

#include <cstdint>
#include <string>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_flat_encode.h"
#include "ops/codecs/l3/host/l3_planes.h"
#include "ops/codecs/l3/host/l3_rice_encode.h"

namespace liquid {

template <typename Sample>
class L3CompactEncoder {
 public:
  L3CompactEncoder(const ImageInfo& info, const uint8_t* pixels, Effort effort)
      : info_(info), pixels_(pixels), rice_(effort) {}

  // Appends patch number `number` to `*out`.
  void Encode(uint32_t number, uint32_t x0, uint32_t y0, std::string* out);

 private:
  const ImageInfo info_;
  const uint8_t* const pixels_;
  L3Planes<Sample> planes_ = {};
  L3RiceEncoder<Sample> rice_;
  uint8_t flat_bytes_[4 + kL3MaxFlatBytes];
  uint8_t rice_bytes_[kL3CompactMaxPatchBytes];
};

extern template class L3CompactEncoder<uint8_t>;
extern template class L3CompactEncoder<uint16_t>;

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_COMPACT_ENCODE_H_
