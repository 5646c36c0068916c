// What one format's reader is told about an epoch that is drawn.
#ifndef LIQUID_OPS_ENGINE_FORMAT_PLAN_H_
#define LIQUID_OPS_ENGINE_FORMAT_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/reader/read_group.h"
#include "ops/reader/read_order.h"
#include "ops/reader/tier.h"
#include "ops/sampler/fidelity.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid {

// Constant once the epoch has begun.
struct FormatPlan {
  std::shared_ptr<const PlanSpec> spec;
  uint32_t number = 0;  // position of the format in the plan
  int64_t epoch = 0;
  uint64_t position = 0;  // of the first draw
  HeldSets held;
  AtHand at_hand;
  MemoryLimits limits;
  Fidelity fidelity;
  uint64_t end = UINT64_MAX;         // the draw before which reading ends
  std::shared_ptr<Tier> tier;        // where records lie, too; null for none
  std::shared_ptr<ReadGroup> reads;  // of all formats
  // Called once with what the reader reads with; it may come after the epoch.
  std::function<void(const std::string&)> tell_method;

  const FormatSpec& format() const { return spec->formats[number]; }
  // `groups`: see ReadOrder.
  Status MakeReadOrder(std::vector<uint32_t> groups,
                       std::unique_ptr<ReadOrder>* order) const;
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_FORMAT_PLAN_H_
