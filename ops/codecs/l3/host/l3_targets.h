// Which instructions the decoder of L3 uses. It takes the widest set that the
// processor has; all give the same pixels.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_

#include <cstdint>
#include <vector>

#include "ops/codecs/l3/host/l3_rows.h"

namespace liquid {

enum class L3Target : uint8_t {
  kScalar = 0,
  kAvx2 = 1,    // and BMI2
  kAvx512 = 2,  // and VBMI2: Ice Lake, Zen 4 and later
  kNeon = 3,    // every AArch64
};

const char* L3TargetName(L3Target target);

// The targets that run here, kScalar first.
std::vector<L3Target> L3RunnableTargets();

// The functions that decode rows, chosen once per process.
const L3RowDecoders& CurrentL3Decoders();

// Decodes with `target`, which must be runnable, in the whole process until it
// is destroyed. For tests and measurements; they must not overlap in time.
class ScopedL3Target {
 public:
  explicit ScopedL3Target(L3Target target);
  ~ScopedL3Target();
  ScopedL3Target(const ScopedL3Target&) = delete;
  ScopedL3Target& operator=(const ScopedL3Target&) = delete;

 private:
  const L3RowDecoders* previous_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_
