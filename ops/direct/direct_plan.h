// What Python asks the planner: parts of workers, and the order of an epoch.
//
// As in direct.h.
#ifndef LIQUID_OPS_DIRECT_DIRECT_PLAN_H_
#define LIQUID_OPS_DIRECT_DIRECT_PLAN_H_

#include <cstdint>

#include "ops/direct/direct.h"

extern "C" {

// One of several workers, and how they come to equal numbers of batches.
struct LiquidWorker {
  uint64_t index;
  uint64_t count;
  int32_t policy;  // a liquid::PartPolicy
};

// A worker's samples of each format, by a PartRange: [formats] each.
struct LiquidPart {
  uint64_t* starts;
  uint64_t* lengths;
  uint64_t repeated;
  uint64_t dropped;
};

// An epoch of a PlanMessage, of plans replayed from `first` on.
struct LiquidPlannedEpoch {
  LiquidBytes plan;
  int64_t first;
  int64_t epoch;
};

// The part of a worker of formats of these numbers of samples. Returns whether
// there is one.
bool liquid_direct_worker_part(const uint64_t* samples, uint64_t formats,
                               const LiquidWorker* worker, LiquidPart* part,
                               LiquidProblem problem);

// The format of each draw, and its sample in the format's stored order. An
// epoch of other than `draws` draws is a problem. Returns whether it is
// planned.
bool liquid_direct_plan_epoch(const LiquidPlannedEpoch* planned,
                              int32_t* formats, int64_t* samples,
                              uint64_t draws, LiquidProblem problem);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_PLAN_H_
