// The beginning of an epoch: its draws, and what each reader is told.
#ifndef LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_
#define LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_

#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/draw_plan.h"
#include "ops/engine/epoch_draws.h"
#include "ops/engine/format_plan.h"
#include "ops/engine/snapshot.h"
#include "ops/reader/read_order.h"
#include "ops/sampler/fidelity.h"

namespace liquid {

struct EpochOptions {
  const InterleaveMessage* message = nullptr;  // of the run
  // What is drawn from: the run's own plan, or that of the rest of an epoch
  // that other numbers of workers began.
  const DrawPlan* draws = nullptr;
  bool rest = false;
  // How many records of each format there is memory for.
  std::vector<MemoryLimits> limits;
  Fidelity fidelity;
};

// Begins what a snapshot has lent. `plans` has one of each format, with its
// number, reads and tell_method; the rest is filled in. Error: those of
// EpochDraws and Tier.
Status BeginEpoch(const EpochOptions& options, Snapshot* snapshot,
                  Snapshot::Lease lease, const std::vector<FormatPlan*>& plans,
                  std::unique_ptr<EpochDraws>* draws);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_
