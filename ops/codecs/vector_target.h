// The sets of vector instructions that decoders are made for. A decoder takes
// the widest one that the processor has; all give the same pixels.
#ifndef LIQUID_OPS_CODECS_VECTOR_TARGET_H_
#define LIQUID_OPS_CODECS_VECTOR_TARGET_H_

#include <cstdint>
#include <vector>

namespace liquid {

enum class VectorTarget : uint8_t {
  kScalar = 0,
  kAvx2 = 1,    // and BMI2
  kAvx512 = 2,  // and VBMI2: Ice Lake, Zen 4 and later
  kNeon = 3,    // every AArch64
};

const char* VectorTargetName(VectorTarget target);

// The targets that run here, kScalar first.
std::vector<VectorTarget> RunnableTargets();

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_VECTOR_TARGET_H_
