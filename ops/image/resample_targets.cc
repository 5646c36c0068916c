#include "ops/image/resample_targets.h"

#include <atomic>
#include <cstddef>
#include <iterator>

namespace liquid {
namespace {

constexpr const char* kNames[] = {"scalar", "avx2", "neon"};

// Null where they do not run here.
const ResampleKernels* KernelsOf(ResampleTarget target) {
  switch (target) {
    case ResampleTarget::kScalar:
      return &kScalarResample;
#if defined(__x86_64__)
    case ResampleTarget::kAvx2:
      return __builtin_cpu_supports("avx2") ? &kAvx2Resample : nullptr;
#elif defined(__aarch64__)
    case ResampleTarget::kNeon:
      return &kNeonResample;
#endif
    default:
      return nullptr;
  }
}

std::atomic<const ResampleKernels*>& Current() {
  static std::atomic<const ResampleKernels*> current{
      KernelsOf(ResampleRunnableTargets().back())};
  return current;
}

}  // namespace

const char* ResampleTargetName(ResampleTarget target) {
  return kNames[static_cast<size_t>(target)];
}

std::vector<ResampleTarget> ResampleRunnableTargets() {
  std::vector<ResampleTarget> targets;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const auto target = static_cast<ResampleTarget>(i);
    if (KernelsOf(target) != nullptr) targets.push_back(target);
  }
  return targets;
}

const ResampleKernels& CurrentResampleKernels() {
  return *Current().load(std::memory_order_relaxed);
}

ScopedResampleTarget::ScopedResampleTarget(ResampleTarget target)
    : previous_(Current().exchange(KernelsOf(target))) {}

ScopedResampleTarget::~ScopedResampleTarget() { Current().store(previous_); }

}  // namespace liquid
