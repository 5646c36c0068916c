#include "ops/codecs/l3/host/l3_targets.h"

#include <atomic>

namespace liquid {
namespace {

const L3RowDecoders* DecodersOf(VectorTarget target) {
  switch (target) {
#if defined(__x86_64__)
    case VectorTarget::kAvx2:
      return &kL3Avx2Decoders;
    case VectorTarget::kAvx512:
      return &kL3Avx512Decoders;
#elif defined(__aarch64__)
    case VectorTarget::kNeon:
      return &kL3NeonDecoders;
#endif
    default:
      return &kL3ScalarDecoders;
  }
}

std::atomic<const L3RowDecoders*>& Current() {
  static std::atomic<const L3RowDecoders*> current{
      DecodersOf(RunnableTargets().back())};
  return current;
}

}  // namespace

const L3RowDecoders& CurrentL3Decoders() {
  return *Current().load(std::memory_order_relaxed);
}

ScopedL3Target::ScopedL3Target(VectorTarget target)
    : previous_(Current().exchange(DecodersOf(target))) {}

ScopedL3Target::~ScopedL3Target() { Current().store(previous_); }

}  // namespace liquid
