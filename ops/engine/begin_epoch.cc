#include "ops/engine/begin_epoch.h"

#include <algorithm>
#include <utility>

#include "ops/sampler/planner.h"

namespace liquid {
namespace {

// Plans what the tier holds in this epoch, and for the next.
Status BeginTier(const InterleaveMessage& message, Snapshot* snapshot,
                 const Snapshot::Lease& lease, uint64_t end,
                 std::shared_ptr<Tier>* tier) {
  std::shared_ptr<Tier> of_snapshot = snapshot->tier();
  if (of_snapshot == nullptr) return OkStatus();
  TierEpoch epoch;
  epoch.spec = lease.spec;
  epoch.epoch = lease.epoch;
  epoch.held = lease.held;
  epoch.begin = lease.position;
  epoch.end = end;
  if (message.drop_remainder) {
    const uint64_t samples = EpochSize(*lease.spec);
    epoch.end = std::min(end, samples - samples % lease.spec->batch_size);
  }
  epoch.next = snapshot->SpecAfter(lease.epoch);
  epoch.holds_stored = !message.keep_pixels;
  LIQUID_RETURN_IF_ERROR(of_snapshot->Begin(epoch));
  *tier = std::move(of_snapshot);
  return OkStatus();
}

}  // namespace

Status BeginEpoch(const EpochOptions& options, Snapshot* snapshot,
                  Snapshot::Lease lease, const std::vector<FormatPlan*>& plans,
                  std::unique_ptr<EpochDraws>* draws) {
  const InterleaveMessage& message = *options.message;
  // A pinned record stays in memory over the epoch, so only that of the owner.
  std::vector<MemoryLimits> limits = options.limits;
  const bool owner = snapshot->Own(lease.run.get());
  for (MemoryLimits& of_format : limits) {
    if (lease.spec->weights != nullptr && !owner) of_format.kept = 0;
  }
  EpochDraws::Options drawn;
  drawn.cache_bytes = static_cast<uint64_t>(options.draws->message.cache_bytes);
  for (const MemoryLimits& of_format : limits) {
    drawn.kept.push_back(of_format.kept);
    drawn.resident.push_back(of_format.resident);
  }
  drawn.keep_pixels = message.keep_pixels;
  drawn.mask_bytes = static_cast<uint64_t>(message.mask_bytes);
  drawn.drop_remainder = message.drop_remainder;
  drawn.end = options.draws->EndDraw(EpochSize(*lease.spec));
  drawn.rest = options.rest;
  drawn.fidelity = options.fidelity;
  if (owner && !options.rest) {
    LIQUID_RETURN_IF_ERROR(
        BeginTier(message, snapshot, lease, drawn.end, &drawn.tier));
  }
  lease.run->SetFidelity(options.fidelity.steps());
  LIQUID_RETURN_IF_ERROR(
      EpochDraws::Create(snapshot, std::move(lease), drawn, draws));
  const EpochPlan& epoch = (*draws)->plan();
  for (FormatPlan* plan : plans) {
    plan->spec = (*draws)->spec();
    plan->epoch = epoch.epoch();
    plan->position = epoch.position();
    plan->held = epoch.held();
    plan->at_hand = (*draws)->at_hand(plan->number);
    plan->limits = limits[plan->number];
    plan->fidelity = options.fidelity;
    plan->end = drawn.end;
    plan->tier = drawn.tier;
  }
  return OkStatus();
}

}  // namespace liquid
