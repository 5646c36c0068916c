// The beginning of an epoch: its draws, and what each reader is told.
#ifndef LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_
#define LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/draw_plan.h"
#include "ops/engine/epoch_draws.h"
#include "ops/engine/format_plan.h"
#include "ops/engine/snapshot.h"
#include "ops/message/messages.h"
#include "ops/reader/read_group.h"
#include "ops/reader/read_order.h"
#include "ops/sampler/fidelity.h"

namespace liquid {

// How many records of each format a plan has memory for.
std::vector<MemoryLimits> LimitsOf(const InterleaveMessage& message);

// What is asked once an epoch where formats share samples: the mixes of some
// epochs up to that one, numbers of each format, one epoch after another.
struct MixNumbers {
  std::vector<int64_t> samples;   // of each format
  std::vector<int64_t> cached;    // records of it between epochs
  std::vector<int64_t> fill;      // samples to shuffle among
  std::vector<int64_t> resident;  // see MemoryLimits
  std::vector<int64_t> kept;      // likewise
};

// Decides the mixes of epochs up to `epoch`, which is taken next. `*limits`, of
// each format, becomes those of the last one. Error: InvalidArgument where
// numbers are missing, or are none that can be planned.
Status DecideMixes(int64_t epoch, const MixNumbers& mixes, Snapshot* snapshot,
                   std::vector<MemoryLimits>* limits);

// Takes what other numbers of workers left of an epoch, from a draw on. `spec`:
// of the plan of this rest. Error: InvalidArgument where it has other formats.
Status TakeRest(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                uint64_t position, Snapshot* snapshot, Snapshot::Lease* lease);

struct EpochOptions {
  const InterleaveMessage* message = nullptr;  // of the run
  // What is drawn from: the run's own plan, or that of the rest of an epoch
  // that other numbers of workers began.
  const DrawPlan* draws = nullptr;
  bool rest = false;
  // How many records of each format there is memory for.
  std::vector<MemoryLimits> limits;
  Fidelity fidelity;
  std::shared_ptr<ReadGroup> reads;  // of all formats
};

// Begins what a snapshot has lent, and fills in what each format is told, in
// the order of `plans`. Error: those of EpochDraws and Tier.
Status BeginEpoch(const EpochOptions& options, Snapshot* snapshot,
                  Snapshot::Lease lease, const std::vector<FormatPlan*>& plans,
                  std::unique_ptr<EpochDraws>* draws);

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_BEGIN_EPOCH_H_
