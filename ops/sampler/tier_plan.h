// What of a dataset lies in a tier: on a local disk, between store and memory.
//
// A record is loaded at most once an epoch. So however a tier chooses what it
// holds, as many loads find their record there as it has room for, K of the
// N - C that memory does not hold; and LRU finds fewer, since what was loaded
// last is not what is loaded next. To hold what is loaded soonest finds K too,
// all of them in one half of the epoch, whose other half then waits for the
// store (tests/ops/sampler/tier_plan_test.cc prints a table). So what lies
// there is *planned*: of each batch's loads in the next epoch a constant number
// comes from the store, to one record. The batch of a load is that of the
// eviction whose place it takes: the n-th load of a format and its n-th evicted
// draw.
//
// Those that are there already stay. Of them leave, at their load, those that
// are loaded first in this epoch; what is missing is written at its draw, and
// that is what is drawn last. So room is free before it is needed: between, a
// part of the tier is empty. Where memory and tier together hold nearly all,
// there is little to choose; then fewer are wanted, so that what is drawn early
// finds room, or waits for it in memory.
//
// Where records have unequal sizes, all that is said of numbers is said of
// their blocks, and a batch may owe the next one less than a record.
//
// Pure and deterministic. The order of samples never depends on it.
#ifndef LIQUID_OPS_SAMPLER_TIER_PLAN_H_
#define LIQUID_OPS_SAMPLER_TIER_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// Of each format, the blocks that each of its records takes in the tier.
using RecordBlocks = std::vector<std::vector<uint32_t>>;

// An epoch, or what is left of it.
struct TierEpoch {
  std::shared_ptr<const PlanSpec> spec;
  int64_t epoch = 0;
  HeldSets held;
  uint64_t begin = 0;         // draws that were made before
  uint64_t end = UINT64_MAX;  // the draw before which it ends
  // The plan of the next epoch, as far as that is known.
  std::shared_ptr<const PlanSpec> next;
  // Whether memory has the stored bytes of what it holds, so that they can be
  // written when it is drawn.
  bool holds_stored = true;
};

struct TierPlan {
  HeldSets wanted;  // what is to lie in the tier when the next epoch begins
  HeldSets coming;  // what is still loaded in this one
};

// Plans a tier of `room` blocks in which `there` lies, beside which memory has
// some for `waiting` blocks. O(draws + samples log
// batch), and some 20 bytes for each record while it runs. Error:
// InvalidArgument where records hold many samples, or samples have weights, or
// the policy is not Liquid's; and those of EpochPlan::Create.
Status PlanTier(const TierEpoch& epoch, const RecordBlocks& blocks,
                uint64_t room, uint64_t waiting, const HeldSets& there,
                TierPlan* plan);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_TIER_PLAN_H_
