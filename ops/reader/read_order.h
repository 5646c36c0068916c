// The order in which one format's records are read in one epoch.
//
// Follows the plan: the loads, in disk order, as soon as the plan makes them
// available. What is not in memory at its draw is read just before it: a sample
// that the plan holds and memory does not (after a restore, after an abandoned
// epoch, or dropped for the budget), and a load for which there was no room.
#ifndef LIQUID_OPS_READER_READ_ORDER_H_
#define LIQUID_OPS_READER_READ_ORDER_H_

#include <cstdint>
#include <memory>

#include "ops/sampler/planner.h"

namespace liquid {

// How many samples of a format there is memory for. The order of an epoch does
// not depend on it: what has no room is read later.
struct MemoryLimits {
  uint64_t resident = UINT64_MAX;  // in memory at once
  uint64_t kept = UINT64_MAX;      // of them, drawn and kept
};

// Thread-compatible.
class ReadOrder {
 public:
  // `plan` stands at the draw with which reading begins. `in_memory`: held
  // samples that need no read.
  ReadOrder(std::unique_ptr<EpochPlan> plan, uint32_t format,
            SampleSet in_memory, const MemoryLimits& limits);
  // The next sample to read; false at the epoch's end.
  bool Next(uint64_t* sample);

 private:
  const std::unique_ptr<EpochPlan> plan_;
  const uint32_t format_;
  const MemoryLimits limits_;
  SampleSet at_hand_;  // in memory by now
  LoadOrder loads_;
  uint64_t loaded_ = 0;  // loads that the plan has made available
  uint64_t resident_;    // samples in memory
  uint64_t kept_ = 0;    // of them drawn and kept
};

}  // namespace liquid

#endif  // LIQUID_OPS_READER_READ_ORDER_H_
