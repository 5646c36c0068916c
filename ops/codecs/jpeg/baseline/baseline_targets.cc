#include "ops/codecs/jpeg/baseline/baseline_targets.h"

#include <atomic>

namespace liquid {
namespace {

const BaselineFunctions* Widest() {
  return &BaselineFunctionsOf(RunnableTargets().back());
}

std::atomic<const BaselineFunctions*>& Current() {
  static std::atomic<const BaselineFunctions*> current{Widest()};
  return current;
}

}  // namespace

const BaselineFunctions& BaselineFunctionsOf(VectorTarget target) {
  switch (target) {
#if defined(__x86_64__)
    case VectorTarget::kAvx2:
      return kBaselineAvx2;
    case VectorTarget::kAvx512:
      return kBaselineAvx512;
#elif defined(__aarch64__)
    case VectorTarget::kNeon:
      return kBaselineNeon;
#endif
    default:
      return kBaselineScalar;
  }
}

bool HasBaselineVectors() {
  static const bool has = Widest() != &kBaselineScalar;
  return has;
}

const BaselineFunctions& CurrentBaselineFunctions() {
  return *Current().load(std::memory_order_relaxed);
}

ScopedBaselineTarget::ScopedBaselineTarget(VectorTarget target)
    : previous_(Current().exchange(&BaselineFunctionsOf(target))) {}

ScopedBaselineTarget::~ScopedBaselineTarget() { Current().store(previous_); }

}  // namespace liquid
