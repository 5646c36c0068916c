#include "ops/codecs/l3/host/l3_targets.h"

#include <atomic>

namespace liquid {
namespace {

bool Runs(L3Target target) {
  switch (target) {
    case L3Target::kScalar:
      return true;
#if defined(__x86_64__)
    case L3Target::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    case L3Target::kAvx512:
      return Runs(L3Target::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("avx512vbmi2");
#elif defined(__aarch64__)
    case L3Target::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

const L3RowDecoders* DecodersOf(L3Target target) {
  switch (target) {
#if defined(__x86_64__)
    case L3Target::kAvx2:
      return &kL3Avx2Decoders;
    case L3Target::kAvx512:
      return &kL3Avx512Decoders;
#elif defined(__aarch64__)
    case L3Target::kNeon:
      return &kL3NeonDecoders;
#endif
    default:
      return &kL3ScalarDecoders;
  }
}

std::atomic<const L3RowDecoders*>& Current() {
  static std::atomic<const L3RowDecoders*> current{
      DecodersOf(L3RunnableTargets().back())};
  return current;
}

}  // namespace

const char* L3TargetName(L3Target target) {
  switch (target) {
    case L3Target::kScalar:
      return "scalar";
    case L3Target::kAvx2:
      return "avx2";
    case L3Target::kAvx512:
      return "avx512";
    case L3Target::kNeon:
      return "neon";
  }
  return "unknown";
}

std::vector<L3Target> L3RunnableTargets() {
  std::vector<L3Target> targets;
  for (const L3Target target : {L3Target::kScalar, L3Target::kAvx2,
                                L3Target::kAvx512, L3Target::kNeon}) {
    if (Runs(target)) targets.push_back(target);
  }
  return targets;
}

const L3RowDecoders& CurrentL3Decoders() {
  return *Current().load(std::memory_order_relaxed);
}

ScopedL3Target::ScopedL3Target(L3Target target)
    : previous_(Current().exchange(DecodersOf(target))) {}

ScopedL3Target::~ScopedL3Target() { Current().store(previous_); }

}  // namespace liquid
