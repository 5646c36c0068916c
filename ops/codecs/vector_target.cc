#include "ops/codecs/vector_target.h"

namespace liquid {
namespace {

bool Runs(VectorTarget target) {
  switch (target) {
    case VectorTarget::kScalar:
      return true;
#if defined(__x86_64__)
    case VectorTarget::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    case VectorTarget::kAvx512:
      return Runs(VectorTarget::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("avx512vbmi2");
#elif defined(__aarch64__)
    case VectorTarget::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

}  // namespace

const char* VectorTargetName(VectorTarget target) {
  switch (target) {
    case VectorTarget::kScalar:
      return "scalar";
    case VectorTarget::kAvx2:
      return "avx2";
    case VectorTarget::kAvx512:
      return "avx512";
    case VectorTarget::kNeon:
      return "neon";
  }
  return "unknown";
}

std::vector<VectorTarget> RunnableTargets() {
  std::vector<VectorTarget> targets;
  for (const VectorTarget target :
       {VectorTarget::kScalar, VectorTarget::kAvx2, VectorTarget::kAvx512,
        VectorTarget::kNeon}) {
    if (Runs(target)) targets.push_back(target);
  }
  return targets;
}

}  // namespace liquid
