// The order in which one format's records are read in one epoch.
//
// Follows the plan: the loads, in disk order, as soon as the plan makes them
// available, and, shortly before its draw and never earlier, each sample that
// the plan holds in memory but memory does not (after a restore, after an
// abandoned epoch, or dropped for the budget).
#ifndef LIQUID_OPS_READER_READ_ORDER_H_
#define LIQUID_OPS_READER_READ_ORDER_H_

#include <cstdint>
#include <memory>

#include "ops/sampler/planner.h"

namespace liquid {

// Thread-compatible.
class ReadOrder {
 public:
  // `plan` stands at the draw with which reading begins; samples loaded before
  // it and not yet drawn are read like held ones. `in_memory`: held samples
  // that need no read.
  ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format,
            SampleSet in_memory);
  // The next sample to read; false at the epoch's end.
  bool Next(uint64_t* sample);

 private:
  const std::unique_ptr<EpochPlan> plan_;
  const uint32_t format_;
  const SampleSet in_memory_;
  LoadOrder loads_;
  const uint64_t loaded_before_;  // loads made before reading began
  uint64_t loaded_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_ORDER_H_
