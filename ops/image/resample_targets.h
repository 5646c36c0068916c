// Which instructions resizing uses. It takes the widest set that the processor
// has; all give the same pixels.
#ifndef LIQUID_OPS_IMAGE_RESAMPLE_TARGETS_H_
#define LIQUID_OPS_IMAGE_RESAMPLE_TARGETS_H_

#include <cstdint>
#include <vector>

#include "ops/image/resample_kernels.h"

namespace liquid {

enum class ResampleTarget : uint8_t {
  kScalar = 0,
  kAvx2 = 1,
  kNeon = 2,  // every AArch64
};

const char* ResampleTargetName(ResampleTarget target);

// The targets that run here, kScalar first.
std::vector<ResampleTarget> ResampleRunnableTargets();

// The loops to use, chosen once per process.
const ResampleKernels& CurrentResampleKernels();

// Resizes with `target`, which must be runnable, in the whole process until it
// is destroyed. For tests and measurements; they must not overlap in time.
class ScopedResampleTarget {
 public:
  explicit ScopedResampleTarget(ResampleTarget target);
  ~ScopedResampleTarget();
  ScopedResampleTarget(const ScopedResampleTarget&) = delete;
  ScopedResampleTarget& operator=(const ScopedResampleTarget&) = delete;

 private:
  const ResampleKernels* previous_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RESAMPLE_TARGETS_H_
