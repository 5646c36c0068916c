// The bits of patches of few colours with BMI2.
#include "ops/codecs/l3/host/l3_avx2.h"

#if defined(__x86_64__)

// Not those of wider registers: GCC would keep masks in theirs.
#define LIQUID_L3_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

namespace liquid {
namespace {

LIQUID_L3_TARGET inline uint64_t Deposit(uint64_t bits, uint64_t mask) {
  return _pdep_u64(bits, mask);
}

LIQUID_L3_TARGET inline uint64_t Extract(uint64_t bits, uint64_t mask,
                                         uint32_t) {
  return _pext_u64(bits, mask);
}

}  // namespace
}  // namespace liquid

#include "ops/codecs/l3/host/l3_flat_planes.h"

namespace liquid {
namespace l3_avx2 {

bool Planes(const L3FlatPatch& patch, uint32_t row_end, L3FlatSink* sink) {
  return DecodeAnyPlanes(patch, row_end, sink);
}

}  // namespace l3_avx2
}  // namespace liquid

#endif  // defined(__x86_64__)
