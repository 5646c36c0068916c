// The bits of patches of few colours for AArch64.
#include "ops/codecs/l3/host/l3_neon.h"

#if defined(__aarch64__)

#define LIQUID_L3_TARGET

namespace liquid {
namespace {

using l3_neon::Deposit;

inline uint64_t Extract(uint64_t bits, uint64_t mask, uint32_t count) {
  uint64_t extracted = 0;
  for (uint32_t i = 0; i < count && mask != 0; ++i, mask &= mask - 1) {
    extracted |= (bits >> __builtin_ctzll(mask) & 1) << i;
  }
  return extracted;
}

}  // namespace
}  // namespace liquid

#include "ops/codecs/l3/host/l3_flat_planes.h"

namespace liquid {
namespace l3_neon {

bool Planes(const L3FlatPatch& patch, uint32_t row_end, L3FlatSink* sink) {
  return DecodeAnyPlanes(patch, row_end, sink);
}

}  // namespace l3_neon
}  // namespace liquid

#endif  // defined(__aarch64__)
