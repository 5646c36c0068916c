#include "ops/engine/begin_epoch.h"

#include <algorithm>
#include <cstddef>
#include <string>
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

std::vector<MemoryLimits> LimitsOf(const InterleaveMessage& message) {
  std::vector<MemoryLimits> limits;
  for (const SourceMessage& source : message.sources) {
    limits.push_back({static_cast<uint64_t>(source.resident),
                      static_cast<uint64_t>(source.kept)});
  }
  return limits;
}

Status DecideMixes(int64_t epoch, const MixNumbers& mixes, Snapshot* snapshot,
                   std::vector<MemoryLimits>* limits) {
  const size_t formats = limits->size();
  const size_t epochs = mixes.samples.size() / formats;
  bool right = epochs > 0 && epochs <= static_cast<uint64_t>(epoch) + 1;
  for (const auto* numbers : {&mixes.samples, &mixes.cached, &mixes.fill,
                              &mixes.resident, &mixes.kept}) {
    right = right && numbers->size() == epochs * formats;
  }
  if (!right) {
    return InvalidArgument("each list of mixes must have the shape [epochs, " +
                           std::to_string(formats) + "], of epochs up to " +
                           std::to_string(epoch));
  }
  std::vector<std::vector<int64_t>> decided(epochs);
  for (const auto* numbers : {&mixes.samples, &mixes.cached, &mixes.fill}) {
    for (size_t i = 0; i < numbers->size(); ++i) {
      decided[i / formats].push_back((*numbers)[i]);
    }
  }
  const size_t last = (epochs - 1) * formats;
  for (size_t f = 0; f < formats; ++f) {
    (*limits)[f] = {static_cast<uint64_t>(mixes.resident[last + f]),
                    static_cast<uint64_t>(mixes.kept[last + f])};
  }
  return snapshot->Decide(epoch + 1 - static_cast<int64_t>(epochs), decided);
}

Status TakeRest(std::shared_ptr<const PlanSpec> spec, int64_t epoch,
                uint64_t position, Snapshot* snapshot, Snapshot::Lease* lease) {
  const size_t formats = snapshot->Cached().size();
  if (spec->formats.size() != formats) {
    return InvalidArgument("the rest of epoch " + std::to_string(epoch) +
                           " has " + std::to_string(spec->formats.size()) +
                           " formats; it must have those of the " +
                           std::to_string(formats) + " of the dataset");
  }
  lease->spec = std::move(spec);
  lease->epoch = epoch;
  lease->position = position;
  lease->held = NothingHeld(*lease->spec);
  snapshot->LendRest(lease);
  return OkStatus();
}

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
  drawn.reads = options.reads;
  if (owner && !options.rest) {
    LIQUID_RETURN_IF_ERROR(
        BeginTier(message, snapshot, lease, drawn.end, &drawn.tier));
  }
  if (owner && !options.rest && lease.spec->weights == nullptr) {
    drawn.arena = snapshot->arena();
    drawn.device_share = static_cast<double>(message.device_millionths) / 1e6;
  }
  lease.run->SetFidelity(options.fidelity.steps());
  LIQUID_RETURN_IF_ERROR(
      EpochDraws::Create(snapshot, std::move(lease), drawn, draws));
  const EpochPlan& epoch = (*draws)->plan();
  for (uint32_t f = 0; f < plans.size(); ++f) {
    FormatPlan* const plan = plans[f];
    plan->spec = (*draws)->spec();
    plan->number = f;
    plan->epoch = epoch.epoch();
    plan->position = epoch.position();
    plan->held = epoch.held();
    plan->at_hand = (*draws)->at_hand(f);
    plan->limits = limits[f];
    plan->fidelity = options.fidelity;
    plan->end = drawn.end;
    plan->tier = drawn.tier;
    plan->reads = options.reads;
    plan->tell_method = [owner = snapshot->shared_from_this(),
                         f](const std::string& method) {
      owner->SetReading(f, method);
    };
  }
  return OkStatus();
}

}  // namespace liquid
