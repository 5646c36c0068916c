#include "ops/image/resample_targets.h"

#include <atomic>

namespace liquid {
namespace {

bool Runs(ResampleTarget target) {
  switch (target) {
    case ResampleTarget::kScalar:
      return true;
#if defined(__x86_64__)
    case ResampleTarget::kAvx2:
      return __builtin_cpu_supports("avx2");
#elif defined(__aarch64__)
    case ResampleTarget::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

const ResampleKernels* KernelsOf(ResampleTarget target) {
  switch (target) {
#if defined(__x86_64__)
    case ResampleTarget::kAvx2:
      return &kAvx2Resample;
#elif defined(__aarch64__)
    case ResampleTarget::kNeon:
      return &kNeonResample;
#endif
    default:
      return &kScalarResample;
  }
}

std::atomic<const ResampleKernels*>& Current() {
  static std::atomic<const ResampleKernels*> current{
      KernelsOf(ResampleRunnableTargets().back())};
  return current;
}

}  // namespace

const char* ResampleTargetName(ResampleTarget target) {
  switch (target) {
    case ResampleTarget::kScalar:
      return "scalar";
    case ResampleTarget::kAvx2:
      return "avx2";
    case ResampleTarget::kNeon:
      return "neon";
  }
  return "unknown";
}

std::vector<ResampleTarget> ResampleRunnableTargets() {
  std::vector<ResampleTarget> targets;
  for (const ResampleTarget target :
       {ResampleTarget::kScalar, ResampleTarget::kAvx2,
        ResampleTarget::kNeon}) {
    if (Runs(target)) targets.push_back(target);
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
