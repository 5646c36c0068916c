// Which instructions the JPEG decoder of our own uses. It takes the widest set
// that the processor has; all give the same pixels.
#ifndef LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_TARGETS_H_
#define LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_TARGETS_H_

#include "ops/codecs/jpeg/baseline/baseline_functions.h"
#include "ops/codecs/vector_target.h"

namespace liquid {

// Whether a set of this processor's vectors is made for: by plain code,
// libjpeg-turbo, which has vectors everywhere, is the faster one.
bool HasBaselineVectors();

const BaselineFunctions& CurrentBaselineFunctions();

// Those of a target, which must be runnable.
const BaselineFunctions& BaselineFunctionsOf(VectorTarget target);

// As ScopedL3Target.
class ScopedBaselineTarget {
 public:
  explicit ScopedBaselineTarget(VectorTarget target);
  ~ScopedBaselineTarget();
  ScopedBaselineTarget(const ScopedBaselineTarget&) = delete;
  ScopedBaselineTarget& operator=(const ScopedBaselineTarget&) = delete;

 private:
  const BaselineFunctions* previous_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_BASELINE_BASELINE_TARGETS_H_
