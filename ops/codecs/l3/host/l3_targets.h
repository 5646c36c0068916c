// Which instructions the decoder of L3 uses. It takes the widest set that the
// processor has; all give the same pixels.
#ifndef LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_
#define LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_

#include "ops/codecs/l3/host/l3_rows.h"
#include "ops/codecs/vector_target.h"

namespace liquid {

// The functions that decode rows, chosen once per process.
const L3RowDecoders& CurrentL3Decoders();

// Decodes with `target`, which must be runnable, in the whole process until it
// is destroyed. For tests and measurements; they must not overlap in time.
class ScopedL3Target {
 public:
  explicit ScopedL3Target(VectorTarget target);
  ~ScopedL3Target();
  ScopedL3Target(const ScopedL3Target&) = delete;
  ScopedL3Target& operator=(const ScopedL3Target&) = delete;

 private:
  const L3RowDecoders* previous_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_HOST_L3_TARGETS_H_
