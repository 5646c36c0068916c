// One source's draws in an epoch of weighted samples.
#ifndef LIQUID_OPS_SAMPLER_WEIGHTED_SOURCE_H_
#define LIQUID_OPS_SAMPLER_WEIGHTED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/sampler/pass_region.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"
#include "ops/sampler/source_cycle.h"

namespace liquid {

// The samples of a format that stay in memory from their first draw on, where
// there is room for `most`: a subset of those that a plan pins where that is at
// least `most`. O(samples).
SampleSet PinnedSamples(const PlanSpec& spec, size_t source, uint64_t most);

// What of the pinned samples memory holds when `epoch` begins, where it held
// `held` when `first_epoch` did: those that were drawn since then too.
// O(samples), and O(groups) for each epoch.
HeldSets PinnedAt(const PlanSpec& spec, int64_t first_epoch, HeldSets held,
                  int64_t epoch);

// Thread-compatible; see PassRegion.
class WeightedSource {
 public:
  // `spans`: of the source in this epoch. `held`: what of its pinned samples
  // is in memory when the epoch begins; where there is none, the epoch fills
  // it. Pinned samples are added to `kept` when they are drawn. The spec,
  // `held` and `kept` must outlive it.
  WeightedSource(const PlanSpec& spec, uint32_t source, int64_t epoch,
                 const std::vector<CycleSpan>& spans, const SampleSet& held,
                 SampleSet* kept);

  uint64_t draws() const { return cycle_.draws(); }
  uint64_t resident_draws() const { return cycle_.resident_draws(); }
  // Makes ready for the first draw. `size`: samples of all sources in the
  // epoch, which are drawn in batches of `batch_size`.
  void Begin(uint64_t batch_size, uint64_t size);

  uint64_t loads() const { return loads_; }
  // Makes the next draw, of a sample that is resident or of another one. Its
  // `keep` says whether it is pinned. Requires that one is left.
  Draw Next(bool resident);

  // From now on loads are told, and none that came before a draw was.
  void TellLoads() { asked_ = true; }
  // The next load that was not told, or false. After TellLoads.
  bool TakeLoad(uint64_t* sample);

 private:
  const PlanSpec& spec_;
  const uint32_t source_;
  const int64_t epoch_;
  SampleSet coming_;  // pinned and not resident
  const SourceCycle cycle_;
  SampleSet* const kept_;
  uint64_t loads_ = 0;
  bool asked_ = false;
  PassRegion::Told told_;
  size_t taken_ = 0;  // of told_
  std::unique_ptr<PassRegion> resident_, streamed_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_WEIGHTED_SOURCE_H_
