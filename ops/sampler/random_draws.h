// One format's draws where nothing is loaded ahead of the plan: a uniformly
// random permutation of all its samples, for the policies that are compared
// with regions. A sample that is not held is read at its draw.
//
// MinIO (Mohan et al., "Analyzing and mitigating data stalls in DNN training",
// PVLDB 14(5), 2021) keeps what came first and never replaces it.
#ifndef LIQUID_OPS_SAMPLER_RANDOM_DRAWS_H_
#define LIQUID_OPS_SAMPLER_RANDOM_DRAWS_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "ops/core/rng.h"
#include "ops/sampler/plan_spec.h"
#include "ops/sampler/planner.h"

namespace liquid {

// Thread-compatible. 4 bytes for each sample, O(1) for each draw.
class RandomDraws {
 public:
  // `held` and `kept` must outlive it; `held` has no samples or `cached` ones.
  RandomDraws(const PlanSpec& spec, uint32_t format, int64_t epoch,
              const SampleSet& held, SampleSet* kept)
      : held_(held),
        kept_(kept),
        places_(held.count() == 0 ? spec.formats[format].cached : 0),
        random_(spec.seed, static_cast<uint64_t>(epoch),
                RngPurpose::kRegionDraw, static_cast<uint8_t>(format)),
        undrawn_(SampleCount(spec.formats[format])) {
    std::iota(undrawn_.begin(), undrawn_.end(), 0);
  }

  // Requires that a sample is left.
  Draw Next(uint32_t format) {
    uint32_t& place = undrawn_[random_.Below(undrawn_.size())];
    Draw draw;
    draw.format = format;
    draw.sample = draw.record = place;
    place = undrawn_.back();
    undrawn_.pop_back();
    const bool held = held_.contains(draw.sample);
    if (!held) draw.load = loads_++;
    draw.keep = held || places_ > 0;
    if (!held && draw.keep) --places_;
    if (draw.keep) kept_->insert(draw.sample);
    return draw;
  }

 private:
  const SampleSet& held_;
  SampleSet* kept_;
  uint64_t places_;  // in memory, free for what comes first
  RandomStream random_;
  std::vector<uint32_t> undrawn_;
  int64_t loads_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_RANDOM_DRAWS_H_
